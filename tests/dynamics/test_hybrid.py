"""Driven coordinates and hybrid dynamics: some accelerations known, some forces."""

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.differences import Worst, jacobian, relative_error
from helpers.robots import moderate, random_state, varied_tree

import sorosim
import sorosim.files.results
from sorosim.base.errors import InputError
from sorosim.base.methods import METHODS
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.dynamics.forward import HYBRID
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint, Limit
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

SEEDS = range(200, 212)
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("hybrid dynamics"))


@pytest.fixture(scope="module", params=SEEDS)
def tree(request):
    """A random tree, a state, and a random half of its coordinates, whose accelerations are known."""
    robot, rng = varied_tree(request.param), np.random.default_rng(request.param)
    known = rng.random(robot.ndof) < 0.4
    known[rng.integers(robot.ndof)] = True
    return robot, random_state(rng, robot), known


def scaled_condition(M):
    weight = np.sqrt(np.diag(M))
    return np.linalg.cond(M / weight / weight[:, None]) if len(M) else 1.0


def test_hybrid_dynamics_finds_what_is_missing(tree):
    """From qdd to tau by inverse dynamics; then from half of both to the other halves."""
    robot, (q, qd, qdd, _), known = tree
    tau, M = robot.inverse_dynamics(q, qd, qdd=qdd), robot.mass_matrix(q)
    found = robot.hybrid_dynamics(q, qd, qdd=np.where(known, qdd, 7.0), tau=np.where(known, 7.0, tau), known=known)
    rounding = 1e-15 * scaled_condition(M[np.ix_(~known, ~known)])
    weight = np.sqrt(np.diag(M))
    size = np.abs(weight * qdd).max() + np.abs(tau / weight).max()
    assert WORST.note("accelerations over rounding", np.abs(weight * (found.qdd - qdd)).max() / size / rounding) <= 30.0
    assert WORST.note("forces", np.abs((found.tau - tau) / weight).max() / size) <= 30.0 * rounding
    np.testing.assert_array_equal(found.qdd[known], qdd[known])


def test_its_ends_are_inverse_and_forward_dynamics(tree):
    robot, (q, qd, qdd, u), _ = tree
    everything = robot.hybrid_dynamics(q, qd, qdd=qdd, tau=0.0 * q, known=np.arange(robot.ndof), algorithm="composite")
    assert relative_error(everything.tau, robot.inverse_dynamics(q, qd, qdd=qdd)) < 1e-15
    for algorithm in HYBRID:  # the same bits
        nothing = robot.hybrid_dynamics(
            q, qd, qdd=0.0 * q, tau=robot.internal_force(q, qd, u=u), known=[], algorithm=algorithm
        )
        np.testing.assert_array_equal(nothing.qdd, robot.forward_dynamics(q, qd, u=u, algorithm=algorithm))


def test_derivatives_of_hybrid_dynamics(tree):
    """Against differences; rows weighed so that all accelerations and forces count alike."""
    robot, (q, qd, qdd, _), known = tree
    tau, size = robot.inverse_dynamics(q, qd, qdd=qdd), moderate(robot)
    weight = np.sqrt(np.diag(robot.mass_matrix(q)))
    ours = robot.hybrid_dynamics_derivatives(q, qd, qdd=qdd, tau=tau, known=known)

    def both(q, qd, qdd, tau):
        found = robot.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known)
        return np.concatenate([weight * found.qdd, found.tau / weight])

    given = np.where(known, qdd, tau)

    def of_given(x):
        return both(q, qd, np.where(known, x, 0.0), np.where(known, 0.0, x))

    by_q = jacobian(lambda x: both(x, qd, qdd, tau), q, (0.02, 0.01, 0.005, 0.0025), 8, size)
    by_qd = jacobian(lambda x: both(q, x, qdd, tau), qd, 2.0, 2, size)
    by_given = jacobian(of_given, given, 1.0, 2, np.where(known, 10.0 * size, weight))
    M = robot.mass_matrix(q)
    rounding = 1e-15 * scaled_condition(M[np.ix_(~known, ~known)])
    value = np.abs(both(q, qd, qdd, tau)).max()
    scale = np.where(known, 10.0 * size, weight)
    for name, differences, columns, step in (("q", by_q, size, 2.5e-3), ("qd", by_qd, size, 2.0),
                                             ("given", by_given, scale, 1.0)):  # fmt: skip
        found = np.vstack([weight[:, None] * getattr(ours, f"dqdd_d{name}"),
                           getattr(ours, f"dtau_d{name}") / weight[:, None]])  # fmt: skip
        error = WORST.note(f"by {name}", relative_error(found * columns, differences * columns))
        assert error <= 1e-10 + 30.0 * rounding * (1.0 + value / step / np.abs(differences * columns).max()), name
    np.testing.assert_array_equal(ours.dqdd_dq[known], 0.0)
    np.testing.assert_array_equal(ours.dtau_dqd[~known], 0.0)


def test_forward_dynamics_of_driven_coordinates_is_hybrid_dynamics(tree):
    robot, (q, qd, qdd, u), known = tree
    motors = [n for n, a in robot.description.actuators.items() if isinstance(a, JointForce)]
    u = np.where([name in motors for name in robot.actuator_names], 0.0, u)
    tendons = {name: a for name, a in robot.description.actuators.items() if name not in motors}
    stripped = Robot(replace(robot.description, actuators=tendons))
    u = np.array([v for v, name in zip(u, robot.actuator_names, strict=True) if name not in motors])
    driven = {name: float(a) for name, a, yes in zip(robot.coordinate_names, qdd, known, strict=True) if yes}
    for algorithm in HYBRID:
        found = stripped.forward_dynamics(q, qd, u=u, driven_qdd=driven, algorithm=algorithm)
        force = stripped.internal_force(q, qd, u=u)
        expected = robot.hybrid_dynamics(q, qd, qdd=qdd, tau=force, known=known, algorithm=algorithm).qdd
        assert relative_error(found, expected) < 1e-12
    found = stripped.forward_dynamics(q, qd, u=u, driven_qdd=driven, algorithm="composite")
    derivatives = stripped.forward_dynamics_derivatives(q, qd, u=u, driven_qdd=driven, algorithm="composite")
    np.testing.assert_array_equal(derivatives.qdd, found)
    np.testing.assert_array_equal(derivatives.dqdd_dq[known], 0.0)
    # their equation on the free rows, M dqdd = d(tau - ID): exact whatever the condition of M
    inverse, internal = (stripped.inverse_dynamics_derivatives(q, qd, qdd=found),
                         stripped.internal_force_derivatives(q, qd, u=u))  # fmt: skip
    for ours, right in ((derivatives.dqdd_dq, internal.dtau_dq - inverse.dtau_dq),
                        (derivatives.dqdd_dqd, internal.dtau_dqd - inverse.dtau_dqd),
                        (derivatives.dqdd_du, internal.B)):  # fmt: skip
        left = (inverse.mass_matrix @ ours)[~known]
        scale = (np.abs(inverse.mass_matrix) @ np.abs(ours) + np.abs(right)).max(initial=1e-300)
        assert WORST.note("driven forward dynamics", np.abs(left - right[~known]).max(initial=0.0) / scale) <= 1e-12


# -- driven joints in runs


def arm(**options):
    """A pendulum on a slide on a ball joint, all of it heavy."""
    body = RigidBody(1.0, centre=(0.1, 0.0, -0.3), inertia=(0.02, 0.03, 0.02))
    links = (
        Link("ball", body, joint=Joint("spherical", damping=0.05)),
        Link(
            "slide",
            body,
            parent="ball",
            joint=Joint("cylindrical", axis=(1, 0, 0), stiffness=(3.0, 200.0), damping=0.0),
        ),
        Link("tip", body, parent="slide", joint=Joint("revolute", axis=(0, 1, 0), damping=0.02)),
    )
    return Robot(Description("arm", links, **options))


MOTIONS = {"slide.cylindrical.slide": "0.05*sin(4*t)", "tip": "0.5*(1 - cos(3*t))", "ball.spherical.ry": "0.2*sin(t)"}


def test_driven_coordinates_follow_their_motion_and_their_forces_do_the_work():
    robot = arm()
    run = sorosim.simulate(robot, 2.0, driven=MOTIONS, rtol=1e-8, atol=1e-10)
    names = robot.coordinate_names
    t = run.t
    for name, q, qd in (("slide.cylindrical.slide", 0.05 * np.sin(4 * t), 0.2 * np.cos(4 * t)),
                        ("tip.revolute", 0.5 * (1 - np.cos(3 * t)), 1.5 * np.sin(3 * t))):  # fmt: skip
        np.testing.assert_allclose(run.q[:, names.index(name)], q, atol=1e-15)
        np.testing.assert_allclose(run.qd[:, names.index(name)], qd, atol=1e-15)
    assert set(run.driven) == set(MOTIONS)
    energy = run.energy()
    # the integral over some 200 steps, of which the first have no past; five times what is seen
    assert np.abs(energy.balance).max() < 1e-5 * np.abs(energy.work).max()
    # the forces are what a motor at the same places must give: the same motion with them as inputs
    k = 37
    force = robot.internal_force(run.q[k], run.qd[k])
    known = [names.index(name) for name in ("slide.cylindrical.slide", "tip.revolute", "ball.spherical.ry")]
    accelerations = np.array([-0.8 * np.sin(4 * t[k]), 4.5 * np.cos(3 * t[k]), -0.2 * np.sin(t[k])])
    qdd = np.zeros(robot.ndof)
    qdd[known] = accelerations
    found = robot.hybrid_dynamics(run.q[k], run.qd[k], qdd=qdd, tau=force, known=known)
    given = [run.driven[name][k] for name in MOTIONS]
    np.testing.assert_allclose(found.tau[known] - force[known], given, rtol=1e-10)


@pytest.mark.parametrize("method", ["bdf", "radau", "lsoda", "cvode"])
def test_all_methods_drive_alike(method):
    exact = sorosim.simulate(arm(), 1.0, driven=MOTIONS, rtol=1e-10, atol=1e-12, method="radau")
    run = sorosim.simulate(arm(), 1.0, driven=MOTIONS, rtol=1e-7, atol=1e-9, method=method)
    assert np.abs(run.q - exact.q).max() < 2e-5


def test_analytic_jacobian_of_a_driven_system_is_its_derivative():
    system = sorosim.analysis.equations.system.OdeSystem(robot := arm(), Prescribed.of(robot, {}, MOTIONS))
    rng = np.random.default_rng(5)
    x = 0.3 * rng.normal(size=2 * system.n_free)
    differences = jacobian(lambda y: system.rhs(0.3, y), x, (0.02, 0.01, 0.005), 8)
    assert relative_error(system.jacobian(0.3, x), differences) < 1e-9


def test_statics_of_driven_coordinates_of_several_kinds():
    robot = arm()
    held = {"ball.spherical.ry": 0.3, "slide.cylindrical.angle": 0.2, "tip": -0.4}
    found = sorosim.statics(robot, driven=held)
    layout = robot.engine.layout
    for name, value in held.items():
        assert found.q[layout.coordinate(name, "")] == pytest.approx(value)
    zero = np.zeros(robot.ndof)
    residual = robot.inverse_dynamics(found.q, zero, qdd=zero) - robot.internal_force(found.q, zero)
    for name, force in found.driven.items():
        index = layout.coordinate(name, "")
        assert residual[index] == pytest.approx(force, rel=1e-9)
        residual[index] = 0.0
    assert np.abs(residual).max() < 1e-9


WRONG = [
    ({"ball": "t"}, "driven: expected the name of one coordinate, got 'ball' with 3; "
     "ball.spherical.rx ball.spherical.ry ball.spherical.rz"),
    ({"tip": "t", "tip.revolute": "t"}, "driven.tip.revolute: expected every coordinate once, got that of 'tip' again"),
    ({"slide.cylindrical.slid": "t"}, "driven: expected the name of a link with a joint, or of a coordinate, got "
     "'slide.cylindrical.slid'; did you mean slide.cylindrical.slide or slide.cylindrical.angle?"),
    ({"tip": "abs(t - 0.7)"}, "driven.tip: expected a motion with a continuous rate, got a rate that jumps at t = 0.7"),
    ({"tip": ([0, 0.5, 2], [0, 1, 0])}, "driven.tip: expected a motion with a continuous rate, got a rate that jumps "
     "at t = 0.5 s; give interpolation: cubic or pchip, or a rounding of its corners"),
]  # fmt: skip


@pytest.mark.parametrize(("driven", "message"), WRONG, ids=[message[:50] for _, message in WRONG])
def test_wrong_motions_are_refused(driven, message):
    with pytest.raises(InputError) as caught:
        sorosim.simulate(arm(), 1.0, driven=driven)
    assert str(caught.value).startswith(message)


ALL_DRIVEN = MOTIONS | {
    "ball.spherical.rx": "0.1*sin(5*t)",
    "ball.spherical.rz": "0.3*t",
    "slide.cylindrical.angle": 0.2,
}


def test_a_robot_may_be_driven_altogether(tmp_path):
    robot = arm()
    for method in METHODS:
        run = sorosim.simulate(robot, 1.0, driven=ALL_DRIVEN, method=method, out=tmp_path / "run.h5")
        k = robot.coordinate_names.index("ball.spherical.rz")
        np.testing.assert_allclose(run.q[:, k], 0.3 * run.t, atol=1e-15)
        np.testing.assert_array_equal(sorosim.open(tmp_path / "run.h5").q, run.q)
        energy = run.energy()
        assert np.abs(energy.balance).max() < 1e-5 * np.abs(energy.work).max()
        assert run.message == "nothing to integrate: all coordinates are driven"
    t, q, qd = run.t[40], run.q[40], run.qd[40]
    qdd = np.zeros(robot.ndof)
    accelerations = {"slide.cylindrical.slide": -0.8 * np.sin(4 * t), "tip.revolute": 4.5 * np.cos(3 * t),
                     "ball.spherical.ry": -0.2 * np.sin(t), "ball.spherical.rx": -2.5 * np.sin(5 * t)}  # fmt: skip
    for name, acceleration in accelerations.items():
        qdd[robot.coordinate_names.index(name)] = acceleration
    force = robot.inverse_dynamics(q, qd, qdd=qdd) - robot.internal_force(q, qd)
    for name in ALL_DRIVEN:
        np.testing.assert_allclose(run.driven[name][40], force[robot.engine.layout.coordinate(name, "")], atol=1e-12)


def test_a_robot_that_is_driven_altogether_has_events_checkpoints_and_dense_output():
    def level(t, q, qd):
        return q[robot.coordinate_names.index("ball.spherical.rz")] - 0.1

    def last(t, q, qd):
        return 0.777 - t

    robot, last.terminal, last.direction = arm(), True, -1
    options = {"driven": ALL_DRIVEN, "checkpoint": 0.1}
    whole = sorosim.simulate(robot, 1.0, **options)
    again = sorosim.resume(sorosim.simulate(robot, 0.55, **options), 1.0)
    np.testing.assert_array_equal(again.q, whole.q)
    run = sorosim.simulate(robot, 1.0, **options, events=[level, last], dense=True)
    np.testing.assert_allclose(run.events[0][0], [1 / 3], rtol=1e-12)
    np.testing.assert_allclose(run.events[1][0], [0.777], rtol=1e-12)
    assert run.t[-1] == pytest.approx(0.77)
    np.testing.assert_array_equal(run.at(run.t[3])[0], run.q[3])
    last.direction = 1
    assert sorosim.simulate(robot, 1.0, **options, events=[last]).t[-1] == 1.0


def test_a_motor_on_a_driven_coordinate_is_refused():
    robot = arm(actuators={"motor": JointForce("tip")})
    with pytest.raises(
        InputError, match=r"driven.tip: expected a motion or a motor, one of them, got the motor 'motor'"
    ):
        sorosim.simulate(robot, 1.0, driven={"tip": "t^2"})
    assert sorosim.statics(robot, u={"motor": 0.1}, driven={"slide.cylindrical.slide": 0.0}).stable


# -- controllers


def hinge(**joint):
    body = RigidBody(1.0, centre=(0.5, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    link = Link("arm", body, joint=Joint("revolute", axis=(0, 1, 0), **joint))
    return Robot(Description("hinge", (link,), actuators={"motor": JointForce("arm")}))


def pd(t, q, qd):
    return {"motor": -40.0 * (q[0] - 0.5) - 6.0 * qd[0]}


@pytest.mark.parametrize("method", ["bdf", "radau", "lsoda", "cvode"])
def test_a_controller_is_sampled_and_held(method):
    """Against an independent integration, sample by sample, with SciPy's DOP853."""
    from scipy.integrate import solve_ivp

    asked = []

    def controller(t, q, qd):
        asked.append(t)
        return pd(t, q, qd)

    robot, dt = hinge(), 0.05
    run = sorosim.simulate(
        robot, 1.0, dt_out=0.01, controller=controller, dt_control=dt, method=method, rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(asked, dt * np.arange(21), atol=1e-14)
    x, rows = np.zeros(2), [np.zeros(2)]
    inputs = []
    for _ in range(20):
        u = pd(0.0, x[:1], x[1:])["motor"]
        inputs += [u] * 5
        found = solve_ivp(lambda t, y: [y[1], (0.5 * 9.81 * np.cos(y[0]) + u) / 0.27], (0.0, dt), x,  # noqa: B023
                          method="DOP853", rtol=1e-12, atol=1e-13, t_eval=dt / 5 * np.arange(1, 6))  # fmt: skip
        x = found.y[:, -1]
        rows += list(found.y.T)
    rows = np.array(rows)
    assert np.abs(run.q[:, 0] - rows[:, 0]).max() < 1e-7
    assert np.abs(run.qd[:, 0] - rows[:, 1]).max() < 1e-6
    # held from each sample on, that one included
    np.testing.assert_allclose(run.u[:-1, 0], inputs, atol=1e-5)


def test_a_controlled_run_is_kept_and_taken_up_again_to_the_bit(tmp_path):
    options = {"dt_out": 0.02, "controller": pd, "dt_control": 0.05, "checkpoint": 0.25}
    whole = sorosim.simulate(hinge(), 1.0, **options)
    half = sorosim.simulate(hinge(), 0.6, **options, out=tmp_path / "half.h5")
    assert sorosim.files.results.read(tmp_path / "half.h5")["options"]["dt_control"] == 0.05
    with pytest.raises(
        InputError,
        match=r"controller: expected the controller, got none; pass it again: result files keep no functions",
    ):
        sorosim.resume(half, 1.0)
    again = sorosim.resume(half, 1.0, controller=pd)
    for name in ("t", "q", "qd", "u"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_a_run_that_goes_on_between_two_samples_waits_for_the_next(tmp_path):
    asked = []

    def watched(t, q, qd):
        asked.append(t)
        return pd(t, q, qd)

    options = {"controller": pd, "dt_control": 0.04, "rtol": 1e-9, "atol": 1e-11}
    whole = sorosim.simulate(hinge(), 0.5, **options)
    sorosim.simulate(hinge(), 0.25, **options, out=tmp_path / "half.h5")
    again = sorosim.resume(tmp_path / "half.h5", 0.5, controller=watched)
    np.testing.assert_allclose(asked, 0.04 * np.arange(7, 13))
    assert np.abs(again.u - whole.u).max() < 1e-6
    assert np.abs(again.q - whole.q).max() < 1e-8


def test_a_controller_of_one_motor_may_return_a_number():
    by_name = sorosim.simulate(hinge(), 0.5, controller=pd, dt_control=0.1)
    for kind in (float, np.float64, np.array, lambda u: [u]):
        run = sorosim.simulate(hinge(), 0.5, controller=lambda *x: kind(pd(*x)["motor"]), dt_control=0.1)  # noqa: B023
        np.testing.assert_array_equal(run.q, by_name.q)


def test_a_journal_holds_the_inputs_of_a_controller(tmp_path):
    """A run that ends early, between samples: rows of the journal are those of the whole run."""
    whole = sorosim.simulate(hinge(), 1.0, dt_out=0.025, controller=pd, dt_control=0.05)

    def stop(t, q, qd):
        if t > 0.62:
            raise KeyboardInterrupt
        return 1.0

    with pytest.raises(sorosim.Interrupted) as caught:
        sorosim.simulate(hinge(), 1.0, dt_out=0.025, controller=pd, dt_control=0.05, events=[stop])
    part = caught.value.partial
    assert 0.55 < part.t[-1] < 0.65
    for name in ("t", "q", "qd", "u"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[: len(part.t)])


WRONG_CONTROL = [
    ({"controller": pd}, "dt_control: expected the sampling time of the controller [s], got none"),
    ({"dt_control": 0.1}, "dt_control: expected a controller to be sampled, got none; controller=f(t, q, qd)"),
    ({"controller": 3.0, "dt_control": 0.1},
     "controller: expected a function f(t, q, qd) or f(t, y) of inputs, got float"),
    ({"controller": pd, "dt_control": 0.1, "u": {"motor": 1.0}},
     "u: expected some inputs, so that others are left to the controller, got all of them"),
    ({"controller": lambda t, y: {"motor": 0.0}, "dt_control": 0.1},
     "controller: expected a robot with sensors, for a function f(t, y), got none; f(t, q, qd)"),
    ({"controller": pd, "dt_control": 0.1, "checkpoint": 0.25},
     "checkpoint: expected a multiple of dt_control = 0.1 s, got 0.25"),
    ({"controller": lambda t, q, qd: {"motr": 1.0}, "dt_control": 0.1},
     "controller at t = 0 s: expected the name of an actuator, got 'motr'; did you mean motor?"),
    ({"controller": lambda t, q, qd: [np.nan], "dt_control": 0.1},
     "controller at t = 0 s: expected finite numbers, got nan at index 0"),
    ({"controller": lambda t, q, qd: None, "dt_control": 0.1},
     "controller at t = 0 s: expected the inputs, got None; the function has to return them"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), WRONG_CONTROL, ids=[message[:40] for _, message in WRONG_CONTROL])
def test_wrong_controllers_are_refused(options, message):
    with pytest.raises(InputError) as caught:
        sorosim.simulate(hinge(), 1.0, **options)
    assert str(caught.value) == message


# -- statics


def test_angles_of_statics_are_nearest_to_the_start():
    """hybr's first step may go round several times where nothing but gravity holds a hinge."""
    for start in (0.1, 1.0, 2.5, -2.0, 3.0 + 2.0 * np.pi):
        found = sorosim.statics(hinge(), q0=[start])
        assert abs(found.q[0] - start) <= np.pi + 1e-9
        assert abs(np.cos(found.q[0])) < 1e-9


def test_a_mass_above_its_stop_sinks_onto_it():
    limit = Limit(low=-0.01, stiffness=1e4)
    body = RigidBody(1.0, inertia=(1.0, 1.0, 1.0))
    robot = Robot(Description("lift", (Link("lift", body, joint=Joint("prismatic", limits=limit)),)))
    for start in (0.0, 0.5, 30.0):
        found = sorosim.statics(robot, q0=[start])
        depth = -0.01 - found.q[0]
        assert 1e4 * depth**2 / (depth + 1e-4) == pytest.approx(9.81, rel=1e-9)
        assert found.stable
        assert "descent of the potential from the start: it came to rest in" in found.message


def test_a_ball_joint_with_one_coordinate_held_comes_to_hang():
    body = RigidBody(2.0, centre=(0.3, 0.0, 0.0), inertia=(0.01, 0.02, 0.03))
    robot = Robot(Description("bob", (Link("bob", body, joint=Joint("spherical")),)))
    found = sorosim.statics(robot, driven={"bob.spherical.rz": 0.5})
    assert found.stable
    np.testing.assert_allclose(robot.pose(found.q, "bob")[:3, 0], [0.0, 0.0, -1.0], atol=1e-6)


def test_what_falls_for_ever_has_no_equilibrium_and_no_inputs_to_raise():
    robot = Robot(Description("stone", (Link("stone", RigidBody(1.0, inertia=(1.0, 1.0, 1.0)), joint=Joint("free")),)))
    with pytest.raises(sorosim.ConvergenceError) as caught:
        sorosim.statics(robot)
    assert re.search(
        r"stopped at 0 % of the load after \d+ steps; descent of the potential from the start: it falls without end; "
        r"where it stopped",
        str(caught.value),
    )
    assert "nothing holds it along 'stone.free." in str(caught.value)
    assert str(caught.value).endswith("; or start nearer to the solution (q0)")
    assert np.isfinite(caught.value.partial.q).all()


def test_rotations_of_statics_are_at_most_half_a_turn():
    robot = Robot(Description("bob", (Link("bob", RigidBody(1.0, centre=(0.1, 0.2, 0.3), inertia=(0.2, 0.2, 0.2)),
                                           joint=Joint("spherical", damping=0.1)),)))  # fmt: skip
    rng = np.random.default_rng(8)
    for _ in range(10):
        q0 = rng.normal(size=3)
        found = sorosim.statics(robot, q0=5.0 * q0 / np.linalg.norm(q0))
        assert np.linalg.norm(found.q) <= np.pi + 1e-9
        centre = robot.pose(found.q, "bob")[:3, :3] @ [0.1, 0.2, 0.3]
        np.testing.assert_allclose(centre[:2], 0.0, atol=1e-9)
