"""The one decorator behind every compiled function.

numba does not notice that a cached caller's callee, in another file, has changed. So the cache lives in a folder
whose name is a digest of all sources that hold compiled code: after any edit the folder is a new one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_PACKAGE = Path(__file__).parent
_MARK = b"@kernel"  # what compiled sources have in common
_KEPT_CACHES = 8


def _digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(_PACKAGE.rglob("*.py")):
        content = source.read_bytes()
        if _MARK in content:
            digest.update(source.relative_to(_PACKAGE).as_posix().encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    if "SOROSIM_CACHE_DIR" in os.environ:
        return Path(os.environ["SOROSIM_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "sorosim" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sorosim"


def _cache_folder() -> str:
    """Folder of the compiled code of these very sources; older siblings beyond a few are removed."""
    root = _cache_root()
    folder = root / _digest()
    if not folder.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            siblings = [p for p in root.iterdir() if p.is_dir() and len(p.name) == len(folder.name)]
            for old in sorted(siblings, key=lambda p: p.stat().st_mtime)[:-_KEPT_CACHES]:
                shutil.rmtree(old, ignore_errors=True)
        except OSError:
            return ""  # not writable: numba falls back to its own places
    return str(folder)


CACHE_FOLDER = _cache_folder()


def is_cold(kernel: str = "evaluate.evaluate") -> bool:
    """Whether a kernel has not been compiled for these sources yet: its next call will take its time."""
    return not CACHE_FOLDER or next(Path(CACHE_FOLDER).rglob(f"{kernel}-*.nbi"), None) is None


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with numba: cached on disk, GIL released, IEEE division; NaN and infinity keep their meaning."""
    return _compiled(function)


def kernel_in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel`, for functions that only write into their arguments; allocating in one is an error of compilation.

    numba then does not count references to views of arrays, which otherwise takes most of the time of short functions.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE_FOLDER or before
    try:
        # No fastmath: the linker may take a callee's code from this function or from another one that was loaded
        # before; only strict arithmetic gives the same bits whichever it is, and runs then repeat in any process.
        options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
        options |= more
        compiled: Callable[..., Any] = numba.njit(**options)(function)
        return compiled
    finally:
        numba.config.CACHE_DIR = before


def entry(function: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """The compiled code of a kernel for arguments of the types of the examples.

    It saves the look-up of types at every call (6 us for 36 arrays), and all checks with it: arguments must have just
    these types, and be contiguous.
    """
    if not hasattr(function, "compile"):  # not compiled at all
        return function
    compiled: Callable[..., Any] = function.compile(tuple(numba.typeof(x) for x in examples))
    return compiled
