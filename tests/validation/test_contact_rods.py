"""Rods that touch: on a plane, around a bar, each other and themselves; grasps; and motions that get through."""

import numpy as np
import pytest
from helpers.differences import relative_error
from validation.contact_robots import at, body, floor, rod, total_wrench, touching

import sorosim

G = 9.81


def weight(robot):
    return G * robot.engine.gravitational_inertia[:, 3, 3].sum()


# -- one rod -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rods", ["capsules", "spheres"])
def test_a_rod_laid_on_a_plane_carries_its_weight(rods):
    robot = touching({"rod": rod((-0.1, 0, 0.0099))}, between="rod", **{"and": floor()}, rods=rods, stiffness=1e5)
    eq = sorosim.statics(robot)
    forces = eq.contacts.force
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, weight(robot)], atol=1e-10)
    masses = robot.engine.gravitational_inertia[:, 3, 3]
    places = robot.engine.poses(np.arange(len(masses)), eq.q, np.zeros(robot.ndof))[0][:, :3, 3]
    moments = np.cross(eq.contacts.position, forces).sum(axis=0) + np.cross(places, masses[:, None] * [0, 0, -G]).sum(
        axis=0
    )
    np.testing.assert_allclose(moments, 0.0, atol=1e-9)


def test_a_rod_that_falls_comes_to_rest_on_the_plane():
    links = {"rod": rod((-0.1, 0, 0.05), turn={"axis": [0, 1, 0], "angle": 0.2})}
    soft = {"silicone": {"young": 1e6, "poisson": 0.5, "density": 1000, "damping": 1e4}}
    law = {"stiffness": 1e5, "damping": 5.0, "friction": 0.4}
    robot = touching(links, between="rod", **{"and": floor()}, **law, materials=soft)
    run = sorosim.simulate(robot, 3.0, dt_out=0.02, method="generalized-alpha")
    assert np.abs(run.qd[-1]).max() < 5e-3
    force = run.contacts.at(len(run) - 1).force.sum(axis=0)
    np.testing.assert_allclose(force, [0, 0, weight(robot)], atol=2e-3 * weight(robot))


def test_friction_around_a_bar_is_that_of_a_belt(agrees):
    """Capstan: a cord over half of a bar, drawn to and fro against a weight."""
    R, r, leg, mu, F = 0.05, 0.001, 0.02, 0.3, 1.0
    middle = R + r
    section = {"circle": {"radius": r}}
    end = {"length": leg, "section": section, "material": "cord", "strain": {"bending_y": 2, "elongation": 2}}
    arc = {"length": np.pi * middle, "section": section, "material": "cord", "quadrature": 48,
           "strain": {"bending_y": 12, "elongation": 6}, "reference": {"bending_y": 1.0 / middle}}  # fmt: skip
    links = {"cord": {
        "joint": {"prismatic": {"axis": [1, 0, 0]}}, "rod": {"divisions": [end, arc, end]},
        "at": {"position": [-middle, 0, -leg], "rotation": {"matrix": [[0, 0, -1], [0, 1, 0], [1, 0, 0]]}},
    }}  # fmt: skip
    robot = touching(
        links, between="cord",
        **{"and": {"pole": {"radius": R}, "at": at((0, 0, 0), axis=[1, 0, 0], angle=np.pi / 2)}},
        gravity=(0, 0, 0), stiffness=1e5, exponent=1.0, friction=mu,
        materials={"cord": {"young": 2e7, "poisson": 0.3, "density": 1000, "damping": 1e4}},
        loads={"weight": {"wrench": {"link": "cord", "force": [0, 0, -F]}}},
    )  # fmt: skip
    start = sorosim.statics(robot, driven={"cord": 0.0}, sticking=robot.initial_q)
    pulled = sorosim.follow(robot, start, driven={"cord": -0.004}, steps=8)[-1]
    let_go = sorosim.follow(robot, pulled, driven={"cord": 0.002}, steps=8)[-1]
    # friction acts at R, the tension at R + r: (R + r) dT = R mu T dphi. Bending where the cord leaves the bar and
    # 48 points around it leave 0.4 % and 1.2 %
    ratio = np.exp(mu * np.pi * R / middle)
    agrees(
        "ratio of the forces of a belt around a bar",
        -pulled.driven["cord"] / F,
        ratio,
        rtol=1e-2,
        source="Euler and Eytelwein",
        bound="stiffness of the cord, 48 points",
    )
    assert -let_go.driven["cord"] / F == pytest.approx(1.0 / ratio, rel=2e-2)


# -- rods against each other -------------------------------------------------------------------------------------------


def test_two_crossing_rods_press_where_they_cross():
    """A clamped rod bends under the tip of another one that lies across it: deflections of beams, and one contact."""
    links = {
        "low": rod((0, 0, 0), "fixed", length=0.4, radius=0.005, bending_y=4, elongation=0, quadrature=6),
        "high": rod((0.3, -0.3, 0.02), "fixed", length=0.6, radius=0.005, turn={"axis": [0, 0, 1], "angle": np.pi / 2},
                    bending_y=4, elongation=0, quadrature=6),
    }  # fmt: skip
    materials = {"silicone": {"young": 1e7, "poisson": 0.5, "density": 1000}}
    robot = touching(links, between="low", **{"and": "high"}, materials=materials, gravity=(0, 0, 0), stiffness=1e7,
                     loads={"push": {"wrench": {"link": "high", "force": [0, 0, -0.02]}}})  # fmt: skip
    free = sorosim.statics(touching(links, between="low", **{"and": "high"}, materials=materials, gravity=(0, 0, 0)))
    assert free.contacts.n == 0
    eq = sorosim.statics(robot)
    assert eq.contacts.n == 1
    np.testing.assert_allclose(total_wrench(robot, eq.q, np.zeros(robot.ndof)), 0.0, atol=1e-12)
    # the axes are a diameter apart where they touch, less what the surfaces give
    gap, force = eq.contacts.gap[0], np.linalg.norm(eq.contacts.force[0])
    # what draws nearest points to the middles of segments takes a little of the force along the normal: 1e-4
    assert force == pytest.approx(1e7 * (-gap) ** 1.5, rel=1e-3)
    # the surfaces press on each other, and the push is not lost
    assert force > 0.02


@pytest.mark.filterwarnings(
    "ignore:.* where the motion begins:sorosim.base.errors.SorosimWarning"
)  # it is wound tightly
def test_a_rod_wound_onto_itself_touches_itself(rng):
    """A rod curled into one and a half turns, as a knot has, drawn tighter by a moment: windings lie on each other."""
    links = {"rod": rod((0, 0, 0), "fixed", length=0.8, radius=0.01, quadrature=24, bending=4, torsion=2, elongation=0)}
    robot = touching(links, among="rod", stiffness=1e6, gravity=(0, 0, 0), friction=0.2, damping=1.0)
    q = np.zeros(robot.ndof)
    q[robot.coordinate_names.index("rod.bending_y[0]")] = 3.2 * np.pi
    q[robot.coordinate_names.index("rod.torsion[0]")] = 0.35
    found = robot.contacts(q)
    assert found.n > 2
    assert all("'rod'" in name for name in (*found.a, *found.b))
    qd = rng.normal(size=robot.ndof)
    np.testing.assert_allclose(total_wrench(robot, q, qd), 0.0, atol=1e-12 * np.abs(robot.contacts(q, qd).force).max())
    # let go it springs open, and nothing passes through
    run = sorosim.simulate(robot, 0.05, dt_out=1e-3, q0=q)
    assert run.contacts.contacts.gap.min() > -0.004


def test_a_straight_rod_does_not_touch_itself():
    robot = touching({"rod": rod(quadrature=30)}, among="rod")
    assert robot.contacts(np.zeros(robot.ndof)).n == 0


# -- the paper's scenario ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cylinder():
    return sorosim.load("contact_cylinder")


def tip_error(a, b):
    return float(np.linalg.norm(a.tip("arm") - b.tip("arm"), axis=1).max())


@pytest.mark.slow
def test_the_manipulator_hits_the_cylinder_and_all_methods_agree(cylinder):
    """10 s, nine impacts: with and without analytic Jacobian within the paper's 40 um, at rtol 1e-5."""
    options = {"rtol": 1e-5, "atol": 1e-8}
    exact = sorosim.simulate(cylinder, method="generalized-alpha", rtol=1e-7, atol=1e-10)
    rows = np.bincount(exact.contacts.row, minlength=len(exact)) > 0
    assert np.count_nonzero(np.diff(rows.astype(int)) > 0) >= 5
    analytic = sorosim.simulate(cylinder, method="bdf", **options)
    differences = sorosim.simulate(cylinder, method="bdf", jacobian="finite-difference", **options)
    assert tip_error(analytic, differences) < 40e-6  # measured 4.5 um
    assert tip_error(analytic, exact) < 40e-6  # measured 3.6 um
    # methods at their default tolerances
    for method in ("bdf", "generalized-alpha", "cvode"):
        assert tip_error(sorosim.simulate(cylinder, method=method), exact) < 1e-3


def test_derivatives_of_the_manipulator_at_the_wall(cylinder):
    run = sorosim.simulate(cylinder, 4.2)
    k = int(run.contacts.row[0])
    q, qd, u, h = run.q[k], run.qd[k], run.u[k], 1e-7
    found = cylinder.forward_dynamics_derivatives(q, qd, u=u)
    by_q = np.array([
        cylinder.forward_dynamics(q + h * e, qd, u=u) - cylinder.forward_dynamics(q - h * e, qd, u=u)
        for e in np.eye(24)
    ]).T / (2 * h)  # fmt: skip
    assert relative_error(found.dqdd_dq, by_q) < 1e-6


# -- grasps ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grasp():
    return sorosim.load("finray_grasp")


def place(robot):
    return [robot.coordinate_names.index(f"cylinder.planar.{name}") for name in ("angle", "tx", "ty")]


def test_the_fin_ray_holds_a_cylinder_by_friction_in_statics(grasp):
    own = G * 600 * np.pi * 0.02**2 * 0.04
    start = sorosim.statics(grasp, driven={"right1": 0, "shelf": 0}, sticking=grasp.initial_q)
    closed = sorosim.follow(grasp, start, driven={"right1": 0.016}, steps=16)[-1]
    held = sorosim.follow(grasp, closed, driven={"shelf": -0.001}, steps=10)[-1]
    far = sorosim.follow(grasp, held, driven={"shelf": -0.03}, steps=2)[-1]
    on_cylinder = far.contacts.force_on("cylinder")
    np.testing.assert_allclose(on_cylinder, [0, own, 0], atol=1e-10)
    # the wall wraps around it: at least three places of two rods; and nothing else carries
    touching_it = {name for pair in zip(far.contacts.a, far.contacts.b, strict=True) for name in pair if "left" in name}
    assert len(touching_it) >= 3
    assert not any("shelf" in name for name in (*far.contacts.a, *far.contacts.b))
    # where it was let go it stays
    np.testing.assert_allclose(far.q[place(grasp)], held.q[place(grasp)], atol=1e-6)
    # none of it slides, and friction carries: forces are inside their cones, and not normal
    normal = np.einsum("ni,ni->n", far.contacts.force, far.contacts.normal)
    along = np.linalg.norm(far.contacts.force - normal[:, None] * far.contacts.normal, axis=1)
    assert (along <= 0.6 * normal * (1.0 + 1e-9)).all()
    assert along.max() > 0.1 * normal.max()


def test_the_fin_ray_holds_a_cylinder_by_friction_in_motion(grasp):
    run = sorosim.simulate(grasp, 3.9, dt_out=0.02)
    k, last = int(np.searchsorted(run.t, 3.2)), len(run) - 1
    x, y = run.q[:, place(grasp)[1]], run.q[:, place(grasp)[2]]
    # gripped it creeps: by less than the slip speed, 0.05 mm/s
    assert abs(y[last] - y[k]) < 0.05e-3 * (run.t[last] - run.t[k])
    assert abs(x[last] - x[k]) < 1e-5
    own = G * 600 * np.pi * 0.02**2 * 0.04
    np.testing.assert_allclose(run.contacts.at(last).force_on("cylinder"), [0, own, 0], atol=1e-2 * own)


@pytest.mark.parametrize("body", [None, {"superellipsoid": {"radii": [0.038, 0.03, 0.035], "roundness": [0.4, 0.8]}}])
def test_three_fingers_lift_a_ball_and_a_superellipsoid(body):
    robot = sorosim.load("gripper_grasps_sphere", set=body and {"links.ball.body": {**body, "mass": 0.06}})
    run = sorosim.simulate(robot)
    z = np.array([robot.pose(q, "ball")[2, 3] for q in run.q])
    assert z[-1] - z[0] > 0.07
    carried = run.contacts.at(-1).force_on("ball")
    np.testing.assert_allclose(carried, [0, 0, 0.06 * G], atol=0.02 * 0.06 * G)


def test_the_snake_winds_sideways():
    robot = sorosim.load("snake_on_plane")
    run = sorosim.simulate(robot, 6.0, dt_out=0.05)
    middle = run.positions("body", 0.5)
    way = middle[-1] - middle[int(np.searchsorted(run.t, 2.0))]
    assert np.hypot(*way[:2]) > 0.05
    assert abs(way[2]) < 0.02


@pytest.mark.slow
def test_a_pile_of_rods_comes_to_rest():
    robot = sorosim.load("rod_pile")
    run = sorosim.simulate(robot, 1.5, dt_out=0.05)
    assert run.t[-1] == 1.5
    middles = np.array([robot.pose(run.q[-1], f"rod{k}", s=0.5)[:3, 3] for k in range(1, 13)])
    assert (np.linalg.norm(middles - [0, 0, 0.3], axis=1) < 0.3).all()
    # nothing goes through anything: rods are 2 cm thick
    assert run.contacts.contacts.gap.min() > -0.004


# -- motions that get through ------------------------------------------------------------------------------------------


def drop(rng, stones=False):
    """A soft chain thrown onto obstacles; with `stones` among smooth bodies, too."""
    turn = {"axis": rng.normal(size=3).tolist(), "angle": 2.0}
    links = {
        "a": rod(rng.uniform([-0.2, -0.2, 0.2], [0.2, 0.2, 0.6]).tolist(), turn=turn),
        "b": {**rod((0, 0, 0), "spherical", length=0.15), "parent": "a"},
        "ball": body(rng.uniform([-0.1, -0.1, 0.6], [0.1, 0.1, 0.8]).tolist(), sphere={"radius": 0.05}, mass=0.3),
    }
    links["b"].pop("at")
    tilted = at(rng.uniform(-0.2, 0.2, 3).tolist(), axis=rng.normal(size=3).tolist(), angle=1.0)
    around = [
        floor(),
        {"sphere": {"radius": 0.1}, "at": at(rng.uniform(-0.1, 0.1, 3).tolist())},
        {"box": {"size": [0.2, 0.1, 0.1]}, "at": tilted},
    ]
    if stones:
        for k in range(2):
            smooth = {"radii": rng.uniform(0.03, 0.08, 3).tolist(), "roundness": rng.uniform(0.1, 1.0, 2).tolist()}
            place = rng.uniform([-0.1, -0.1, 0.3 + 0.3 * k], [0.1, 0.1, 0.5 + 0.3 * k]).tolist()
            links[f"stone{k}"] = body(place, superellipsoid=smooth, mass=0.3, turn=turn)
        around.append({"ellipsoid": {"radii": [0.1, 0.2, 0.05]}, "at": at([0.2, 0.0, 0.1])})
    return touching(
        links, among=[*links, *around], stiffness=float(10 ** rng.uniform(4, 6)),
        friction=float(rng.uniform(0, 0.8)), exponent=float(rng.choice([1.0, 1.5, 2.0])),
        damping=float(rng.uniform(0, 2)),
        materials={"silicone": {"young": 1e6, "poisson": 0.5, "density": 1000, "damping": 5e3}},
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::sorosim.base.errors.SorosimWarning")  # too hard, too soft, or they begin inside
@pytest.mark.parametrize(("count", "t_end"), [(3, 0.5), pytest.param(100, 1.0, marks=pytest.mark.slow)])
def test_random_drops_get_through(count, t_end):
    rng = np.random.default_rng(5)
    for k in range(count):
        robot = drop(rng, stones=k % 2 == 1)
        qd0 = rng.normal(size=robot.ndof)
        method = ("bdf", "generalized-alpha", "cvode")[k % 3]
        run = sorosim.simulate(robot, t_end, dt_out=0.01, qd0=qd0, method=method)
        assert run.t[-1] == t_end, f"drop {k} by {method}: {run.message}"
        assert np.isfinite(run.q).all()
