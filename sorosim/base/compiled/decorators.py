"""The decorators behind every compiled function."""

from __future__ import annotations

import _thread
import ast
import ctypes
import functools
import gc
import importlib
import inspect
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numba
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.types.misc import unliteral
from numba.core.typing import templates

from sorosim.base.compiled.cache import Specialization, callees_of, file_lock, note_compiled
from sorosim.base.compiled.libraries import CALLEE, FUNCTION, ROOT, dispatcher_of


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with numba: cached on disk, GIL released, IEEE division; NaN and infinity keep their meaning."""
    return _compiled(function, pipeline_class=FUNCTION)


def kernel_in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel`, for functions that only write into their arguments; allocating in one is an error of compilation.

    numba then does not count references to views of arrays, which otherwise takes most of the time of short functions.
    """
    return _of_kernels(function)


def kernel_inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel_in_place`, always compiled into its callers: for short steps in loops, that are given many arrays.

    A call hands every array over by value, some eight words each; for a tree and its workspace that is a hundred words.
    """
    return _of_kernels(function, forceinline=True)


def _compiled(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    """numba's dispatcher for a function, with the options that all have.

    No fastmath: the linker may take a callee's code from this function or from another one that was loaded before;
    only strict arithmetic gives the same bits whichever it is, and runs then repeat in any process.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    dispatcher: Callable[..., Any] = _recording(dispatcher_of(function, **options | more))
    return dispatcher


def _of_kernels(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    return function if numba.config.DISABLE_JIT else Kernel(function, **more)


class Kernel:
    """A kernel that kernels call. Python calls it through an entry, which is compiled when it is first needed.

    Entries unpack all arrays of a robot: one for each kernel, as numba has it, took a third of the time of compilation.
    """

    def __init__(self, function: Callable[..., Any], role: Any = CALLEE, **more: Any) -> None:
        functools.update_wrapper(self, function)
        without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self.dispatcher: Any = _compiled(function, _nrt=False, pipeline_class=role, **without, **more)
        self._numba_type_: Any = types.Dispatcher(self.dispatcher)

    @functools.cached_property
    def entry(self) -> Any:
        """What Python calls: a function of the same arguments that calls the kernel."""
        function: Any = self.__wrapped__  # type: ignore[attr-defined]
        code, name = function.__code__, f"{function.__name__}_entry"
        arguments = ", ".join(inspect.signature(function).parameters)
        lines = ast.parse(f"def {name}({arguments}):\n    return kernel({arguments})")
        scope: dict[str, Any] = {"__name__": function.__module__, "kernel": self}
        # numba keeps its code beside that of the kernel, under this name
        exec(compile(ast.increment_lineno(lines, code.co_firstlineno - 1), code.co_filename, "exec"), scope)
        scope[name].__qualname__ = f"{function.__qualname__}_entry"
        return _compiled(scope[name], _nrt=False, pipeline_class=ROOT)

    def __call__(self, *arguments: Any) -> Any:
        return self.entry(*arguments)

    def compile(self, argument_types: tuple[Any, ...]) -> Any:
        """Compile kernel and entry for arguments of these types; returns what Python calls."""
        return self.entry.compile(argument_types)


def entry(function: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """The compiled code of a kernel for arguments of the types of the examples.

    It saves the look-up of types at every call (6 us for 36 arrays), and all checks with it: arguments must have just
    these types, and be contiguous.
    """
    if not hasattr(function, "compile"):  # not compiled at all
        return function
    compiled: Callable[..., Any] = function.compile(tuple(numba.typeof(x) for x in examples))
    return compiled


class OfFirstTypes:
    """A kernel whose calls all have arguments of the types of the first one: see `entry`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self.compiled is None:
            self.compiled = entry(self.function, *arguments)
        return self.compiled(*arguments)


# -- kernels that are compiled lazily ----------------------------------------------------------------------------------


RETURNS = {"None": types.none, "int": types.int64, "bool": types.boolean, "float": types.float64}  # by annotation


class LazyKernel(Kernel):
    """A kernel that is compiled on its own, and called by its address.

    numba takes the code of a callee into its callers and optimises it there anew. A lazy kernel is compiled once, when
    it is first needed: its address is looked up at the first call, by `_address_of`, so callers neither wait for it nor
    contain it, and processes compile many at once (`sorosim.base.compiled.ahead`).
    """

    def __init__(self, function: Callable[..., Any], feature: str) -> None:
        super().__init__(function, ROOT)
        self.feature = feature
        self.name = f"{function.__module__}:{function.__qualname__}"
        annotation = inspect.get_annotations(function).get("return")
        self.returns = RETURNS[getattr(annotation, "__name__", str(annotation))]

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

    def compile(self, argument_types: tuple[Any, ...]) -> Any:
        """Compile kernel and entry for arguments of these types; returns what Python calls."""
        self.compile_code(argument_types)
        return super().compile(argument_types)

    def compile_code(self, argument_types: tuple[Any, ...]) -> None:
        """Compile for arguments of these types, without an entry."""
        self.dispatcher.compile(argument_types)
        declared, returned = self.returns, self.dispatcher.overloads[argument_types].signature.return_type
        if returned != declared:
            raise TypeError(f"{self.name} is declared to return {declared}, and returns {returned}")

    def address(self, argument_types: tuple[Any, ...]) -> int:
        """Address of the native code for arguments of these types."""
        self.compile_code(argument_types)
        compiled = self.dispatcher.overloads[argument_types]
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))

    def _resolve(self, arguments: tuple[Any, ...]) -> Any:
        """Type a call, and generate it: through an address that is looked up at the first call."""
        argument_types = tuple(unliteral(one) for one in arguments)
        signature = self.returns(*argument_types)
        call = pickle.dumps((self.name, argument_types))

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            _note_call((self.name, argument_types))
            function_type = context.call_conv.get_function_type(signature.return_type, signature.args)
            word = ir.IntType(64)
            slot = cgutils.add_global_variable(builder.module, word, f"address.{self.name}")
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
                with builder.if_then(builder.icmp_unsigned("==", found, ir.Constant(word, 0)), likely=False):
                    message = f"{self.name}: cannot be compiled for these arguments, see the error above"
                    context.call_conv.return_user_exc(builder, TypeError, (message,))
            callee = builder.inttoptr(builder.load(address), function_type.as_pointer())
            status, result = context.call_conv.call_function(
                builder, callee, signature.return_type, signature.args, values
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return signature, generate


def kernel_lazy(feature: str = "") -> Callable[[Callable[..., Any]], Any]:
    """As `kernel_in_place`, compiled on its own when it is first needed, and called by its address.

    Its return annotation declares what it returns: None, int, bool or float.

    Parameters
    ----------
    feature : str
        What a robot has that needs it, such as "loops"; empty: every robot needs it. It only says what is worth
        compiling ahead.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        return function if numba.config.DISABLE_JIT else LazyKernel(function, feature)

    return decorate


def find_kernel(name: str) -> LazyKernel:
    """The lazy kernel of a name, module:function."""
    module, function = name.split(":")
    kernel: LazyKernel = getattr(importlib.import_module(module), function)
    return kernel


_LOOKUP = "sorosim_address_of"


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)  # type: ignore[untyped-decorator]
def _address_of(text: int, size: int) -> int:
    """Address of a lazy kernel, for compiled code that calls it for the first time; 0: it cannot be compiled."""
    name, argument_types = pickle.loads(ctypes.string_at(text, size))
    interrupted = False
    while True:
        try:
            address = find_kernel(name).address(argument_types)
            break
        except KeyboardInterrupt:  # compiled code needs the address: raise the interrupt after it
            interrupted = True
        except Exception:
            traceback.print_exc()
            return 0
    if interrupted:
        _thread.interrupt_main()
    return address


llvm.add_symbol(_LOOKUP, ctypes.cast(_address_of, ctypes.c_void_p).value)


# -- which lazy kernels a kernel calls ---------------------------------------------------------------------------------

_local = threading.local()  # .calls: those of the kernel that this thread compiles


def _note_call(call: Specialization) -> None:
    calls = getattr(_local, "calls", None)
    if calls is not None and call not in calls:
        calls.append(call)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """numba makes millions of small objects that are no garbage: a tenth of the time is saved."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _recording(dispatcher: Any) -> Any:
    """Compile each function once, whichever process does, and note which lazy kernels it calls.

    It takes no types of single values: numba compiles a function anew for f(0), f(1) and f(i).
    """
    if not hasattr(dispatcher, "compile"):  # not compiled at all
        return dispatcher
    compile_once, known = dispatcher.compile, {}
    save, load = dispatcher._cache.save_overload, dispatcher._cache.load_overload
    name = f"{dispatcher.py_func.__module__}:{dispatcher.py_func.__qualname__}"

    def save_noted(argument_types: tuple[Any, ...], compiled: Any) -> None:
        # first: a note without code is made good, code without a note not
        note_compiled((name, argument_types), _local.calls)
        try:
            save(argument_types, compiled)
        except Exception:  # a damaged index is replaced; on a full or read-only disk the code is compiled, not cached
            with suppress(Exception):
                dispatcher._cache.flush()
                save(argument_types, compiled)

    def load_noted(argument_types: tuple[Any, ...], context: Any) -> Any:
        try:
            return load(argument_types, context) if callees_of((name, argument_types)) is not None else None
        except Exception:  # damaged
            return None

    def compile_here(argument_types: tuple[Any, ...]) -> list[Specialization]:
        before, _local.calls = getattr(_local, "calls", None), []
        try:
            with _no_garbage_collection():
                compile_once(argument_types)
            noted = callees_of((name, argument_types))
            return _local.calls if noted is None else noted
        finally:
            _local.calls = before

    def compile_recorded(argument_types: Any) -> Any:
        if not isinstance(argument_types, tuple):
            return compile_once(argument_types)
        argument_types = tuple(unliteral(one) for one in argument_types)
        if argument_types not in known:
            # in this order: whoever waits for another process has numba's lock, and no thread waits for that one
            new = callees_of((name, argument_types)) is None
            with global_compiler_lock, file_lock(name.replace(":", ".")) if new else nullcontext():
                known[argument_types] = compile_here(argument_types)
        for call in known[argument_types]:
            _note_call(call)
        return compile_once(argument_types)

    dispatcher.compile = compile_recorded
    dispatcher._cache.save_overload, dispatcher._cache.load_overload = save_noted, load_noted
    return dispatcher
