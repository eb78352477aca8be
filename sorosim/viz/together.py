"""Several results in one picture: over each other or side by side, by one clock."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import InputError, nearest
from sorosim.robot import Robot
from sorosim.validation import describe
from sorosim.viz.camera import camera_axes, check_view, up_axis
from sorosim.viz.geometry import Geometry
from sorosim.viz.look import PLAIN, Look
from sorosim.viz.scene import FITTED_STATES, Scene
from sorosim.viz.target import Motion, motion_of, sample

Array = NDArray[np.float64]

OVERLAY, SIDE = "overlay", "side"
LAYOUTS = (OVERLAY, SIDE)
# the colours of lines in plots, darker where letters on white need it
TINTS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6f76")
GAP = 0.15  # between robots side by side, relative to the widest


@dataclass(frozen=True)
class Together:
    """One result or several, as pictures take them.

    Parameters
    ----------
    motions : tuple of Motion
    names : tuple of str
        For the legend.
    layout : {"overlay", "side"}
    """

    motions: tuple[Motion, ...]
    names: tuple[str, ...] = ()
    layout: str = OVERLAY

    @property
    def robot(self) -> Robot:
        """The first robot."""
        return self.motions[0].robot

    @property
    def up(self) -> Array:
        """The vertical (3,), of the first robot that has gravity."""
        pulls = [motion.robot.engine.gravity for motion in self.motions]
        return up_axis(next((pull for pull in pulls if np.any(pull)), pulls[0]))

    @property
    def several(self) -> bool:
        """Whether there are more than one."""
        return len(self.motions) > 1

    @property
    def tints(self) -> list[str]:
        """Code of the colour of each; "" of a single one, which has the usual ones."""
        return [_tint(k) if self.several else "" for k in range(len(self.motions))]

    @property
    def timed(self) -> bool:
        """Whether anything moves."""
        return any(motion.timed for motion in self.motions)

    @property
    def t(self) -> Array:
        """All stored times, sorted; what ends earlier stays where it is."""
        timed = [motion.t for motion in self.motions if motion.timed]
        return np.unique(np.concatenate(timed)) if timed else np.zeros(1)

    @property
    def moments(self) -> Array:
        """Times to look at for what the whole motion needs."""
        return self.at_most(FITTED_STATES)

    def at_most(self, n: int) -> Array:
        """Times of the whole motion, no more than n."""
        return np.linspace(self.t[0], self.t[-1], min(len(self.t), n))

    def check_look(self, options: Mapping[str, Any]) -> Look:
        """How all of them are drawn by these options, refusing what they cannot show."""
        if options.get("trails") and not self.timed:
            raise InputError("trails", "a run", "an equilibrium")
        if self.several and options.get("colour") not in (None, PLAIN):
            hint = "each of several runs has a colour of its own"
            raise InputError("colour", "plain", describe(options["colour"]), hint)
        links = list(dict.fromkeys(link.name for motion in self.motions for link in motion.robot.links))
        return Look().changed(self.robot, options, links)

    def state(self, t: float) -> tuple[Array, Array, float | None]:
        """What `Scene.update` needs at a time: coordinates and inputs of the first robot, and the time."""
        q, u = sample(self.motions[0], np.array([t]))
        return q[0], u[0], t if self.timed else None

    def scene(self, size: Sequence[int], look: Mapping[str, Any], off_screen: bool = True) -> Scene:
        """A scene of all of them, to be fitted to their motions."""
        tips, named = self.check_look(look).tips, {name: value for name, value in look.items() if name != "tips"}
        if self.several:
            named["title"] = look.get("title") or ""
            named["colour"] = PLAIN
        scene = Scene(self.robot, size=size, off_screen=off_screen, up=self.up, **named)
        scene.look = replace(scene.look, tips=tips)  # of any of the robots
        if self.several:
            offsets = self.offsets(look.get("view", "iso"))
            scene.tint(self.tints[0])
            for motion, tint, offset in zip(self.motions[1:], self.tints[1:], offsets[1:], strict=True):
                scene.add_robot(motion.robot, tint, offset)
            scene.add_legend(list(zip(self.names, self.tints, strict=True)))
        return scene

    def offsets(self, view: str) -> list[Array]:
        """By how much each is displaced (3,) [m], so that none hides another in a view."""
        if self.layout == OVERLAY:
            return [np.zeros(3)] * len(self.motions)
        right = camera_axes(self.up, check_view(view))[0]
        low, high = [], []
        for motion in self.motions:
            geometry = Geometry(motion.robot, n_stations=8, n_around=8, tendons=False)
            times = np.linspace(motion.t[0], motion.t[-1], min(len(motion.t), FITTED_STATES))
            shapes = (geometry.at(q) for q in sample(motion, times)[0])
            along = np.concatenate([(np.concatenate([shape.points, shape.g[:, :3, 3]]) @ right) for shape in shapes])
            low.append(float(along.min()))
            high.append(float(along.max()))
        gap = GAP * max(np.subtract(high, low))
        places = [0.0]
        for k in range(1, len(low)):
            places.append(places[-1] + high[k - 1] + gap - low[k])
        return [place * right for place in places]


def _tint(k: int) -> str:
    """Colour of run k: of more than there are colours the next ones are paler, then darker."""
    round_, which = divmod(k, len(TINTS))
    codes = np.array(list(bytes.fromhex(TINTS[which][1:])))
    toward = (codes, 255, 0)[round_ % 3]
    return "#{:02x}{:02x}{:02x}".format(*(0.5 * (codes + toward)).astype(int))


def together(result: Any) -> Together:
    """A result, or several that are together already."""
    return result if isinstance(result, Together) else Together((motion_of(result),))


def gather(results: Sequence[Any], layout: str = OVERLAY, names: Sequence[str] | None = None) -> Together:
    """Several results for one picture.

    Raises
    ------
    InputError
        There are none, their names do not fit, the layout is unknown, or their verticals differ.
    """
    if not isinstance(results, Sequence) or isinstance(results, str) or not results:
        hint = "the file comes first, then the list" if isinstance(results, str) else ""
        raise InputError("runs", "a list of runs or equilibria", describe(results), hint)
    if layout not in LAYOUTS:
        raise InputError("layout", " or ".join(LAYOUTS), describe(layout), nearest(str(layout), LAYOUTS))
    motions = tuple(motion_of(result) for result in results)
    if names is None:
        names = numbered([motion.robot.name for motion in motions])
    elif isinstance(names, str) or len(names) != len(motions) or not all(isinstance(name, str) for name in names):
        raise InputError("names", f"{len(motions)} names, one for each run", describe(names))
    verticals = {
        tuple(up_axis(motion.robot.engine.gravity)) for motion in motions if np.any(motion.robot.engine.gravity)
    }
    if len(verticals) > 1:
        raise InputError("runs", "robots whose gravity acts along the same axis", "different ones")
    return Together(motions, tuple(names), layout)


def numbered(names: Sequence[str]) -> list[str]:
    """Names with numbers behind those that are there twice."""
    return [f"{name} ({k + 1})" if names.count(name) > 1 else name for k, name in enumerate(names)]


def play(*results: Any, layout: str = OVERLAY, names: Sequence[str] | None = None, **options: Any) -> None:
    """Show several runs or equilibria in one window, by one clock.

    Parameters
    ----------
    *results : Run or Equilibrium, or one list of them
        Of any robots; a run that ends before the others stays at its end.
    layout : {"overlay", "side"}
        Over each other, or side by side.
    names : sequence of str, optional
        For the legend. Default: the names of the robots.
    **options
        As for `sorosim.viz.player.play`. Colours tell the runs apart, so `colour` can only be plain.

    Raises
    ------
    InputError
        An argument is not as above.
    SorosimError
        There is no screen.
    """
    from sorosim.viz.player import play as play_one

    several = results[0] if len(results) == 1 and isinstance(results[0], list | tuple) else results
    play_one(gather(several, layout, names), **options)


def movie(
    path: str | os.PathLike[str], runs: Sequence[Any], *, layout: str = OVERLAY, names: Sequence[str] | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """Write several runs as one movie, by one clock; see `play`, and `sorosim.viz.movie.movie` for the options."""
    from sorosim.viz.movie import movie as movie_of_one

    movie_of_one(gather(runs, layout, names), path, **options)


def still(
    path: str | os.PathLike[str], runs: Sequence[Any], *, layout: str = OVERLAY, names: Sequence[str] | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """Write a picture of several runs or equilibria; see `play`, and `sorosim.viz.movie.still` for the options."""
    from sorosim.viz.movie import still as still_of_one

    still_of_one(gather(runs, layout, names), path, **options)


def export_html(
    path: str | os.PathLike[str], runs: Sequence[Any], *, layout: str = OVERLAY, names: Sequence[str] | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """Write a page with several runs or equilibria; see `play`, and `sorosim.viz.web.export_html` for the options."""
    from sorosim.viz.web import export_html as page_of_one

    page_of_one(gather(runs, layout, names), path, **options)


def export_gltf(
    path: str | os.PathLike[str], runs: Sequence[Any], *, layout: str = OVERLAY, names: Sequence[str] | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """Write a glTF file of several runs or equilibria; see `play`; for options `sorosim.viz.gltf.export_gltf`."""
    from sorosim.viz.gltf import export_gltf as file_of_one

    file_of_one(gather(runs, layout, names), path, **options)
