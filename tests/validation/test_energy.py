"""Energy: kept without damping, and otherwise changed by exactly what actuators, loads, joints and dampers do."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.differences import slope
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose
from validation.builders import cantilever, pendulum, tip_load

from sorosim.analysis.motion.simulate import simulate
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.robot import Robot

GRAVITY = (0.0, 0.0, -9.81)
PLANAR = Strain(bending_y=3)
SPATIAL = Strain(torsion=1, bending=2, elongation=0, shear=0)


def silicone(**damping):
    return Material(1e6, poisson=0.5, density=1000.0, **damping)


def swinging(varying=PLANAR, hinge=True, **damping):
    """A rod of 50 cm that falls from the horizontal, on a hinge or clamped."""
    joint = Joint("revolute", axis=(0.0, 1.0, 0.0)) if hinge else Joint()
    return cantilever(varying, material=silicone(**damping), gravity=GRAVITY, joint=joint)


def drift(run):
    """Largest change of energy over the largest kinetic energy."""
    energy = run.energy()
    assert energy.kinetic.max() > 1e-3
    return np.abs(energy.total - energy.total[0]).max() / energy.kinetic.max()


# -- kept


@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("method", ["bdf", "cvode"])
def test_undamped_rod_that_swings_under_gravity_keeps_its_energy_to_the_tolerance(method, rtol):
    # thousands of steps to follow the fast bending waves keep the error of the slow swing below what one step may have
    run = simulate(swinging(), 1.0, dt_out=0.02, method=method, rtol=rtol, atol=1e-3 * rtol)
    found = drift(run)
    print(f"drift of energy, {method}, rtol {rtol:.0e}: {found:.1e} of the kinetic energy")
    assert found < rtol


@pytest.mark.parametrize("method", ["radau", "lsoda"])
def test_other_integrators_keep_it_too(method):
    assert drift(simulate(swinging(), 0.5, dt_out=0.02, method=method, rtol=1e-5, atol=1e-8)) < 2e-5


def test_a_rod_that_may_do_everything_keeps_its_energy_in_space():
    rod = swinging(SPATIAL)
    rates = 0.5 * np.random.default_rng(3).normal(size=rod.ndof) * np.where(np.arange(rod.ndof) < 9, 3.0, 0.1)
    run = simulate(rod, 0.2, dt_out=0.01, qd0=rates, method="cvode", rtol=1e-5, atol=1e-8)
    assert drift(run) < 1e-5
    # tension of nothing does no work, and nothing is dissipated
    energy = run.energy()
    assert_allclose(energy.work, 0.0, atol=1e-15)
    assert_allclose(energy.dissipated, 0.0, atol=1e-15)


@pytest.mark.parametrize("method", ["bdf", "cvode"])
def test_pendulum_keeps_its_energy_in_proportion_to_the_tolerance(method):
    # one slow motion only: errors of the 60 to 300 steps add up
    found = [
        drift(simulate(pendulum(), 2.0, dt_out=0.02, method=method, rtol=r, atol=1e-3 * r)) for r in (1e-4, 1e-6, 1e-8)
    ]
    assert all(error < 50.0 * rtol for error, rtol in zip(found, (1e-4, 1e-6, 1e-8), strict=True))


# -- the power, at one moment


DAMPERS = {
    "viscosity": {"damping": 3e3},
    "stiffness": {"stiffness_damping": 2e-3},
    "mass": {"mass_damping": 1.5},
    "all": {"damping": 1e3, "stiffness_damping": 1e-3, "mass_damping": 0.7},
}


def rate_of_energy(robot, q, qd, qdd):
    """dE/dt along q(t) by sixth-order differences; accelerations reach 1e6, hence the small step."""
    return float(slope(lambda h: robot.energy(q + h * qd + 0.5 * h**2 * qdd, qd + h * qdd).total, 2e-6))


def moving(robot, rng):
    q, qd = rng.normal(size=(2, robot.ndof)) * np.where(["[" in n for n in robot.coordinate_names], 0.05, 1.0)
    return q, 3.0 * qd


@pytest.mark.parametrize("kind", DAMPERS)
def test_energy_falls_at_the_power_of_the_dampers(rng, kind):
    rod = swinging(SPATIAL, **DAMPERS[kind])
    free = swinging(SPATIAL)
    q, qd = moving(rod, rng)
    # generalised forces of the dampers, by comparison of the two rods
    D = -rod.internal_force_derivatives(q, qd).dtau_dqd
    mass_damping = DAMPERS[kind].get("mass_damping", 0.0)
    lost = qd @ D @ qd + mass_damping * qd @ rod.mass_matrix(q) @ qd
    assert lost > 0.0
    found = rate_of_energy(rod, q, qd, rod.forward_dynamics(q, qd))
    scale = np.abs(qd * rod.internal_force(q, qd)).sum() + lost  # energy rushes between its kinds
    assert abs(found + lost) < 1e-9 * scale
    assert abs(rate_of_energy(free, q, qd, free.forward_dynamics(q, qd))) < 1e-9 * scale


def test_material_damping_has_three_times_the_viscosity_in_bending_and_stretch():
    # theory.md 6: eta diag(J, 3 I, 3 I, 3 A, A, A) beside diag(G J, E I, E I, E A, G A, G A)
    rod = swinging(SPATIAL, hinge=False, damping=3e3)
    d = rod.internal_force_derivatives(np.zeros(rod.ndof), np.zeros(rod.ndof))
    ratio = np.diag(d.dtau_dqd) / np.diag(d.dtau_dq)
    angular_and_long = ["torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z"]
    expected = dict(zip(angular_and_long, [3e3 / (1e6 / 3.0), *[9e3 / 1e6] * 3, *[3e3 / (1e6 / 3.0)] * 2], strict=True))
    assert_allclose(ratio, [expected[name.split(".")[1].split("[")[0]] for name in rod.coordinate_names], rtol=1e-12)


def test_stiffness_damping_is_a_multiple_of_the_stiffness_and_mass_damping_of_the_mass(rng):
    rod = swinging(SPATIAL, hinge=False, stiffness_damping=2e-3, mass_damping=1.5)
    q, qd = moving(rod, rng)
    d = rod.internal_force_derivatives(q, qd)
    assert_allclose(d.dtau_dqd, 2e-3 * d.dtau_dq, rtol=0, atol=1e-12 * np.abs(d.dtau_dq).max())
    plain = swinging(SPATIAL, hinge=False)
    extra = rod.inverse_dynamics(q, qd, qdd=0 * q) - plain.inverse_dynamics(q, qd, qdd=0 * q)
    expected = 1.5 * rod.mass_matrix(q) @ qd
    assert_allclose(extra, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_tendons_feed_in_tension_times_the_rate_at_which_they_shorten(rng):
    arm = cable_manipulator(damping=0.0)
    q, qd = moving(arm, rng)
    u = rng.uniform(1.0, 10.0, 5)
    lengths = slope(lambda h: np.array(list(arm.tendon_lengths(q + h * qd).values())), 1e-4)
    found = rate_of_energy(arm, q, qd, arm.forward_dynamics(q, qd, u=u))
    scale = np.abs(qd * arm.internal_force(q, qd, u=u)).sum()
    assert abs(found + u @ lengths) < 1e-9 * scale


# -- the balance of a run


def worst_balance(run):
    """Largest miss of the balance over the largest energy that was moved."""
    energy = run.energy()
    size = max(np.abs(energy.work).max(), np.abs(energy.dissipated).max(), energy.kinetic.max())
    return np.abs(energy.balance).max() / size


def manipulator_run(rtol, dt_out=2e-3, method="cvode"):
    """The manipulator pulled by three cables from its equilibrium, with the damping of silicone.

    A sudden start would be over within microseconds, unseen by the output times over which work and losses are summed.
    """
    u = {"cable1": "5*(1-cos(6*pi*t))", "cable2": "20*t**3", "cable4": "4*(1-cos(4*pi*t))"}
    return simulate(
        cable_manipulator(), 0.5, dt_out=dt_out, u=u, q0="equilibrium", method=method, rtol=rtol, atol=1e-3 * rtol
    )


@pytest.mark.parametrize("method", ["bdf", "cvode"])
def test_balance_of_the_manipulator_shrinks_with_the_tolerance(method):
    found = [worst_balance(manipulator_run(rtol, method=method)) for rtol in (1e-3, 1e-5, 1e-7)]
    print(f"energy balance of the manipulator, {method}, rtol 1e-3, 1e-5, 1e-7:", " ".join(f"{x:.1e}" for x in found))
    # five times the worst, 1.4 rtol: the error of the integration, with its quadrature as small
    assert all(balance < 7.0 * rtol for balance, rtol in zip(found, (1e-3, 1e-5, 1e-7), strict=True))
    assert all(fine < coarse / 5.0 for coarse, fine in pairwise(found))
    energy = manipulator_run(1e-5).energy()
    assert energy.work[-1] > 0.1 * np.abs(energy.gravity).max()
    assert (np.diff(energy.dissipated) > -1e-9).all()


@pytest.mark.parametrize("rtol", [1e-3, 1e-7])
@pytest.mark.parametrize("method", ["bdf", "cvode", "radau", "lsoda"])
def test_work_and_dissipation_by_steps_are_those_of_fine_output_times(method, rtol):
    """The integral by the ends or stages of steps is as accurate as the states: 0.33 rtol off at worst, of bdf."""
    by_steps = manipulator_run(rtol, 2.5e-4, method)
    by_rows = replace(by_steps, exchanged=None).energy()
    size = by_steps.energy().kinetic.max() + np.abs(by_steps.energy().work).max()
    for name in ("work", "dissipated"):
        off = getattr(by_steps.energy(), name) - getattr(by_rows, name)
        assert np.abs(off).max() < 1.7 * rtol * size


@pytest.mark.parametrize("method", ["bdf", "radau", "lsoda"])
def test_work_and_dissipation_do_not_depend_on_the_output_times(method):
    fine, coarse = (manipulator_run(1e-4, dt, method=method).energy() for dt in (2e-3, 0.5))
    assert fine.work[-1] == coarse.work[-1] != 0.0
    assert fine.dissipated[-1] == coarse.dissipated[-1] > 0.0


def test_a_run_without_sums_by_steps_has_them_by_simpsons_rule():
    # as files of older versions, or runs that were not simulated; the integration itself leaves 1e-8
    runs = [manipulator_run(1e-8, dt) for dt in (2e-2, 1e-2, 5e-3)]
    found = [worst_balance(replace(run, exchanged=None)) for run in runs]
    print("energy balance of the manipulator, dt_out 20, 10, 5 ms:", " ".join(f"{x:.1e}" for x in found))
    assert found[-1] < 5e-6
    assert all(fine < coarse / 12.0 for coarse, fine in pairwise(found))


@pytest.mark.parametrize("kind", DAMPERS)
def test_balance_holds_for_every_kind_of_damping(kind):
    run = simulate(swinging(**DAMPERS[kind]), 0.4, dt_out=5e-4, method="cvode", rtol=1e-7, atol=1e-10)
    energy = run.energy()
    assert (energy.dissipated - energy.work)[-1] > 3e-3 * energy.kinetic.max()
    assert worst_balance(run) < 2e-6


def test_what_mass_damping_takes_is_dissipated_and_no_work():
    energy = simulate(swinging(mass_damping=1.5), 0.1, dt_out=1e-3, method="cvode").energy()
    assert_allclose(energy.work, 0.0, atol=1e-12)
    assert energy.dissipated[-1] > 0.0


def test_balance_holds_for_loads_that_follow_the_rod_and_loads_that_do_not():
    loads = {
        "follower": Wrench("arm", 1.0, moment=(0, 0.01, 0), force=(0, 0, 0.3), frame="body"),
        "dead": Wrench("arm", 0.6, moment=(0.005, 0, 0), force=(0, 0.2, 0)),
    }
    rod = swinging(SPATIAL, hinge=False, damping=3e3).with_loads(**loads)
    run = simulate(rod, 0.3, dt_out=1e-3, method="cvode", rtol=1e-7, atol=1e-10)
    energy = run.energy()
    assert np.abs(energy.work).max() > 0.05 * np.abs(energy.gravity).max()
    assert worst_balance(run) < 1e-5
    # the work of a dead force is force times displacement of its point
    only = swinging(hinge=False, damping=3e3).with_loads(tip=tip_load(force=(0.0, 0.0, 0.5)))
    run = simulate(only, 0.3, dt_out=1e-3, method="cvode", rtol=1e-7, atol=1e-10)
    # Simpson's rule over the sudden start
    assert_allclose(
        run.energy().work, 0.5 * (run.tip()[:, 2] - run.tip()[0, 2]), atol=3e-6 * np.abs(run.energy().work).max()
    )


def test_a_driven_joint_does_the_work_of_its_moment():
    rod = swinging(damping=3e3)
    run = simulate(rod, 0.6, dt_out=1e-3, driven={"arm": "0.8*sin(6*t)"}, method="cvode", rtol=1e-7, atol=1e-10)
    assert_allclose(run.q[:, 0], 0.8 * np.sin(6.0 * run.t), atol=1e-15)
    energy = run.energy()
    assert np.abs(energy.work).max() > 0.05
    assert worst_balance(run) < 1e-5


def test_a_driven_base_feeds_a_tree_with_joint_dampers_and_rigid_links():
    rod = cantilever(PLANAR, material=silicone(damping=1e3)).links[0].body
    body = RigidBody(0.2, centre=(0.05, 0.0, 0.0), inertia=(1e-3, 1e-3, 1e-3))
    tilt = np.eye(4)
    tilt[:3, 3] = [0.1, 0.0, 0.0]
    hinge = Joint("revolute", axis=(0.0, 1.0, 0.0), damping=0.02, stiffness=0.5)
    links = (
        Link("base", RigidBody(1.0, inertia=(0.01, 0.01, 0.01)), joint=Joint("prismatic", axis=(1.0, 0.0, 0.0))),
        Link("arm", rod, parent="base", joint=hinge, at=tilt),
        Link("hammer", body, parent="arm", joint=hinge),
        Link("side", body, parent="arm", joint=Joint("helical", axis=(0.0, 0.0, 1.0), pitch=0.01, damping=0.01), s=0.5),
    )
    robot = Robot(Description("tree", links))
    run = simulate(robot, 0.6, dt_out=1e-3, driven={"base": "0.1*sin(8*t)"}, method="cvode", rtol=1e-7, atol=1e-10)
    energy = run.energy()
    assert np.abs(energy.work).max() > 0.05
    assert energy.dissipated[-1] > 1e-3
    assert worst_balance(run) < 1e-5
