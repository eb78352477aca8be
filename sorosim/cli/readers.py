"""What options may hold: numbers, times, files to write. A mistake is found before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

RESULTS = (".h5", ".hdf5")
PLOTS = (".png", ".pdf", ".svg", ".jpg", ".tif")
PICTURES = (*PLOTS, ".jpeg", ".tiff", ".bmp")


def mistake(expected: str, got: Any, hint: str = "") -> typer.BadParameter:
    """The error that stands behind the name of an option."""
    return typer.BadParameter(f"expected {expected}, got '{got}'" + (f"; {hint}" if hint else ""))


def number(text: Any) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise mistake("a number", text) from None


def whole(text: Any) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise mistake("a whole number", text) from None


def seconds(text: Any) -> float:
    """A time [s]: a number, or a number and its unit."""
    from sorosim.errors import ModelError
    from sorosim.io.quantities import quantity

    try:
        return quantity(text, "time")
    except ModelError as error:
        raise mistake(error.expected, text, error.hint) from None


def new_file(text: Any) -> Path:
    """A file to write, in a folder that is there."""
    path = Path(text)
    if path.is_dir():
        raise mistake("a file", text, "it is a folder")
    if not path.parent.is_dir():
        raise mistake("a file in a folder that is there", text, f"there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise mistake("a file in a folder that may be written", text, "try another folder")
    return path


def result_file(text: Any) -> Path:
    """A result file to write."""
    path = new_file(text)
    if path.suffix not in RESULTS:
        raise mistake("a file name that ends in .h5", text, "sorosim export writes tables of it")
    return path


def picture_file(text: Any) -> Path:
    """A plot to write."""
    path = new_file(text)
    if path.suffix not in PLOTS:
        raise mistake(f"a file name that ends in {', '.join(PLOTS[:-1])} or {PLOTS[-1]}", text)
    return path


def folder(text: Any) -> Path:
    """A folder for pictures, which need not be there yet."""
    path = Path(text)
    if path.suffix.lower() in PICTURES:
        hint = "the pictures in it have names of their own; --format and --what choose them"
        raise mistake("a folder for the pictures", text, hint)
    return path
