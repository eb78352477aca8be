"""Types of named tuples that go by reference."""

from typing import NamedTuple

import numba
import numpy as np
import pytest

from sorosim.base.compiled.references import by_reference


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
