"""Compiled code: decorators for kernels, their cache on disk, and compilation ahead of its use in several processes."""

from sorosim.compiled.ahead import EVERY_PART, prepare, reporting
from sorosim.compiled.cache import CACHE_FOLDER
from sorosim.compiled.decorators import entry, kernel, kernel_apart, kernel_in_place, kernel_inside
from sorosim.compiled.references import by_reference

__all__ = [
    "CACHE_FOLDER", "EVERY_PART", "by_reference", "entry", "kernel", "kernel_apart", "kernel_in_place",
    "kernel_inside", "prepare", "reporting",
]  # fmt: skip
