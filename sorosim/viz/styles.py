"""Styles of plots: ours, that for papers, any of matplotlib's, or a file of one's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import resources
from pathlib import Path
from typing import Any

from matplotlib import rc_context, rc_params_from_file

from sorosim.errors import FileError, InputError, nearest
from sorosim.validation import describe

PAPER = "paper"
SUFFIX = ".mplstyle"
WIDE = 9.0  # figures as wide as this go over two columns [inches]
GUTTER = 0.16  # between the columns of a page [inches]

Settings = dict[Any, Any]  # matplotlib lists its names as a type

_CHOSEN: ContextVar[Settings | None] = ContextVar("chosen style", default=None)


def find_style(style: str | os.PathLike[str]) -> Settings:
    """What a style sets.

    Parameters
    ----------
    style : str or path-like
        "paper", a name of `matplotlib.style.available`, or a file that ends in .mplstyle.

    Raises
    ------
    InputError
        There is no such style.
    FileError
        The file cannot be read, or sets nothing.
    """
    if not isinstance(style, str | os.PathLike):
        raise InputError("style", f"'{PAPER}', a style of matplotlib or a {SUFFIX} file", describe(style))
    name = os.fspath(style)
    if name == PAPER:
        with resources.as_file(resources.files("sorosim.viz").joinpath(f"{PAPER}{SUFFIX}")) as path:
            return _from_file(path)
    if name.endswith(SUFFIX):
        return _from_file(Path(name))
    from matplotlib.style import library  # here, for matplotlib makes another one when it reads styles anew

    if name not in library:
        expected = f"'{PAPER}', the name of a style of matplotlib, or a file that ends in {SUFFIX}"
        raise InputError("style", expected, f"'{name}'", nearest(name, [PAPER, *library]))
    return {**library[name]}


def _from_file(path: Path) -> Settings:
    try:
        settings: Settings = {**rc_params_from_file(path, use_default_template=False)}
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not settings:
        raise FileError(str(path), "expected settings such as 'font.size: 8', got none that matplotlib knows")
    return settings


@contextmanager
def chosen(style: str | os.PathLike[str] | None) -> Iterator[None]:
    """Draw figures in a style; None: in ours."""
    token = _CHOSEN.set(None if style is None else find_style(style))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


@contextmanager
def styled(base: Settings) -> Iterator[None]:
    """Matplotlib's settings: ours, but for what the chosen style says otherwise."""
    settings: Settings = base | (_CHOSEN.get() or {})
    with rc_context(settings):
        yield


def line_colours(usual: tuple[str, ...]) -> tuple[str, ...]:
    """Colours of lines: those of the chosen style, where it has some."""
    cycle = (_CHOSEN.get() or {}).get("axes.prop_cycle")
    colours = cycle.by_key().get("color") if cycle is not None else None
    return tuple(colours) if colours else usual


def figure_size(width: float, height: float) -> tuple[float, float]:
    """Size of a figure [inches] that is so large in our style.

    The width that the chosen style gives figures is that of a column. Letters do not shrink with it, so figures become
    less flat: heights shrink by the root of what widths do.
    """
    size = (_CHOSEN.get() or {}).get("figure.figsize")
    if size is None:
        return width, height
    column = float(size[0])
    wanted = 2.0 * column + GUTTER if width >= WIDE else column
    return wanted, height * (wanted / width) ** 0.5
