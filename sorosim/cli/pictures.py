"""Commands that draw: windows, pictures, films, plots, files for browsers and 3D programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.cli.files import is_result
from sorosim.cli.kinds import kind_of
from sorosim.cli.looks import asked_for, with_look
from sorosim.cli.options import (
    NamesOption,
    OverlayOption,
    ResultArgument,
    SizeOption,
    SourcesArgument,
    listed,
    pixels,
)
from sorosim.cli.readers import FILMS, MODELS, PAGES, PICTURES, file_of, folder, number, seconds, whole
from sorosim.cli.runs import as_built, load_changed
from sorosim.cli.show import out
from sorosim.errors import FileError, InputError


@with_look()
def play(
    sources: SourcesArgument,
    speed: Annotated[float, typer.Option(metavar="NUMBER", parser=number, help="Simulated seconds a second.")] = 1.0,
    overlay: OverlayOption = False,
    names: NamesOption = None,
    *,
    look: dict[str, Any],
) -> None:
    """Show runs in a window; press h there for the keys.

    Example: sorosim play run.h5 --speed 0.5
    """
    from sorosim.viz.player import play as show

    show(_shown(sources, overlay, names), speed=speed, **look)


def _shown(sources: Sequence[str], overlay: bool, names: str | None) -> Any:
    """What is to be seen: a result, a robot as it is built, or several of them."""
    import sorosim

    found = [sorosim.open(name) if is_result(name) else as_built(load_changed(name, None)) for name in sources]
    for name, one in zip(sources, found, strict=True):
        kind, hint = kind_of(one)
        if kind not in ("a run", "an equilibrium"):
            raise InputError(name, "a run, an equilibrium or a robot", kind, hint)
    if len(found) == 1:
        if names is not None or overlay:
            raise InputError("--names" if names is not None else "--overlay", "two results or more", "one")
        return found[0]
    from sorosim.viz.motion import motion_group, numbered

    own = numbered([Path(name).stem for name in sources]) if names is None else listed(names)
    return motion_group(found, "overlay" if overlay else "side", own)


def plot(
    result: ResultArgument,
    what: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Plots of a run, with commas: tip, snapshots, coordinates, tensions, driven, energy, sensor_NAME; "
            "all: those that have something to show.",
        ),
    ] = "all",
    y: Annotated[
        str | None,
        typer.Option(
            "--y",
            metavar="NAME",
            help="Of a sweep or a continuation: what is drawn upwards; default: the place of the tip.",
        ),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", metavar="NAMES", help="png, pdf, svg, jpg or tif; several with commas.")
    ] = "png",
    style: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="paper, a style of matplotlib, or an .mplstyle file; default: ours."),
    ] = None,
    place: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FOLDER", parser=folder, help="Folder for the pictures, which is made if need be."
        ),
    ] = Path(),
) -> None:
    """Draw a result: tip, snapshots, coordinates, inputs, forces, energy and sensors of a run, one plot of others.

    Example: sorosim plot run.h5 --out figures --style paper --format pdf
    """
    import sorosim

    found, suffixes = sorosim.open(result), listed(formats)
    kind, _ = kind_of(found)
    if y is not None and kind not in ("a sweep", "a continuation"):
        raise InputError("--y", "the result of a sweep or a continuation beside it", f"that of {kind}")
    if kind == "a run":
        from sorosim.viz.plots import plot_all

        written = plot_all(found, place, suffixes, what=listed(what), style=style)
    else:
        if what != "all":
            raise InputError("--what", f"all of {kind}", f"'{what}'", "it has one plot")
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(str(place), f"expected a folder for the pictures: {error.strerror or error}") from None
        written = [place / f"{result.stem}.{suffix}" for suffix in suffixes]
        for path in written:
            found.plot(path, style=style, **({} if y is None else {"y": y}))
    for path in written:
        out.print(str(path))


@with_look()
def movie(
    sources: SourcesArgument,
    speed: Annotated[
        float, typer.Option(metavar="NUMBER", parser=number, help="Simulated seconds a second of film.")
    ] = 1.0,
    fps: Annotated[int, typer.Option(metavar="NUMBER", parser=whole, help="Pictures a second of film.")] = 30,
    overlay: OverlayOption = False,
    names: NamesOption = None,
    size: SizeOption = "1280x720",
    *,
    look: dict[str, Any],
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=file_of(FILMS),
            help="Film to write, .mp4 or .gif; default: beside the first result.",
        ),
    ] = None,
) -> None:
    """Film runs.

    Example: sorosim movie run.h5 --out run.mp4 --speed 0.5
    """
    from sorosim.viz.movie import movie as film

    path, shown = output or Path(sources[0]).with_suffix(".mp4"), _shown(sources, overlay, names)
    if len(sources) == 1 and not hasattr(shown, "t"):
        raise InputError(sources[0], "a run", *kind_of(shown))
    film(shown, path, fps=fps, speed=speed, size=pixels(size), **look)
    out.print(str(path))


@with_look()
def still(
    sources: SourcesArgument,
    t: Annotated[
        str | None,
        typer.Option("--t", metavar="TIMES", help="Time in the run, or several as in 0,1,2; default: its end."),
    ] = None,
    ghosts: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="How several times are told apart: fade (earlier ones are paler) or time (colours)."
        ),
    ] = "fade",
    overlay: OverlayOption = False,
    names: NamesOption = None,
    size: SizeOption = "1280x720",
    *,
    look: dict[str, Any],
    output: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=file_of(PICTURES),
            help="Picture to write: .png, .jpg, .tif, .bmp or .svg.",
            show_default=False,
        ),
    ],
) -> None:
    """Draw one picture in 3D, of one time or several; an .svg file is a flat side view.

    Example: sorosim still run.h5 --t 0,1,2 --ghosts time --out run.png --view side
    """
    from sorosim.viz.movie import still as draw

    if output.suffix.lower() == ".svg":
        look = asked_for(look)
        if look.keys() - {"trails", "tips"}:
            hint = "a side view knows --trails and --tips only"
            raise InputError("--out", "a .png file for these options", f"'{output}'", hint)
    draw(_shown(sources, overlay, names), output, t=_times(t), ghosts=ghosts, size=pixels(size), **look)
    out.print(str(output))


def _times(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [seconds(word) for word in text.split(",")]
    except typer.BadParameter:
        raise InputError("--t", "a time in s, or several as in 0,1,2", f"'{text}'") from None


@with_look("view", "colour", "trails", "tips", "loads", "joints", "gravity")
def web(
    sources: SourcesArgument,
    fps: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", parser=number, help="States a second of the run; fewer if the file would get too large."
        ),
    ] = 30,
    overlay: OverlayOption = False,
    names: NamesOption = None,
    *,
    look: dict[str, Any],
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=file_of(PAGES),
            help="Page to write, .html; default: beside the first result.",
        ),
    ] = None,
) -> None:
    """Write a page that any browser plays in 3D, without a server or a network.

    Example: sorosim web run.h5 --colour bending_y
    """
    from sorosim.viz.web import export_html

    path = output or Path(sources[0]).with_suffix(".html")
    export_html(_shown(sources, overlay, names), path, fps=fps, **look)
    out.print(str(path))


@with_look("loads", "joints", "gravity")
def gltf(
    sources: SourcesArgument,
    t: Annotated[
        float | None,
        typer.Option("--t", metavar="TIME", parser=seconds, help="Time in the run; default: the whole motion."),
    ] = None,
    fps: Annotated[float, typer.Option(metavar="NUMBER", parser=number, help="States a second of the run.")] = 30,
    overlay: OverlayOption = False,
    names: NamesOption = None,
    view: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="From where several robots stand side by side: front, side, ...; default: iso."
        ),
    ] = None,
    *,
    look: dict[str, Any],
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=file_of(MODELS),
            help="File to write, .glb; default: beside the first result.",
        ),
    ] = None,
) -> None:
    """Write a glTF 2.0 file for Blender and other 3D programs, animated unless --t is given.

    Example: sorosim gltf run.h5 --out run.glb
    """
    from sorosim.viz.gltf import export_gltf

    if view is not None:
        if len(sources) == 1 or overlay:
            raise InputError("--view", "several robots side by side", "no camera is in the file")
        look["view"] = view
    path = output or Path(sources[0]).with_suffix(".glb")
    export_gltf(_shown(sources, overlay, names), path, t=t, fps=fps, **look)
    out.print(str(path))
