"""Motions as functions of arrays, without PyTorch and JAX."""

import importlib
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sorosim
from sorosim.base.errors import InputError
from sorosim.connect.differentiable import motion_of_arrays

MASS, LENGTH = "links.bob.body.mass", "links.arm.body.cylinder.length"


def array(name, value):
    return np.asarray(value, dtype=float)


@pytest.mark.parametrize("processors", [1, 3])
def test_members_are_rollouts_of_their_own(rng, monkeypatch, processors):
    monkeypatch.setattr("sorosim.connect.differentiable.n_processors", lambda: processors)
    robot, u, masses = sorosim.load("pendulum"), np.zeros((2, 3, 5, 0)), 1.0 + rng.random((2, 3))
    q0, bars = rng.random(1), rng.standard_normal((2, 2, 3, 6, 1))
    motion, arguments, members = motion_of_arrays(
        robot, u, q0, {"arm": 0.2}, {MASS: masses, LENGTH: np.array(0.4)}, {"dt": 0.01, "t0": 0.0}, array
    )
    assert members == (2, 3)
    assert motion.own == {"u": (5, 0), "q0": (1,), f"numbers.{MASS}": (), f"numbers.{LENGTH}": ()}
    given = {name: np.broadcast_to(x, members + motion.own[name]) for name, x in arguments.items()}
    motions, (q, qd) = motion.move(given, by=motion.paths)
    by = motion.pull_back(motions, *bars)
    for i in np.ndindex(2, 3):
        heavier = robot.with_values({MASS: masses[i], LENGTH: 0.4})
        one = sorosim.rollout(heavier, u[i], 0.01, q0, {"arm": 0.2}, numbers=[MASS, LENGTH])
        assert_array_equal(q[i], one.q)
        assert_array_equal(qd[i], one.qd)
        cotangents = one.vjp(*bars[(slice(None), *i)])
        assert_array_equal(by["q0"][i], cotangents.q0)
        assert_array_equal([by[f"numbers.{name}"][i] for name in (MASS, LENGTH)], cotangents.numbers)
    assert by["u"].shape == u.shape


def test_numbers_that_are_only_set_need_no_derivative(rng):
    robot, young, length = sorosim.load("contact_cylinder"), "materials.silicone.young", "links.arm.rod.length"
    with pytest.raises(InputError, match="a scalar that changes no surface that touches"):
        sorosim.sensitivities(robot, [length])
    u, value = np.ones((3, len(robot.actuator_names))), sorosim.scalars(robot)[length]
    for given, by in (({young: np.array(1e6), length: np.array(value)}, [young]), ({young: 1e6, length: "50 cm"}, [])):
        motion, arguments, _ = motion_of_arrays(robot, u, None, None, given, {"dt": 0.005, "t0": 0.0}, array)
        assert [path for path in motion.paths if path in by] == by
        motions, (q, qd) = motion.move(arguments, by=by)
        found = motion.pull_back(motions, np.ones_like(q), np.ones_like(qd))
        assert set(found) == {"u", *(f"numbers.{path}" for path in by)}
        changed = robot.with_values({path: np.asarray(x)[()] if by else x for path, x in given.items()})
        assert_array_equal(q, sorosim.rollout(changed, u, 0.005).q)


@pytest.mark.parametrize("options", [{}, {"method": sorosim.GeneralizedAlpha(tolerance=1e-9)}, {"substeps": 2}])
def test_members_without_numbers_move_as_a_batch(rng, options):
    robot, u = sorosim.load("cable_manipulator"), rng.uniform(0.0, 0.5, (3, 4, 5))
    q0, bars = 0.01 * rng.standard_normal((3, robot.ndof)), rng.standard_normal((2, 3, 5, robot.ndof))
    motion, arguments, _ = motion_of_arrays(robot, u, q0, None, None, {"dt": 0.01, "t0": "0 s", **options}, array)
    motions, (q, qd) = motion.move(arguments)
    assert isinstance(motions, sorosim.BatchRollout)
    by = motion.pull_back(motions, *bars)
    for i in range(3):
        one = sorosim.rollout(robot, u[i], 0.01, q0[i], **options)
        assert_array_equal([q[i], qd[i]], [one.q, one.qd])
        cotangents = one.pull(*bars[:, i])
        assert_array_equal(by["u"][i], cotangents.u)
        assert_array_equal(by["q0"][i], cotangents.q0)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"sorosim.{name}", raising=False)
    with pytest.raises(ImportError, match=rf"the package {name}, got none .*; pip install 'sorosim\[{name}\]'"):
        importlib.import_module(f"sorosim.{name}")
