"""Checks of names, of files that drawings are written to, and of sizes of pictures."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import Quantity, is_list
from sorosim.base.errors import InputError, nearest
from sorosim.base.units.quantity import amount
from sorosim.base.validation import describe
from sorosim.base.writing import check_path, check_target, unwritable

LARGEST_SIDE = 8192  # pixels
FPS = Quantity("frequency", above=0.0)  # pictures or states a second
PathLike = str | os.PathLike[str]
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")


@contextmanager
def written(path: PathLike, suffixes: Sequence[str]) -> Iterator[Path]:
    """Give a draft to write; it replaces ``path`` when the block ends well, and is removed when it does not.

    Raises
    ------
    InputError
        The suffix is none of ``suffixes``.
    FileError
        The file cannot be written.
    """
    check_path(path)
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InputError("path", "a file name that ends in " + " or ".join(suffixes), f"'{target.name}'")
    draft = target.with_name(f".{target.stem}.part{target.suffix}")
    try:
        check_target(target)
        # refused now, not after the work
        draft.open("wb").close()
        yield draft
        os.replace(draft, target)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            draft.unlink()


def check_name(where: str, name: Any, known: Collection[str], expected: str) -> str:
    """Return one of the known names, refusing anything else."""
    if not isinstance(name, str) or name not in known:
        raise InputError(where, expected, describe(name), nearest(str(name), known))
    return name


def times_of(where: str, given: Any) -> Array:
    """Times (n,) [s] of one or several, numbers or texts with units, refusing anything else."""
    times = [amount(where, entry, "time") for entry in (given if is_list(given) else [given])]
    if not times:
        raise InputError(where, "a time or several [s]", "none")
    return np.array(times)


def check_size(size: Any) -> tuple[int, int]:
    """Return the width and height of a picture, refusing anything else."""
    expected = f"width and height [pixels], whole numbers from 16 to {LARGEST_SIDE}"
    sides = list(size) if isinstance(size, Sequence | np.ndarray) and not isinstance(size, str) else [size]
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sides)
    if len(sides) != 2 or not whole or not all(16 <= n <= LARGEST_SIDE for n in sides):
        raise InputError("size", expected, repr(size))
    return int(sides[0]), int(sides[1])
