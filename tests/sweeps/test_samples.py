"""Points of sweeps and the order in which they are visited, against what they are by definition."""

import inspect
import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import qmc

from sorosim.studies.sweeps import samples
from sorosim.studies.sweeps.samples import visiting_order


def steps(values, order):
    """By how much each parameter changes from point to point."""
    return np.abs(np.diff(values[order], axis=0))


def test_a_grid_has_every_combination_in_the_order_of_arrays():
    axes = {"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0], "c": [5.0, 6.0]}
    found = samples.grid(axes)
    assert found.shape == (3, 2, 2)
    assert [tuple(found.row(i).values()) for i in range(len(found))] == list(itertools.product(*axes.values()))
    cube = np.arange(12).reshape(found.shape)
    assert found.row(int(cube[2, 0, 1])) == {"a": 4.0, "b": 0.0, "c": 6.0}


@pytest.mark.parametrize("shape", [(1,), (5,), (3, 4), (2, 3, 4), (4, 1, 3), (2, 2, 2, 3)])
def test_grids_are_visited_by_single_steps(shape):
    found = samples.grid({f"p{k}": list(map(float, range(n))) for k, n in enumerate(shape)})
    order = visiting_order(found, [], 7)
    assert sorted(order) == list(range(len(found)))
    # one parameter changes, to the value beside
    assert (steps(found.values, order).sum(axis=1) == 1.0).all()


def test_slow_parameters_change_as_seldom_as_they_can():
    found = samples.grid({"fast": list(map(float, range(6))), "slow": [0.0, 1.0, 2.0], "last": [0.0, 1.0]})
    order = visiting_order(found, ["slow"], 50)
    changes = (steps(found.values, order) > 0).sum(axis=0)
    assert changes[1] == 2
    assert (steps(found.values, order).sum(axis=1) == 1.0).all()


@pytest.mark.parametrize("n", [1, 2, 49, 50, 51, 333])
def test_scattered_points_are_visited_once_and_cells_are_blocks(n):
    found = samples.uniform({"a": (0.0, 1.0), "b": (-1e6, 1e6)}, n, 3)
    order = visiting_order(found, [], 50)
    assert sorted(order) == list(range(n))
    if n > 100:
        scaled = found.values / np.ptp(found.values, axis=0)
        blocks = [scaled[order[k : k + 50]] for k in range(0, n, 50)]
        # a cell of 50 out of 333 points covers about 0.15 of the square, its box no more than twice that
        assert all(np.prod(np.ptp(block, axis=0)) < 0.3 for block in blocks)
        way = np.linalg.norm(np.diff(scaled[order], axis=0), axis=1).sum()
        # the mean distance of random points in a square is 0.52; that of the nearest neighbour 0.5/sqrt(n)
        assert way < 2.0 * 0.5 * np.sqrt(n) + 7 * 1.5


def test_chains_go_to_the_nearest_point_that_is_left():
    found = samples.uniform({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}, 60, 8)
    order = list(visiting_order(found, [], 60))
    assert order[0] == 0
    for k in range(59):
        distances = np.linalg.norm(found.values[order[k + 1 :]] - found.values[order[k]], axis=1)
        assert np.argmin(distances) == 0
    # of two that are as near, that with the lower number; points may coincide
    twins = samples.listed(["a"], [[x] for x in (0.0, 1.0, -1.0, 1.0, 0.0)])
    assert list(visiting_order(replace(twins, ordered=False), [], 5)) == [0, 4, 1, 3, 2]


@pytest.mark.parametrize("name", ["rng", "seed"])
@pytest.mark.parametrize("sampler", [samples.latin_hypercube, samples.sobol])
def test_samplers_are_seeded_by_the_name_that_scipy_knows(monkeypatch, sampler, name):
    """scipy called it `seed` up to 1.14, and still takes it, with a warning one day."""
    bounds = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    real, wanted = (qmc.LatinHypercube, qmc.Sobol), sampler(bounds, 16, 5).values
    argument = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"
    # what each of the two kinds of scipy looks like from outside
    fakes = [eval(f"lambda d, *, {name}=None: kind(d, {argument}={name})", {"kind": kind}) for kind in real]
    monkeypatch.setattr(qmc, "LatinHypercube", fakes[0])
    monkeypatch.setattr(qmc, "Sobol", fakes[1])
    assert np.array_equal(sampler(bounds, 16, 5).values, wanted)


def test_samples_lie_inside_their_bounds_and_repeat_with_their_seed():
    bounds = {"a": (-2.0, 3.0), "b": (10.0, 10.5)}
    for sampler in (samples.uniform, samples.latin_hypercube, samples.sobol):
        found, again, other = (sampler(bounds, 64, seed) for seed in (5, 5, 6))
        assert len(found) == 64
        assert np.array_equal(found.values, again.values)
        assert not np.array_equal(found.values, other.values)
        for column, (low, high) in zip(found.values.T, bounds.values(), strict=True):
            assert low <= column.min() <= column.max() <= high


def test_latin_hypercubes_have_one_point_in_every_slice():
    found = samples.latin_hypercube({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}, 40, 0)
    for column in found.values.T:
        assert sorted(np.floor(40 * column).astype(int)) == list(range(40))


def test_sobol_points_are_balanced_in_every_elementary_box():
    """A digital net in two dimensions: of 64 points each box of 1/8 x 1/8 has one."""
    found = samples.sobol({"a": (0.0, 1.0), "b": (0.0, 1.0)}, 64, 2)
    boxes = set(map(tuple, np.floor(8 * found.values).astype(int)))
    assert len(boxes) == 64
    assert np.array_equal(samples.sobol({"a": (0.0, 1.0), "b": (0.0, 1.0)}, 50, 2).values, found.values[:50])


def test_paths_meet_their_corners_and_are_straight_between():
    found = samples.path({"a": [0.0, 0.3, 0.3], "b": [1.0, 1.0, 0.1]}, 7)
    assert len(found) == 15
    assert np.array_equal(found.values[[0, 7, 14]], [[0.0, 1.0], [0.3, 1.0], [0.3, 0.1]])
    assert np.allclose(np.diff(found.values[:8, 0]), 0.3 / 7, rtol=0, atol=1e-15)
    assert np.array_equal(visiting_order(found, ["b"], 3), np.arange(15))


def test_words_count_in_the_order_in_which_they_come():
    found = samples.listed(["what", "size"], [["wood", 1.0], ["rubber", 2.0], ["wood", 3.0]])
    assert np.array_equal(found.values, [[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]])
    assert found.row(1) == {"what": "rubber", "size": 2.0}
