"""What LLVM does with kernels: code that only other kernels call is neither optimised as a whole nor made machine code.

numba optimises every function with all that it calls, and makes machine code of it, although callers take its code in
and optimise it there anew. Here a callee stays LLVM's intermediate code, simplified function by function; a root (a
lazy kernel, or an entry) is optimised once, with all that it calls.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.environment import lookup_environment

from sorosim.base.compiled.cache import KernelCache


class _Complete(JITCodeLibrary):  # type: ignore[misc]
    """Code of a function and of all that it calls."""

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:  # of callees, which had no address before
            environment = lookup_environment(variable.name)
            if environment is not None:
                self._codegen.set_env(variable.name, environment)


class _Root(_Complete):
    """Code of a kernel and of all that it calls."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout  # the passes over the whole module do more than those left out

    def _optimize_final_module(self) -> None:
        # once: numba's cheap passes before serve to take out counts of references, of which kernels have none
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _NoAddresses:
    """Stands for numba's code generator where a callee would get an environment."""

    def __init__(self, codegen: Any) -> None:
        self.codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Leave it to the roots."""


class _Callee(JITCodeLibrary):  # type: ignore[misc]
    """Intermediate code of a kernel that kernels call; it has no address."""

    @property
    def codegen(self) -> Any:
        return _NoAddresses(self._codegen)

    def _optimize_final_module(self) -> None:
        """Leave it to the roots."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        return self.name, self._get_module_for_linking().as_bitcode()

    @classmethod
    def restored(cls, codegen: Any, serialized: tuple[str, bytes]) -> _Callee:
        """That of `serialize_using_object_code`, in another process."""
        library = cls(codegen, serialized[0])
        library._final_module = library._shared_module = llvm.parse_bitcode(serialized[1])
        library._finalize_final_module()
        return library


class _CalleeCache(KernelCache):
    """Intermediate code on disk, for processes that compile other roots."""

    class _impl_class(KernelCache._impl_class):
        def rebuild(self, target_context: Any, payload: Any) -> Any:
            serialized, descriptor, environment, signature, *_, annotation, reload_init, environments = payload
            for function in reload_init:
                function()
            library = _Callee.restored(target_context.codegen(), serialized)
            return compiler.CompileResult(
                target_context=target_context, typing_context=target_context.typing_context, library=library,
                environment=environment, entry_point=target_context.get_executable(library, descriptor, environment),
                fndesc=descriptor, type_annotation=annotation, signature=signature, objectmode=False, lifted=(),
                typing_error=None, call_helper=None, metadata=None, reload_init=reload_init,
                referenced_envs=environments,
            )  # fmt: skip


def _compiler_of(library: type[JITCodeLibrary]) -> type[compiler.Compiler]:
    class Compiler(compiler.Compiler):  # type: ignore[misc]
        def define_pipelines(self) -> Any:
            self.state.library = library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
            return super().define_pipelines()

    return Compiler


# values of `pipeline_class` of numba.njit; FUNCTION: for what numba compiles as it always does
ROOT, CALLEE, FUNCTION = _compiler_of(_Root), _compiler_of(_Callee), _compiler_of(_Complete)


def dispatcher_of(function: Any, **options: Any) -> Any:
    """numba's dispatcher of a function, with its code kept on disk."""
    dispatcher = numba.njit(**options)(function)
    if hasattr(dispatcher, "compile"):  # compiled at all
        dispatcher._cache = (_CalleeCache if options.get("pipeline_class") is CALLEE else KernelCache)(function)
    return dispatcher
