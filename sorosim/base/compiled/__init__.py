"""Compiled code: decorators for kernels, their cache on disk, and compilation ahead of its use in several processes."""

from sorosim.base.compiled.ahead import ALL_FEATURES, n_processors, prepare, reporting, working_time
from sorosim.base.compiled.cache import CACHE_FOLDER, PORTABLE, portable_environment
from sorosim.base.compiled.callbacks import Callback, call_python
from sorosim.base.compiled.decorators import OfFirstTypes, entry, kernel, kernel_in_place, kernel_inline, kernel_lazy
from sorosim.base.compiled.references import (
    Pinned,
    by_reference,
    digest,
    fetch_and_add,
    one_record,
    record,
    record_at,
    table,
)

__all__ = [
    "ALL_FEATURES",
    "CACHE_FOLDER",
    "PORTABLE",
    "Callback",
    "OfFirstTypes",
    "Pinned",
    "by_reference",
    "call_python",
    "digest",
    "entry",
    "fetch_and_add",
    "kernel",
    "kernel_in_place",
    "kernel_inline",
    "kernel_lazy",
    "n_processors",
    "one_record",
    "portable_environment",
    "prepare",
    "record",
    "record_at",
    "reporting",
    "table",
    "working_time",
]  # fmt: skip
