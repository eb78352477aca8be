"""Parsers of options: numbers, times, files to write. A mistake is found before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from sorosim.base.declare import Quantity, Type
from sorosim.base.errors import InputError

RESULTS = (".h5", ".hdf5")
# what modules of `viz` write, which are not imported before they are needed
PLOTS = (".png", ".pdf", ".svg", ".jpg", ".tif")
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".svg")
FILMS, PAGES, MODELS = (".mp4", ".gif"), (".html", ".htm"), (".glb",)


def mistake(expected: str, got: Any, hint: str = "") -> typer.BadParameter:
    """The error that stands behind the name of an option."""
    return typer.BadParameter(f"expected {expected}, got '{got}'" + (f"; {hint}" if hint else ""))


def _convert(type_: type, expected: str) -> Callable[[Any], Any]:
    def parse(text: Any) -> Any:
        try:
            return type_(text)
        except ValueError:
            raise mistake(expected, text) from None

    return parse


number, whole = _convert(float, "a number"), _convert(int, "a whole number")


def declared(type: Type) -> Callable[[Any], Any]:
    """A parser of the values of a declared type."""

    def parse(text: Any) -> Any:
        try:
            return type.argument("", text)
        except InputError as error:
            tail = f"; {error.hint}" if error.hint else ""
            raise typer.BadParameter(f"expected {error.expected}, got {error.got}{tail}") from None

    return parse


seconds = declared(Quantity("time"))


def new_file(text: Any) -> Path:
    """A file to write, in a folder that is there."""
    from sorosim.base.writing import check_target

    path = Path(text)
    try:
        check_target(path)
        os.stat(path.parent)  # which a name with a zero does not survive
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise mistake("a file", text, getattr(error, "strerror", None) or str(error)) from None
    if not path.parent.is_dir():
        raise mistake("a file in a folder that is there", text, f"there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise mistake("a file in a folder that may be written", text, "try another folder")
    return path


def file_with(suffixes: Sequence[str], hint: str = "") -> Callable[[Any], Path]:
    """A parser of files to write with one of these suffixes."""

    def parse(text: Any) -> Path:
        path = new_file(text)
        if path.suffix.lower() not in suffixes:
            ends = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)
            raise mistake(f"a file name that ends in {ends}", text, hint)
        return path

    return parse


result_file = file_with(RESULTS, "sorosim export writes tables of results")


def folder_or_plot(text: Any) -> Path:
    """A folder for plots, which need not be there yet, or the file of one plot."""
    return new_file(text) if Path(text).suffix.lower() in PLOTS else folder(text)


def folder(text: Any) -> Path:
    """A folder, which need not be there yet."""
    path = Path(text)
    if path.suffix.lower() in PICTURES:
        raise mistake("a folder, or a file that ends in " + ", ".join(PLOTS), text)
    return path
