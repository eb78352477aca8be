"""Several moments of a motion in one picture: older ones paler, or each in the colour of its time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import InputError, nearest
from sorosim.validation import describe
from sorosim.viz.scene import Scene
from sorosim.viz.together import Together

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

FADE, TIME = "fade", "time"
GHOSTS = (FADE, TIME)
PALEST = 0.28  # opacity of the oldest moment
TIME_COLOURS, FIRST, LAST = "viridis", 0.08, 0.93


def check_ghosts(ghosts: str, shown: Together) -> str:
    """Return how moments are told apart, refusing what is unknown."""
    if ghosts not in GHOSTS:
        raise InputError("ghosts", " or ".join(GHOSTS), describe(ghosts), nearest(str(ghosts), GHOSTS))
    if ghosts == TIME and shown.several:
        raise InputError("ghosts", FADE, f"'{ghosts}'", "the colours of several runs tell them apart")
    return ghosts


def opacities(n: int) -> Array:
    """Opacity of each of n moments, the last one 1."""
    return np.linspace(PALEST, 1.0, n) if n > 1 else np.ones(n)


def time_colours(n: int) -> list[str]:
    """Codes of the colours of n moments."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    scale = colormaps[TIME_COLOURS]
    return [to_hex(scale(x)) for x in np.linspace(FIRST, LAST, n)]


def time_words(times: Sequence[float] | Array) -> list[str]:
    """Such as "t = 0.5 s"."""
    return [f"t = {t:.4g} s" for t in times]


def snapshots(scene: Scene, shown: Together, times: Array, ghosts: str) -> Image:
    """The picture of several moments, later ones over earlier ones; the scene must be fitted.

    Layers of pictures, not translucent solids: of each moment only its outside is seen, and the last one is whole.
    """
    colours = time_colours(len(times)) if ghosts == TIME else []
    if colours:
        scene.tint(colours[-1])
        scene.add_legend(list(zip(time_words(times), colours, strict=True)))
    clock = "" if colours else f"t = {', '.join(f'{t:.4g}' for t in times)} s"

    def drawn(k: int) -> Image:
        if colours:
            scene.tint(colours[k])
        scene.update(*shown.state(float(times[k])))
        scene.words.say("clock", clock)
        return scene.fine_image()

    last = drawn(len(times) - 1)
    scene.show_robots(False)
    empty = scene.fine_image().astype(float)
    scene.show_robots(True)
    out = empty.copy()
    for k, opacity in enumerate(opacities(len(times)) if not colours else np.ones(len(times))):
        layer = (drawn(k) if k < len(times) - 1 else last).astype(float)
        changed = np.any(layer != empty, axis=2, keepdims=True)
        out += np.where(changed, opacity * (layer - out), 0.0)
    return scene.reduced(np.asarray(np.rint(out), dtype=np.uint8))
