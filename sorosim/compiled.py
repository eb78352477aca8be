"""The one decorator behind every compiled function.

numba does not notice that a cached caller's callee, in another file, has changed. So the cache lives in a folder
whose name is a digest of all sources that hold compiled code: after any edit the folder is a new one.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import hashlib
import importlib
import inspect
import os
import pickle
import shutil
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir
from numba.core import cgutils, imputils, types
from numba.core.typing import templates
from numba.extending import (
    NativeValue,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

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
        return _recording(numba.njit(**options)(function))
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


# -- kernels that are compiled apart --------------------------------------------------------------------------------


class ApartKernel:
    """A kernel that is compiled on its own, and called by its address.

    numba takes the code of a callee into its callers and optimises it there anew. A kernel apart is compiled once, when
    it is first needed: its address is looked up at the first call, by `_address_of`, so callers neither wait for it nor
    contain it, and processes compile many at once (`sorosim.compilation`).
    """

    def __init__(self, function: Callable[..., Any], part: str) -> None:
        functools.update_wrapper(self, function)
        self.dispatcher, self.part = _compiled(function, _nrt=False), part
        self.name = f"{function.__module__}:{function.__qualname__}"
        returned = str(inspect.get_annotations(function).get("return", None))
        self.returns = {"None": types.none, "int": types.int64, "bool": types.boolean, "float": types.float64}[returned]

        def resolve(context: Any, *arguments: Any) -> Any:
            return self._resolve(arguments)

        signature = inspect.signature(function)  # numba asks for it, to pass arguments by name
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_ONLY)
        own = [one.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for one in signature.parameters.values()]
        resolve.__signature__ = signature.replace(parameters=[context, *own])  # type: ignore[attr-defined]
        template = templates.make_intrinsic_template(self, resolve, function.__name__)
        templates.infer(template)
        templates.infer_global(self, types.Function(template))
        self._numba_type_ = types.Function(template)

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    def compile(self, kinds: tuple[Any, ...]) -> Any:
        """Compile for arguments of these types; returns the compiled function."""
        entry_point = self.dispatcher.compile(kinds)
        declared, returned = self.returns, self.dispatcher.overloads[kinds].signature.return_type
        if returned != declared:
            raise TypeError(f"{self.name} is declared to return {declared}, and returns {returned}")
        return entry_point

    def address(self, kinds: tuple[Any, ...]) -> int:
        """Address of the native code for arguments of these types."""
        self.compile(kinds)
        compiled = self.dispatcher.overloads[kinds]
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))

    def _resolve(self, arguments: tuple[Any, ...]) -> Any:
        """Type a call, and generate it: through an address that is looked up at the first call."""
        kinds = tuple(types.unliteral(one) for one in arguments)
        signature = self.returns(*kinds)
        call = pickle.dumps((self.name, kinds))

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            _note_call((self.name, kinds))
            function_type = context.call_conv.get_function_type(signature.return_type, signature.args)
            word = ir.IntType(64)
            slot = cgutils.add_global_variable(builder.module, word, f"address.{self.__name__}")
            slot.linkage, slot.initializer = "internal", ir.Constant(word, 0)
            known = builder.load(slot)
            address = cgutils.alloca_once_value(builder, known)
            with builder.if_then(builder.icmp_unsigned("==", known, ir.Constant(word, 0)), likely=False):
                text = context.insert_const_bytes(builder.module, call)
                lookup_type = ir.FunctionType(word, [text.type, word])
                lookup = cgutils.get_or_insert_function(builder.module, lookup_type, _LOOKUP)
                found = builder.call(lookup, [text, ir.Constant(word, len(call))])
                builder.store(found, slot)
                builder.store(found, address)
            callee = builder.inttoptr(builder.load(address), function_type.as_pointer())
            status, result = context.call_conv.call_function(
                builder, callee, signature.return_type, signature.args, values
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return signature, generate


def kernel_apart(part: str = "") -> Callable[[Callable[..., Any]], Any]:
    """As `kernel_in_place`, compiled apart from its callers, when it is first needed.

    Its return annotation declares what it returns: None, int, bool or float.

    Parameters
    ----------
    part : str
        The part of a robot that needs it, such as "loops"; empty: every robot. It only says what is worth compiling
        ahead.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        return function if numba.config.DISABLE_JIT else ApartKernel(function, part)

    return decorate


def find_kernel(name: str) -> ApartKernel:
    """The kernel apart of a name, module:function."""
    module, function = name.split(":")
    kernel: ApartKernel = getattr(importlib.import_module(module), function)
    return kernel


_LOOKUP = "sorosim_address_of"


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
def _address_of(text: int, size: int) -> int:
    """Address of a kernel apart, for compiled code that calls it for the first time."""
    name, kinds = pickle.loads(ctypes.string_at(text, size))
    interrupted = False
    while True:
        try:
            address = find_kernel(name).address(kinds)
            break
        except KeyboardInterrupt:  # compiled code cannot go on without the address: be interrupted after it
            interrupted = True
        except BaseException:
            traceback.print_exc()
            os.abort()
    if interrupted:
        _thread.interrupt_main()
    return address


llvm.add_symbol(_LOOKUP, ctypes.cast(_address_of, ctypes.c_void_p).value)


# -- which kernels apart a kernel calls --------------------------------------------------------------------------------

Call = tuple[str, tuple[Any, ...]]  # name of a kernel apart, and types of arguments
_local = threading.local()  # .calls: those of the kernel that this thread compiles


def _note_call(call: Call) -> None:
    calls = getattr(_local, "calls", None)
    if calls is not None and call not in calls:
        calls.append(call)


def _calls_file(dispatcher: Any, kinds: tuple[Any, ...]) -> Path:
    digest = hashlib.sha256("; ".join(str(kind) for kind in kinds).encode()).hexdigest()[:16]
    function = dispatcher.py_func
    return Path(CACHE_FOLDER) / f"{function.__module__}.{function.__qualname__}.{digest}.calls"


def calls_of(dispatcher: Any, kinds: tuple[Any, ...]) -> list[Call]:
    """Calls of kernels apart in compiled code, as noted when it was compiled."""
    try:
        calls: list[Call] = pickle.loads(_calls_file(dispatcher, kinds).read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError):
        return []
    return calls


def _recording(dispatcher: Any) -> Any:
    """Note which kernels apart the compiled code calls, beside it on disk; and take no types of single values.

    numba compiles a function anew for f(0), f(1) and f(i).
    """
    if not hasattr(dispatcher, "compile"):  # not compiled at all
        return dispatcher
    compile_once, known = dispatcher.compile, {}

    def compile_recorded(kinds: Any) -> Any:
        if not isinstance(kinds, tuple):
            return compile_once(kinds)
        kinds = kinds if os.environ.get("LIT") else tuple(types.unliteral(kind) for kind in kinds)
        if kinds not in known:
            before, _local.calls = getattr(_local, "calls", None), []
            misses = sum(dispatcher.stats.cache_misses.values())
            try:
                compile_once(kinds)
                if sum(dispatcher.stats.cache_misses.values()) == misses:  # it was on disk
                    known[kinds] = calls_of(dispatcher, kinds)
                else:
                    known[kinds] = _local.calls
                    if _local.calls and CACHE_FOLDER:
                        write_whole(_calls_file(dispatcher, kinds), pickle.dumps(_local.calls))
            finally:
                _local.calls = before
        for call in known[kinds]:
            _note_call(call)
        return compile_once(kinds)

    dispatcher.compile = compile_recorded
    return dispatcher


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that other processes see whole or not at all; not being able to is no error."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)


# -- named tuples by reference -----------------------------------------------------------------------------------------


class Reference(types.Type):  # type: ignore[misc]
    """Type of a named tuple that compiled code gets as a pointer to its fields.

    numba passes tuples by value, field by field and array by array: some 900 words for one evaluation of a robot, in
    every call. By reference it is one word, and both the compiler and the call have less to do.
    """

    def __init__(self, cls: type, fields: tuple[Any, ...]) -> None:
        self.cls, self.fields = cls, fields
        content = "; ".join(str(field) for field in fields)
        super().__init__(f"{cls.__name__}.{hashlib.sha256(content.encode()).hexdigest()[:12]}")

    def field(self, name: str) -> int:
        """Index of a field."""
        return int(self.cls._fields.index(name))  # type: ignore[attr-defined]


def by_reference(cls: type) -> type:
    """Class decorator: compiled code gets named tuples of this class by reference. Their fields never change."""
    typeof_impl.register(cls)(_typeof)
    return cls


def _typeof(value: Any, context: Any) -> Reference:
    return _reference(type(value), tuple(typeof_impl(field, context) for field in value))


@functools.cache
def _reference(cls: type, fields: tuple[Any, ...]) -> Reference:
    return Reference(cls, fields)


@register_model(Reference)
class _ReferenceModel(models.StructModel):  # type: ignore[misc]
    """As an argument: the address of the fields. As a value: the fields, loaded where a function begins, and the address.

    A field that is such a tuple itself stays an address until it is asked for.
    """

    def __init__(self, manager: Any, kind: Reference) -> None:
        members = [types.voidptr if isinstance(field, Reference) else field for field in kind.fields]
        super().__init__(manager, kind, [*zip(kind.cls._fields, members, strict=True), ("address", types.voidptr)])  # type: ignore[attr-defined]

    def room(self) -> Any:
        """Type of the fields in memory."""
        return ir.LiteralStructType([model.get_value_type() for model in self._models[:-1]])

    def get_argument_type(self) -> Any:
        return self._models[-1].get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        return builder.extract_value(value, len(self._models) - 1)

    def from_argument(self, builder: Any, address: Any) -> Any:
        fields = builder.bitcast(address, self.room().as_pointer())
        value = ir.Constant(self.get_value_type(), ir.Undefined)
        for i in range(len(self._models) - 1):
            field = builder.load(cgutils.gep_inbounds(builder, fields, 0, i))
            # what the fields are never changes while compiled code runs, only what the arrays hold
            field.set_metadata("invariant.load", builder.module.add_metadata([]))
            value = builder.insert_value(value, field, i)
        return builder.insert_value(value, address, len(self._models) - 1)


@templates.infer_getattr
class _ReferenceAttributes(templates.AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:
        return kind.fields[kind.field(name)] if name in kind.cls._fields else None  # type: ignore[attr-defined]


@lower_getattr_generic(Reference)
def _get_field(context: Any, builder: Any, kind: Reference, value: Any, name: str) -> Any:
    index = kind.field(name)
    field, field_kind = builder.extract_value(value, index), kind.fields[index]
    if isinstance(field_kind, Reference):
        return context.data_model_manager[field_kind].from_argument(builder, field)
    return imputils.impl_ret_borrowed(context, builder, field_kind, field)


@unbox(Reference)
def _unbox(kind: Reference, value: Any, c: Any) -> Any:
    model = c.context.data_model_manager[kind]
    room = cgutils.alloca_once(c.builder, model.room())
    natives = [c.unbox(field, c.pyapi.tuple_getitem(value, i)) for i, field in enumerate(kind.fields)]
    failed = cgutils.false_bit
    for i, (field, native) in enumerate(zip(kind.fields, natives, strict=True)):
        stored = native.value
        if isinstance(field, Reference):
            stored = c.context.data_model_manager[field].as_argument(c.builder, stored)
        c.builder.store(stored, cgutils.gep_inbounds(c.builder, room, 0, i))
        failed = c.builder.or_(failed, native.is_error)
    cleanups = [native.cleanup for native in natives if native.cleanup is not None]

    def cleanup() -> None:
        for one in reversed(cleanups):
            one()

    # the compiler must not see that these are the stores above: loads of fields are invariant
    address = c.builder.bitcast(room, model.get_argument_type())
    same = ir.InlineAsm(ir.FunctionType(address.type, [address.type]), "", "=r,0,~{memory}", side_effect=True)
    fields = model.from_argument(c.builder, c.builder.call(same, [address]))
    return NativeValue(fields, is_error=failed, cleanup=cleanup if cleanups else None)
