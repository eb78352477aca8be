"""The compiled laws of loads against second ones, written here in plain NumPy from the formulas of the field."""

import numpy as np
import pytest
from helpers.limbs import body_wrenches, limbs, node_motion, pose
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import ModelError
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.lie import Ad_inv
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.immersion import Immersed, PlacedShape, ellipsoid_linear_drag
from sorosim.mechanics.loads.line_load import VARIABLES, LineLoad
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.shape import Sphere

T = 0.37
RHO = 1000.0
DRY = pose([0.2, 0.1, 0.0], [0.1, 0.0, 0.05])


@pytest.fixture(scope="module")
def robot():
    return limbs()


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(3)
    return 0.3 * rng.normal(size=robot.ndof), 0.7 * rng.normal(size=robot.ndof)


def carried(h, wrench):
    """A wrench in a frame with pose h on a node, in the node's own axes and about its origin."""
    return Ad_inv(h).T @ wrench


def one(found):
    assert len(found) == 1
    return next(iter(found.values()))


# -- wrenches at points


def test_a_dead_wrench_keeps_its_directions_in_the_world(robot, state):
    m, f = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0 * T])
    loaded = robot.with_loads(
        a=Wrench(Anchor("arm", s=0.6, at=DRY), moment=((*m, 1, 2, "3*t"))[:3], force=((*m, 1, 2, "3*t"))[3:])
    )
    R = loaded.pose(state[0], "arm", s=0.6)[:3, :3] @ DRY[:3, :3]
    expected = carried(DRY, np.concatenate([R.T @ m, R.T @ f]))
    assert_allclose(one(body_wrenches(loaded, "a", *state, T)), expected, atol=1e-14)


def test_a_follower_keeps_its_directions_in_the_body(robot, state):
    wrench = (0.1, 0.2, 0.3, 1, 2, "3*t")
    loaded = robot.with_loads(
        a=Wrench(Anchor("base", frame="eye", at=DRY), moment=wrench[:3], force=wrench[3:], frame="body")
    )
    eye = pose() if not robot.links[0].frames else robot.links[0].frames["eye"]
    expected = carried(eye @ DRY, np.array([0.1, 0.2, 0.3, 1, 2, 3 * T]))
    assert_allclose(one(body_wrenches(loaded, "a", *state, T)), expected, atol=1e-14)


def test_a_wrench_on_a_line_keeps_its_moment_about_every_point_of_the_world(robot, state):
    m, f, through = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0 * T, 3.0]), np.array([0.2, 0.1, -0.3])
    load = Wrench(
        "arm", 0.6, moment=((*m, 1, "2*t", 3))[:3], force=((*m, 1, "2*t", 3))[3:], frame="line", through=tuple(through)
    )
    loaded = robot.with_loads(a=load)
    g = loaded.pose(state[0], "arm", s=0.6)
    R, p = g[:3, :3], g[:3, 3]
    expected = np.concatenate([R.T @ (m + np.cross(through - p, f)), R.T @ f])
    assert_allclose(one(body_wrenches(loaded, "a", *state, T)), expected, atol=1e-14)


# -- loads along rods


def test_a_load_per_length_has_the_sum_of_its_integral(robot, state):
    # torques along x of 0.1 s and forces along z of (1 - s) t + X / L per metre, on a rod of 0.5 m
    m, f = parse("0.1*s", VARIABLES), parse("(1-s)*t + X/L", VARIABLES)
    whole = {"world": lambda R: R, "body": lambda R: np.eye(3)}
    for frame, turned in whole.items():
        loaded = robot.with_loads(a=LineLoad("arm", moment=(m, 0, 0), force=(0, 0, f), frame=frame))
        g, _ = node_motion(loaded, *state)
        found = body_wrenches(loaded, "a", *state, T)
        total = sum(np.kron(np.eye(2), turned(g[k, :3, :3])) @ w for k, w in found.items())
        assert_allclose(total, [0.1 * 0.25, 0, 0, 0, 0, 0.5 * (0.5 * T + 0.5)], atol=1e-14)


def test_a_load_on_a_part_of_a_rod_stays_there():
    rubber = {"young": "1 MPa", "poisson": 0.5, "density": "1000 kg/m^3"}
    piece = {"section": {"circle": {"radius": "1 cm"}}, "material": "rubber", "strain": {"bending": 1}}
    divisions = [{"length": "20 cm", **piece}, {"length": "30 cm", **piece}]
    links = {"arm": {"rod": {"divisions": divisions}}}
    robot = sorosim.load({"sorosim": 1, "name": "two", "materials": {"rubber": rubber}, "links": links})
    loaded = robot.with_loads(a=LineLoad("arm", force=(0, 0, parse("s", VARIABLES)), start=0.4))
    q = np.zeros(robot.ndof)
    found, layout = body_wrenches(loaded, "a", q, q), loaded.engine.layout.link("arm")
    assert_allclose(sum(found.values())[5], 0.5 * (1.0 - 0.4**2) / 2.0)
    assert all(layout.X[list(layout.nodes).index(k)] > 0.2 for k in found)


# -- springs


def velocity_at(g, eta):
    return g[:3, :3] @ eta[3:]


@pytest.mark.parametrize("to_the_world", [True, False])
def test_a_spring_pulls_along_its_line_by_stretch_and_rate(robot, state, to_the_world):
    h = pose([0.1, 0.0, 0.0], [0.0, 0.02, 0.01])
    other = Anchor("world", at=pose([0, 0, 0], [0.3, 0.2, 0.1])) if to_the_world else Anchor("leg", s=0.7)
    loaded = robot.with_loads(
        a=Spring(Anchor("arm", s=0.5, at=h), other, stiffness="50*t", damping=3.0, rest="0.1+t/10")
    )
    layout = loaded.engine.layout
    g, eta = node_motion(loaded, *state)
    A = layout.link("arm").node_at(0.5)
    p_A, v_A = (g[A] @ h)[:3, 3], g[A, :3, :3] @ (eta[A, 3:] + np.cross(eta[A, :3], h[:3, 3]))
    p_B, v_B = np.array([0.3, 0.2, 0.1]), np.zeros(3)
    if not to_the_world:
        B = layout.link("leg").node_at(0.7)
        p_B, v_B = g[B, :3, 3], velocity_at(g[B], eta[B])
    line, length = (p_B - p_A) / np.linalg.norm(p_B - p_A), np.linalg.norm(p_B - p_A)
    force = 50.0 * T * (length - 0.1 - T / 10.0) + 3.0 * line @ (v_B - v_A)
    found = body_wrenches(loaded, "a", *state, T)
    R = g[A, :3, :3]
    assert_allclose(found[A], np.concatenate([np.cross(h[:3, 3], R.T @ line), R.T @ line]) * force, atol=1e-12)
    assert len(found) == 2 - to_the_world
    if not to_the_world:
        assert_allclose(found[B], np.concatenate([np.zeros(3), -force * g[B, :3, :3].T @ line]), atol=1e-12)


def test_a_spring_whose_ends_meet_has_no_direction():
    robot = limbs((0, 0, 0))
    zero = np.zeros(robot.ndof)
    at_the_tip = Anchor("world", at=robot.pose(zero, "ball"))
    loaded = robot.with_loads(a=Spring("ball", at_the_tip, stiffness=50.0, damping=1.0))
    assert_allclose(loaded.inverse_dynamics(zero, zero, qdd=zero), 0.0, atol=1e-12)
    found = loaded.inverse_dynamics_derivatives(zero, zero, qdd=zero)
    assert np.isfinite(found.dtau_dq).all()
    # without rest length it has the stiffness of a spring in all directions
    J = robot.jacobian(zero, "ball")[3:]
    ground = robot.inverse_dynamics_derivatives(zero, zero, qdd=zero).dtau_dq
    assert_allclose(found.dtau_dq - ground, 50.0 * J.T @ J, atol=1e-9)


# -- fluids


def wetted(depth, reach):
    """Part of a sphere below the surface, its centre at a depth."""
    x = np.clip(depth / reach, -1.0, 1.0)
    return (2.0 + 3.0 * x - x**3) / 4.0


def quadratic(v, drag, by):
    """Drag of quadratic laws at density 1, drag (3, 3) with the lift in it: by the speeds along and across, or all."""
    if by == "speed":
        return -np.linalg.norm(v) * drag @ v
    along, across = v * (1.0, 0.0, 0.0), v * (0.0, 1.0, 1.0)
    return -np.linalg.norm(along) * drag @ along - np.linalg.norm(across) * drag @ across


def fluid_on(R, eta, U, U_t, gravity, share, part, by="speed"):
    """What a fluid does to a body beside the inertia that moves with it, in its axes; share: drag, lift and so on.

    Added mass m moves with v_r = v - R^T U. Its own momentum equation, -(m v_r)' - w x m v_r and -v_r x m v_r, is
    taken less what the mass matrix has: -m v' - w x m v and -v x m v.
    """
    w, v, u = eta[:3], eta[3:], R.T @ U
    v_r, m = v - u, share["added_mass"]
    drag = np.diag(share["drag"]) + share["lift"] * skew(np.array([1.0, 0.0, 0.0]))
    force = part * RHO * quadratic(v_r, drag, by)
    force += part * RHO * share["volume"] * R.T @ (U_t - gravity)
    du = R.T @ U_t - np.cross(w, u)
    force += part * RHO * (m * du + np.cross(w, m * u))
    moment = -part * RHO * share["rotary_drag"] * np.abs(w) * w
    moment += part * RHO * (np.cross(v, m * v) - np.cross(v_r, m * v_r))
    return np.concatenate([moment, force])


def round_section(r, weight, lift):
    """A circle of radius r: drag of skin friction 0.01 and 1.1 across, added mass of a cylinder."""
    return {
        "drag": weight * np.array([0.5 * 0.01 * 2 * np.pi * r, 0.5 * 1.1 * 2 * r, 0.5 * 1.1 * 2 * r]),
        "lift": weight * 0.5 * lift * 2 * r,
        "rotary_drag": np.zeros(3),
        "added_mass": weight * np.array([0.0, np.pi * r**2, np.pi * r**2]),
        "volume": weight * np.pi * r**2,
    }


CURRENTS = {
    "still": ((0, 0, 0), lambda p: (np.zeros(3), np.zeros(3))),
    "steady": ((0.3, -0.2, 0.1), lambda p: (np.array([0.3, -0.2, 0.1]), np.zeros(3))),
    "of time": (("0.3*t", "sin(t)", 0.1), lambda p: (np.array([0.3 * T, np.sin(T), 0.1]),
                                                     np.array([0.3, np.cos(T), 0.0]))),
    "field": (("0.3+y*t", "sin(2*x)*cos(t)+z", "0.1*x*y*z+t^2"), lambda p: (
        np.array([0.3 + p[1] * T, np.sin(2 * p[0]) * np.cos(T) + p[2], 0.1 * p[0] * p[1] * p[2] + T**2]),
        np.array([p[1], -np.sin(2 * p[0]) * np.sin(T), 2 * T]),
    )),
}  # fmt: skip


@pytest.mark.parametrize("by", ["cross-flow", "speed"])
@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("current", CURRENTS)
def test_a_fluid_around_a_rod(robot, state, current, surface, by):
    given, flow = CURRENTS[current]
    up = np.array([0.1, 0.2, 1.0]) / np.linalg.norm([0.1, 0.2, 1.0])
    # it crosses the middle of the rod
    height = float(up @ robot.pose(state[0], "arm", s=0.5)[:3, 3]) + 0.005
    options = {"height": height, "up": tuple(up)} if surface else {}
    by_default = {} if by == "cross-flow" else {"drag": by}
    wet = {"arm": Immersed(lift=0.4)}
    loaded = robot.with_loads(a=Fluid(RHO, current=given, links=wet, **by_default, **options))
    g, eta = node_motion(loaded, *state)
    layout, found = loaded.engine.layout.link("arm"), body_wrenches(loaded, "a", *state, T)
    gauss = layout.weight > 0.0
    # a part above the surface feels nothing
    assert set(found) <= set(layout.nodes[gauss].tolist())
    parts = []
    for k, X, weight in zip(layout.nodes[gauss], layout.X[gauss], layout.weight[gauss], strict=True):
        r, p = 0.03 - 0.04 * X, g[k, :3, 3]
        parts.append(wetted(height - up @ p, r) if surface else 1.0)
        gravity = np.array([1.0, 2.0, -9.0])
        expected = fluid_on(g[k, :3, :3], eta[k], *flow(p), gravity, round_section(r, weight, 0.4), parts[-1], by)
        assert_allclose(found.get(int(k), np.zeros(6)), expected, atol=1e-12 * (1.0 + np.abs(expected).max()))
    assert not surface or any(0.1 < part < 0.9 for part in parts)


@pytest.mark.parametrize("current", CURRENTS)
def test_a_fluid_around_a_sphere_off_its_frame(robot, state, current):
    given, flow = CURRENTS[current]
    at, radius = pose([0.3, 0.1, 0.2], [0.02, 0.01, 0.03]), 0.05
    wet = Immersed(
        shape=PlacedShape(Sphere(radius), at=at), drag=(0.4, 0.5, 0.6), rotary_drag=(1, 2, 3), added_mass=(0.5, 1, 2)
    )
    loaded = robot.with_loads(a=Fluid(RHO, current=given, links={"ball": wet}))
    node = loaded.engine.layout.link("ball").nodes[0]
    g, eta = (x[node] for x in node_motion(loaded, *state))
    V = 4.0 / 3.0 * np.pi * radius**3
    share = {
        "drag": 0.5 * np.pi * radius**2 * np.array([0.4, 0.5, 0.6]),
        "lift": 0.0,
        "rotary_drag": 0.5 * V ** (5 / 3) * np.array([1.0, 2.0, 3.0]),
        "added_mass": V * np.array([0.5, 1.0, 2.0]),
        "volume": V,
    }
    place = g @ at
    expected = fluid_on(place[:3, :3], Ad_inv(at) @ eta, *flow(place[:3, 3]), np.array([1.0, 2.0, -9.0]), share, 1.0)
    assert_allclose(one(body_wrenches(loaded, "a", *state, T)), carried(at, expected), rtol=1e-11)


def test_a_viscous_fluid_around_a_rod_resists_by_resistive_force_theory(robot, state):
    mu, U = 3.0, np.array([0.3, -0.2, 0.1])
    still = Immersed(added_mass=0.0)
    loaded = robot.with_loads(a=Fluid(1e-9, current=tuple(U), drag="stokes", viscosity=mu, links={"leg": still}))
    g, eta = node_motion(loaded, *state)
    layout, found = loaded.engine.layout.link("leg"), body_wrenches(loaded, "a", *state, T)
    # 2 cm by 1 cm: the mean of the half widths
    gauss, L, r = layout.weight > 0.0, 0.3, 0.0075
    for k, weight in zip(layout.nodes[gauss], layout.weight[gauss], strict=True):
        log = np.log(2.0 * L / r)
        resistance = np.diag([2.0 * np.pi / (log - 1.5), *[4.0 * np.pi / (log - 0.5)] * 2])
        spin, v_r = eta[k, :3] * (1.0, 0.0, 0.0), eta[k, 3:] - g[k, :3, :3].T @ U
        expected = -mu * weight * np.concatenate([4.0 * np.pi * r**2 * spin, resistance @ v_r])
        # the buoyancy of a fluid that weighs 1e-9 kg/m^3
        assert_allclose(found[int(k)], expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("given", "force", "moment"), [
    ({}, 6.0 * np.pi * 0.05, 8.0 * np.pi * 0.05**3),
    ({"drag": 2.0, "rotary_drag": 3.0}, 2.0 * (4.0 / 3.0 * np.pi) ** (1 / 3) * 0.05, 4.0 * np.pi * 0.05**3),
])  # fmt: skip
def test_a_viscous_fluid_resists_a_sphere_by_stokes_law(given, force, moment):
    mu, free = 2.0, {"joint": "free", "body": {"sphere": {"radius": 0.05}, "mass": 3.0}}
    robot = sorosim.load({"sorosim": 1, "name": "ball", "gravity": [0, 0, 0], "links": {"body": free}})
    loaded = robot.with_loads(a=Fluid(RHO, drag="stokes", viscosity=mu, links={"body": Immersed(**given)}))
    V = np.array([1.0, 0.2, -3.0, 0.3, -0.4, 0.0])
    expected = mu * np.concatenate([force * V[:3], moment * V[3:]])
    zero = np.zeros(6)
    # rows of motions along and of rotations about the axes of the body, in their order
    difference = loaded.inverse_dynamics(zero, V, qdd=zero) - robot.inverse_dynamics(zero, V, qdd=zero)
    with_the_mass = (
        loaded.inverse_dynamics(zero, V, qdd=zero),
        robot.with_loads(a=Fluid(RHO, links={"body": Immersed(drag=0.0, rotary_drag=0.0)})).inverse_dynamics(
            zero, V, qdd=zero
        ),
    )
    assert np.abs(difference).max() > 0.0
    assert_allclose(with_the_mass[0] - with_the_mass[1], expected, rtol=1e-12, atol=1e-13)


def test_linear_drag_of_spheroids_and_discs_in_closed_form():
    # Happel and Brenner (1965), 5-11: prolate spheroids of half axes a > b, and discs of radius a
    for ratio in (1.3, 4.0, 40.0):
        e = np.sqrt(1.0 - ratio**-2)
        log = np.log((1.0 + e) / (1.0 - e))
        along = 16.0 * np.pi * e**3 / ((1.0 + e**2) * log - 2.0 * e)
        across = 32.0 * np.pi * e**3 / (2.0 * e + (3.0 * e**2 - 1.0) * log)
        force, _ = ellipsoid_linear_drag([ratio, 1.0, 1.0])
        assert_allclose(force, ratio * np.array([along, across, across]), rtol=1e-9)
    force, moment = ellipsoid_linear_drag([1.0, 1.0, 1e-7])
    # what is left of the thickness
    assert_allclose(force, [32.0 / 3.0, 32.0 / 3.0, 16.0], rtol=1e-6)
    assert_allclose(moment, [32.0 / 3.0] * 3, rtol=1e-6)


def test_resistive_force_theory_agrees_with_long_spheroids():
    # a rod as long as a spheroid, and as thick at every section: they differ by (ln L/r)^-2 of the force at most, which
    # Cox leaves out; the sum over a rod whose radius falls as the spheroid's does
    for ratio in (1e2, 1e4):
        s, w = np.polynomial.legendre.leggauss(200)
        log = np.log(2.0 * 2.0 * ratio / np.sqrt(1.0 - s * s))
        sums = [ratio * w @ (2.0 * np.pi / (log - 1.5)), ratio * w @ (4.0 * np.pi / (log - 0.5))]
        exact, _ = ellipsoid_linear_drag([ratio, 1.0, 1.0])
        assert_allclose(sums, exact[:2], rtol=np.log(2.0 * ratio) ** -2)


@pytest.mark.parametrize(("options", "links", "message"), [
    ({"drag": "stokes"}, {}, "expected the key 'viscosity', which drag by stokes goes by"),
    ({"viscosity": 1.0}, {}, "viscosity: expected none, since drag by cross-flow does not use it"),
    ({"drag": "stokes", "viscosity": 1.0}, {"leg": Immersed(lift=1.0)}, "no lift where drag is by stokes"),
    ({"drag": "stoke", "viscosity": 1.0}, {}, "stokes"),
])  # fmt: skip
def test_laws_of_drag_say_what_they_lack(robot, options, links, message):
    with pytest.raises(ModelError, match=message):
        robot.with_loads(a=Fluid(RHO, links=links or None, **options))


def test_thick_rods_have_no_coefficients_of_slender_ones():
    rubber = {"young": "1 MPa", "poisson": 0.5, "density": "1000 kg/m^3"}
    rod = {"length": "8 cm", "section": {"circle": {"radius": "1 cm"}}, "material": "rubber", "strain": {"bending": 1}}
    robot = sorosim.load(
        {"sorosim": 1, "name": "thick", "materials": {"rubber": rubber}, "links": {"arm": {"rod": rod}}}
    )
    with pytest.raises(ModelError, match="5 times as long as wide"):
        robot.with_loads(a=Fluid(RHO, drag="stokes", viscosity=1.0))
    loaded = robot.with_loads(a=Fluid(RHO, drag="stokes", viscosity=1.0, links={"arm": Immersed(drag=(7, 10, 10))}))
    assert loaded.ndof == robot.ndof


def test_added_mass_of_a_sphere_is_half_of_the_water_and_takes_part_in_the_mass_matrix():
    links = {"body": {"joint": "free", "body": {"sphere": {"radius": 0.1}, "mass": 3.0}}}
    robot = sorosim.load({"sorosim": 1, "name": "ball", "links": links})
    V = 4.0 / 3.0 * np.pi * 0.1**3
    more = robot.with_loads(a=Fluid(RHO)).mass_matrix(np.zeros(6)) - robot.mass_matrix(np.zeros(6))
    assert_allclose(more, np.diag([0.5, 0.5, 0.5, 0, 0, 0]) * RHO * V, atol=1e-12)


# -- load continuation


def test_parts_of_all_loads_are_parts_of_their_forces_and_derivatives(robot):
    rng = np.random.default_rng(5)
    q, zero = 0.3 * rng.normal(size=robot.ndof), np.zeros(robot.ndof)
    loaded = robot.with_loads(
        a=Wrench("arm", 0.6, moment=(1, 2, 3), force=(4, 5, 6)), b=LineLoad("leg", force=(1, 2, 3)),
        c=Spring("ball", Anchor("leg", s=0.5), stiffness=20.0), d=Fluid(RHO, current=(0.3, "y", 0.1), height=0.02),
    )  # fmt: skip
    whole, part = (
        loaded.engine.evaluate(task.INVERSE_DERIVATIVES, q, zero, zero, loaded.inputs(None), T, scale)
        for scale in (1.0, 0.3)
    )
    assert_allclose(part.tau, 0.3 * whole.tau, atol=1e-12 * np.abs(whole.tau).max())
    assert_allclose(part.by_q, 0.3 * whole.by_q, atol=1e-12 * np.abs(whole.by_q).max())
    assert_allclose(part.by_qd, 0.3 * whole.by_qd, atol=1e-12 * np.abs(whole.by_qd).max())
