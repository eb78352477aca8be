"""The one decorator behind every compiled function.

numba does not notice that a cached caller's callee, in another file, has changed. So the cache lives in a folder
whose name is a digest of all sources that hold compiled code: after any edit the folder is a new one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic, overload

_PACKAGE = Path(__file__).parent
_MARK = b"@kernel"  # what compiled sources have in common
_KEPT_CACHES = 8


def _digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(_PACKAGE.rglob("*.py")):
        content = source.read_bytes()
        if _MARK in content or source.parent.name in ("kernels", "lie"):  # constants count as well
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


def kernel_inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel_in_place`, always compiled into its callers: for short steps in loops, that are given many arrays.

    A call hands every array over by value, some eight words each; for a tree and its workspace that is a hundred words.
    """
    return _compiled(function, _nrt=False, forceinline=True)


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


def pointer_to(function: Callable[..., Any], *examples: Any) -> Any:
    """What `call_at` needs to call a kernel for arguments of the types of the examples; it must return an integer.

    Compiled code is optimised anew inside every caller; code that is called by its address is not.
    """
    if not hasattr(function, "compile"):  # not compiled at all
        return function
    types = tuple(numba.typeof(x) for x in examples)
    function.compile(types)
    found = function.overloads[types]._asdict()  # type: ignore[attr-defined]  # numba's
    address = found["library"].get_pointer_to_function(found["fndesc"].llvm_cfunc_wrapper_name)
    return address, _key_of(types)


def _key_of(types: Iterable[Any]) -> int:
    """A number that differs where the types of arguments do."""
    text = "; ".join(str(numba.types.unliteral(one)) for one in types)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


WRONG_TYPES = -1_000_000


def call_at(pointer: Any, arguments: tuple[Any, ...]) -> int:
    """Call a kernel by its address; WRONG_TYPES if the arguments have other types than it was compiled for."""
    result: int = pointer(*arguments)  # where nothing is compiled
    return result


@intrinsic  # type: ignore[untyped-decorator]
def _call_at(context: Any, address: Any, arguments: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = [numba.types.unliteral(one) for one in arguments.types]
        given = [
            context.cast(builder, builder.extract_value(values[1], i), one, kind)
            for i, (one, kind) in enumerate(zip(arguments.types, kinds, strict=True))
        ]
        value_types = [context.get_value_type(kind) for kind in kinds]
        kind = ir.FunctionType(context.get_value_type(numba.types.int64), value_types)
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), given)

    return numba.types.int64(address, arguments), generate


@overload(call_at)  # type: ignore[untyped-decorator]
def _compiled_call_at(pointer: Any, arguments: Any) -> Any:
    key = _key_of(arguments.types)

    def call(pointer: Any, arguments: Any) -> Any:
        return _call_at(pointer[0], arguments) if pointer[1] == key else WRONG_TYPES

    return call
