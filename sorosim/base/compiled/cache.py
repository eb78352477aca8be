"""The cache of compiled code, and a record of what was compiled; locks let each function compile once.

numba does not notice that a cached caller's callee, in another file, has changed. So the cache lives in a folder
whose name is a digest of all sources that hold compiled code: after any edit the folder is a new one.

Beside numba's own files, a file with the suffix `.calls` for each function and types of arguments says that it is
compiled, and which lazy kernels it calls.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba

PACKAGE = Path(__file__).parents[2]
_MARK = b"@kernel"  # what compiled sources have in common
_MOST_CACHES = 8
_IS_DIGEST = re.compile("[0-9a-f]{16}")

Specialization = tuple[str, tuple[Any, ...]]  # a kernel as module:function, and the types of its arguments


def _digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(PACKAGE.rglob("*.py")):
        content = source.read_bytes()
        if _MARK in content or source.parent.name in ("compiled", "kernels", "lie"):  # constants count as well
            digest.update(source.relative_to(PACKAGE).as_posix().encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def _root() -> Path:
    if chosen := os.environ.get("SOROSIM_CACHE_DIR"):
        return Path(chosen).absolute()  # also when the process goes to another folder
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "sorosim" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sorosim"


def _folder() -> str:
    """Folder of the compiled code of these very sources; older siblings beyond a few are removed."""
    root = _root()
    folder = root / _digest()
    if not folder.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return ""  # not writable: numba falls back to its own places
        with suppress(OSError):  # another process may remove them, too
            siblings = [p for p in root.iterdir() if p.is_dir() and _IS_DIGEST.fullmatch(p.name)]  # no others
            for old in sorted(siblings, key=lambda p: p.stat().st_mtime)[:-_MOST_CACHES]:
                shutil.rmtree(old, ignore_errors=True)
    return str(folder)


CACHE_FOLDER = _folder()


def _is_read_only() -> bool:
    """Whether the folder is read-only, as in a container image; its code is still used."""
    try:
        with tempfile.TemporaryFile(dir=CACHE_FOLDER):
            return False
    except OSError:
        return bool(CACHE_FOLDER)


READ_ONLY = _is_read_only()


@contextmanager
def cache_of_functions() -> Iterator[None]:
    """Let numba keep compiled code in the folder, also where it can only be read."""
    locator = numba.core.caching._CacheLocator
    folder, ensure = numba.config.CACHE_DIR, locator.ensure_cache_path
    numba.config.CACHE_DIR = CACHE_FOLDER or folder
    if READ_ONLY:
        locator.ensure_cache_path = lambda self: None
    try:
        yield
    finally:
        numba.config.CACHE_DIR, locator.ensure_cache_path = folder, ensure


def _note_file(call: Specialization) -> Path:
    """One for each installation, processor and version of Python, as numba has it."""
    name, argument_types = call
    source = str(getattr(sys.modules.get(name.split(":")[0]), "__file__", None))
    content = "; ".join([sys.version, _target(), source, _content(source), *(str(one) for one in argument_types)])
    return Path(CACHE_FOLDER) / f"{name.replace(':', '.')}.{hashlib.sha256(content.encode()).hexdigest()[:16]}.calls"


@functools.cache
def _target() -> str:
    own = numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUGINFO_DEFAULT
    return repr((numba.core.registry.cpu_target.target_context.codegen().magic_tuple(), own))


@functools.cache
def _content(source: str) -> str:
    return hashlib.sha256(Path(source).read_bytes()).hexdigest() if os.path.exists(source) else ""


def callees_of(call: Specialization) -> list[Specialization] | None:
    """Which lazy kernels some compiled code calls; None: it is not compiled."""
    if not CACHE_FOLDER:
        return None
    try:
        calls: list[Specialization] = pickle.loads(_note_file(call).read_bytes())
    except Exception:  # there is none, or it is damaged
        return None
    return calls


def note_compiled(call: Specialization, calls: list[Specialization]) -> None:
    """Say that code is compiled, and which lazy kernels it calls; other processes see it whole or not at all."""
    if not CACHE_FOLDER or READ_ONLY:
        return
    path = _note_file(call)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        partial.write_bytes(pickle.dumps(calls))
        partial.replace(path)
    with suppress(OSError):
        partial.unlink(missing_ok=True)


@contextmanager
def file_lock(name: str, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Be the only process inside for a name; where there are no locks of files, several may be.

    The operating system takes the lock back when a process ends, however it ends.
    """
    stream = None
    if CACHE_FOLDER and not READ_ONLY and sys.platform != "win32":
        with suppress(OSError):
            stream = open(Path(CACHE_FOLDER) / f"{name}.lock", "ab")  # noqa: SIM115
    if stream is None:
        yield
        return
    import fcntl

    with stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if waiting is not None:
                    waiting()
                time.sleep(0.02)
            except OSError:  # some network file systems know none
                break
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(stream, fcntl.LOCK_UN)  # a process that was forked meanwhile has the lock, too
