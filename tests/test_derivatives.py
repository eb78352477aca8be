"""Every public derivative of every bundled robot by every kind of number, against differences; see helpers."""

import numpy as np
import pytest
import yaml
from helpers.derivatives import SHOWS, Cell, Refused, matrix, softness

import sorosim
from sorosim.files import bundled_robots

FAST = ("pendulum", "double_pendulum", "four_bar", "slider_crank", "puma560", "cable_manipulator")
# the bound of a difference leaves out values that are small because large ones cancel, and of motions that steps hand
# the rounding of accelerations on over h^2 (docs/theory.md, 14); what it estimates was off by 3 at most
LEFT_OUT, LEFT_OUT_OF_MOTIONS, PARTS = 1e-8, 1e-5, 5.0


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in FAST)) for n in bundled_robots()]
)
def test_every_derivative_of_a_robot_by_every_kind_of_number(name):
    cells = list(matrix([name]))
    compared = [one for one in cells if isinstance(one, Cell)]
    for one in compared:
        moves = one.route.startswith(("rollout", "Stepper"))
        assert one.error <= PARTS * one.bound + (LEFT_OUT_OF_MOTIONS if moves else LEFT_OUT), one
    bounds = np.array([one.bound for one in compared if one.bound < 1.0])  # in the others there is nothing but rounding
    assert np.median(bounds) <= 1e-2 * SHOWS
    assert (bounds <= SHOWS).mean() >= 0.75
    assert {one.why for one in cells if isinstance(one, Refused) and not one.declared} == set()


def test_rates_that_a_loop_gives_to_a_start_change_with_numbers_and_inputs():
    """The crank of a four-bar turns at 45 rad/s where it rests: what the other joints do there is up to its shape."""
    document = yaml.safe_load(sorosim.load("four_bar").to_yaml())
    document["actuators"] = {"motor": {"joint": {"link": "rocker"}}}
    robot, u, names = sorosim.load(document), np.full((4, 1), 0.5), ["gravity[0]", "parameters.long"]
    names = [name for name in names if name in sorosim.scalars(robot)] + ["links.rocker.at.position[0]"]

    def ends(x, u=u):
        other = robot.with_values(x) if x else robot
        motion = sorosim.rollout(other, u, "5 ms", "equilibrium")
        return np.concatenate([motion.qd[0] / 45.0, motion.q[-1]])

    found = sorosim.rollout(robot, u, "5 ms", "equilibrium", numbers=names)
    for i, name in enumerate(names):
        value, h = sorosim.scalars(robot)[name], 1e-5
        exact = found.jvp(numbers=np.eye(len(names))[i])
        numeric = (ends({name: value + h}) - ends({name: value - h})) / (2.0 * h)
        both = np.concatenate([exact.qd[0] / 45.0, exact.q[-1]])
        assert both == pytest.approx(numeric, rel=1e-6, abs=1e-6 * np.abs(numeric).max())
        assert found.vjp(qd_bar=np.eye(5, 1) * np.ones(3)).numbers[i] == pytest.approx(exact.qd[0].sum(), rel=1e-9)
    du = np.eye(4, 1)
    numeric = (ends({}, u + 1e-4 * du) - ends({}, u - 1e-4 * du)) / 2e-4
    exact = found.jvp(du)
    assert np.concatenate([exact.qd[0] / 45.0, exact.q[-1]]) == pytest.approx(numeric, rel=1e-6)


def test_how_the_base_of_a_robot_is_turned_changes_no_force_where_there_is_no_gravity():
    """The derivative is zero, of which a difference shows its own rounding only: by that they agree to no digit."""
    robot, path, rng = sorosim.load("concentric_tubes"), "links.robot.at.rotation.axis[0]", np.random.default_rng(0)
    size = 0.05 * softness(robot)
    size[list(robot.engine.insertions)] = 0.0
    q, qd, qdd = np.array([robot.initial_q, robot.initial_qd, 0.0 * size]) + rng.normal(size=(3, robot.ndof)) * size
    exact = sorosim.sensitivities(robot, [path]).inverse_dynamics(q, qd, qdd=qdd)
    turned = [robot.with_values({path: x}).inverse_dynamics(q, qd, qdd=qdd) for x in (0.0, 0.3)]
    rounding = 1e-14 * np.abs(turned).max()
    assert np.abs(exact).max() <= rounding
    assert np.abs(turned[1] - turned[0]).max() <= rounding
    assert np.abs(turned).max() > 0.0


HINGED = """
sorosim: 1
materials: {m: {young: 20 MPa, poisson: 0.45, density: 1000, damping: 200 kPa*s}}
links:
  a: {rod: {length: 0.3, section: {circle: {radius: 1 cm}}, material: m, strain: {bending: 3, elongation: 1}}}
actuators: {mo: {moment: {rod: a, bending_z: 0.3}}}
loops: {c: {joint: {revolute: {axis: [0, 1, 0]}}, from: a, to: {link: world, at: {as_built: true}}}}
"""


@pytest.mark.parametrize("method", ["generalized-alpha", "newmark", "euler"])
def test_rows_of_a_loop_that_depend_on_each_other_at_the_start_only(method, tmp_path):
    """Of a straight rod one row is idle; as soon as the rod is bent it counts, in motions and in their derivatives."""
    (tmp_path / "hinged.yaml").write_text(HINGED)
    robot, rng = sorosim.load(tmp_path / "hinged.yaml"), np.random.default_rng(0)
    u, du = np.ones((12, 1)), rng.standard_normal((12, 1))
    bar = rng.standard_normal((13, robot.ndof))

    def total(u):
        return float((bar * sorosim.rollout(robot, u, "5 ms", substeps=2, method=method).q).sum())

    motion = sorosim.rollout(robot, u, "5 ms", substeps=2, method=method)
    # the median: which rows count at the start may be decided otherwise for one of them
    numeric = np.median([(total(u + h * du) - total(u - h * du)) / (2 * h) for h in (3e-2, 1e-2, 3e-3)])
    assert (motion.vjp(bar).u * du).sum() == pytest.approx(numeric, rel=1e-4)
    assert (bar * motion.jvp(du).q).sum() == pytest.approx(numeric, rel=1e-4)


def test_steps_are_linearised_with_the_rows_that_they_had(tmp_path):
    (tmp_path / "hinged.yaml").write_text(HINGED)
    stepper = sorosim.Stepper(sorosim.load(tmp_path / "hinged.yaml"), "5 ms", substeps=2, tolerance=1e-12)
    stepper.reset()
    for _ in range(6):
        stepper.step([1.0])
    before = stepper.state
    stepper.step([1.1])
    exact = stepper.linearize()[1][:, 0]

    def end(u):
        stepper.state = before
        after = stepper.step([u])
        return np.concatenate([after.q, after.qd])

    numeric = (end(1.1 + 1e-3) - end(1.1 - 1e-3)) / 2e-3
    assert exact == pytest.approx(numeric, abs=1e-4 * np.abs(numeric).max())
