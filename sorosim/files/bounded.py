"""Files up to a size."""

from __future__ import annotations

from pathlib import Path

from sorosim.base.errors import FileError
from sorosim.base.files_read import note_file


def read_bounded(path: str | Path, file: str, most: int, hint: str = "") -> bytes:
    """The content of a file.

    Parameters
    ----------
    path : path
    file : str
        Its name in messages.
    most : int
        Bytes that it may have.
    hint : str
        What to do where it has more.

    Raises
    ------
    FileError
        It cannot be read, or is larger.
    """
    try:
        note_file(path)
        with open(path, "rb") as stream:
            content = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise FileError(file, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > most:
        raise FileError(file, f"expected at most {most // 10**6} MB, got more" + (f"; {hint}" if hint else ""))
    return content
