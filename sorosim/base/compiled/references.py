"""Named tuples of arrays, given to compiled code by reference."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, imputils, types
from numba.core.typing import templates
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.numpy_support import as_dtype

_WORD = ir.IntType(64)


class Reference(types.Type):
    """Type of a named tuple that compiled code gets as a pointer to its fields.

    numba passes tuples by value, field by field and array by array: some 900 words for one evaluation of a robot, in
    every call. By reference it is one word, and both the compiler and the call have less to do.
    """

    def __init__(self, cls: type, fields: tuple[Any, ...]) -> None:
        self.cls, self.fields = cls, fields
        content = "; ".join([cls.__module__, cls.__qualname__, *cls._fields, *map(str, fields)])  # type: ignore[attr-defined]
        super().__init__(f"{cls.__name__}.{hashlib.sha256(content.encode()).hexdigest()[:12]}")

    def field(self, name: str) -> int:
        """Index of a field."""
        return int(self.cls._fields.index(name))  # type: ignore[attr-defined]


def by_reference(cls: type) -> type:
    """Class decorator: compiled code gets named tuples of this class by reference. Their fields never change.

    Arrays are contiguous: code that is looked up once (`Engine.prepared`) would read others at wrong places.
    """
    typeof_impl.register(cls)(_typeof)
    new = cls.__new__

    def checked(kind: Any, *fields: Any, **named: Any) -> Any:
        made = new(kind, *fields, **named)
        for name, field in zip(made._fields, made, strict=True):
            if isinstance(field, np.ndarray) and not field.flags.c_contiguous:
                raise ValueError(f"{kind.__name__}.{name} is not contiguous")
        return made

    cls.__new__ = checked  # type: ignore[method-assign,assignment]
    cls._make = classmethod(lambda kind, fields: kind(*fields))  # type: ignore[attr-defined]  # of `_replace` too
    return cls


def _typeof(value: Any, context: Any) -> Reference:
    cls: Any = type(value)
    kinds = tuple([
        (field.dtype, field.ndim, field.flags.num) if isinstance(field, np.ndarray) else typeof_impl(field, context)
        for field in value
    ])  # fmt: skip
    found = _known.get((cls, kinds))
    if found is None:  # numba takes ten times as long to tell the type of an array
        found = _known[cls, kinds] = _reference(cls, tuple(typeof_impl(field, context) for field in value))
    return found


_known: dict[tuple[type, tuple[Any, ...]], Reference] = {}


@functools.cache
def _reference(cls: Any, fields: tuple[Any, ...]) -> Reference:
    return Reference(cls, fields)


@register_model(Reference)
class _ReferenceModel(models.StructModel):  # type: ignore[misc]
    """An argument is the address of the fields; a value the fields, loaded where a function begins, and the address.

    A field that is such a tuple itself stays an address until it is asked for.
    """

    def __init__(self, manager: Any, reference: Reference) -> None:
        members = [types.voidptr if isinstance(field, Reference) else field for field in reference.fields]
        named = zip(reference.cls._fields, members, strict=True)  # type: ignore[attr-defined]
        super().__init__(manager, reference, [*named, ("address", types.voidptr)])

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
            # the fields are constant while compiled code runs; only the content of the arrays changes
            field.set_metadata("invariant.load", builder.module.add_metadata([]))
            value = builder.insert_value(value, field, i)
        return builder.insert_value(value, address, len(self._models) - 1)


def _is_record(field: Any) -> bool:
    """Whether a field is one record: an array without dimensions, of which compiled code sees its only row."""
    return isinstance(field, types.Array) and field.ndim == 0 and isinstance(field.dtype, types.Record)


@templates.infer_getattr
class _ReferenceAttributes(templates.AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        if name not in reference.cls._fields:  # type: ignore[attr-defined]
            return None
        field = reference.fields[reference.field(name)]
        return field.dtype if _is_record(field) else field


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _get_field(context: Any, builder: Any, reference: Reference, value: Any, name: str) -> Any:
    index = reference.field(name)
    field, field_type = builder.extract_value(value, index), reference.fields[index]
    if isinstance(field_type, Reference):
        return context.data_model_manager[field_type].from_argument(builder, field)
    if _is_record(field_type):
        pointer = context.make_array(field_type)(context, builder, field).data
        return context.unpack_value(builder, field_type.dtype, pointer)
    return imputils.impl_ret_borrowed(context, builder, field_type, field)


@unbox(Reference)  # type: ignore[untyped-decorator]
def _unbox(reference: Reference, value: Any, c: Any) -> Any:
    model = c.context.data_model_manager[reference]
    room = cgutils.alloca_once(c.builder, model.room())
    failed = cgutils.false_bit
    cleanups = []
    for i, field in enumerate(reference.fields):
        place = cgutils.gep_inbounds(c.builder, room, 0, i)
        if isinstance(field, types.Array) and not c.context.enable_nrt:
            index = ir.Constant(_WORD, i)
            is_error = c.builder.call(
                _array_unboxer(field, c), [value, index, c.builder.bitcast(place, c.pyapi.voidptr)]
            )
        else:
            native = c.unbox(field, c.pyapi.tuple_getitem(value, i))
            is_error, stored = native.is_error, native.value
            if isinstance(field, Reference):
                stored = c.context.data_model_manager[field].as_argument(c.builder, stored)
            c.builder.store(stored, place)
            if native.cleanup is not None:
                cleanups.append(native.cleanup)
        failed = c.builder.or_(failed, is_error)

    def cleanup() -> None:
        for one in reversed(cleanups):
            one()

    # the compiler must not see that these are the stores above: loads of fields are invariant
    address = c.builder.bitcast(room, model.get_argument_type())
    same = ir.InlineAsm(ir.FunctionType(address.type, [address.type]), "", "=r,0,~{memory}", side_effect=True)
    fields = model.from_argument(c.builder, c.builder.call(same, [address]))
    return NativeValue(fields, is_error=failed, cleanup=cleanup if cleanups else None)


def _array_unboxer(array: Any, c: Any) -> Any:
    """A function (tuple, index, place): whether the array there could not be taken; one for all arrays of a shape.

    A robot has hundreds of arrays: numba's code for each of them, in line, is most of what entries take to compile.
    """
    name = f"sorosim.unbox.{array.ndim}.{as_dtype(array.dtype).itemsize}"
    pointer = c.pyapi.voidptr
    function_type = ir.FunctionType(ir.IntType(1), [c.pyapi.pyobj, _WORD, pointer])
    function = cgutils.get_or_insert_function(c.builder.module, function_type, name)
    if not function.blocks:
        function.linkage = "internal"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        inner = type(c)(c.context, builder, c.context.get_python_api(builder))
        value, index, place = function.args
        item = _tuple_item(inner.pyapi, value, index)
        with builder.if_then(cgutils.is_null(builder, item), likely=False):  # no tuple, or a shorter one
            builder.ret(cgutils.true_bit)
        native = inner.unbox(array, item)
        builder.store(native.value, builder.bitcast(place, native.value.type.as_pointer()))
        builder.ret(native.is_error)
    return function


def _tuple_item(api: Any, value: Any, index: Any) -> Any:
    """A borrowed reference."""
    item_type = ir.FunctionType(api.pyobj, [api.pyobj, api.py_ssize_t])
    return api.builder.call(api._get_function(item_type, name="PyTuple_GetItem"), [value, index])


# -- records -----------------------------------------------------------------------------------------------------------


def record(**fields: type | tuple[type, tuple[int, ...]]) -> Any:
    """Type of the rows of a table: fields by name, each a number or an array (type, shape); `row.name` is one of a row.

    Compiled code gets a row as a pointer; a field costs what an entry of an array does.
    """
    kinds = [(name, *kind) if isinstance(kind, tuple) else (name, kind) for name, kind in fields.items()]
    return np.dtype((np.record, np.dtype(kinds, align=True)))


def one_record(kind: Any, memory: Any = None) -> Any:
    """A record of its own, an array without dimensions: of zeros, or in that memory; fields are `record["name"]`."""
    out = np.zeros((), kind) if memory is None else memory.view(kind).reshape(())
    # uncompiled kernels read attributes, for which numpy takes twenty times as long
    return out.view(np.recarray) if numba.config.DISABLE_JIT else out


def table(kind: Any, rows: Any) -> Any:
    """A table (n,) of n rows: by name, or numbers in the order of the fields, which have one type."""
    rows = [[row[name] for name in kind.names] if isinstance(row, dict) else row for row in rows]
    base = kind[0].base
    return np.array(rows, dtype=base).reshape(-1, kind.itemsize // base.itemsize).view(kind).reshape(-1)


# -- records at addresses ----------------------------------------------------------------------------------------------


class Pinned:
    """A named tuple of arrays in memory as compiled code sees it, at an address, for as long as this object lives."""

    def __init__(self, record: Any) -> None:
        self.record = record
        self.address: int
        self._nested = [Pinned(part) for part in record if isinstance(part, tuple)]
        nested = iter(self._nested)
        words: list[int] = []
        for part in record:
            if isinstance(part, tuple):
                words.append(next(nested).address)
            else:  # as numba's array: two words for counting references, which nobody does here
                words += [0, 0, part.size, part.itemsize, part.ctypes.data, *part.shape, *part.strides]
        self._words = np.array(words, dtype=np.int64)
        self.address = int(self._words.ctypes.data)


def digest(record: Any) -> bytes:
    """A digest of the arrays of a named tuple: the same for the same bits, in other processes, too."""
    out = hashlib.sha256()
    for part in record:
        if isinstance(part, tuple):
            out.update(digest(part))
        else:
            out.update(f"{part.dtype.str}{part.shape}".encode() + part.tobytes())
    return out.digest()


@intrinsic  # type: ignore[untyped-decorator]
def record_at(typing_context: Any, address: Any, like: Any) -> Any:
    """The record of a `Pinned` by its address; like: any record of the same type."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = builder.inttoptr(values[0], ir.IntType(8).as_pointer())
        return context.data_model_manager[like].from_argument(builder, pointer)

    return like(types.int64, like), generate


@intrinsic  # type: ignore[untyped-decorator]
def fetch_and_add(typing_context: Any, counters: Any, index: Any, amount: Any) -> Any:
    """Add to one of integers (n,) that threads share; returns what it was."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        place = builder.gep(array.data, [values[1]])
        return builder.atomic_rmw("add", place, values[2], "seq_cst")

    return types.int64(counters, types.int64, types.int64), generate
