"""Linearised motion of robots: against differences of their dynamics, and against their motion."""

import warnings

import control
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from numpy.testing import assert_allclose
from validation.builders import cantilever

import sorosim
from sorosim.base.errors import InputError, SorosimWarning
from sorosim.files import load_text
from sorosim.mechanics.linear import linearize
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.section import Circle, Rectangle


def from_forward_dynamics(robot, lin, driven, h=1e-4):
    """K and D over M by central differences of accelerations, with loops closed."""
    from sorosim.analysis.results.modes import _project_onto_loops

    n, Z = lin.Z.shape[1], lin.Z

    def acceleration(z, rate):
        q, qd = lin.q + Z @ z, lin.qd + Z @ rate
        if robot.n_multipliers:
            q, qd = _project_onto_loops(robot, q, qd, lin.free)
        return Z.T @ robot.forward_dynamics(q, qd, u=lin.u, driven_qdd=driven)

    zero, columns = np.zeros(n), []
    for e in np.eye(2 * n):
        # fourth order
        steps = [acceleration(k * h * e[:n], k * h * e[n:]) for k in (1, -1, 2, -2)]
        columns.append((8.0 * (steps[0] - steps[1]) - (steps[2] - steps[3])) / (12.0 * h))
    return np.array(columns).T, acceleration(zero, zero)


@pytest.mark.parametrize("name", ["four_bar", "soft_ring", "soft_gripper_parallel", "hybrid_serial"])
def test_linear_motion_with_loops_is_the_derivative_of_forward_dynamics(name):
    robot = sorosim.load(name)
    rest = sorosim.statics(robot)
    lin = rest.linearize()
    rows, still = from_forward_dynamics(robot, lin, dict.fromkeys(rest.driven, 0.0))
    A = lin.A[len(lin.M) :]
    # cond(M) times rounding over the step, in accelerations as large as those of the stiffest motion
    assert np.abs(rows - A).max() < 1e-6 * np.abs(A).max()
    assert np.abs(still).max() < 1e-6 * np.abs(A).max()
    if robot.n_multipliers:
        assert np.abs(robot.loop_rows(lin.q).A @ lin.Z).max() < 1e-12


def turning_arm(**free):
    free = free or {"bending": 2, "elongation": 1, "torsion": 1, "shear": 0}
    rubber = Material(2e6, poisson=0.4, density=1000.0, damping=200.0)
    return cantilever(
        Strain(**free), length=0.5, section=Rectangle(0.03, 0.02), material=rubber,
        gravity=(0.0, 0.0, -9.81), joint=Joint("revolute", axis=(0.0, 0.0, 1.0)),
    )  # fmt: skip


def test_steady_motion_rests_in_the_turning_frame_and_its_linear_motion_is_the_derivative_of_the_dynamics():
    robot = turning_arm()
    motion = sorosim.steady(robot, {"arm": 12.0})
    acceleration = robot.forward_dynamics(motion.q, motion.qd, u=motion.u, driven_qdd={"arm": 0.0})
    assert_allclose(acceleration, 0.0, atol=1e-6)  # of 2e4 of the stiffest motion under forces of this size
    lin = motion.linearize()
    rows, _ = from_forward_dynamics(robot, lin, {"arm": 0.0})
    A = lin.A[len(lin.M) :]
    assert np.abs(rows - A).max() < 1e-7 * np.abs(A).max()
    gyroscopic = 0.5 * np.abs(lin.D - lin.D.T).max()
    assert gyroscopic > 0.1 * np.abs(lin.M).max()  # what is tested is no trifle


def test_a_stretched_rod_that_turns_is_as_long_as_its_differential_equation_says():
    # E r'' = -rho W^2 r; waves along it have w^2 = E/rho (pi (n - 1/2)/L)^2 - W^2
    length, speed, stiff = 0.5, 40.0, Material(1e7, poisson=0.3, density=1000.0)
    robot = cantilever(
        Strain(elongation=10), length=length, section=Circle(0.01), material=stiff, n_gauss=96,
        joint=Joint("revolute", axis=(0.0, 0.0, 1.0)),
    )  # fmt: skip
    motion = sorosim.steady(robot, {"arm": speed})
    k = speed / np.sqrt(1e4)
    assert motion.tip()[0] == pytest.approx(np.tan(k * length) / k, rel=1e-12)
    waves = np.pi * (np.arange(3) + 0.5) / length * np.sqrt(1e4)
    found = motion.linearize().damped.eigenvalues[:3].imag
    assert_allclose(found, np.sqrt(waves**2 - speed**2), rtol=1e-7)  # the basis and segments, as at rest


def test_motion_after_a_small_push_is_that_of_the_matrix():
    robot = sorosim.load("cable_manipulator")
    rest = sorosim.statics(robot, {"cable1": 5.0})
    lin = rest.linearize()
    size = 1e-5
    shape = lin.damped.shapes[:, 0]
    run = sorosim.simulate(
        robot, 0.4, dt_out=0.05, u={"cable1": 5.0}, q0=rest.q + size * shape.real,
        qd0=size * (lin.damped.eigenvalues[0] * shape).real, method="cvode", rtol=1e-9, atol=1e-13,
    )  # fmt: skip
    exact = rest.q + size * np.real(np.exp(np.outer(run.t, lin.damped.eigenvalues[:1])) * shape)
    # what is not linear is of the size of its square
    assert np.abs(run.q - exact).max() < 2e-4 * np.abs(exact - rest.q).max()
    assert np.abs(run.q[-1] - rest.q).max() < 0.7 * np.abs(run.q[0] - rest.q).max()  # it has decayed


def test_positions_and_control_have_the_transfer_function_of_the_matrices():
    robot = sorosim.load("cable_manipulator")
    lin = sorosim.statics(robot, {"cable1": 5.0}).linearize()
    C, names = lin.positions(["arm", ("arm", 0.5)])
    assert names == ("arm.x", "arm.y", "arm.z", "arm(0.5).x", "arm(0.5).y", "arm(0.5).z")
    h = 1e-6
    tips = [robot.pose(lin.q + s * h * e, "arm")[:3, 3] for e in np.eye(24) for s in (1.0, -1.0)]
    difference = (np.array(tips[::2]) - np.array(tips[1::2])).T / (2.0 * h)
    assert_allclose(C[:3, :24], difference, atol=1e-9)
    system = lin.to_control(["arm"])
    assert isinstance(system, control.StateSpace)
    assert system.input_labels == list(robot.actuator_names)
    assert system.output_labels == ["arm_x", "arm_y", "arm_z"]
    assert system.state_labels[0] == "arm_torsion[0]"
    s = 2j * np.pi * 1.3
    direct = C[:3, :24] @ np.linalg.solve(s**2 * lin.M + s * lin.D + lin.K, lin.F)
    assert_allclose(system(s), direct, rtol=1e-7, atol=1e-9 * np.abs(direct).max())


def test_reduced_motion_has_the_slow_modes_and_nearly_the_slow_response():
    lin = sorosim.statics(sorosim.load("cable_manipulator")).linearize()
    few = lin.reduce(6)
    assert few.A.shape == (12, 12)
    assert_allclose(few.M, np.eye(6), atol=1e-9)
    assert_allclose(few.frequencies, lin.frequencies[:6], rtol=1e-9)
    assert_allclose(few.Z, lin.Z @ lin.modes[:, :6])
    s = 2j * np.pi * 1.3
    whole, part = (x.to_control()(s) for x in (lin, few))
    assert np.abs(whole - part).max() < 0.1 * np.abs(whole).max()
    assert repr(few) == "<Linearization of 'cable-driven manipulator': 6 coordinates, stable>"


def test_a_ball_on_the_ground_bounces_with_the_slope_of_hertz_law():
    ground = {"contact": {"between": "ball", "and": {"half_space": {}}, "stiffness": "1e5 N/m^1.5"}}
    ball = {"joint": {"prismatic": {"axis": [0, 0, 1]}}, "body": {"sphere": {"radius": "5 cm"}, "mass": "0.3 kg"}}
    ball["at"] = {"position": [0, 0, "5 cm"]}
    robot = sorosim.load({"sorosim": 1, "name": "ball", "links": {"ball": ball}, "loads": {"ground": ground}})
    rest = sorosim.statics(robot)
    depth = (0.3 * 9.81 / 1e5) ** (2.0 / 3.0)
    assert -rest.q[0] == pytest.approx(depth, rel=1e-6)
    omega = np.sqrt(1.5 * 9.81 / depth)
    assert rest.linearize().frequencies[0] == pytest.approx(omega / (2.0 * np.pi), rel=1e-6)


# -- mistakes


def test_a_state_that_is_no_equilibrium_is_told():
    robot = sorosim.load("cable_manipulator")
    message = r"^linearize: q is no equilibrium, at 'arm\.shear_z\[0\]' a force of .* is left of .*; sorosim.statics"
    with pytest.warns(SorosimWarning, match=message):
        robot.linearize(np.zeros(robot.ndof))


@pytest.mark.filterwarnings("error::sorosim.SorosimWarning")
@pytest.mark.parametrize("name", ["cable_manipulator", "fin_ray", "hybrid_parallel", "soft_ring", "stewart_soft"])
def test_equilibria_of_statics_are_equilibria(name):
    lin = sorosim.statics(sorosim.load(name)).linearize()  # a warning is an error here
    assert np.isfinite(lin.frequencies).all()


def test_rates_that_are_not_steady_are_told():
    arm = cantilever(
        Strain(bending=1), length=0.5, section=Circle(0.01), gravity=(0.0, -9.81, 0.0),
        joint=Joint("revolute", axis=(0.0, 0.0, 1.0)),
    )  # fmt: skip
    motion = sorosim.steady(arm, {"arm": 3.0})  # balanced now, in a field that turns
    with pytest.warns(SorosimWarning, match=r"^linearize: the motion is not steady"):
        motion.linearize()
    with pytest.warns(SorosimWarning, match=r"no steady motion, .*; sorosim.steady finds one"):
        arm.linearize(np.zeros(arm.ndof), qd={"arm": 3.0})


@pytest.mark.filterwarnings("error::sorosim.SorosimWarning")
@pytest.mark.parametrize("speed", [1e-3, 1.0, 12.0])
def test_steady_motions_are_steady(speed):
    turning = turning_arm()
    lin = sorosim.steady(turning, {"arm": speed}).linearize()  # a warning is an error here
    assert lin.qd[0] == speed


def test_mistakes_of_callers():
    robot, lin = turning_arm(), linearize(np.eye(2), np.eye(2), np.eye(2), np.eye(2))
    q = np.zeros(robot.ndof)
    for call, message in (
        (lambda: robot.linearize(q, qd={"leg": 1.0}), r"^qd: expected the name of a link with a joint"),
        (lambda: robot.linearize(q, qd=[1.0]), r"^qd: expected \d+ numbers"),
        (lambda: robot.linearize(q, stiffness=[[np.nan] * len(q)] * len(q)), r"^stiffness: expected finite numbers"),
        (lambda: robot.linearize(q, stiffness=np.eye(2)), r"^stiffness: expected a matrix"),
        (lambda: robot.linearize(q, stiffness=q), r"^stiffness: expected a matrix"),
        (lambda: lin.positions(), r"^positions: expected the motion of a robot, got matrices alone"),
        (lambda: lin.mode(1), r"^mode: expected the motion of a robot"),
        (lambda: lin.reduce(3), r"^n_modes: expected a whole number from 1 to 2, got 3"),
        (lambda: lin.reduce(1.5), r"^n_modes: expected a whole number from 1 to 2, got 1\.5"),
        (lambda: sorosim.steady(robot, [1.0]), r"^rates: expected a mapping of names to values, got list"),
        (lambda: sorosim.steady(robot, {"arm": np.nan}), r"^rates\.arm: expected an angular speed, got nan"),
        (lambda: sorosim.steady(robot, {"amr": 1.0}), r"^rates: expected .* got 'amr'; did you mean arm\?"),
    ):
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize("places", [3, [3], ("arm", 0.5), [("arm", 0.5, 1.0)], [["arm"]]])
def test_places_are_links_or_pairs(places):
    with pytest.raises(InputError, match=r"^outputs: expected "):
        sorosim.statics(turning_arm(), driven={"arm": 0.0}).linearize().positions(places)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"M": [[1.0, 0.0], [0.0, -1.0]]}, r"^M: expected a symmetric positive definite matrix"),
        ({"M": [[1.0, 0.5], [0.0, 1.0]]}, r"^M: expected a symmetric positive definite matrix"),
        ({"M": 3.0}, r"^M: expected a square matrix"),
        ({"K": np.eye(3)}, r"^K: expected a square matrix, as large as M, got shape \(3, 3\)"),
        ({"D": np.full((2, 2), np.nan)}, r"^D: expected finite numbers"),
        ({"B": [1.0, 0.0]}, r"^B: expected a matrix \(2, m\), a column for each input"),
        ({"B": [[1.0, 0.0]]}, r"^B: expected 2 numbers or columns of them"),
    ],
)
def test_matrices_are_checked_at_the_door(change, message):
    given = {"M": np.eye(2), "D": np.zeros((2, 2)), "K": np.eye(2), "B": np.eye(2)}
    assert linearize(**{name: X.tolist() for name, X in given.items()}).stable
    with pytest.raises(InputError, match=message):
        linearize(**given | change)


def test_stability_in_a_word_tells_what_drifts_from_what_grows():
    free = linearize(np.eye(2), np.zeros((2, 2)), np.diag([0.0, 4.0]), np.eye(2))
    assert (free.stable, free.stability) == (True, "neutral")
    assert repr(free) == "<Linearization of matrices: 2 coordinates, neutral>"
    assert linearize(np.eye(2), np.zeros((2, 2)), np.diag([-1.0, 4.0]), np.eye(2)).stability == "unstable (divergence)"
    assert linearize(np.eye(2), -0.1 * np.eye(2), np.diag([1.0, 4.0]), np.eye(2)).stability == "unstable (flutter)"
    assert linearize(np.eye(2), 0.1 * np.eye(2), np.diag([1.0, 4.0]), np.eye(2)).stability == "stable"


@pytest.mark.parametrize(("c", "words"), [(0.0, "stable"), (0.05, "stable"), (0.2, "unstable (flutter)")])
def test_circulatory_forces_flutter_beyond_what_damping_takes(c, words):
    """x = z1 + i z2 has x'' + d x' + (1 - i c) x = 0, which is stable where c < d."""
    d = 0.1
    lin = linearize(np.eye(2), d * np.eye(2), np.array([[1.0, c], [-c, 1.0]]), np.eye(2))
    assert lin.stability == words
    exact = (-d + np.sqrt(d * d - 4.0 * (1.0 - 1j * c))) / 2.0
    assert_allclose(lin.eigenvalues[0].real, exact.real, atol=1e-14)
    assert tuple(lin.growth) == (0, int(c > d))


def test_divergence_and_flutter_are_counted_apart():
    K = scipy.linalg.block_diag([[1.0, 0.3], [-0.3, 1.0]], [[-2.0]])
    lin = linearize(np.eye(3), np.zeros((3, 3)), K, np.eye(3))
    assert (lin.stability, tuple(lin.growth), lin.growth.unstable) == ("unstable (divergence and flutter)", (1, 1), 3)


def test_rates_that_tear_loops_open_are_refused():
    robot = sorosim.load("four_bar")
    q = sorosim.statics(robot).q
    with pytest.raises(InputError, match=r"^qd: expected rates that keep the loops closed, got up to"):
        robot.linearize(q, qd=np.array([1.0, 0.0, 0.0]), free=[0, 1, 2])


def test_mode_count_of_the_matrix_exponential():
    # a second way through time: the state after a while is that of the matrix, integrated by another program
    M, D, K = np.diag([1.0, 2.0]), np.array([[0.1, 0.3], [-0.3, 0.2]]), np.array([[5.0, 1.0], [1.0, 3.0]])
    lin = linearize(M, D, K, np.eye(2))
    x0 = np.array([0.1, -0.2, 0.3, 0.0])
    end = scipy.integrate.solve_ivp(lambda t, x: lin.A @ x, (0.0, 2.0), x0, rtol=1e-11, atol=1e-13).y[:, -1]
    modes = lin.damped
    states = np.vstack([modes.shapes, modes.shapes * modes.eigenvalues])
    both = np.hstack([states, states.conj()])
    amplitude = np.linalg.solve(both, x0.astype(complex))
    rates = np.concatenate([modes.eigenvalues, modes.eigenvalues.conj()])
    assert_allclose((both @ (amplitude * np.exp(2.0 * rates))).real, end, atol=1e-9)


def test_a_ring_on_a_turntable_has_a_steady_motion_with_its_loop_closed():
    text = sorosim.load("soft_ring").description.text
    text = text.replace(
        "links:\n",
        "links:\n  table: {joint: {revolute: {axis: [0, 0, 1]}}, body: {sphere: {radius: 2 cm}, mass: 1 kg}}\n",
    )
    text = text.replace("  ring:\n", "  ring:\n    parent: table\n")
    robot = load_text(text, "turning_ring.yaml")
    motion = sorosim.steady(robot, {"table": 8.0})
    assert max(motion.robot.loop_gaps(motion.q)["seam"]) < 1e-9
    assert_allclose(robot.forward_dynamics(motion.q, motion.qd, driven_qdd={"table": 0.0}), 0.0, atol=1e-5)
    still = sorosim.statics(robot, driven={"table": 0.0})
    assert np.abs(motion.tip() - robot.pose(still.q, "ring", s=0.5)[:3, 3]).max() > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error", SorosimWarning)
        lin = motion.linearize()
    rows, _ = from_forward_dynamics(robot, lin, {"table": 0.0})
    A = lin.A[len(lin.M) :]
    assert np.abs(rows - A).max() < 1e-6 * np.abs(A).max()
    wrench = motion.loop_wrench("seam")
    assert np.abs(wrench).max() > 1e-3
