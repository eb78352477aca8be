"""Bodies that spin and travel: free and planar joints keep momentum, as sliders and a ball joint in series do."""

from itertools import pairwise

import numpy as np
import pytest
from helpers.differences import jacobian, relative_error
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import sorosim
from sorosim.mechanics.model.chart import coordinates_of, rates_of
from sorosim.mechanics.model.joints import Joint

BODIES = {
    "ball": {"sphere": {"radius": "10 cm"}, "mass": "1 kg"},
    "box": {"box": {"size": ["10 cm", "20 cm", "30 cm"]}, "mass": "1 kg"},
    "drone": {"mass": "1.2 kg", "inertia": [0.01, 0.012, 0.02]},
}
# velocity [m/s] and angular velocity [rad/s] of balls, boxes and drones
THROWN = [
    ("ball", [2.0, 0.0, 0.0], [0.0, 20.0, 0.0]),
    ("ball", [20.0, 0.0, 1.0], [0.0, 0.0, 314.0]),
    ("box", [10.0, -3.0, 10.0], [3.0, 12.0, 4.0]),
    ("drone", [10.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
]
AXIS = (1.0, -2.0, 3.0)


def free_body(body, joint="free", gravity=(0.0, 0.0, 0.0), **blocks):
    links = {
        "body": {"joint": joint, "body": body, "at": {"position": [0.3, 0.2, -0.1], "rotation": {"rpy": [1, 2, 3]}}}
    }
    return sorosim.load({"sorosim": 1, "name": "thrown", "gravity": list(gravity), "links": links, **blocks})


def path(run, robot, link="body"):
    return np.array([robot.pose(q, link)[:3, 3] for q in run.q])


@pytest.mark.parametrize("method", ["bdf", "generalized-alpha", "radau", "cvode"])
@pytest.mark.parametrize(("name", "v", "w"), THROWN)
def test_a_body_that_spins_flies_straight_at_default_tolerances(name, v, w, method):
    if method == "cvode":
        pytest.importorskip("sksundae")
    start = {"body": {"velocity": v, "angular_velocity": w}}
    robot = free_body(BODIES[name], initial=start)
    run = sorosim.simulate(robot, 2.0 if max(w) < 100.0 else 0.2, method=method)
    p = path(run, robot)
    straight = p[0] + run.t[:, None] * (robot.links[0].at[:3, :3] @ v)
    # translation is a polynomial of first degree, which every method integrates exactly: rounding of sums is left
    assert np.abs(p - straight).max() < 1e-9 * np.linalg.norm(v)


def test_a_puck_slides_straight_however_often_it_turns():
    start = {"body": {"velocity": [2.0, 1.0, 0.0], "angular_velocity": [0.0, 0.0, 30.0]}}
    robot = free_body(BODIES["box"], {"planar": {"axis": [0, 0, 1]}}, initial=start)
    for method in ("bdf", "generalized-alpha"):
        run = sorosim.simulate(robot, 3.0, method=method)
        assert_allclose(run.q, np.outer(run.t, [2.0, 1.0, 30.0]), rtol=1e-9, atol=1e-9)  # 14 whole turns are counted


def test_a_thrown_box_falls_on_a_parabola():
    start = {"body": {"velocity": [10.0, 0.0, 10.0], "angular_velocity": [3.0, 12.0, 4.0]}}
    robot = free_body(BODIES["box"], gravity=(0.0, 0.0, -9.81), initial=start)
    fall = robot.links[0].at[:3, :3].T @ [0.0, 0.0, -9.81]
    for method in ("bdf", "generalized-alpha"):
        run = sorosim.simulate(robot, 2.0, method=method)
        exact = np.outer(run.t, [10.0, 0.0, 10.0]) + 0.5 * np.outer(run.t**2, fall)
        # a polynomial of second degree: exact for generalized-alpha, for bdf but for steps of first order at the start
        assert np.abs(run.q[:, :3] - exact).max() < (1e-9 if method == "generalized-alpha" else 1e-3)


def test_a_ball_that_rolls_goes_on_at_its_speed():
    floor = {"contact": {"between": "body", "and": {"half_space": {}}, "stiffness": 1e6, "damping": "0.3 s/m",
                         "friction": 0.3, "slip_speed": "2 cm/s"}}  # fmt: skip
    robot = sorosim.load({
        "sorosim": 1, "name": "rolling", "links": {"body": {"joint": "free", "body": BODIES["ball"]}},
        "loads": {"floor": floor},
        "initial": {"body": {"position": [0, 0, "99.9543 mm"], "velocity": [2, 0, 0], "angular_velocity": [0, 20, 0]}},
    })  # fmt: skip
    for method in ("bdf", "generalized-alpha"):
        run = sorosim.simulate(robot, 3.0, method=method)
        velocity = (run.q[:, 0] - run.q[0, 0])[1:] / run.t[1:]
        # it rolls on its radius less the depth, 0.05 % of it: there it slips by as much, and the floor evens that out
        assert_allclose(velocity, 2.0, rtol=1e-3)
        kinetic = run.energy().kinetic
        assert_allclose(kinetic, kinetic[0], rtol=2e-3)


# -- many bodies, beside a parabola and Euler's equations


def tumbled(R, w, inertia, t, planar):
    """Rotation after a time t by Euler's equations, in their own variables: the matrix and the body's rates."""

    def rates(_, y):
        R, w = y[:9].reshape(3, 3), y[9:]
        of_w = np.zeros(3) if planar else np.cross(inertia * w, w) / inertia
        return np.concatenate([np.cross(R, w).ravel(), of_w])  # each row r of R turns by r x w

    y = solve_ivp(rates, (0.0, t), np.concatenate([R.ravel(), w]), method="DOP853", rtol=1e-11, atol=1e-12).y
    return y[:9, -1].reshape(3, 3)


def flight(seed, off_centre, t_end=2.0, **options):
    """Errors of a thrown body at default settings: path over extent, rotation over turn, angular momentum, energy.

    A seed is a free or a planar joint, with gravity or without, of up to 20 m/s and 30 rad/s.
    """
    rng = np.random.default_rng(seed)
    planar, falls = seed % 2 == 1, seed % 4 < 2
    size, mass = rng.uniform(0.05, 0.4, 3), rng.uniform(0.1, 3.0)
    inertia = mass / 12.0 * (np.sum(size**2) - size**2)
    centre = rng.uniform(-0.2, 0.2, 3) if off_centre else np.zeros(3)
    v, w = (
        top * rng.uniform() * x / np.linalg.norm(x)
        for top, x in zip((20.0, 30.0), rng.normal(size=(2, 3)), strict=True)
    )
    gravity = np.array([0.0, -9.81, 0.0]) if falls else np.zeros(3)  # in the plane of planar joints
    if planar:
        v[2], w[:2] = 0.0, 0.0
    robot = sorosim.load({
        "sorosim": 1, "name": "thrown", "gravity": gravity.tolist(),
        "links": {"body": {
            "joint": {"planar": {"axis": [0, 0, 1]}} if planar else "free",
            "body": {"mass": mass, "centre": centre.tolist(), "inertia": inertia.tolist()},
        }},
        "initial": {"body": {"velocity": v.tolist(), "angular_velocity": w.tolist()}},
    })  # fmt: skip
    run = sorosim.simulate(robot, t_end, **options)
    g = np.array([robot.pose(q, "body") for q in run.q])
    R = g[:, :3, :3]
    twists = np.array([robot.jacobian(q, "body") @ qd for q, qd in zip(run.q, run.qd, strict=True)])
    w = twists[:, :3]
    places, start = g[:, :3, 3] + R @ centre, R[0] @ (twists[0, 3:] + np.cross(w[0], centre))
    way = run.t[:, None] * start + 0.5 * run.t[:, None] ** 2 * gravity
    turned = Rotation.from_matrix(R[-1].T @ tumbled(R[0], w[0], inertia, run.t[-1], planar)).magnitude()
    spin = np.einsum("nij,nj->ni", R, w * inertia)[:, slice(2, 3) if planar else slice(3)]  # its axis holds the rest
    energy = run.energy()
    return np.array([
        np.abs(places - places[0] - way).max() / np.linalg.norm(way, axis=1).max(),
        turned / (np.linalg.norm(w[0]) * run.t[-1]),
        np.abs(spin - spin[0]).max() / np.linalg.norm(spin[0]),
        np.ptp(energy.total) / energy.kinetic.max(),
    ])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("off_centre", [False, True], ids=["centre in the frame", "centre off the frame"])
def test_200_bodies_keep_path_momentum_and_energy_at_default_settings(off_centre):
    path, turn, spin, energy = np.array([flight(seed, off_centre) for seed in range(200)]).T
    # a centre in the frame moves along a polynomial that steps follow: rounding is left; else it is by tolerance, 1e-5,
    # five times the worst: 2.6e-6 of the way, 2.8e-6 of the turn, 7.2e-6 of the momentum, 1.8e-5 of the energy
    assert path.max() < (1.3e-5 if off_centre else 1e-12)
    assert turn.max() < 1.4e-5
    assert spin.max() < 3.6e-5
    assert energy.max() < 9e-5


# -- the same motions in other coordinates


def in_series(body, joint):
    """Sliders, and a ball joint or a hinge, in place of a free or a planar joint."""
    planar = joint != "free"
    axes = np.vstack([stage.columns for stage in Joint("planar", axis=AXIS).stages])[:2, 3:] if planar else np.eye(3)
    at = {"position": [0.3, 0.2, -0.1], "rotation": {"rpy": [1, 2, 3]}}
    links = {
        f"slide{i}": {
            "joint": {"prismatic": {"axis": axis.tolist()}},
            **({"parent": f"slide{i - 1}"} if i else {"at": at}),
        }
        for i, axis in enumerate(axes)
    }
    turn = {"revolute": {"axis": list(AXIS)}} if planar else "spherical"
    links["body"] = {"parent": f"slide{len(axes) - 1}", "joint": turn, "body": body}
    return sorosim.load({"sorosim": 1, "name": "series", "links": links})


ODD = {"mass": "2 kg", "centre": [0.1, -0.2, 0.05], "inertia": [0.2, 0.25, 0.3]}
JOINTS = ("free", {"planar": {"axis": list(AXIS)}})


def regimes(rng, n):
    q, qd, qdd = 0.8 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)
    zero = np.zeros(n)
    return (q, qd, qdd), (q, zero, zero), (zero, qd, qdd), (q, qd, zero)


@pytest.mark.parametrize("joint", JOINTS, ids=["free", "planar"])
def test_position_and_rotation_are_sliders_and_a_joint_that_turns(joint, rng):
    robot, other = free_body(ODD, joint, (0.0, 0.0, -9.81)), in_series(ODD, joint)
    for q, qd, qdd in regimes(rng, robot.ndof):
        assert_allclose(robot.pose(q, "body"), other.pose(q, "body"), atol=1e-14)
        assert relative_error(robot.mass_matrix(q), other.mass_matrix(q)) < 1e-12
        ours, theirs = (x.inverse_dynamics_derivatives(q, qd, qdd=qdd) for x in (robot, other))
        for a, b in zip(ours, theirs, strict=True):
            assert relative_error(a, b) < 1e-12 or np.abs(b).max() < 1e-13
        for a, b in zip(
            robot.forward_dynamics_derivatives(q, qd), other.forward_dynamics_derivatives(q, qd), strict=True
        ):
            assert relative_error(a, b) < 1e-11 or np.abs(b).max() < 1e-12


@pytest.mark.parametrize("coordinates", ["position", "screw"])
@pytest.mark.parametrize("kind", ["free", "planar"])
def test_derivatives_of_dynamics_are_those_of_differences(kind, coordinates, rng):
    of = {"coordinates": coordinates, **({"axis": list(AXIS)} if kind == "planar" else {})}
    robot = free_body(ODD, {kind: of}, (0.0, 3.0, -9.81))
    for q, qd, qdd in regimes(rng, robot.ndof):
        inverse = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd)
        forward = robot.forward_dynamics_derivatives(q, qd)
        for got, of_q, of_qd in (
            (inverse[1:3], lambda x, v=qd, a=qdd: robot.inverse_dynamics(x, v, qdd=a),
             lambda v, x=q, a=qdd: robot.inverse_dynamics(x, v, qdd=a)),
            (forward[1:3], lambda x, v=qd: robot.forward_dynamics(x, v), lambda v, x=q: robot.forward_dynamics(x, v)),
        ):  # fmt: skip
            wanted = jacobian(of_q, q, (0.04, 0.02, 0.01), 8), jacobian(of_qd, qd, (0.04, 0.02, 0.01), 8)
            for a, b in zip(got, wanted, strict=True):
                assert relative_error(a, b) < 1e-9 or np.abs(b).max() < 1e-11


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_a_screw_motion_is_the_same_physics(kind, rng):
    """Equal poses and twists: equal accelerations of the body, and equal motions."""
    of = {"axis": list(AXIS)} if kind == "planar" else {}
    robots = [free_body(ODD, {kind: {**of, "coordinates": x}}, (0.0, 3.0, -9.81)) for x in ("position", "screw")]
    joints = [robot.links[0].joint for robot in robots]
    P = np.vstack([stage.columns for stage in joints[0].stages])
    start = free_body(ODD, {kind: of})
    for _ in range(5):
        q0, eta = 0.8 * rng.normal(size=len(P)), rng.normal(size=len(P)) @ P
        g = np.linalg.inv(robots[0].links[0].at) @ start.pose(q0, "body")
        states = [(coordinates_of(joint, g), joint) for joint in joints]
        states = [(q, rates_of(joint, q, eta)) for q, joint in states]
        found = []
        for robot, (q, qd) in zip(robots, states, strict=True):
            qdd, h = robot.forward_dynamics(q, qd), 1e-5
            ends = [robot.jacobian(q + s * h * qd + 0.5 * h**2 * qdd, "body") @ (qd + s * h * qdd) for s in (1.0, -1.0)]
            found.append((ends[0] - ends[1]) / (2.0 * h))
        assert_allclose(*found, atol=1e-7 * np.abs(found[0]).max())
    runs = [
        sorosim.simulate(robot, 0.5, q0=q, qd0=qd, rtol=1e-10, atol=1e-12)
        for robot, (q, qd) in zip(robots, states, strict=True)
    ]
    poses = [robot.pose(run.q[-1], "body") for robot, run in zip(robots, runs, strict=True)]
    assert_allclose(*poses, atol=1e-7)


@pytest.mark.parametrize("coordinates", ["position", "screw"])
def test_thrust_and_moments_are_in_the_frame_of_the_body(coordinates):
    """A drone that yaws and is pushed along its own x goes round in a circle, v = F/(m w) across the push."""
    robot = free_body(
        BODIES["drone"], {"free": {"coordinates": coordinates}},
        actuators={"thrust": {"joint": {"link": "body", "along": "tx"}}},
        initial={"body": {"velocity": [0, -5.0, 0], "angular_velocity": [0, 0, 2.0]}},
    )  # fmt: skip
    run = sorosim.simulate(robot, np.pi, u={"thrust": 1.2 * 5.0 * 2.0}, rtol=1e-9, atol=1e-11)
    p = path(run, robot)
    assert_allclose(p[-1], p[0], atol=1e-6)  # one turn
    assert np.ptp(p @ robot.links[0].at[:3, 0]) == pytest.approx(5.0, rel=1e-3)  # twice v/w
    # the thrust does no work: less than a millionth of force times path
    assert abs(run.energy().work[-1]) < 1e-6 * 12.0 * 5.0 * np.pi


def test_the_way_is_the_same_whatever_the_spin():
    """Neither the steps nor the tolerances of a rotation reach the translation."""
    runs = [
        sorosim.simulate(
            free_body(BODIES["ball"], initial={"body": {"velocity": [3, 0, 0], "angular_velocity": [0, w, 0]}}), 1.0
        )
        for w in (0.0, 1.0, 50.0)
    ]
    for a, b in pairwise(runs):
        assert_allclose(a.q[:, :3], b.q[:, :3], atol=1e-10)


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_derivatives_of_steps_and_products_know_that_thrust_and_drag_turn(kind, rng):
    of = {"axis": list(AXIS)} if kind == "planar" else {}
    n = 3 if kind == "planar" else 6
    drag = {"damping": rng.uniform(0.1, 1.0, n).tolist(), "friction": rng.uniform(0.1, 1.0, n).tolist()}
    motors = {word: {"joint": {"link": "body", "along": word}} for word in ("tx", "ty")}
    robot = free_body(ODD, {kind: {**of, **drag, "creep": [0.5] * n}}, actuators=motors)
    q, qd, u = 0.8 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=2)
    whole = robot.forward_dynamics_derivatives(q, qd, u=u)
    dq, dqd, du, w = (rng.normal(size=m) for m in (n, n, 2, n))
    product = robot.forward_dynamics_jvp(q, qd, u=u, dq=dq, dqd=dqd, du=du)
    assert relative_error(product[1], whole.dqdd_dq @ dq + whole.dqdd_dqd @ dqd + whole.dqdd_du @ du) < 1e-11
    back = robot.forward_dynamics_vjp(q, qd, qdd_bar=w, u=u)
    for got, wanted in zip(back[1:], (whole.dqdd_dq.T @ w, whole.dqdd_dqd.T @ w, whole.dqdd_du.T @ w), strict=True):
        assert relative_error(got, wanted) < 1e-11
    inputs = np.tile(u, (5, 1))

    def end(x):
        return sorosim.rollout(robot, inputs, "20 ms", q0=x[:n], qd0=x[n:], tolerance=1e-13).q[-1]

    found = sorosim.rollout(robot, inputs, "20 ms", q0=q, qd0=qd, tolerance=1e-13)
    q_bar = np.zeros_like(found.q)
    q_bar[-1] = w
    gradient = found.vjp(q_bar)
    wanted = jacobian(end, np.concatenate([q, qd]), (2e-3, 1e-3), 6).T @ w
    assert relative_error(np.concatenate([gradient.q0, gradient.qd0]), wanted) < 1e-6
