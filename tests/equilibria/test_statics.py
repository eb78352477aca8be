"""statics and simulate: defaults, starts, driven joints, events, failures, and what they refuse."""

import numpy as np
import pytest
from helpers.robots import cable_manipulator

import sorosim
from sorosim.analysis.motion.integration import output_times
from sorosim.base.errors import ConvergenceError, InputError, ModelError
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle

ARM = cable_manipulator()
RUBBER = Material(2e6, poisson=0.45, density=1100.0, damping=2e3)


def swing(**description):
    """A rigid arm on a revolute joint about y that carries a soft rod at its end."""
    offset = np.eye(4)
    offset[0, 3] = 0.2
    arm = RigidBody(0.5, centre=(0.1, 0.0, 0.0), inertia=(1e-4, 2e-3, 2e-3))
    rod = Rod(Division(0.3, Circle([0.008, 0.004]), RUBBER, Strain(bending=2)))
    links = (
        Link("arm", arm, joint=Joint("revolute", axis=(0, 1, 0), damping=1e-3)),
        Link("rod", rod, parent="arm", at=offset),
    )
    return sorosim.Robot(Description("swing", links, **description))


SWING = swing()
FREE_FALL = sorosim.Robot(
    Description("bob", (Link("bob", RigidBody(2.0, inertia=(0.1, 0.1, 0.1)), joint=Joint("prismatic")),))
)


def test_output_times_are_multiples_and_the_end():
    assert np.array_equal(output_times(1.0, 0.25), [0, 0.25, 0.5, 0.75, 1.0])
    assert np.allclose(output_times(1.0, 0.3), [0, 0.3, 0.6, 0.9, 1.0], rtol=0, atol=1e-15)
    assert np.array_equal(output_times(0.1, 1.0), [0, 0.1])
    assert len(output_times(10.0, 0.01)) == 1001
    assert output_times(0.3, 0.1)[-1] == 0.3


def test_what_is_not_given_comes_from_the_description():
    block = {"t_end": 0.3, "dt_out": 0.1, "method": "cvode", "rtol": 1e-5, "atol": 1e-7}
    run = sorosim.simulate(swing(simulate=block, initial={"arm.revolute": 0.4}))
    assert np.allclose(run.t, [0, 0.1, 0.2, 0.3])
    assert run.q[0, 0] == 0.4
    assert {name: run.options[name] for name in block} == block
    same = sorosim.simulate(SWING, 0.3, dt_out=0.1, q0=run.q[0], method="cvode", rtol=1e-5, atol=1e-7)
    assert np.array_equal(run.q, same.q)
    over = sorosim.simulate(swing(simulate=block), t_end=0.2)
    assert over.t[-1] == 0.2


def test_from_equilibrium_nothing_moves():
    u = {"cable1": 8.0, "cable5": 3.0}
    run = sorosim.simulate(ARM, 0.5, dt_out=0.1, u=u, q0="equilibrium")
    assert np.array_equal(run.q[0], sorosim.statics(ARM, u).q)
    assert np.abs(run.q - run.q[0]).max() < 1e-13  # rounding: there is nothing to integrate


@pytest.mark.parametrize(
    ("method", "option", "message"),
    [
        (
            "bdf",
            {"step": 0.01},
            "step: expected an option of method bdf (rtol, atol, max_step, closing_time, jacobian), got one of newmark "
            "and generalized-alpha",
        ),
        (
            "newmark",
            {"spectral_radius": 0.5},
            "spectral_radius: expected an option of method newmark (rtol, atol, max_step, step, projection), "
            "got one of generalized-alpha",
        ),
        (
            "ida",
            {"projection": True},
            "projection: expected an option of method ida (rtol, atol, max_step), got one of newmark and "
            "generalized-alpha",
        ),
    ],
)
def test_options_that_a_method_does_not_have_are_refused(method, option, message):
    with pytest.raises(sorosim.InputError) as caught:
        sorosim.simulate(swing(), 0.02, method=method, **option)
    assert str(caught.value) == message


def test_options_of_the_file_that_its_own_method_does_not_have_are_told():
    with pytest.warns(sorosim.SorosimWarning, match="method bdf has no step and leaves it out"):
        sorosim.simulate(swing(simulate={"step": 0.01, "t_end": 0.02}))


def test_options_of_the_file_are_for_the_methods_that_have_them(recwarn):
    sorosim.simulate(swing(simulate={"step": 0.01, "t_end": 0.02}), method="bdf")
    sorosim.simulate(swing(), 0.02, method="generalized-alpha", step=0.01, spectral_radius=0.5, projection=True)
    sorosim.simulate(swing(), 0.02, method="bdf", projection=False)
    assert not [one for one in recwarn if issubclass(one.category, sorosim.SorosimWarning)]


def test_a_run_may_start_from_an_equilibrium_that_was_found():
    robot = cable_manipulator()
    eq = sorosim.statics(robot, {"cable1": 5.0})
    run = sorosim.simulate(robot, 0.05, u={"cable1": 5.0}, q0=eq)
    np.testing.assert_array_equal(run.q, sorosim.simulate(robot, 0.05, u={"cable1": 5.0}, q0=eq.q).q)


def test_difference_jacobian_gives_the_same_motion_and_equilibrium():
    u = [10.0, 0, 5.0, 0, 0]
    fine = {"rtol": 1e-7, "atol": 1e-9}
    a = sorosim.simulate(ARM, 0.3, u=u, **fine)
    b = sorosim.simulate(ARM, 0.3, u=u, jacobian="finite-difference", **fine)
    assert np.abs(a.tip() - b.tip()).max() < 1e-6  # both are good to about 10 tolerances x 0.5 m
    assert a.stats["n_rhs"] < b.stats["n_rhs"] + 48 * b.stats["n_jacobian"]
    x, y = sorosim.statics(ARM, u), sorosim.statics(ARM, u, jacobian="finite-difference")
    assert np.abs(x.q - y.q).max() < 1e-11
    assert x.n_evaluations < y.n_evaluations


def test_a_pull_beyond_all_digits_is_no_equilibrium():
    # hybr goes to coordinates of 1e29, where any residual is rounding
    with pytest.raises(ConvergenceError, match="look at the units of inputs and loads"):
        sorosim.statics(ARM, [1e30, 0, 0, 0, 0])


def test_what_floats_rests_where_it_is():
    vehicle = sorosim.load("underwater_vehicle")
    rest = sorosim.statics(vehicle)
    assert np.abs(rest.q).max() < 1e-7  # m, rad: nothing holds the vehicle but its digits, sqrt(eps) = 1.5e-8
    weight = 9.81 * vehicle.engine.gravitational_inertia[:, 3, 3].sum()
    assert rest.residual_norm < 1e-14 * weight  # what cancels is the buoyancy of all parts
    heavier = sorosim.load("underwater_vehicle", set={"links.body.body.density": "1000.001 kg/m^3"})
    with pytest.raises(ConvergenceError, match="nothing holds it along 'body"):  # that is no rounding
        sorosim.statics(heavier)


def test_driven_joint_moves_as_told_and_its_moment_is_that_of_inverse_dynamics():
    run = sorosim.simulate(SWING, 1.0, dt_out=0.05, driven={"arm": "0.5*sin(3*t)^2"}, rtol=1e-9, atol=1e-11, dense=True)
    assert np.allclose(run.q[:, 0], 0.5 * np.sin(3 * run.t) ** 2, rtol=0, atol=1e-15)
    assert np.allclose(run.qd[:, 0], 1.5 * np.sin(6 * run.t), rtol=0, atol=1e-14)
    # the same moment by inverse dynamics, with accelerations from differences of the dense output
    h = 1e-4
    for k in (5, 12):
        t = run.t[k]
        qdd = (run.at(t + h)[1] - run.at(t - h)[1]) / (2 * h)
        tau = SWING.inverse_dynamics(run.q[k], run.qd[k], qdd=qdd) - SWING.internal_force(run.q[k], run.qd[k])
        assert run.driven["arm"][k] == pytest.approx(tau[0], rel=2e-5)  # truncation of the difference, h^2 omega^2
        assert np.abs(tau[1:]).max() < 1e-4 * np.abs(tau[0])


def test_applying_the_moment_of_a_driven_joint_repeats_its_motion():
    # a joint spring so strong that its rest value is the motion would be another way; here: power balance
    run = sorosim.simulate(SWING, 1.0, dt_out=0.002, driven={"arm": "0.5*sin(3*t)^2"}, rtol=1e-9, atol=1e-11)
    energy = run.energy()
    assert np.abs(energy.work).max() > 0.1
    assert np.abs(energy.balance).max() < 1e-6 * np.abs(energy.work).max()  # Simpson over 2 ms


def test_a_linkage_of_which_every_joint_is_driven_has_nothing_to_solve():
    linkage = sorosim.load("four_bar")
    q = sorosim.assemble(linkage).q
    eq = sorosim.statics(linkage, driven=dict(zip(linkage.coordinate_names, map(float, q), strict=True)))
    np.testing.assert_array_equal(eq.q, q)
    assert eq.stable


def test_driven_joint_in_statics_holds_what_it_must():
    eq = sorosim.statics(SWING, driven={"arm": 0.3})
    assert eq.q[0] == 0.3
    residual = SWING.inverse_dynamics(eq.q, 0 * eq.q, qdd=0 * eq.q) - SWING.internal_force(eq.q, 0 * eq.q)
    assert eq.driven["arm"] == pytest.approx(residual[0], rel=1e-12)
    assert np.abs(residual[1:]).max() < 1e-12
    # it carries the weight: the gradient of the total energy along the joint at fixed rod
    h = 1e-5
    step = np.eye(len(eq.q))[0] * h
    total = [SWING.energy(eq.q + s * step, 0 * eq.q).total for s in (1, -1)]
    assert eq.driven["arm"] == pytest.approx((total[0] - total[1]) / (2 * h), rel=1e-8)
    assert eq.stable


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-9])
def test_bdf_rests_at_an_equilibrium_however_tight_the_tolerance(tolerance):
    """scipy's own Newton iteration, which judges by the rate of convergence alone, gives up on rounding."""
    rest = sorosim.statics(ARM, u={"cable1": 10.0})
    run = sorosim.simulate(ARM, 1.0, u={"cable1": 10.0}, q0=rest.q, rtol=tolerance, atol=1e-3 * tolerance)
    assert run.stats["n_steps"] < 100
    assert np.abs(run.q - rest.q).max() < 1e-2 * tolerance


@pytest.mark.parametrize("method", ["bdf", "cvode", "ida", "generalized-alpha"])
def test_a_turning_point_at_the_start_is_no_event(method):
    robot = sorosim.load("pendulum")
    run = sorosim.simulate(robot, 4.0, method=method, rtol=1e-7, atol=1e-9, events=[lambda t, q, qd: qd[0]])
    half = np.diff(run.events[0][0])
    assert len(half) > 1
    assert run.events[0][0][0] == pytest.approx(half[0], rel=1e-4)  # the first is half a period after the start


def test_events_see_coordinates_and_may_end_the_run():
    def through_zero(t, q, qd):
        return q[0] - 0.5 * np.pi  # hanging straight down

    through_zero.terminal = True
    q0 = np.zeros(SWING.ndof)
    run = sorosim.simulate(SWING, 5.0, q0=q0, events=[through_zero, lambda t, q, qd: qd[0]], rtol=1e-6)
    times, q, qd = run.events[0]
    assert len(times) == 1
    assert abs(q[0, 0] - 0.5 * np.pi) < 1e-6
    assert run.t[-1] <= times[0] < run.t[-1] + 0.01
    assert qd.shape == (1, SWING.ndof)
    assert len(run.events) == 2


def test_dense_output_passes_through_the_results():
    run = sorosim.simulate(SWING, 0.5, dt_out=0.1, dense=True)
    for t, q, qd in zip(run.t, run.q, run.qd, strict=True):
        assert np.allclose(run.at(t)[0], q, rtol=0, atol=1e-9)
        assert np.allclose(run.at(t)[1], qd, rtol=0, atol=1e-7)
    with pytest.raises(InputError, match=r"^t: expected a time from 0 to 0\.5, got 0\.6$"):
        run.at(0.6)
    with pytest.raises(
        InputError, match=r"^at: expected a run with dense output, got none; simulate\(\.\.\., dense=True\)$"
    ):
        sorosim.simulate(SWING, 0.1).at(0.05)


def test_a_run_that_fails_hands_over_what_it_had():
    with pytest.raises(ConvergenceError) as caught:
        sorosim.simulate(ARM, 1.0, dt_out=0.05, u={"cable1": lambda t: 10.0 if t < 0.5 else 1e200})
    partial = caught.value.partial
    assert 0.3 < partial.t[-1] <= 0.55
    assert np.isfinite(partial.q).all()
    assert "stopped at t = 0.5" in str(caught.value)


def test_progress_is_told_rising_times():
    told = []
    sorosim.simulate(SWING, 0.2, progress=told.append)
    assert told[0] == 0.0
    assert max(told) == pytest.approx(0.2, abs=0.05)


def test_saved_runs_and_equilibria_open_again(tmp_path):
    robot = sorosim.load("cable_manipulator")
    run = sorosim.simulate(robot, 0.1)
    run.save(tmp_path / "run.h5")
    again = sorosim.open(tmp_path / "run.h5")
    for name in ("t", "q", "qd", "u", "lam"):
        assert np.array_equal(getattr(run, name), getattr(again, name)), name
    assert again.stats == run.stats
    assert again.options == run.options
    run.to_csv(tmp_path / "run.csv")
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    assert np.array_equal(table["t"], run.t)
    assert np.array_equal(table["arm.bending_y[1]"], run.q[:, robot.coordinate_names.index("arm.bending_y[1]")])
    assert np.array_equal(table["cable4"], run.u[:, 3])
    eq = sorosim.statics(robot)
    eq.save(tmp_path / "eq.h5")
    assert np.array_equal(sorosim.open(tmp_path / "eq.h5").tangent_stiffness, eq.tangent_stiffness)


def lift(joint, gravity):
    """A soft rod along +x on a joint, or clamped."""
    rod = Rod(Division(0.3, Circle([0.008, 0.004]), RUBBER, Strain(torsion=1, bending=2, elongation=1, shear=0)))
    return sorosim.Robot(Description("lift", (Link("rod", rod, joint=joint),), gravity=gravity))


@pytest.mark.parametrize("jacobian", ["analytic", "finite-difference"])
def test_on_an_accelerated_base_a_rod_moves_as_under_more_gravity(jacobian):
    # Einstein's lift: driven upwards with 4 m/s^2 or clamped under 4 m/s^2 more weight is the same motion
    fine = {"rtol": 1e-9, "atol": 1e-11, "method": "cvode"}
    driven = lift(Joint("prismatic", axis=(0, 0, 1)), (0, 0, -9.81))
    run = sorosim.simulate(driven, 0.3, dt_out=0.02, driven={"rod": "2*t^2"}, jacobian=jacobian, **fine)
    heavy = lift(Joint(), (0, 0, -13.81))
    other = sorosim.simulate(heavy, 0.3, dt_out=0.02, **fine)
    assert np.abs(run.q[:, 1:] - other.q).max() < 1e-7 * np.abs(other.q).max()  # 100 tolerances
    assert np.allclose(run.tip()[:, 2] - 2 * run.t**2, other.tip()[:, 2], rtol=0, atol=1e-8)
    # and the force of the joint carries the weight and what the heavy rod's own accelerations need
    for k in (0, 4, 15):
        qdd = np.append(4.0, heavy.forward_dynamics(other.q[k], other.qd[k]))
        force = driven.inverse_dynamics(run.q[k], run.qd[k], qdd=qdd)[0]
        assert run.driven["rod"][k] == pytest.approx(force, rel=1e-5)


def test_driving_all_joints_but_the_rod_needs_what_inverse_dynamics_says_at_the_start():
    run = sorosim.simulate(SWING, 0.1, driven={"arm": "0.3 + 0.2*t + 1.5*t^2"})
    qdd = np.concatenate([[3.0], np.zeros(SWING.ndof - 1)])
    # accelerations of the free coordinates from their own equations
    bias = SWING.inverse_dynamics(run.q[0], run.qd[0], qdd=qdd) - SWING.internal_force(run.q[0], run.qd[0])
    M = SWING.mass_matrix(run.q[0])
    free = -np.linalg.solve(M[1:, 1:], bias[1:])
    assert run.qd[0, 0] == pytest.approx(0.2, abs=1e-15)
    assert run.driven["arm"][0] == pytest.approx(bias[0] + M[0, 1:] @ free, rel=1e-9)


def test_a_table_drives_as_well_as_the_expression_it_samples():
    times = np.linspace(0, 0.5, 201)
    table = {"times": times, "values": 0.5 * np.sin(3 * times) ** 2, "interpolation": "cubic"}
    fine = {"rtol": 1e-7, "atol": 1e-9}
    run = sorosim.simulate(SWING, 0.5, dt_out=0.05, driven={"arm": table}, **fine)
    other = sorosim.simulate(SWING, 0.5, dt_out=0.05, driven={"arm": "0.5*sin(3*t)^2"}, **fine)
    assert np.abs(run.q - other.q).max() < 1e-5  # h^2 of the spline's second derivative


def test_equilibrium_as_start_holds_driven_joints_where_they_begin():
    run = sorosim.simulate(SWING, 0.3, dt_out=0.1, driven={"arm": 0.3}, q0="equilibrium", rtol=1e-8, atol=1e-10)
    held = sorosim.statics(SWING, driven={"arm": 0.3})
    assert np.array_equal(run.q[0], held.q)
    assert np.abs(run.q - held.q).max() < 1e-7
    assert run.driven["arm"] == pytest.approx(held.driven["arm"], rel=1e-6)


def test_statics_with_every_joint_driven_only_asks_for_the_force():
    held = sorosim.statics(FREE_FALL, driven={"bob": 0.7})
    assert held.message == "nothing to solve: no coordinate is free"
    assert held.driven["bob"] == pytest.approx(2.0 * 9.81, rel=1e-14)
    assert held.tangent_stiffness.shape == (0, 0)
    assert held.stable


def test_a_coordinate_without_inertia_is_an_error_of_the_model_and_names_it():
    links = (Link("frame", None, joint=Joint("revolute")), Link("tip", None, parent="frame"))
    with pytest.raises(ModelError, match=r"^frame\.revolute: expected a coordinate that moves mass"):
        sorosim.simulate(sorosim.Robot(Description("ghost", links)), 1.0)


def test_an_event_must_return_a_number():
    with pytest.raises(InputError, match=r"^events\[1\]: expected .*got"):
        sorosim.simulate(SWING, 0.1, events=[lambda t, q, qd: q[0], lambda t, q, qd: "now"])


def test_statics_block_of_the_description_gives_the_inputs():
    given = ARM.description
    pulled = sorosim.Robot(
        Description(given.name, given.links, actuators=given.actuators, statics={"u": {"cable1": 12.0}})
    )
    assert np.array_equal(sorosim.statics(pulled).q, sorosim.statics(ARM, {"cable1": 12.0}).q)
    assert np.array_equal(sorosim.statics(pulled, {}).q, sorosim.statics(ARM).q)


@pytest.mark.parametrize("method", ["bdf", "radau", "lsoda", "cvode"])
def test_every_method_hands_over_a_partial_run_when_it_fails(method):
    # a tension that goes to infinity at 0.1 s
    with pytest.raises(
        ConvergenceError, match=rf"^simulate 'cable manipulator' by {method}: stopped at t = 0\."
    ) as caught:
        sorosim.simulate(ARM, 0.2, dt_out=0.01, u={"cable1": "1/(0.1-t)"}, method=method)
    partial = caught.value.partial
    assert 0.08 < partial.t[-1] <= 0.1
    assert np.isfinite(partial.q).all()
    assert partial.options["method"] == method
    assert partial.energy().total.shape == partial.t.shape


def test_statics_that_fails_hands_over_where_the_continuation_stopped():
    with pytest.raises(
        ConvergenceError, match=r"^statics of 'cable manipulator': hybr failed \(.*stopped at "
    ) as caught:
        sorosim.statics(ARM, {"cable1": 1e4})
    partial = caught.value.partial
    load = float(partial.message.split("stopped at ")[1].split(" %")[0]) / 100
    assert 0.0 < load < 0.1
    assert np.isfinite(partial.q).all()


WRONG = [
    (lambda: sorosim.simulate("arm", 1.0), "robot: expected a Robot, got str; sorosim.load reads one from a file"),
    (
        lambda: sorosim.simulate(ARM),
        "t_end: expected a time [s], got none; give it, or a simulate block in the robot's file",
    ),
    (lambda: sorosim.simulate(ARM, 0.0), "t_end: expected a time greater than 0, got 0"),
    (lambda: sorosim.simulate(ARM, np.nan), "t_end: expected a time greater than 0, got nan; it has to be finite"),
    (
        lambda: sorosim.simulate(ARM, "1 mm"),
        "t_end: expected a time greater than 0, such as 10 s, got '1 mm', a length",
    ),
    (
        lambda: sorosim.simulate(ARM, 1.0, dt_out=np.inf),
        "dt_out: expected a time greater than 0, got inf; it has to be finite",
    ),
    (
        lambda: sorosim.simulate(ARM, 1e9, dt_out=1e-9),
        "dt_out: expected at most 10000000 outputs, got 1e+18; a larger dt_out",
    ),
    (lambda: sorosim.simulate(ARM, 1.0, rtol=-1e-3), "rtol: expected a number of 2.22045e-14 or more, got -0.001"),
    (lambda: sorosim.simulate(ARM, 1.0, atol=True), "atol: expected a number greater than 0, got true"),
    (lambda: sorosim.simulate(ARM, 1.0, max_step=0), "max_step: expected a time greater than 0, got 0"),
    (
        lambda: sorosim.simulate(ARM, 1.0, method="rk45"),
        "method: expected bdf, radau, lsoda, cvode, newmark, generalized-alpha or ida, got 'rk45'",
    ),
    (
        lambda: sorosim.simulate(ARM, 1.0, jacobian="numeric"),
        "jacobian: expected analytic or finite-difference, got 'numeric'",
    ),
    (lambda: sorosim.simulate(ARM, 1.0, u=[1, 2]), "u: expected 5 inputs, got 2"),
    (
        lambda: sorosim.simulate(ARM, 1.0, u={"cable9": 1}),
        "u: expected the name of an actuator, got 'cable9'; did you mean cable5 or cable4 or cable3?",
    ),
    (
        lambda: sorosim.simulate(ARM, 1.0, u=lambda t: t),
        "u: expected a mapping or a sequence, got function; a callable takes the name of its actuator: u={'name': f}",
    ),
    (lambda: sorosim.simulate(ARM, 1.0, q0=np.zeros(3)), "q0: expected 24 numbers, shape (24,), got shape (3,)"),
    (
        lambda: sorosim.simulate(ARM, 1.0, q0="rest"),
        "q0: expected one of equilibrium, assembled, got 'rest'",
    ),
    (lambda: sorosim.simulate(ARM, 1.0, qd0=np.full(24, np.inf)), "qd0: expected finite numbers, got inf at index 0"),
    (lambda: sorosim.simulate(ARM, 1.0, events=[3]), "events[0]: expected a function f(t, q, qd), got int"),
    (
        lambda: sorosim.simulate(SWING, 1.0, driven={"rod": "t"}),
        "driven: expected the name of a link with a joint, or of a coordinate, got 'rod'; known: arm",
    ),
    (
        lambda: sorosim.simulate(SWING, 1.0, driven={"arm": np.sin}),
        "driven.arm: expected expressions or tables, whose derivatives are known, got a callable",
    ),
    (
        lambda: sorosim.simulate(ARM, 1.0, q0=sorosim.simulate(ARM, 0.01)),
        "q0: expected 24 numbers, got Run \"<Run of 'cable manipulator': 0 to 0.01 s\"; its .q are coordinates",
    ),
    (lambda: sorosim.assemble("arm.yaml"), "robot: expected a Robot, got str; sorosim.load reads one from a file"),
    (lambda: sorosim.statics(ARM, u=[np.nan] * 5), "u: expected finite numbers, got nan at index 0"),
    (lambda: sorosim.statics(SWING, driven={"arm": "x"}), "driven.arm: expected an angle such as 45 deg, got 'x'"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_wrong_arguments_are_refused_before_anything_is_computed(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("motion", [([0, 0.1, 0.3], [0, 1, 0]), "step(t - 0.1)", "min(t, 0.2)", "abs(sin(t - 0.1))"])
def test_a_motion_whose_rate_jumps_is_refused_since_the_blow_would_be_lost(motion):
    with pytest.raises(InputError, match=r"^driven\.arm: expected a motion with a continuous rate, got "):
        sorosim.simulate(SWING, 0.3, driven={"arm": motion})


@pytest.mark.parametrize("k", range(24))
def test_an_event_on_any_coordinate_is_located(k):
    """Some coordinates stay exactly zero for a while: their sign changes need care at the ends of steps."""
    run = sorosim.simulate(ARM, 0.2, u={"cable1": 5.0}, events=[lambda t, q, qd: q[k]])
    for t, q in zip(*run.events[0][:2], strict=True):
        assert abs(q[k]) <= 1e-9
        assert 0.0 <= t <= 0.2


def test_output_times_hold_the_start_however_short_the_run():
    assert output_times(0.01, 1e8).tolist() == [0.0, 0.01]
    assert output_times(1e-12, 0.01).tolist() == [0.0, 1e-12]
    assert len(sorosim.simulate(ARM, 1e-12).t) == 2


def test_dense_output_reaches_to_a_terminal_event():
    def end(t, q, qd):
        return t - 0.0135

    end.terminal = True
    run = sorosim.simulate(ARM, 0.03, dense=True, events=[end])
    assert run.t[-1] == 0.01
    assert np.abs(run.at(0.0135)[0] - run.events[0][1][0]).max() < 1e-12


def test_inputs_without_an_order_are_refused():
    for u, expected in (("12345", "5 inputs"), ({1.0, 2.0, 3.0, 4.0, 5.0}, "a mapping or a sequence")):
        with pytest.raises(InputError, match=f"^u: expected {expected}"):
            sorosim.simulate(ARM, 0.1, u=u)
