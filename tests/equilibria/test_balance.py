"""What statics returns is balanced in forces, whatever conditions of its loops depend on each other."""

import warnings

import numpy as np
import pytest

import sorosim
from sorosim.dynamics.constraints import IndependentRows
from sorosim.errors import ConvergenceError
from sorosim.io import load_text
from sorosim.kernels import evaluate as task


def held_rod(strain, joint):
    """A straight rod on a clamp, its other end held where it is, with a tendon beside its axis."""
    return sorosim.load({
        "sorosim": 1, "name": "held rod", "materials": {"m": {"young": 2e7, "poisson": 0.45, "density": 1000}},
        "links": {"a": {"rod": {"length": 0.3, "section": {"circle": {"radius": 0.01}}, "material": "m",
                                "strain": strain}}},
        "actuators": {"t": {"tendon": {"rod": "a", "y": 0.0, "z": 0.005}}},
        "loops": {"c": {"joint": joint, "from": "a", "to": {"link": "world", "at": {"as_built": True}}}},
    })  # fmt: skip


HINGE = {"revolute": {"axis": [0, 1, 0]}}


def left_over(eq):
    """Forces (n_free,) that springs, actuators, weight and the loops' multipliers leave, and the largest of them."""
    robot, zero = eq.robot, np.zeros(eq.robot.ndof)
    forces = robot.internal_force(eq.q, zero, u=eq.u) - robot.inverse_dynamics(eq.q, zero, qdd=zero)
    return (forces + robot.loop_rows(eq.q).A.T @ eq.lam)[np.asarray(eq.free)], np.abs(forces).max()


@pytest.mark.parametrize("joint", [HINGE, "fixed"], ids=["hinge", "clamp"])
@pytest.mark.parametrize("u", [0.0, 20.0])
def test_a_straight_rod_that_cannot_be_stretched_has_no_equilibrium_of_finite_forces_between_its_ends(joint, u):
    with pytest.raises(ConvergenceError, match=r"no finite force of 'c' balances.*elongation") as caught:
        sorosim.statics(held_rod({"bending": 3, "torsion": 1}, joint), u=[u])
    partial = caught.value.partial
    left, size = left_over(partial)
    assert np.abs(left).max() > 0.1 * size
    np.testing.assert_allclose(partial.residual_norm, np.abs(left).max(), rtol=1e-9)  # it is reported in forces


@pytest.mark.parametrize("u", [0.0, 20.0])
def test_the_same_rod_is_balanced_where_it_can_be_stretched_and_linearize_agrees(u):
    eq = sorosim.statics(held_rod({"bending": 3, "torsion": 1, "elongation": 1}, HINGE), u=[u])
    left, size = left_over(eq)
    assert np.abs(left).max() < 1e-9 * size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert eq.linearize().stable


BAR = "joint: {{revolute: {{axis: [0, 1, 0]}}}}, body: {{mass: 1 kg, centre: [{0}, 0, 0], inertia: [1e-3, 4e-3, 4e-3]}}"
PARALLELOGRAM = f"""sorosim: 1
name: parallelogram
links:
  a: {{{BAR.format(0.1)}, frames: {{end: {{position: [20 cm, 0, 0]}}}}}}
  b: {{parent: a, at: {{frame: end}}, {BAR.format(0.15)}}}
  c: {{at: {{position: [30 cm, 0, 0]}}, {BAR.format(0.1)}}}
loops:
  l: {{joint: {{revolute: {{axis: [0, 1, 0]}}}}, from: {{link: b, at: {{position: [30 cm, 0, 0]}}}}, to: {{link: c, at: {{position: [20 cm, 0, 0]}}}}}}
"""  # noqa: E501


@pytest.mark.parametrize("q0", [[0, 0, 0], [np.pi, -np.pi, np.pi], [-1.0, 1.0, -1.0]])
def test_a_parallelogram_hangs_also_from_a_flat_start_where_it_is_singular(q0):
    eq = sorosim.statics(load_text(PARALLELOGRAM, "parallelogram.yaml"), q0=q0)
    np.testing.assert_allclose(eq.q, [np.pi / 2, -np.pi / 2, np.pi / 2], atol=1e-9)
    left, size = left_over(eq)
    assert np.abs(left).max() < 1e-9 * size


@pytest.mark.parametrize("name", ["four_bar", "hybrid_parallel", "slider_crank"])
def test_equations_of_motion_and_statics_count_the_same_independent_conditions(name):
    robot = sorosim.load(name)
    q = sorosim.assemble(robot).q
    zero = np.zeros(robot.ndof)
    out = robot.engine.evaluate(task.FORWARD, q, zero, zero.copy(), robot.inputs(None))
    rows = robot.loop_rows(q)
    independent = IndependentRows(robot.engine, rows.A, rows.error)
    assert independent.rank == int(out.regularity[0]) == np.linalg.matrix_rank(rows.A, tol=1e-6)
    # motions that keep the loops closed, and the smallest multipliers, against singular values
    Z = independent.motions()
    assert Z.shape == (robot.ndof, robot.ndof - independent.rank)
    np.testing.assert_allclose(rows.A @ Z, 0.0, atol=1e-7 * np.abs(rows.A).max())
    size, forces = robot.engine.loops.row_scale, np.random.default_rng(0).normal(size=robot.ndof)
    smallest = size * (np.linalg.pinv((size[:, None] * rows.A).T, rcond=1e-7) @ forces)
    np.testing.assert_allclose(independent.multipliers(forces), smallest, rtol=1e-6, atol=1e-6 * np.abs(smallest).max())


def catheter(**changes):
    """A slender rod curved in its plane, pushed in that plane against its end."""
    return sorosim.load({
        "sorosim": 1, "name": "catheter", "gravity": [0, 0, 0],
        "materials": {"m": {"young": 1e6, "poisson": 0.45, "density": 1000, "damping": 1e4}},
        "links": {"a": {"rod": {"length": 0.3, "section": {"rectangle": {"y": 0.004, "z": 0.01}}, "material": "m",
                                "strain": {"bending": 4, "torsion": 3}}}},
        "loads": {"push": {"wrench": {"link": "a", "force": [0, 0, -0.3]}}},
        **changes,
    })  # fmt: skip


def test_statics_says_where_it_left_the_plane_in_which_a_motion_stays():
    eq = sorosim.statics(catheter())  # a strip on edge: it buckles sideways
    assert abs(eq.tip()[1]) > 0.01
    assert "it left the symmetry of the start along" in eq.message
    kept = sorosim.statics(catheter(), stable=False)
    assert abs(kept.tip()[1]) < 1e-6
    assert "symmetry" not in kept.message
    run = sorosim.simulate(catheter(), 0.05)
    assert np.abs(run.tip()[:, 1]).max() < 1e-6


def test_statics_says_nothing_of_symmetry_where_forces_lead():
    eq = sorosim.statics(catheter(loads={"push": {"wrench": {"link": "a", "force": [0, 0.05, -0.05]}}}))
    assert abs(eq.q[-1]) > 1e-4  # it twists, though nothing twists it at the start
    assert "symmetry" not in eq.message
