"""Several runs or equilibria in one movie, picture, page or glTF file, by one clock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sorosim.base.public import public
from sorosim.view.viz import gltf, player, web
from sorosim.view.viz import movie as one
from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.motion import OVERLAY, motion_group

Names = Sequence[str] | None
Runs = Sequence[Any]


@public
def play(*results: Any, layout: str = OVERLAY, names: Names = None, **options: Any) -> Path:
    """Play several runs or equilibria in the web browser, in one page.

    Parameters
    ----------
    *results : Run or Equilibrium, or one list of them
        Of any robots; a run that ends before the others stays at its end.
    layout : {"overlay", "side"}
        Over each other, or side by side.
    names : sequence of str, optional
        For the legend. Default: the names of the robots.
    **options
        As for `sorosim.view.viz.player.play`. Colours tell the runs apart, so `colour` can only be plain.

    Returns
    -------
    Path
        Of the page.

    Raises
    ------
    InputError
        An argument is not as above.
    SorosimError
        No web browser can be opened; the page is written, and the message says where.
    """
    runs = results[0] if len(results) == 1 and isinstance(results[0], list | tuple) else results
    return player.play(motion_group(runs, layout, names), **options)


@public
def movie(path: PathLike, runs: Runs, *, layout: str = OVERLAY, names: Names = None, **options: Any) -> None:
    """Write several runs as one movie; see `play`, and `sorosim.view.viz.movie.movie` for the options."""
    one.movie(motion_group(runs, layout, names), path, **options)


@public
def still(path: PathLike, runs: Runs, *, layout: str = OVERLAY, names: Names = None, **options: Any) -> None:
    """Write a picture of several runs or equilibria; see `play`, and `sorosim.view.viz.movie.still` for the options."""
    one.still(motion_group(runs, layout, names), path, **options)


@public
def export_html(path: PathLike, runs: Runs, *, layout: str = OVERLAY, names: Names = None, **options: Any) -> None:
    """Write a page with several runs or equilibria; see `play`, and for options `sorosim.view.viz.web.export_html`."""
    web.export_html(motion_group(runs, layout, names), path, **options)


@public
def export_gltf(path: PathLike, runs: Runs, *, layout: str = OVERLAY, names: Names = None, **options: Any) -> None:
    """Write a glTF file of several runs or equilibria; see `play`; for options `sorosim.view.viz.gltf.export_gltf`."""
    gltf.export_gltf(motion_group(runs, layout, names), path, **options)
