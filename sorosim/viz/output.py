"""Files that drawings are written to, and sizes of pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.errors import InputError
from sorosim.io.writing import check_path, check_target, unwritable

LARGEST_SIDE = 8192  # pixels
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")


@contextmanager
def written(path: str | os.PathLike[str], suffixes: Sequence[str]) -> Iterator[Path]:
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


def check_size(size: Any) -> tuple[int, int]:
    """Return the width and height of a picture, refusing what is none."""
    expected = f"width and height [pixels], whole numbers from 16 to {LARGEST_SIDE}"
    given = list(size) if isinstance(size, Sequence | np.ndarray) and not isinstance(size, str) else [size]
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in given)
    if len(given) != 2 or not whole or not all(16 <= n <= LARGEST_SIDE for n in given):
        raise InputError("size", expected, repr(size))
    return int(given[0]), int(given[1])
