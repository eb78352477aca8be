"""Loops: errors, rates and accelerations of every kind against poses and differences; forces; motion under them."""

import numpy as np
import pytest
import scipy.linalg
from helpers.differences import Worst, best_slope, jacobian, relative_error
from helpers.kinds import CLOSING as KINDS
from helpers.robots import moderate, random_state, varied_tree, with_random_loops
from numpy.testing import assert_allclose

import sorosim
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.loops import acceleration_rows
from sorosim.mechanics.lie import Ad_inv, exp_se3, inverse, log_se3

SEEDS = range(300, 312)
STEPS = (3e-2, 1e-2, 3e-3)
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("loops"))


@pytest.fixture(scope="module", params=SEEDS)
def case(request):
    """A random tree with open loops of all kinds, a state, and multipliers."""
    rng = np.random.default_rng(request.param)
    robot = with_random_loops(rng, varied_tree(request.param), 4, tuple(np.roll(KINDS, request.param)))
    q, qd, qdd, u = random_state(rng, robot)
    return robot, 0.3 * q, qd, qdd, u, rng.normal(size=robot.engine.loop_layout.m)


def residual(robot, q, qd, qdd, u, lam, what=task.RESIDUAL_DERIVATIVES):
    return robot.engine.evaluate(what, q, qd, qdd, u, multiplier=lam)


def test_errors_and_their_derivatives_alone_are_those_of_the_whole_residual(case):
    robot, q, qd, _, u, lam = case
    whole, zero = residual(robot, q, qd, np.zeros(robot.ndof), u, lam).closure, np.zeros(robot.ndof)
    alone, errors = (residual(robot, q, qd, zero, u, lam, what).closure for what in (task.CLOSURE, task.ERRORS))
    for name in ("constraint", "error_by_q"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name))
    for closure in (alone, errors):
        for name in ("error", "rate", "acceleration", "wrench"):
            np.testing.assert_array_equal(getattr(closure, name), getattr(whole, name))


def accelerations(robot, loops, moving, by_rate):
    """Derivatives (m, ndof) of the accelerations of loops, after their derivatives were evaluated."""
    engine, out = robot.engine, np.zeros((robot.engine.loop_layout.m, robot.ndof))
    acceleration_rows(engine.tree, engine.loops, moving, by_rate, engine.workspace, loops, out)
    return -out


def anchor_pose(robot, q, anchor):
    if anchor.link == "world":
        return anchor.at
    return robot.pose(q, anchor.link, s=anchor.s) @ anchor.at


def own_motion(joint, g):
    """The motion of the joint nearest to g, found by another way: as coordinates of its exponential."""
    a, p, axis = np.array(joint.axis), g[:3, 3], np.zeros(6)
    axis[:3] = a
    turned = np.arctan2(
        a @ [g[2, 1] - g[1, 2], g[0, 2] - g[2, 0], g[1, 0] - g[0, 1]], np.trace(g[:3, :3]) - a @ g[:3, :3] @ a
    )
    f = np.eye(4)
    if joint.kind in ("revolute", "cylindrical", "planar"):
        f = exp_se3(turned * axis)
    if joint.kind in ("prismatic", "cylindrical"):
        f[:3, 3] = a * (a @ p)
    if joint.kind == "planar":
        f[:3, 3] = p - a * (a @ p)
    if joint.kind == "helical":
        f = exp_se3((a @ p) / joint.pitch * np.concatenate([a, joint.pitch * a]))
    if joint.kind == "spherical":
        f[:3, :3] = g[:3, :3]
    return f


def test_errors_are_what_is_left_beside_the_joint(case):
    robot, q, qd, qdd, u, lam = case
    found = residual(robot, q, qd, qdd, u, lam).closure.error
    for name, loop in robot.description.loops.items():
        g = inverse(anchor_pose(robot, q, loop.b)) @ anchor_pose(robot, q, loop.a)
        e = loop.joint.constrained @ log_se3(g @ inverse(own_motion(loop.joint, g)))
        assert_allclose(found[robot.engine.loop_layout.rows[name]], e, rtol=0, atol=1e-13)


def test_rates_are_relative_twists(case):
    robot, q, qd, qdd, u, lam = case
    found = residual(robot, q, qd, qdd, u, lam).closure
    for name, loop in robot.description.loops.items():
        rows, g_B = robot.engine.loop_layout.rows[name], anchor_pose(robot, q, loop.b)
        J = np.zeros((6, robot.ndof))
        for sign, anchor in ((1, loop.a), (-1, loop.b)):
            if anchor.link != "world":
                g = robot.pose(q, anchor.link, s=anchor.s)
                J += sign * Ad_inv(g_B) @ np.linalg.solve(Ad_inv(g), robot.jacobian(q, anchor.link, s=anchor.s))
        assert_allclose(found.constraint[rows], loop.joint.constrained @ J, rtol=0, atol=1e-12)
    assert_allclose(found.rate, found.constraint @ qd, rtol=0, atol=1e-12)


def test_accelerations_are_rates_of_rates(case):
    robot, q, qd, qdd, u, lam = case

    def rate(t):
        return residual(robot, q + t * qd + t * t * qdd / 2, qd + t * qdd, qdd, u, lam).closure.rate

    found = residual(robot, q, qd, qdd, u, lam).closure.acceleration
    assert WORST.note("acceleration", relative_error(found, best_slope(rate, (1e-2, 3e-3, 1e-3, 3e-4)))) < 1e-9


@pytest.mark.parametrize("moving", [True, False])
def test_derivatives_of_the_rows(case, moving):
    robot, q, qd, qdd, u, lam = case
    qd, qdd, size = moving * qd, moving * qdd, moderate(robot)

    def values(q, qd):
        loops = residual(robot, q, qd, qdd, u, lam).closure
        return np.stack([loops.error, loops.rate, loops.acceleration])

    loops = residual(robot, q, qd, qdd, u, lam).closure
    acceleration = [accelerations(robot, loops, moving, by_rate) for by_rate in (False, True)]
    by_q, by_qd = (
        jacobian(lambda x: values(x, qd), q, STEPS, 8, size),
        jacobian(lambda x: values(q, x), qd, STEPS, 8, size),
    )
    for name, ours, theirs in (
        ("de/dq", loops.error_by_q, by_q[0]),
        ("d(A qd)/dq", loops.rate_by_q, by_q[1]),
        ("acceleration by q", acceleration[0], by_q[2]),
        ("acceleration by qd", acceleration[1], by_qd[2]),
    ):
        error = np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())  # at rest some are zero
        assert WORST.note(name, error) < 1e-9


@pytest.mark.parametrize("moving", [True, False])
def test_derivatives_of_the_residual(case, moving):
    """With multipliers, springs, dampers and motors of the loops in it."""
    robot, q, qd, qdd, u, lam = case
    qd, qdd, size = moving * qd, moving * qdd, moderate(robot)
    ours = residual(robot, q, qd, qdd, u, lam)

    def tau(q, qd, u=u, lam=lam):
        return residual(robot, q, qd, qdd, u, lam, task.RESIDUAL).tau

    assert_allclose(tau(q, qd), ours.tau, rtol=0, atol=1e-12 * np.abs(ours.tau).max())
    A_T = ours.closure.constraint.T
    for name, found, expected in (
        ("residual by q", ours.by_q, jacobian(lambda x: tau(x, qd), q, STEPS, 8, size)),
        ("residual by qd", ours.by_qd, jacobian(lambda x: tau(q, x), qd, STEPS, 8, size)),
        ("residual by u", -ours.B, jacobian(lambda x: tau(q, qd, x), u, 1.0, 2)),
        ("residual by multipliers", -A_T, jacobian(lambda x: tau(q, qd, u, x), lam, 1.0, 2)),
    ):
        assert WORST.note(name, relative_error(found, expected)) < 1e-9


CLOSING = np.array([40.0, 400.0, -1.0])


def forward(robot, q, qd, u, what=task.FORWARD):
    return robot.engine.evaluate(what, q, qd, np.zeros_like(q), u, closing=CLOSING)


def test_forward_dynamics_keeps_to_the_loops(case):
    """Equations of motion with the multipliers that were found, and the rows of the loops."""
    robot, q, qd, _, u, _ = case
    found = forward(robot, q, qd, u)
    back = residual(robot, q, qd, found.qdd, u, found.closure.multiplier)
    M = robot.mass_matrix(q)
    weight = np.sqrt(np.diag(M))
    force = np.abs(weight * found.qdd).max()
    # loops of four kinds may ask for more than the tree can give: then only as many rows as there is freedom for
    assert WORST.note("equations of motion", np.abs(back.tau / weight).max() / force) < 1e-9
    loops, rank = back.closure, int(found.regularity[0])
    # the loops are wide open, where rows that have a ten-thousandth of their own count as dependent
    A = robot.engine.loops.row_scale[:, None] * back.closure.constraint / weight
    least, most = (np.linalg.matrix_rank(A, rtol=rtol) for rtol in (1e-3, 1e-8))
    assert least <= rank <= most
    if rank == len(loops.error):
        stabilised = loops.acceleration + CLOSING[0] * loops.rate + CLOSING[1] * loops.error
        assert WORST.note("rows", np.abs(stabilised).max() / np.abs(found.qdd).max()) < 1e-9


@pytest.fixture(scope="module", params=range(320, 320 + 2 * len(KINDS)))
def regular(request):
    """A random tree with one open loop, two for every kind of joint, far from where its rows depend on each other."""
    for seed in range(request.param, 100_000, 100):
        rng = np.random.default_rng(seed)
        robot = with_random_loops(rng, varied_tree(seed), 1, [KINDS[request.param % len(KINDS)]])
        q, qd, _, u = random_state(rng, robot)
        found = forward(robot, 0.3 * q, qd, u)
        if found.regularity[0] == robot.engine.loop_layout.m and found.regularity[1] > 1e-2:
            return robot, 0.3 * q, qd, u
    raise AssertionError("no such tree")


def test_derivatives_of_forward_dynamics(regular):
    """They solve the derivative of the equations, whose parts are checked above; differences would lose digits here."""
    robot, q, qd, u = regular
    ours = forward(robot, q, qd, u, task.FORWARD_DERIVATIVES)
    at = residual(robot, q, qd, ours.qdd, u, ours.closure.multiplier)
    M, weight = at.mass, np.sqrt(np.diag(at.mass))[:, None]
    loops, A = at.closure, at.closure.constraint
    free = scipy.linalg.null_space(A / weight.T) / weight
    by_q, by_qd = (accelerations(robot, loops, True, by_rate) for by_rate in (False, True))
    by_q += CLOSING[0] * loops.rate_by_q + CLOSING[1] * loops.error_by_q
    by_qd += CLOSING[0] * A
    for name, found, force, error in (
        ("qdd by q", ours.by_q, at.by_q, by_q),
        ("qdd by qd", ours.by_qd, at.by_qd, by_qd),
        ("qdd by u", ours.B, -at.B, np.zeros((len(by_q), len(u)))),
    ):
        size = np.abs(weight * found).max(initial=1e-300)
        assert WORST.note(name, np.abs(free.T @ (M @ found + force)).max(initial=0.0) / size) < 1e-11
        left, size = np.abs(A @ found + error), np.abs(A) @ np.abs(found) + np.abs(error)
        assert WORST.note(f"{name}, rows", left.max(initial=0.0) / size.max(initial=1e-300)) < 1e-11


def test_the_driven_joint_of_a_loop_is_that_of_a_massless_link_as_if_it_belonged_to_the_tree():
    bar = {"box": {"size": ["50 cm", "2 cm", "2 cm"]}, "density": 1000}
    hinge, pin = {"revolute": {"axis": [0, 1, 0]}}, "60 deg + 30 deg*smoothstep(t)"
    crank = {
        "joint": hinge,
        "body": {**bar, "at": {"position": [0.2, 0, 0]}},
        "frames": {"end": {"position": [0.4, 0, 0]}},
    }
    rocker = {**crank, "at": {"position": [0.6, 0, 0]}}
    on_crank = {"parent": "crank", "at": {"frame": "end"}, "joint": hinge, "frames": {"end": {"position": [0.5, 0, 0]}}}
    on_rocker = {**on_crank, "parent": "rocker", "frames": {"end": {"position": [-0.5, 0, 0]}}}
    body = {name: {**bar, "at": {"position": [x, 0, 0]}} for name, x in (("crank", 0.25), ("rocker", -0.25))}
    begin = {"crank.revolute": "-60 deg"}

    def run_of(links, loop, name):
        data = {
            "sorosim": 1,
            "name": "linkage",
            "links": {"crank": crank, "rocker": rocker, **links},
            "loops": {"end": loop},
        }
        start = sorosim.assemble(sorosim.load({**data, "initial": begin}), driven={name: "60 deg"}).q
        data["simulate"] = {"t_end": 0.9, "driven": {name: pin}}
        return sorosim.simulate(sorosim.load(data), method="radau", rtol=1e-9, atol=1e-11, q0=start)

    coupler = {"link": "coupler", "at": {"frame": "end"}}
    massless = {"parent": "rocker", "at": {"frame": "end"}, "joint": hinge}
    glued = run_of(
        {"coupler": {**on_crank, "body": body["crank"]}, "pin": massless},
        {"joint": "fixed", "from": coupler, "to": "pin"}, "pin",
    )  # fmt: skip
    in_tree = run_of(
        {"coupler": {**on_rocker, "body": body["rocker"]}},
        {"joint": hinge, "from": coupler, "to": {"link": "crank", "at": {"frame": "end"}}}, "coupler",
    )  # fmt: skip
    names = ("crank.revolute", "rocker.revolute")
    for name in names:
        one, other = (run.q[:, run.robot.coordinate_names.index(name)] for run in (glued, in_tree))
        assert_allclose(one, other, atol=1e-6)  # 1e-7
    assert_allclose(glued.driven["pin"], in_tree.driven["coupler"], atol=1e-5)
