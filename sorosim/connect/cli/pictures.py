"""Commands that draw: pictures, films, plots, pages for browsers, files for 3D programs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.base.errors import FileError, InputError
from sorosim.connect.cli import options as opt
from sorosim.connect.cli.console import out
from sorosim.connect.cli.drawing import with_drawing_options, without_defaults
from sorosim.connect.cli.parsers import FILMS, MODELS, PAGES, PICTURES, PLOTS, file_with, folder_or_plot, seconds
from sorosim.connect.cli.sources import MOTIONS, open_to_draw, result_kind

_FilmFile = partial(opt.OutputFile, parser=file_with(FILMS))
_PictureFile = partial(opt.OutputFile, parser=file_with(PICTURES))
_PageFile = partial(opt.OutputFile, parser=file_with(PAGES))
_ModelFile = partial(opt.OutputFile, parser=file_with(MODELS))

_PLOTS = (
    "Plots of a run, with commas: tip, snapshots, coordinates, tensions, driven, energy, sensor_NAME; all: those that "
    "have something to show."
)
_UNITS = "Unit in which a dimension is shown, as in --units length=mm; may come again; default: SI units."
_Y = "Of a sweep or a continuation: what is drawn upwards; default: the place of the tip."


@with_drawing_options()
def play(
    sources: opt.SourcesArgument,
    speed: Annotated[float, opt.Number(help="Simulated seconds a second.")] = 1.0,
    overlay: opt.OverlayOption = False,
    names: opt.NamesOption = None,
    *,
    drawing: dict[str, Any],
    output: Annotated[Path | None, _PageFile(help="Page to write, .html; default: a temporary file.")] = None,
) -> None:
    """Play runs in the web browser, in a page that `sorosim web` would write; press h there for the keys.

    Example: sorosim play run.h5 --speed 0.5
    """
    from sorosim.view.viz.player import play as show

    out().print(str(show(open_to_draw(sources, overlay, names), path=output, speed=speed, **drawing)))


def plot(
    result: opt.ResultArgument,
    what: Annotated[str, opt.Names(help=_PLOTS)] = "all",
    y: Annotated[str | None, opt.Name("--y", help=_Y)] = None,
    formats: Annotated[
        str | None, opt.Names("--format", help="png, pdf, svg, jpg or tif; several with commas; default: png.")
    ] = None,
    style: Annotated[
        str | None, opt.Name(help="paper, a style of matplotlib, or an .mplstyle file; default: ours.")
    ] = None,
    units: Annotated[list[str] | None, opt.Assignment("--units", help=_UNITS)] = None,
    place: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="PLACE",
            parser=folder_or_plot,
            help="Folder for the plots, which is made if need be; or, where there is one plot, its file, as tip.png.",
        ),
    ] = Path(),
) -> None:
    """Draw a result: tip, snapshots, coordinates, inputs, forces, energy and sensors of a run, one plot of others.

    Example: sorosim plot run.h5 --out figures --style paper --format pdf
    """
    import sorosim

    opened, suffixes = sorosim.open(result), opt.split_names(formats or "png")
    kind, _ = result_kind(opened)
    if not callable(getattr(opened, "plot", None)):
        raise InputError(str(result), "a result that has a plot", *result_kind(opened))
    one_file = place.suffix.lower() in PLOTS
    if one_file and formats is not None:
        raise InputError("--format", "no format beside a file, whose suffix says it", f"'{formats}'")
    if y is not None and kind not in ("a sweep", "a continuation"):
        raise InputError("--y", "the result of a sweep or a continuation beside it", f"that of {kind}")
    chosen: dict[str, Any] = {"style": style}
    if shown := opt.assignments(units, "--units", "length=mm"):
        if kind in ("a fit", "an estimate", "a design", *MOTIONS):
            raise InputError(
                "--units", "the result of a run, an equilibrium, a sweep or a continuation", f"that of {kind}"
            )
        chosen["units"] = shown
    if kind == "a run":
        from sorosim.view.viz.plots import plot_all, plot_one

        names = opt.split_names(what)
        if one_file:
            if names == ["all"] or len(names) != 1:
                hint = "name one plot, as in --what tip, or give a folder"
                raise InputError("--out", "a folder for several plots", f"'{place}'", hint)
            plot_one(opened, names[0], place, **chosen)
            written = [place]
        else:
            written = plot_all(opened, place, suffixes, what=names, **chosen)
    else:
        if what != "all":
            raise InputError("--what", f"all of {kind}", f"'{what}'", "it has one plot")
        chosen |= {} if y is None else {"y": y}  # others know no y
        written = [place]
        if not one_file:
            try:
                place.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FileError(str(place), f"expected a folder for the plots: {error.strerror or error}") from None
            written = [place / f"{result.stem}.{suffix}" for suffix in suffixes]
        for path in written:
            opened.plot(path, **chosen)
    for path in written:
        out().print(str(path))


@with_drawing_options()
def movie(
    sources: opt.SourcesArgument,
    speed: Annotated[float, opt.Number(help="Simulated seconds a second of film.")] = 1.0,
    fps: Annotated[int, opt.Count(help="Pictures a second of film.")] = 30,
    overlay: opt.OverlayOption = False,
    names: opt.NamesOption = None,
    size: opt.SizeOption = "1280x720",
    *,
    drawing: dict[str, Any],
    output: Annotated[
        Path | None, _FilmFile(help="Film to write, .mp4 or .gif; default: beside the first result.")
    ] = None,
) -> None:
    """Film runs.

    Example: sorosim movie run.h5 --out run.mp4 --speed 0.5
    """
    from sorosim.view.viz.movie import movie as film

    path, shown = output or Path(sources[0]).with_suffix(".mp4"), open_to_draw(sources, overlay, names)
    if len(sources) == 1 and not hasattr(shown, "t"):
        raise InputError(sources[0], "a run", *result_kind(shown))
    film(shown, path, fps=fps, speed=speed, size=opt.pixels(size), **drawing)
    out().print(str(path))


@with_drawing_options()
def still(
    sources: opt.SourcesArgument,
    t: Annotated[
        list[str] | None,
        typer.Option("--t", metavar="TIMES", help="Time in the run; several: 0,1,2 or --t 0 --t 1; default: its end."),
    ] = None,
    ghosts: Annotated[
        str, opt.Name(help="How several times are told apart: fade (earlier ones are paler) or time (colours).")
    ] = "fade",
    overlay: opt.OverlayOption = False,
    names: opt.NamesOption = None,
    size: opt.SizeOption = "1280x720",
    *,
    drawing: dict[str, Any],
    output: Annotated[Path, _PictureFile(help="Picture to write: .png, .jpg, .tif, .bmp or .svg.", show_default=False)],
) -> None:
    """Draw one picture in 3D, of one time or several; an .svg file is a flat side view.

    Example: sorosim still run.h5 --t 0,1,2 --ghosts time --out run.png --view side
    """
    from sorosim.view.viz.movie import still as draw

    if output.suffix.lower() == ".svg":
        drawing = without_defaults(drawing)
        if drawing.keys() - {"trails", "tips"}:
            hint = "a side view knows --trails and --tips only"
            raise InputError("--out", "a .png file for these options", f"'{output}'", hint)
    shown = open_to_draw(sources, overlay, names)
    draw(shown, output, t=_times(t), ghosts=ghosts, size=opt.pixels(size), **drawing)
    out().print(str(output))


def _times(given: list[str] | None) -> list[float] | None:
    """Times of all options together."""
    text = ",".join(given or [])
    try:
        return [seconds(word) for word in text.split(",")] if given else None
    except typer.BadParameter:
        raise InputError("--t", "a time in s, or several as in 0,1,2", f"'{text}'") from None


@with_drawing_options()
def web(
    sources: opt.SourcesArgument,
    speed: Annotated[float, opt.Number(help="Simulated seconds a second.")] = 1.0,
    fps: Annotated[float, opt.Number(help="States a second of the run; fewer if the file would get too large.")] = 30,
    overlay: opt.OverlayOption = False,
    names: opt.NamesOption = None,
    *,
    drawing: dict[str, Any],
    output: Annotated[Path | None, _PageFile(help="Page to write, .html; default: beside the first result.")] = None,
) -> None:
    """Write a page that any browser plays in 3D, without a server or a network.

    Example: sorosim web run.h5 --colour bending_y
    """
    from sorosim.view.viz.web import export_html

    path = output or Path(sources[0]).with_suffix(".html")
    export_html(open_to_draw(sources, overlay, names), path, fps=fps, speed=speed, **drawing)
    out().print(str(path))


@with_drawing_options("loads", "joints", "gravity")
def gltf(
    sources: opt.SourcesArgument,
    t: Annotated[float | None, opt.Time("--t", help="Time in the run; default: the whole motion.")] = None,
    fps: Annotated[float, opt.Number(help="States a second of the run.")] = 30,
    overlay: opt.OverlayOption = False,
    names: opt.NamesOption = None,
    view: Annotated[
        str | None, opt.Name(help="From where several robots stand side by side: front, side, ...; default: iso.")
    ] = None,
    *,
    drawing: dict[str, Any],
    output: Annotated[Path | None, _ModelFile(help="File to write, .glb; default: beside the first result.")] = None,
) -> None:
    """Write a glTF 2.0 file for Blender and other 3D programs, animated unless --t is given.

    Example: sorosim gltf run.h5 --out run.glb
    """
    from sorosim.view.viz.gltf import export_gltf

    if view is not None:
        if len(sources) == 1 or overlay:
            raise InputError("--view", "several robots side by side", "no camera is in the file")
        drawing["view"] = view
    path = output or Path(sources[0]).with_suffix(".glb")
    export_gltf(open_to_draw(sources, overlay, names), path, t=t, fps=fps, **drawing)
    out().print(str(path))
