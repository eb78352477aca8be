"""Types of named tuples that go by reference."""

import gc
import os
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from sorosim.base.compiled import by_reference, entry, kernel_in_place


@by_reference
class Pair(NamedTuple):
    one: np.ndarray
    two: np.ndarray


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [np.zeros(3), np.zeros((3, 2)), np.zeros(3, dtype=int), np.zeros(3, dtype=bool), np.zeros(3, dtype=complex),
     read_only(np.zeros(3))],
    ids=["1d", "2d", "int", "bool", "complex", "read-only"],
)  # fmt: skip
def test_fields_have_the_types_that_numba_gives_their_arrays(array):
    for _ in range(2):  # looked up the second time
        pair = numba.typeof(Pair(array, np.zeros(1)))
        assert pair.fields == (numba.typeof(array), numba.typeof(np.zeros(1)))
    assert numba.typeof(Pair(np.zeros(1), array)) is not numba.typeof(Pair(np.zeros((1, 1, 1)), array))


@pytest.mark.parametrize("array", [np.zeros((3, 2), order="F"), np.zeros((4, 4))[::2, ::2], np.zeros(4)[::2]])
def test_arrays_that_are_not_contiguous_are_refused(array):
    with pytest.raises(ValueError, match=r"Pair\.two is not contiguous"):
        Pair(np.zeros(1), array)
    with pytest.raises(ValueError, match=r"Pair\.one is not contiguous"):
        Pair(one=array, two=np.zeros(1))
    with pytest.raises(ValueError, match=r"Pair\.two is not contiguous"):
        Pair(np.zeros(1), np.zeros(1))._replace(two=array)


@kernel_in_place
def entry_of_one(pair, k):
    if k < 0:
        raise IndexError("no entry before the first")
    return pair.one[k]


@kernel_in_place
def entry_of_two(pair, k):
    return entry_of_one(pair, k) + pair.two[k]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
@pytest.mark.parametrize(
    "wrong",
    [Pair(np.arange(3, dtype=np.float32), np.arange(4.0)), Pair(np.arange(3.0), [1.0, 2.0]), (np.arange(3.0),), 3.0],
    ids=["single precision", "a list", "a short tuple", "no tuple"],
)
def test_what_is_no_such_record_is_refused_by_compiled_entries(wrong):
    pair = Pair(np.arange(3.0), np.arange(4.0))
    call = entry(entry_of_two, pair, 1)
    assert call(pair, 1) == 2.0
    with pytest.raises((TypeError, IndexError, SystemError)):
        call(wrong, 1)
    assert call(pair, 2) == 4.0


def test_calls_count_no_references_and_errors_of_callees_have_their_message():
    pair = Pair(np.arange(3.0), np.arange(4.0))
    before = sys.getrefcount(pair.one), sys.getrefcount(pair)
    for _ in range(10):
        assert entry_of_two(pair, 1) == 2.0
        with pytest.raises(IndexError, match="no entry before the first"):
            entry_of_two(pair, -1)
    assert (sys.getrefcount(pair.one), sys.getrefcount(pair)) == before


def test_garbage_is_collected_after_compilation_as_before():
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            assert entry_of_one(Pair(np.arange(3, dtype=[float, np.float32][enabled]), np.arange(4.0)), 1) == 1.0
            assert gc.isenabled() is enabled
        finally:
            gc.enable()
