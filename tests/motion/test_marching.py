"""Newmark's and the generalised-alpha method, and IDA: order, damping, loops, and all that other methods can."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import ConvergenceError, InputError, SorosimWarning
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.constraints.loop import Anchor, Loop
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

BODY = RigidBody(2.0, inertia=(0.01, 0.02, 0.03))
ALPHA = "generalized-alpha"


def at(x=0.0, y=0.0, z=0.0):
    g = np.eye(4)
    g[:3, 3] = x, y, z
    return g


def oscillator(stiffness=50.0, damping=0.0):
    joint = Joint("prismatic", axis=(1, 0, 0), stiffness=stiffness, damping=damping)
    return Robot(Description("oscillator", (Link("a", BODY, joint=joint),), gravity=(0, 0, 0)))


@pytest.fixture(scope="module")
def pendulum():
    """A body that moves in a plane, a point beside it pinned to the world by a loop; closed, and at rest."""
    loop = Loop(Joint("revolute"), Anchor("a", at=at(-1.0)), Anchor())
    links = (Link("a", BODY, joint=Joint("planar")),)
    robot = Robot(Description("pendulum", links, gravity=(0, -9.81, 0), loops={"pin": loop}))
    return robot, sorosim.assemble(robot, [0.8, 0.5, 0.5]).q


@pytest.fixture(scope="module")
def exact_pendulum(pendulum):
    robot, q0 = pendulum
    return sorosim.simulate(robot, 10.0, dt_out=0.1, q0=q0, method="lsoda", rtol=1e-12, atol=1e-13)


def coefficients(method, rho):
    """alpha_m, alpha_f, beta, gamma of Newmark's rule, and of Chung and Hulbert's method by its spectral radius."""
    if method == "newmark":
        return 0.0, 0.0, 0.25, 0.5
    alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    return alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma


def recursion(m, c, k, q, v, h, n, method, rho):
    """The method on m a + c v + k q = 0, each step solved by hand."""
    alpha_m, alpha_f, beta, gamma = coefficients(method, rho)
    acceleration = -(c * v + k * q) / m
    stiffened = acceleration * m / (m + ((gamma - 0.5) * h) ** 2 * k)
    a = stiffened - (alpha_m - alpha_f) * h * (c * acceleration + k * v) / m
    acceleration = stiffened
    rows = [(q, v)]
    for _ in range(n):
        q_0, v_0 = q + h * v + h * h * (0.5 - beta) * a, v + h * (1.0 - gamma) * a
        A = np.array([[1.0 - alpha_m, alpha_f - 1.0], [c * h * gamma + k * h * h * beta, m]])
        a_new, acceleration = np.linalg.solve(A, [alpha_f * acceleration - alpha_m * a, -c * v_0 - k * q_0])
        q, v, a = q_0 + h * h * beta * a_new, v_0 + h * gamma * a_new, a_new
        rows.append((q, v))
    return np.array(rows)


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize(("method", "rho"), [("newmark", 1.0), (ALPHA, 1.0), (ALPHA, 0.8), (ALPHA, 0.0)])
def test_linear_oscillator(method, rho, damping):
    """To the recursion that defines the method; the start looks at the change of accelerations by a difference."""
    radius = {"spectral_radius": rho} if method == ALPHA else {}
    run = sorosim.simulate(
        oscillator(damping=damping), 2.0, dt_out=0.02, q0=[0.1], qd0=[0.3], method=method, step=0.02, **radius
    )
    expected = recursion(2.0, damping, 50.0, 0.1, 0.3, 0.02, 100, method, rho)
    assert_allclose(np.column_stack([run.q, run.qd]), expected, rtol=0, atol=1e-9)


def test_newmark_of_an_oscillator_in_closed_form():
    """The average acceleration turns the state by 2 atan(omega h / 2) a step, and keeps the energy."""
    h, omega = 0.02, 5.0
    run = sorosim.simulate(oscillator(), 2.0, dt_out=h, q0=[0.1], qd0=[0.0], method="newmark", step=h)
    assert_allclose(run.q[:, 0], 0.1 * np.cos(2.0 * np.arctan(0.5 * omega * h) * np.arange(101)), rtol=0, atol=1e-14)
    energy = run.energy().total
    assert_allclose(energy, energy[0], rtol=1e-13)


@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_newmark_of_a_linear_oscillator_balances_its_energy_to_rounding(damping):
    """Mean forces along mean rates are the very work of its steps, of whatever size; also of a load over time."""
    for force in (0.0, "3*sin(4*t)"):
        push = {"push": Wrench("a", force=(force, 0, 0))} if force else {}
        robot = Robot(replace(oscillator(damping=damping).description, loads=push))
        run = sorosim.simulate(robot, 2.0, dt_out=0.1, q0=[0.1], qd0=[0.3], method="newmark", step=0.05)
        energy = run.energy()
        assert (energy.dissipated[-1] > 1e-3) == (damping > 0.0)
        assert_allclose(energy.balance, 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rho", [0.8, 0.0])
def test_balance_of_generalized_alpha_is_its_numerical_dissipation(rho):
    m, c, k, h = 2.0, 0.5, 50.0, 0.02
    run = sorosim.simulate(
        oscillator(damping=c), 2.0, dt_out=h, q0=[0.1], qd0=[0.3], method=ALPHA, step=h, spectral_radius=rho
    )  # fmt: skip
    q, v = recursion(m, c, k, 0.1, 0.3, h, 100, ALPHA, rho).T
    damped = np.concatenate([[0.0], np.cumsum(0.25 * h * c * (v[1:] + v[:-1]) ** 2)])
    energy = run.energy()
    assert_allclose(energy.dissipated, damped, rtol=0, atol=1e-9)
    assert_allclose(energy.balance, 0.5 * m * (v**2 - v[0] ** 2) + 0.5 * k * (q**2 - q[0] ** 2) + damped, atol=1e-8)
    if rho == 0.0:  # else it hides behind the swing of what the method keeps
        assert energy.balance[-1] < -1e-4


@pytest.mark.filterwarnings("ignore:.*energy balance")  # it is damped away, as it should
@pytest.mark.parametrize("rho", [0.9, 0.8, 0.5])
def test_stiff_motions_shrink_by_the_spectral_radius(rho):
    """At omega h = 10^4 what is left after a step is rho of it."""
    run = sorosim.simulate(
        oscillator(stiffness=2e12), 0.4, dt_out=0.01, q0=[1e-3], qd0=[0.0], method=ALPHA, step=0.01, spectral_radius=rho
    )
    envelope = np.abs(run.qd[20:, 0])
    assert_allclose((envelope[-1] / envelope[0]) ** (1.0 / 20), rho, rtol=0.06)


@pytest.mark.parametrize("rho", [0.8, 0.5])
def test_order_two_of_all_unknowns_under_loops(pendulum, exact_pendulum, rho):
    """Also of multipliers, also over ten seconds, once the steps are small enough for the phase."""
    (robot, q0), exact = pendulum, exact_pendulum
    for t_end, steps, tolerance in ((1.0, (0.01, 0.005, 0.0025), 0.02), (10.0, (0.0025, 0.00125), 0.15)):
        errors = []
        for h in steps:
            run = sorosim.simulate(
                robot, t_end, dt_out=0.1, q0=q0, method=ALPHA, step=h, spectral_radius=rho, rtol=1e-9, atol=1e-11
            )
            k = len(run.t)
            pairs = ((run.q, exact.q), (run.qd, exact.qd), (run.lam, exact.lam))
            errors.append([np.abs(ours - theirs[:k]).max() for ours, theirs in pairs])
            assert max(gap.max() for gap in run.drift.values()) < 1e-9
        orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
        assert_allclose(orders, 2.0, atol=tolerance)


def test_newmark_keeps_order_two_of_motion_but_not_its_multipliers(pendulum, exact_pendulum):
    """At index 3 the undamped method lets them swing from step to step, and more and more: it is not the default."""
    (robot, q0), exact = pendulum, exact_pendulum
    errors, swings = [], {}
    for h in (0.01, 0.005):
        run = sorosim.simulate(robot, 1.0, dt_out=0.1, q0=q0, method="newmark", step=h, rtol=1e-9, atol=1e-11)
        errors.append([np.abs(run.q - exact.q[:11]).max(), np.abs(run.qd - exact.qd[:11]).max()])
    assert_allclose(np.log2(np.array(errors[0]) / errors[1]), 2.0, atol=0.02)
    for method in ("newmark", ALPHA):
        run = sorosim.simulate(robot, 3.0, dt_out=0.01, q0=q0, method=method, step=0.01)
        # what differs between neighbours but not between every other one
        swing = np.abs(np.diff(run.lam, n=2, axis=0)).max(axis=1)
        swings[method] = swing[-50:].max() / swing[:50].max()
    assert swings["newmark"] > 10.0 * swings[ALPHA]


def test_energy_over_a_long_time(pendulum):
    """Damped members of the family lose it slowly, the more the smaller the radius."""
    robot, q0 = pendulum
    lost = {}
    for rho in (0.95, 0.8, 0.5):
        run = sorosim.simulate(robot, 30.0, dt_out=0.1, q0=q0, method=ALPHA, step=0.01, spectral_radius=rho)
        energy = run.energy().total
        lost[rho] = (energy[0] - energy[-1]) / np.ptp(run.energy().gravity)
    assert abs(lost[0.95]) < abs(lost[0.8]) < abs(lost[0.5]) < 0.02


def test_chosen_steps_beat_fixed_ones():
    """A motion that is fast for a short while only: with as many fixed steps the error is many times as large."""
    robot = Robot(replace(oscillator(damping=10.0).description, loads={
        "push": Wrench("a", force=("200*exp(-((t-1)/0.02)^2)", 0, 0))
    }))  # fmt: skip
    exact = sorosim.simulate(robot, 4.0, dt_out=0.1, method="lsoda", rtol=1e-11, atol=1e-13, max_step=0.01)

    def error(run):
        return np.abs(run.q - exact.q).max()

    chosen = sorosim.simulate(robot, 4.0, dt_out=0.1, method=ALPHA, rtol=1e-5, atol=1e-8)
    steps = chosen.stats["n_steps"] + chosen.stats["n_rejected"]
    fixed = sorosim.simulate(robot, 4.0, dt_out=0.1, method=ALPHA, step=4.0 / steps)
    assert error(chosen) < 0.25 * error(fixed)


def test_projected_rates_keep_the_loops_closed(pendulum):
    robot, q0 = pendulum
    plain, projected = (
        sorosim.simulate(robot, 1.0, q0=q0, method=ALPHA, step=0.01, projection=choice) for choice in (False, True)
    )
    torn = [np.abs(robot.loop_rows(run.q[-1], run.qd[-1]).rate).max() for run in (plain, projected)]
    assert torn[1] < 1e-13 < 1e-6 < torn[0]
    assert_allclose(projected.q, plain.q, atol=1e-3)


@pytest.mark.parametrize("method", ["ida", ALPHA, "bdf"])
def test_all_ways_agree(pendulum, exact_pendulum, method):
    (robot, q0), exact = pendulum, exact_pendulum
    run = sorosim.simulate(robot, 1.0, dt_out=0.1, q0=q0, method=method, rtol=1e-7, atol=1e-9)
    for name in ("q", "qd", "lam"):  # a method of order 2 leaves some rtol^(2/3) = 2e-5 of each
        expected = getattr(exact, name)[:11]
        assert_allclose(getattr(run, name), expected, rtol=0, atol=2e-4 * np.abs(expected).max())


def pulled(**more):
    robot = cable_manipulator((1, 1, 0, 0), 3)
    push = Wrench("arm", 0.7, force=(0, "0.1*t", 0.05), frame="body")
    return Robot(replace(robot.description, loads={"push": push, **more}))


def test_python_in_between_changes_nothing():
    """Inputs and loads that Python evaluates give the very bits of compiled ones."""
    robot = pulled()
    options = {"t_end": 0.3, "method": ALPHA, "rtol": 1e-4}
    compiled = sorosim.simulate(robot, u={"cable1": "3*t"}, **options)
    called = sorosim.simulate(robot, u={"cable1": lambda t: 3.0 * t}, **options)
    assert_array_equal(called.q, compiled.q)

    class Own:
        """The same load in Python."""

        places = (("arm", 0.7),)
        dissipates = False

        def bind(self, layout):
            self.nodes = np.array([layout.link("arm").node_at(0.7)])
            return self

        def evaluate(self, t, g, eta):
            return LoadValues(np.array([[0, 0, 0, 0, 0.1 * t, 0.05]]), np.zeros((1, 6, 6)), np.zeros((1, 6, 6)))

    own = Robot(replace(robot.description, loads={"push": Own()}))
    assert_allclose(sorosim.simulate(own, u={"cable1": "3*t"}, **options).q, compiled.q, rtol=0, atol=1e-12)


def test_events_and_dense_output():
    robot = oscillator()

    def middle(t, q, qd):
        return q[0]

    run = sorosim.simulate(robot, 2.0, q0=[0.1], method=ALPHA, rtol=1e-8, atol=1e-10, events=[middle], dense=True)
    quarter = 0.5 * np.pi / 5.0
    assert_allclose(run.events[0][0], quarter * np.array([1, 3, 5]), atol=1e-5)
    assert_allclose(run.at(0.777)[0], 0.1 * np.cos(5.0 * 0.777), atol=1e-5)

    middle.terminal = True
    run = sorosim.simulate(robot, 2.0, q0=[0.1], method=ALPHA, rtol=1e-8, atol=1e-10, events=[middle])
    assert run.t[-1] <= quarter + 1e-5 < run.t[-1] + 0.02
    assert "termination" in run.message


@pytest.mark.parametrize("method", [ALPHA, "newmark", "ida"])
def test_a_run_taken_up_again_repeats_the_bits(method, tmp_path):
    robot = pulled()
    options = {"u": {"cable1": "3*t"}, "method": method, "checkpoint": 0.1}
    whole = sorosim.simulate(robot, 0.5, **options)
    sorosim.simulate(robot, 0.3, **options).save(tmp_path / "run.h5")
    again = sorosim.resume(tmp_path / "run.h5", 0.5)
    assert_array_equal(again.q, whole.q)
    assert_array_equal(again.qd, whole.qd)


def test_restarts_leave_the_multipliers_alone(pendulum):
    """The rates of a row tear the loops open already, as the method needs it: a start there must not do so twice.

    Tolerances are so small that what Newton's method leaves of each step does not count.
    """
    robot, q0 = pendulum
    options = {"q0": q0, "method": ALPHA, "step": 1e-3, "rtol": 1e-9, "atol": 1e-12}
    plain = sorosim.simulate(robot, 1.0, dt_out=0.01, **options)
    often = sorosim.simulate(robot, 1.0, dt_out=0.01, **options, checkpoint=0.02)
    for name, most in (("q", 1e-6), ("qd", 1e-5), ("lam", 1e-3)):
        size = np.abs(getattr(plain, name)).max()
        assert_allclose(getattr(often, name), getattr(plain, name), rtol=0, atol=most * size)
    exact = sorosim.simulate(robot, 1.0, dt_out=0.01, q0=q0, method="lsoda", rtol=1e-11, atol=1e-12)
    assert np.abs(often.lam - exact.lam).max() < 2e-3 * np.abs(exact.lam).max()


def test_multipliers_of_a_row_are_those_of_its_inputs(pendulum):
    robot, q0 = pendulum
    robot = Robot(replace(robot.description, actuators={"push": JointForce("a", along="tx")}))
    runs = [
        sorosim.simulate(robot, end, dt_out=0.01, q0=q0, method=ALPHA, rtol=1e-6, atol=1e-9, dt_control=0.05,
                         controller=lambda t, q, qd: 5.0 * np.sin(20.0 * t)) for end in (0.1, 0.2)
    ]  # fmt: skip
    assert_allclose(runs[0].lam[-1], runs[1].lam[10], rtol=1e-9, atol=1e-12)


def test_thin_taut_rods_are_held():
    """Length to thickness 3e4: the row along the rod has little of its own beside those across it."""
    L = 1.0
    wire = Material(3e9, poisson=0.3, density=1000.0, damping=1e5)
    rod = Rod((Division(L, Circle(0.5 * L / 3e4), wire, Strain(torsion=0, bending=3, elongation=0), quadrature=8),))
    loops = {"end": Loop(Joint("fixed"), Anchor("wire"), Anchor(at=at(1.005 * L)))}
    robot = Robot(Description("wire", (Link("wire", rod),), gravity=(0, 0, -9.81), loops=loops))
    run = sorosim.simulate(robot, 0.2, q0="assembled", method=ALPHA)
    tension = 3e9 * np.pi * (0.5 * L / 3e4) ** 2 * 0.005
    assert_allclose(np.abs(run.lam[-1]).max(), tension, rtol=1e-3)
    assert "singular" not in run.message


def test_controllers_and_driven_joints():
    """A held input, and a joint whose motion is given: the same as by another method."""
    links = (
        Link("a", BODY, joint=Joint("revolute")),
        Link("b", BODY, joint=Joint("revolute", damping=0.1), parent="a", at=at(0.5)),
    )
    robot = Robot(Description("two", links, gravity=(0, -9.81, 0)))
    options = {"driven": {"a": "0.3*sin(2*t)"}, "rtol": 1e-7, "atol": 1e-9}
    ours, theirs = (sorosim.simulate(robot, 1.0, method=method, **options) for method in (ALPHA, "lsoda"))
    assert_allclose(ours.q, theirs.q, atol=1e-4)
    assert_allclose(ours.driven["a"], theirs.driven["a"], atol=1e-3 * np.abs(theirs.driven["a"]).max())


def test_a_step_that_is_too_large_is_said():
    robot = cable_manipulator()
    with pytest.raises(ConvergenceError, match="Newton's method does not converge: a smaller step") as caught:
        sorosim.simulate(robot, 2.0, dt_out=0.5, u={"cable1": "200*step(t-0.9)"}, method="newmark", step=0.5)
    assert len(caught.value.partial.t) >= 1


def test_wrong_options_are_refused():
    robot = oscillator()
    for options, name in (({"step": -1.0}, "step"), ({"spectral_radius": 1.5}, "spectral_radius")):
        with pytest.raises(InputError, match=name):
            sorosim.simulate(robot, 1.0, method=ALPHA, **options)


@pytest.mark.parametrize("method", ["bdf", ALPHA])
def test_an_equilibrium_under_load_needs_no_exact_balance(method):
    """Next to rest loads and elastic forces cancel: an error of atol along each is what tolerances allow."""
    load = {"push": Wrench("a", force=(7e4, 0, 0))}
    robot = oscillator(stiffness=1e5)
    pushed = Robot(replace(robot.description, loads=load))
    rest = sorosim.statics(pushed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for beside in (1e-9, 1e-8, 1e-7):
            run = sorosim.simulate(pushed, 1.0, dt_out=0.1, q0=rest.q + beside, method=method)
            assert run.energy().elastic[0] > 1e4


def test_a_balance_that_is_not_explained_warns_and_says_what_to_try(tmp_path):
    """Steps a thousand periods long damp the energy away; those that are chosen by the tolerances keep it."""
    start = {"q0": [1e-3], "qd0": [0.0], "method": ALPHA}
    told = r"balance is off by .* J, where .* J move: steps of 0.01 s are too large"
    with pytest.warns(SorosimWarning, match=told) as caught:
        run = sorosim.simulate(oscillator(stiffness=2e12), 0.1, dt_out=0.01, step=0.01, **start)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SorosimWarning, match=told):
            sorosim.simulate(oscillator(stiffness=2e12), 0.1, dt_out=0.01, step=0.01, out=tmp_path / "run.h5", **start)
    # the file is complete all the same
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    assert "the energy balance is off by" in run.message
    assert "try a smaller step" in run.message
    assert "balance" not in sorosim.simulate(oscillator(), 1.0, dt_out=0.1, **start).message
