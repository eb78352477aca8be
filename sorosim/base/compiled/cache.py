"""The cache of compiled code, and a record of what was compiled; locks let each function compile once.

numba does not notice that a cached caller's callee, in another file, has changed. So the cache lives in a folder
whose name is a digest of all sources that hold compiled code: after any edit the folder is a new one, and what lies
there fits wherever the package is installed, whenever its files were written.

Beside numba's own files, a file with the suffix `.calls` for each function and types of arguments says that it is
compiled, and which lazy kernels it calls.

Wheels may bring such a folder inside the package, compiled for processors of the last ten years (`PORTABLE`). It is
only read, where sources, processor, Python and numba fit; everything else is compiled as if it were not there.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import numba
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba.core import caching

PACKAGE = Path(__file__).parents[2]
_MARK = b"@kernel"  # what compiled sources have in common
_MOST_CACHES = 8
_IS_DIGEST = re.compile("[0-9a-f]{16}")

Specialization = tuple[str, tuple[Any, ...]]  # a kernel as module:function, and the types of its arguments


@functools.cache
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
            return ""  # not writable: nothing is kept
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


# -- code that comes with the package ---------------------------------------------------------------------------------

SHIPPED_FOLDER = Path(__file__).parent / "shipped"
# processors that portable code is made for, by architecture: name and features in LLVM's words
PORTABLE = {
    "x86_64": ("x86-64-v3", "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+sse4.2,+xsave"),
    "aarch64": ("generic", "+fp-armv8,+neon"),
}


def portable_environment() -> dict[str, str] | None:
    """Environment variables with which a process compiles portable code into the package; None: not known how."""
    processor = PORTABLE.get(platform.machine())
    if processor is None:
        return None
    name, features = processor
    return {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "SOROSIM_CACHE_DIR": str(SHIPPED_FOLDER)}


@functools.cache
def _target() -> str:
    """What code is made for: processor, and numba's options."""
    return _described(numba.core.registry.cpu_target.target_context.codegen().magic_tuple())


def _described(processor: tuple[str, ...]) -> str:
    own = numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUGINFO_DEFAULT
    return repr((processor, own))


@functools.cache
def _shipped() -> tuple[str, str] | None:
    """Folder and target of code that came with the package and runs here."""
    processor, folder = PORTABLE.get(platform.machine()), SHIPPED_FOLDER / _digest()
    if processor is None or not folder.is_dir() or str(folder) == CACHE_FOLDER:
        return None
    name, features = processor
    here = llvm.get_host_cpu_features()
    if not all(here.get(feature.lstrip("+"), False) for feature in features.split(",")):
        return None
    return str(folder), _described((llvm.get_process_triple(), name, features))


# -- numba's part of the cache -----------------------------------------------------------------------------------------


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    """Where code of a function lies: beside that of its source file, whose path is that inside the package."""

    def __init__(self, function: Any, source: str) -> None:
        self.line, self.source = function.__code__.co_firstlineno, source
        self.ours = Path(source).is_relative_to(PACKAGE)
        folder = Path(source).parent
        self.subfolder = (
            ".".join(folder.relative_to(PACKAGE).parts) if self.ours else self.get_suitable_cache_subpath(source)
        )

    def get_cache_path(self) -> str:
        return os.path.join(CACHE_FOLDER, self.subfolder)

    def ensure_cache_path(self) -> None:
        if not READ_ONLY:
            super().ensure_cache_path()

    def get_source_stamp(self) -> tuple[float, ...]:
        if self.ours:  # the digest is the stamp
            return ()
        stat = os.stat(self.source)
        return stat.st_mtime, stat.st_size

    def get_disambiguator(self) -> str:
        return str(self.line)

    @classmethod
    def from_function(cls, function: Any, source: str) -> _Locator | None:
        return cls(function, source) if os.path.exists(source) else None


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """Compiled code of a function: in the folder of these sources, or as it came with the package."""

    class _impl_class(caching.CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes: ClassVar = [_Locator, *caching.CompileResultCacheImpl._locator_classes]

    def _save_overload(self, signature: Any, data: Any) -> None:
        if CACHE_FOLDER:
            super()._save_overload(signature, data)

    def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        types, _, code = super()._index_key(signature, codegen)
        return types, _target(), code

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        locator, shipped = self._impl.locator, _shipped()
        found = super()._load_overload(signature, target_context) if CACHE_FOLDER else None
        if found is not None or shipped is None or not getattr(locator, "ours", False):
            return found
        folder, target = shipped
        files = caching.IndexDataCacheFile(
            os.path.join(folder, locator.subfolder), self._impl.filename_base, locator.get_source_stamp()
        )
        types, _, code = self._index_key(signature, target_context.codegen())
        data = files.load((types, target, code))
        return None if data is None else self._impl.rebuild(target_context, data)


# -- what is compiled --------------------------------------------------------------------------------------------------


def _note_files(call: Specialization) -> Iterator[Path]:
    """Those that may say that it is compiled, the one to write first; one for each processor and version of Python."""
    name, argument_types = call
    source = str(getattr(sys.modules.get(name.split(":")[0]), "__file__", None))
    stamp = "" if Path(source).is_relative_to(PACKAGE) else f"{source} {_content(source)}"
    own = (CACHE_FOLDER, _target()) if CACHE_FOLDER else None
    for folder, target in filter(None, (own, _shipped())):
        content = "; ".join([sys.implementation.cache_tag, target, stamp, *(str(one) for one in argument_types)])
        yield Path(folder) / f"{name.replace(':', '.')}.{hashlib.sha256(content.encode()).hexdigest()[:16]}.calls"


@functools.cache
def _content(source: str) -> str:
    return hashlib.sha256(Path(source).read_bytes()).hexdigest() if os.path.exists(source) else ""


def callees_of(call: Specialization) -> list[Specialization] | None:
    """Which lazy kernels some compiled code calls; None: it is not compiled."""
    for path in _note_files(call):
        with suppress(Exception):  # there is none, or it is damaged
            calls: list[Specialization] = pickle.loads(path.read_bytes())
            return calls
    return None


def note_compiled(call: Specialization, calls: list[Specialization]) -> None:
    """Say that code is compiled, and which lazy kernels it calls; other processes see it whole or not at all."""
    if not CACHE_FOLDER or READ_ONLY:
        return
    path = next(_note_files(call))
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
