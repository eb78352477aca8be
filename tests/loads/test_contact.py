"""Contact: tangents in every combination of surfaces, across onset, and what is refused."""

import numpy as np
import pytest
from helpers.differences import best_slope, relative_error
from scipy.optimize import brentq
from validation.contact_robots import at, body, floor, rod, touching

import sorosim
from sorosim.analysis.equations.plausibility import _deep
from sorosim.analysis.equations.system import StaticSystem
from sorosim.base.errors import ModelError
from sorosim.files import load_text
from sorosim.mechanics.kernels import surfaces
from sorosim.mechanics.loads.contact import Contact, Surface
from sorosim.mechanics.loads.contact_law import ContactLaw, impact_damping
from sorosim.mechanics.model.obstacle import HalfSpace, HeightField, Pipe
from sorosim.mechanics.model.shape import Box, Cone, Ellipsoid, Sphere

LAW = {"friction": 0.3, "damping": 0.5, "slip_speed": "5 cm/s", "stiffness": 1e5}
STEPS = [1e-5, 3e-6, 1e-6, 3e-7]


def cube(position, **turn):
    return body(position, box={"size": [0.1, 0.1, 0.1]}, turn=turn or None)


def ball(position, radius=0.04):
    return body(position, sphere={"radius": radius})


def egg(position, **turn):
    return body(position, ellipsoid={"radii": [0.05, 0.06, 0.04]}, turn=turn or None)


def pebble(position, **turn):
    return body(position, superellipsoid={"radii": [0.05, 0.06, 0.04], "roundness": [0.4, 0.7]}, turn=turn or None)


def can(position, **turn):
    return body(position, cylinder={"radius": 0.05, "length": 0.1}, turn=turn or None)


TETRAHEDRON = {
    "vertices": [[0.05, 0, -0.03], [-0.03, 0.04, -0.03], [-0.03, -0.04, -0.03], [0, 0, 0.05]],
    "faces": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]],
}
WAVES = (0.01 * np.sin(np.linspace(0, 6, 12))[:, None] * np.cos(np.linspace(0, 5, 12))[None, :]).tolist()


def above(position=(0, 0, 0), **rotation):
    return {"at": at(position, **rotation)}


def hanging(x, y=0.0):
    """A rod whose tip is ahead, down, and near the plane z = 0."""
    return rod((x, y, 0.185), turn={"axis": [0.1, 1, 0], "angle": 1.2})


# links, contact; the last link is moved along z until it is 0.4 mm deep
CASES = {
    "rod on plane": ({"b": rod()}, {"between": "b", "and": floor()}),
    "rod of spheres on plane": ({"b": rod()}, {"between": "b", "and": floor(), "rods": "spheres"}),
    "rod on box": ({"a": cube((0.1, 0, 0)), "b": rod((0, 0, 0.06))}, {}),
    "rod on ball": ({"a": ball((0.1, 0, 0)), "b": rod((0, 0.01, 0.05))}, {}),
    "rod on capsule": ({"a": body((0.1, 0, 0), capsule={"radius": 0.03, "length": 0.1}),
                        "b": rod((0, 0, 0.04))}, {}),
    "rod on cylinder": ({"a": can((0.1, 0, 0), axis=[1, 0.2, 0], angle=1.5), "b": rod((0, 0, 0.06))}, {}),
    "rod on mesh": ({"a": body((0.1, 0, 0), mesh=TETRAHEDRON), "b": rod((0, 0.004, 0.06))}, {}),
    "rod on pole": ({"b": rod()}, {"between": "b", "and": {"pole": {"radius": 0.05}, **above(
        (0.11, 0, -0.07), axis=[1, 0, 0.1], angle=1.6)}}),
    "rod in pipe": ({"b": rod()}, {"between": "b", "and": {
        "pipe": {"radius": 0.2}, **above((0, 0, 0.17), axis=[0, 1, 0.05], angle=1.54)}}),
    "rod in bowl": ({"b": rod((-0.1, 0, 0))}, {"between": "b", "and": {
        "bowl": {"radius": 0.4}, **above((0, 0, 0.37))}}),
    "rod on terrain": ({"b": rod((-0.1, 0, 0.05))}, {"between": "b", "and": {
        "height_field": {"heights": WAVES, "size": [0.6, 0.6]}}}),
    "rod on rod": ({"a": rod(), "b": rod((0.1, -0.1, 0.03), turn={"axis": [0, 0, 1], "angle": 1.4})}, {}),
    "parallel rods": ({"a": rod(), "b": rod((0.01, 0, 0.02))}, {}),
    "tapered rods": ({"a": rod(radius=[0.012, 0.006]), "b": rod((0.1, -0.1, 0.03), radius=[0.012, 0.006], turn={
        "axis": [0, 0, 1], "angle": 1.4})}, {}),
    "end of a rod on plane": ({"b": hanging(0.0)}, {"between": "b", "and": floor()}),
    "end of a rod on a thin plane": ({"b": hanging(0.0)}, {"between": "b", "and": {"plane": {}}}),
    "round end of a rod on plane": ({"b": hanging(0.0)}, {"between": "b", "and": floor(), "ends": "round"}),
    "end of a rod on box": ({"a": cube((0, 0, -0.05)), "b": hanging(-0.07, 0.005)}, {}),
    "end of a rod across the edge of a box": ({"a": cube((0, 0, -0.05)), "b": hanging(-0.07, 0.034)}, {}),
    "end of a rod on ball": ({"a": ball((0, 0, -0.04)), "b": hanging(-0.04, -0.01)}, {}),
    "end of a rod on cylinder": ({"a": can((0, 0, -0.05), axis=[1, 0.2, 0], angle=1.5),
                                  "b": hanging(-0.07, 0.005)}, {}),
    "end of a rod on mesh": ({"a": body((0, 0, -0.03), mesh=TETRAHEDRON, turn={"rpy": [np.pi, 0, 0]}), "b": hanging(
        -0.055, -0.013)}, {}),
    "end of a rod on rod": ({"a": rod((0, -0.1, -0.01), turn={"axis": [0, 0, 1], "angle": 1.4}),
                             "b": hanging(-0.06, 0.004)}, {}),
    "ends of two rods": ({"a": rod((-0.05, 0, -0.19), turn={"axis": [0, 1, 0], "angle": -1.3}),
                          "b": hanging(-0.03, -0.0096)}, {}),
    "end of a rod in bowl": ({"b": hanging(-0.07)}, {"between": "b", "and": {"bowl": {"radius": 0.4}, **above(
        (0, 0, 0.4))}}),
    "end of a rod on terrain": ({"b": hanging(-0.07)}, {"between": "b", "and": {
        "height_field": {"heights": WAVES, "size": [0.6, 0.6]}}}),
    "ball on ball": ({"a": ball((0, 0, 0)), "b": ball((0.01, 0.02, 0.08))}, {}),
    "capsule on capsule": ({"a": body((0, 0, 0), capsule={"radius": 0.03, "length": 0.1}),
                            "b": body((0.01, 0.02, 0.1), capsule={"radius": 0.03, "length": 0.1})}, {}),
    "box on plane": ({"b": cube((0, 0, 0.05), axis=[1, 2, 3], angle=0.4)}, {"between": "b", "and": floor()}),
    "box on box": ({"a": cube((0, 0, 0)), "b": cube((0.02, 0.03, 0.1), axis=[1, 2, 0], angle=0.1)}, {}),
    "edge on edge": ({"a": cube((0, 0, 0), rpy=[0.3, 0.8, 0]), "b": cube((0.02, 0.03, 0.12), rpy=[0.8, 0.3, 0.5])}, {}),
    "cylinder on plane": ({"b": can((0, 0, 0.05), axis=[1, 0, 0], angle=0.3)}, {"between": "b", "and": floor()}),
    "cylinder on box": ({"a": cube((0, 0, 0)), "b": can((0.02, 0.03, 0.1), axis=[1, 0, 0], angle=0.1)}, {}),
    "ellipsoid on plane": ({"b": body((0, 0, 0.05), ellipsoid={"radii": [0.05, 0.06, 0.07]})}, {
        "between": "b", "and": floor()}),
    "ellipsoid on a tray": ({"a": cube((0, 0, 0)), "b": body((0, 0, 0.1), ellipsoid={"radii": [0.05, 0.06, 0.07]})}, {
        "between": "b", "and": {"link": "a", "half_space": {}, **above((0, 0, 0.05))}}),
    "rod on egg": ({"a": egg((0.1, 0, 0)), "b": rod((0, 0.01, 0.06))}, {}),
    "rod of spheres on egg": ({"a": egg((0.1, 0, 0)), "b": rod((0, 0.01, 0.06))}, {"rods": "spheres"}),
    "rod on pebble": ({"a": pebble((0.1, 0, 0)), "b": rod((0, 0.01, 0.06))}, {}),
    "end of a rod on egg": ({"a": egg((0, 0, -0.04)), "b": hanging(-0.05, 0.005)}, {}),
    "ball on pebble": ({"a": pebble((0, 0, 0), axis=[1, 2, 0.3], angle=0.9), "b": ball((0.01, 0.02, 0.09))}, {}),
    "capsule on egg": ({"a": egg((0, 0, 0)), "b": body((0.01, 0.02, 0.09), capsule={"radius": 0.03, "length": 0.1},
                        turn={"axis": [1, 0.3, 0], "angle": 0.5})}, {}),
    "egg on egg": ({"a": egg((0, 0, 0)), "b": egg((0.02, 0.03, 0.1), axis=[1, 2, 0.3], angle=0.9)}, {}),
    "egg on pebble": ({"a": egg((0, 0, 0)), "b": pebble((0.02, 0.03, 0.1), axis=[1, 2, 0.3], angle=0.9)}, {}),
    "pebble on egg": ({"a": pebble((0, 0, 0)), "b": egg((0.02, 0.03, 0.1), axis=[1, 2, 0.3], angle=0.9)}, {}),
    "egg on the face of a box": ({"a": cube((0, 0, 0)), "b": egg((0.02, 0.01, 0.1), axis=[1, 2, 0.3], angle=0.9)}, {}),
    "egg on the edge of a box": ({"a": cube((0, 0, 0), rpy=[0.8, 0.1, 0]),
                                  "b": egg((0, 0, 0.1), rpy=[0.3, 0.2, 0.5])}, {}),
    "box on pebble": ({"a": pebble((0, 0, 0)), "b": cube((0.02, 0.03, 0.12), rpy=[0.8, 0.3, 0.5])}, {}),
    "egg on cylinder": ({"a": can((0, 0, 0), axis=[1, 0, 0], angle=1.5), "b": egg((0.02, 0.01, 0.1))}, {}),
    "egg on pole": ({"b": egg((0, 0, 0), axis=[1, 2, 0.3], angle=0.9)}, {"between": "b", "and": {
        "pole": {"radius": 0.05}, **above((0.01, 0, -0.1), axis=[1, 0, 0.1], angle=1.6)}}),
    "egg on mesh": ({"a": body((0, 0, 0), mesh=TETRAHEDRON, turn={"rpy": [np.pi, 0, 0]}), "b": egg((0.003, 0, 0.07))},
                    {}),
    "pebble on plane": ({"b": pebble((0, 0, 0.05), axis=[1, 2, 0.3], angle=0.9)}, {"between": "b", "and": floor()}),
    "pebble on a thin plane": ({"b": pebble((0, 0, 0.05), axis=[1, 2, 0.3], angle=0.9)}, {
        "between": "b", "and": {"plane": {}}}),
    "mesh on mesh": ({"a": body((0, 0, 0), mesh=TETRAHEDRON), "b": body((0.01, 0, 0.08), mesh=TETRAHEDRON)}, {}),
    "mesh in bowl": ({"b": body((0, 0, 0), mesh=TETRAHEDRON)}, {"between": "b", "and": {
        "bowl": {"radius": 0.4}, **above((0, 0, 0.4))}}),
}  # fmt: skip


def brought_together(robot, rng, depth=4e-4):
    """A state in which the last link is a given depth inside what it touches."""
    q = 0.02 * rng.normal(size=robot.ndof)
    z_of_last = robot.coordinate_names.index(f"{robot.links[-1].name}.free.tz")
    q[[k for k, kind in enumerate(robot.engine.layout.dimensions) if kind == "length"]] = 0.0

    def deepest(z):
        q[z_of_last] = z
        return -robot.contacts(q).gap.min(initial=0.0)

    low, high = -0.05, 0.08
    assert deepest(high) == 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if deepest(middle) > depth else (low, middle)
    q[z_of_last] = low
    return q


def derivative_errors(robot, q, qd, rng):
    """Relative errors of the derivatives by q and qd along random directions, differences of sixth order."""
    qdd = rng.normal(size=robot.ndof)
    found = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    errors = []
    for _ in range(3):
        d = rng.normal(size=robot.ndof)
        by_q = best_slope(lambda h, d=d: robot.inverse_dynamics(q + h * d, qd, qdd=qdd), STEPS)
        by_qd = best_slope(lambda h, d=d: robot.inverse_dynamics(q, qd + h * d, qdd=qdd), [1e-2, 1e-3, 1e-4])
        errors.append((relative_error(found.dtau_dq @ d, by_q), relative_error(found.dtau_dqd @ d, by_qd)))
    return np.max(errors, axis=0)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_exact(name, rng):
    links, contact = CASES[name]
    robot = touching(links, **{**LAW, **({"between": "a", "and": "b"} | contact)})
    q, qd = brought_together(robot, rng), rng.normal(size=robot.ndof)
    assert robot.contacts(q, qd).gap.min() < -1e-4
    by_q, by_qd = derivative_errors(robot, q, qd, rng)
    # rounding of forces over steps of 1e-6 .. 1e-5, of which a depth of 4e-4 allows no larger ones
    assert by_q < 2e-6
    assert by_qd < 1e-9


@pytest.mark.parametrize("rods", ["capsules", "spheres"])
def test_derivatives_of_self_contact_are_exact(rods, rng):
    links = {"a": rod(joint="fixed", length=0.6, quadrature=16)}
    robot = touching(links, among="a", rods=rods, **LAW)
    q = np.zeros(robot.ndof)
    for name, value in (("bending_y[0]", 7.0), ("bending_z[0]", 0.2), ("torsion[0]", 0.2)):
        q[robot.coordinate_names.index(f"a.{name}")] = value
    qd = rng.normal(size=robot.ndof)
    assert len(robot.contacts(q).gap) > 1
    by_q, by_qd = derivative_errors(robot, q, qd, rng)
    assert by_q < 1e-7
    assert by_qd < 1e-8


CURVATURE = 6.0


def bent(links, **contact):
    """A robot whose rods of 0.2 m all have that curvature."""
    robot = touching(links, **{**LAW, **contact})
    q = np.zeros(robot.ndof)
    q[[k for k, name in enumerate(robot.coordinate_names) if name.endswith("bending_z[0]")]] = CURVATURE * 0.2
    return robot, q


@pytest.mark.parametrize("other", ["ball", "capsule", "pole", "rod"])
def test_a_bent_rod_touches_where_it_is_not_on_chords(other):
    """Around the middle between two points chords are off by 0.5 mm or more."""
    rods = {"a": rod(joint="fixed")}
    points = touching({**rods, "b": ball((0, 0, 9))}, between="a", **{"and": "b"}).engine.layout.links["a"].X
    piece = int(np.argmax(np.diff(points)))
    length = points[piece + 1] - points[piece]
    assert CURVATURE * length**2 / 8.0 > 5e-4
    for part in (0.5, 0.4) if other == "rod" else (0.5,):  # others are met by a straight piece through the middle
        s = CURVATURE * (points[piece] + part * length)
        centre, way = np.array([0.0, 1.0 / CURVATURE, 0.0]), np.array([np.sin(s), -np.cos(s), 0.0])
        outside = centre + (1.0 / CURVATURE + 0.0499) * way
        if other == "pole":
            robot, q = bent(rods, between="a", **{"and": {"pole": {"radius": 0.04}, **above(outside)}})
        elif other == "ball":
            robot, q = bent({**rods, "b": ball(outside)}, between="a", **{"and": "b"})
        elif other == "rod":
            upright = rod(outside - [0, 0, 0.1], radius=0.04, turn={"axis": [0, 1, 0], "angle": -np.pi / 2}, torsion=0)
            robot, q = bent({**rods, "b": upright}, between="a", **{"and": "b"})
        else:
            across = body(outside, capsule={"radius": 0.04, "length": 0.2})
            robot, q = bent({**rods, "b": across}, between="a", **{"and": "b"})
        # rods of 1 cm radius: 0.1 mm inside; Hermite's cubic is off an arc by (kappa L)^4/(384 kappa) at most
        assert robot.contact_gaps(q)["touch"] == pytest.approx(-1e-4, abs=(CURVATURE * length) ** 4 / 384.0 / CURVATURE)


def test_contact_of_bent_rods_has_a_potential(rng):
    lifted = {"prismatic": {"axis": [0, 0, 1]}}
    links = {"a": rod(joint="fixed"), "b": rod((0.1, -0.1, 0.0), lifted, turn={"axis": [0, 0, 1], "angle": 1.4})}
    # without friction and damping; the second one hardly presses
    (robot, q), (without, _) = (
        bent(links, between="a", **{"and": "b"}, friction=0.0, damping=0.0, stiffness=k) for k in (1e5, 1e-9)
    )
    still, lift = np.zeros(robot.ndof), robot.engine.layout.links["b"].column
    q += 0.05 * rng.normal(size=robot.ndof)
    q[lift] = brentq(lambda z: robot.contact_gaps(np.r_[q[:lift], z, q[lift + 1 :]], 0.2)["touch"] + 4e-4, 0.01, 0.08)

    def stored(x):
        return robot.energy(x, still).elastic - without.energy(x, still).elastic

    force = robot.inverse_dynamics(q, still, qdd=still) - without.inverse_dynamics(q, still, qdd=still)
    for _ in range(3):
        d = rng.normal(size=robot.ndof)
        assert relative_error(force @ d, best_slope(lambda h, d=d: stored(q + h * d), STEPS)) < 1e-6


@pytest.mark.parametrize(("exponent", "onset"), [(1.0, 0.0), (1.0, 1e-4), (1.5, 0.0), (2.0, 0.0)])
def test_forward_dynamics_derivatives_across_onset(exponent, onset, rng):
    """A micrometre before the surfaces meet and after, and 0.3 mm inside."""
    robot = touching({"b": rod()}, between="b", **{"and": floor(-0.01)}, exponent=exponent, onset=onset,
                     stiffness=1e3 if exponent == 1.0 else 1e5, friction=0.3, slip_speed=0.05)  # fmt: skip
    q = np.zeros(robot.ndof)
    z = robot.coordinate_names.index("b.free.tz")
    for depth, n in ((-1e-6, 0), (1e-6, 6), (3e-4, 6)):
        q[z] = -depth
        qd = 0.1 * rng.normal(size=robot.ndof)
        assert len(robot.contacts(q).gap) == n
        found = robot.forward_dynamics_derivatives(q, qd)
        for _ in range(2):
            d = rng.normal(size=robot.ndof)
            d /= np.linalg.norm(d)
            steps = [5e-7, 1e-7, 3e-8] if depth < 1e-5 else STEPS
            by_q = best_slope(lambda h, d=d, v=qd: robot.forward_dynamics(q + h * d, v), steps, order=2)
            # the force of exponent 1.5 bends most just inside
            assert relative_error(found.dqdd_dq @ d, by_q) < (2e-2 if depth == 1e-6 else 1e-4)
    assert robot.contact_gaps(q)["touch"] == pytest.approx(-3e-4, rel=1e-9)


def test_many_balls_find_the_same_contacts_as_each_pair_alone(rng):
    """The cells of the broad phase against all pairs."""
    n, r = 60, 0.05
    x = rng.uniform(0, 0.5, (n, 3))
    big = [body((0.25, 0.25, -0.3), sphere={"radius": 0.35})]
    links = {f"b{k}": ball(p.tolist(), r) for k, p in enumerate(x)} | {"big": big[0]}
    robot = touching(links, among=list(links))
    found = robot.contacts(np.zeros(robot.ndof))
    centres, radii = np.vstack([x, [0.25, 0.25, -0.3]]), np.append(np.full(n, r), 0.35)
    gaps = np.linalg.norm(centres[:, None] - centres[None], axis=2) - radii[:, None] - radii[None]
    i, j = np.nonzero(np.triu(gaps < 0.0, 1))
    names = list(links)
    assert {frozenset(pair) for pair in zip(found.a, found.b, strict=True)} == {
        frozenset((f"'{names[a]}'", f"'{names[b]}'")) for a, b in zip(i, j, strict=True)
    }
    np.testing.assert_allclose(np.sort(found.gap), np.sort(gaps[i, j]), atol=1e-15)


def segments_distance(a, u, b, v):
    """Distance of segments a + s u, b + t v: the least inside the square, or on one of its sides."""
    found = []
    for end in (0.0, 1.0):
        for apart, along in ((a + end * u - b, v), (b + end * v - a, u)):
            s = np.clip(apart @ along / (along @ along), 0.0, 1.0)
            found.append(np.linalg.norm(apart - s * along))
    n = np.cross(u, v)
    if n @ n > 0.0:
        s, t = np.cross(b - a, v) @ n / (n @ n), np.cross(b - a, u) @ n / (n @ n)
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            found.append(abs((b - a) @ n) / np.linalg.norm(n))
    return min(found)


@pytest.mark.parametrize("flat", [False, True])
def test_many_sticks_touch_where_their_segments_are_near(rng, flat):
    """Capsules of the broad phase against all pairs; flat: cells are, too, and all sticks are nearly parallel."""
    n, radius, length = 60, 0.03, 0.5
    x = rng.uniform(-0.4, 0.4, (n, 3)) * ([2.0, 1.0, 0.2] if flat else 1.0)
    links = {}
    for k, p in enumerate(x):
        axis, angle = ([0, 1, 0], np.pi / 2 + 1e-8 * k) if flat else (rng.normal(size=3).tolist(), rng.uniform(0, 3))
        turn, capsule = {"axis": axis, "angle": float(angle)}, {"radius": radius, "length": length}
        links[f"s{k}"] = body(p.tolist(), "free", turn=turn, capsule=capsule)
    robot = touching(links, among=list(links))
    q = np.zeros(robot.ndof)
    along = np.array([length * robot.pose(q, name)[:3, 2] for name in links])
    gaps = np.full((n, n), np.inf)
    for i in range(n):
        for j in range(i + 1, n):
            ends = x[i] - 0.5 * along[i], along[i], x[j] - 0.5 * along[j], along[j]
            gaps[i, j] = segments_distance(*ends) - 2.0 * radius
    # places are drawn to the middle, docs/theory.md, 12: distances of 6 cm by up to 1e-4 (L + 2 r)^2 / (4 * 6 cm)
    drawn = 1e-4 * (length + 2.0 * radius) ** 2 / (8.0 * radius)
    found = robot.contacts(q)
    pairs = {frozenset(pair) for pair in zip(found.a, found.b, strict=True)}
    assert len(pairs) > 20
    for near, is_there in ((-drawn, True), (drawn, False)):
        i, j = np.nonzero(gaps < near if is_there else np.triu(gaps >= near, 1))
        for one in zip(i, j, strict=True):
            assert (frozenset(f"'s{k}'" for k in one) in pairs) is is_there


def test_many_bent_rods_touch_where_their_curves_are_near(rng):
    """Capsules around curved pieces against the points of the curves."""
    n, radius, length = 14, 0.004, 0.1
    rod = {"length": length, "section": {"circle": {"radius": radius}}, "material": "rubber", "strain": {"bending": 0},
           "quadrature": 8}  # fmt: skip
    links = {}
    for k in range(n):
        place = {"position": rng.uniform(0, 0.06, 3).tolist(),
                 "rotation": {"axis": rng.normal(size=3).tolist(), "angle": float(rng.uniform(0, 3))}}  # fmt: skip
        links[f"rod{k}"] = {"joint": "free", "rod": rod, "at": place}
    robot = sorosim.load({
        "sorosim": 1, "materials": {"rubber": {"young": 1e6, "poisson": 0.45, "density": 1100}}, "links": links,
        "loads": {"touch": {"contact": {"among": list(links), "stiffness": 1e4, "ends": "round"}}},
    })  # fmt: skip
    q = np.zeros(robot.ndof)
    bends = [i for i, name in enumerate(robot.coordinate_names) if ".free" not in name]
    q[bends] = rng.normal(scale=10.0, size=len(bends))  # about a radian on the length
    found = robot.contacts(q)
    pairs = {frozenset(str(place).split("'")[1] for place in pair) for pair in zip(found.a, found.b, strict=True)}
    s = np.linspace(0.0, 1.0, 401)
    x = np.array([robot.poses(q, name, s=s)[:, :3, 3] for name in links])
    # cubics of a fifth of the length are off by (L/5)^4 curvature^3 / 384 = 1e-5 m at 30/m; places are drawn, theory 12
    tolerance, touching_pairs = 5e-5, 0
    for i in range(n):
        for j in range(i + 1, n):
            gap = np.linalg.norm(x[i][:, None] - x[j][None], axis=2).min() - 2.0 * radius
            is_there = frozenset((f"rod{i}", f"rod{j}")) in pairs
            assert abs(gap) < tolerance or is_there == (gap < 0.0)
            touching_pairs += is_there
    assert touching_pairs > 5


def stick(tilt, x, length=1.0, radius=0.02):
    """A lying stick, and another that is let down on it."""
    capsule = {"radius": radius, "length": length}
    turn = {"axis": [0, 1, 0], "angle": tilt}
    return touching({
        "lying": body((0, 0, 0), "fixed", turn={"axis": [0, 1, 0], "angle": np.pi / 2}, capsule=capsule),
        "b": body((x, 0, 0), {"prismatic": {"axis": [0, 0, 1]}}, turn=turn, capsule=capsule),
    }, between="b", **{"and": "lying"})  # fmt: skip


@pytest.mark.parametrize("tilt", [0.0, 0.3, np.pi / 4, 1.2, 1.5, 1.5707])
@pytest.mark.parametrize("x", [0.0, 0.2, 0.354])
def test_sticks_do_not_pass_through_each_other(tilt, x):
    robot = stick(tilt, x)
    along = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    t = np.linspace(-0.5, 0.5, 2001)
    # the joint moves along its own axis, which is tilted
    for way in np.linspace(0.0, 0.6, 25):
        ends = np.array([x, 0.0, 0.0]) + way * along + t[:, None] * along
        beyond = np.maximum(np.abs(ends[:, 0]) - 0.5, 0.0)
        gap = np.sqrt(ends[:, 2] ** 2 + beyond**2).min() - 0.04
        # drawn to the middles they are up to 1e-4 L r/(4 d) farther apart
        assert robot.contact_gaps([way], 2.0)["touch"] == pytest.approx(gap, abs=2e-3 if gap < -0.03 else 2e-4)


def test_a_standing_cylinder_is_held_by_a_pole_wherever_its_corners_are():
    pole = {"pole": {"radius": 0.01}, "at": at((0, 0, 0), axis=[1, 0, 0], angle=np.pi / 2)}
    for turned in np.radians([0.0, 3.0, 7.5, 11.0]):
        links = {"c": body((0, 0, 0.06), {"prismatic": {"axis": [0, 0, 1]}}, turn={"axis": [0, 0, 1], "angle": turned},
                           cylinder={"radius": 0.1, "length": 0.1})}  # fmt: skip
        robot = touching(links, between="c", **{"and": pole})
        for z in (-5e-4, -5e-3, -9e-3):
            assert robot.contact_gaps([z])["touch"] == pytest.approx(z, abs=5e-6)


def test_normals_are_unit_vectors_at_the_ends_of_long_capsules():
    links = {"a": body((0, 0, 0), "fixed", capsule={"radius": 0.002, "length": 0.5}),
             "b": body((0.0038, 0, 0.25), sphere={"radius": 0.002})}  # fmt: skip
    found = touching(links, among=["a", "b"], friction=0.0).contacts(np.zeros(6))
    assert found.gap[0] == pytest.approx(-2e-4, rel=0.02)
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.force, found.normal_force[:, None] * found.normal, rtol=1e-12)


@pytest.mark.parametrize("shape", [{"sphere": {"radius": 0.1}}, {"capsule": {"radius": 0.1, "length": 1.0}}])
def test_what_is_at_one_place_is_pushed_apart(shape):
    across = {"axis": [1, 0, 0], "angle": 1.0} if "capsule" in shape else None
    robot = touching({"a": body((0, 0, 0), "fixed", **shape), "b": body((0, 0, 0), turn=across, **shape)}, between="b",
                     **{"and": "a"})  # fmt: skip
    found = robot.contacts(np.zeros(6))
    assert np.linalg.norm(found.force) == pytest.approx(1e6 * 0.2**1.5, rel=1e-4)
    assert np.linalg.norm(found.normal) == pytest.approx(1.0)
    assert np.isfinite(robot.inverse_dynamics_derivatives(np.zeros(6), np.zeros(6), qdd=np.zeros(6)).dtau_dq).all()


def test_parallel_rods_share_their_load_along_them():
    robot = touching({"a": rod(), "b": rod((0, 0, 0.0199))}, between="a", **{"and": "b"})
    found = robot.contacts(np.zeros(robot.ndof))
    along = found.position[:, 0]
    assert along.min() < 0.04
    assert along.max() > 0.16
    assert found.normal_force @ along / found.normal_force.sum() == pytest.approx(0.1, abs=2e-3)


def test_restitution_and_damping():
    for e in (0.1, 0.5, 0.9, 0.99):
        x = impact_damping(e)
        assert np.log((1 + x) / (1 - e * x)) == pytest.approx(x * (1 + e), rel=1e-9)
    assert impact_damping(1.0) == 0.0
    assert ContactLaw(1e5, restitution=0.5, impact_speed=2.0).hunt_crossley == pytest.approx(impact_damping(0.5) / 2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ContactLaw(-1.0), "a positive stiffness"),
        (lambda: ContactLaw(1e5, friction=-0.1), "0 or more"),
        (lambda: ContactLaw(1e5, restitution=0.5), "impact_speed"),
        (lambda: ContactLaw(1e5, restitution=0.5, impact_speed=1.0, damping=1.0), "one of them"),
        (lambda: Contact("a", "a", law=ContactLaw(1e5)), "both"),
        (lambda: Contact(Sphere(0.1), HalfSpace(), law=ContactLaw(1e5)), "only shapes in the world"),
        (lambda: Surface(shape=Cone(0.1, 0.1)), "a cone"),
        (lambda: Surface(), "neither"),
        (lambda: Surface("a", Sphere(0.1), radius=0.1), "both"),
        (lambda: HeightField(np.zeros((3, 3)), (1, 1)), "4 x 4"),
        (lambda: Pipe(-1.0), "pipe.radius: expected a length greater than 0, got -1"),
        (lambda: Contact("a", law=ContactLaw(1e5), rods="cubes"), "capsules or spheres"),
    ],
)  # fmt: skip
def test_what_cannot_touch_is_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def bound(links, **contact):
    return touching(links, **contact)


@pytest.mark.parametrize(
    ("links", "contact", "message"),
    [
        ({"a": ball((0, 0, 0))}, {"between": "a", "and": {"link": "a", "half_space": {}}}, "in both"),
        ({"a": body((0, 0, 0), inertia=[1, 1, 1])}, {"between": "a", "and": floor()}, "known by numbers only"),
        ({"a": body((0, 0, 0), cone={"radius": 0.1, "length": 0.1})}, {"between": "a", "and": floor()}, "a cone"),
        ({"a": body((0, 0, 0), ellipsoid={"radii": [1, 1, 2]})},
         {"between": "a", "and": {"pipe": {"radius": 3}}}, "opposite an ellipsoid"),
        ({"a": rod()}, {"between": {"link": "a", "sphere": {"radius": 0.1}}, "and": floor()}, "no shape on a rod"),
        ({"a": ball((0, 0, 0))}, {"between": {"link": "a", "radius": 0.1}, "and": floor()}, "a rod"),
        ({"a": ball((0, 0, 0))}, {"between": {"link": "a", "at": {"frame": "foot"}}, "and": floor()}, "frame of 'a'"),
        ({"a": rod()}, {"between": {"link": "a", "at": {"frame": "foot"}}, "and": floor()}, "no frame"),
        ({"a": rod()}, {"between": {"link": "a", "at": {"s": 0.5}}, "and": floor()}, "another kind"),
    ],
)  # fmt: skip
def test_surfaces_that_do_not_fit_their_links_are_refused(links, contact, message):
    with pytest.raises(sorosim.SorosimError, match=message):
        bound(links, **contact)


def test_a_mesh_that_is_not_convex_is_refused():
    arrow = {
        "vertices": [[1, 0, 0], [-1, 1, 0], [-0.5, 0, 0], [-1, -1, 0], [0, 0, 1], [0, 0, -1]],
        "faces": [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]],
    }
    with pytest.raises(sorosim.SorosimError, match=r"convex mesh.*convex pieces"):
        touching({"a": body((0, 0, 0), mesh=arrow)}, between="a", **{"and": floor()})


def test_a_surface_on_a_frame_of_a_link_is_one_at_its_pose():
    foot = {"position": [0.1, 0.0, -0.3], "rotation": {"axis": [0, 1, 0], "angle": 0.4}}
    leg = {**body((0, 0, 1), inertia=[1, 1, 1]), "frames": {"foot": foot}}
    toe = {"link": "leg", "sphere": {"radius": 0.02}}
    on_frame = {**toe, "at": {"frame": "foot", "position": [0.0, 0.0, -0.05]}}
    by_numbers = {**toe, "at": [foot, {"position": [0.0, 0.0, -0.05]}]}
    one, other = (touching({"leg": leg}, between=toe, **{"and": floor()}) for toe in (on_frame, by_numbers))
    for robot in (one, load_text(one.to_yaml(), "leg.yaml")):
        for q in (np.zeros(6), np.array([0.3, 0.1, -0.2, 0.5, -0.4, 0.2])):
            assert robot.contact_gaps(q, 2.0) == pytest.approx(other.contact_gaps(q, 2.0), rel=1e-14)
    assert 0.5 < other.contact_gaps(np.zeros(6), 2.0)["touch"] < 0.7


def test_shapes_keep_their_size():
    robot = touching({"a": body((0, 0, 0), box={"size": [0.1, 0.2, 0.3]})}, between="a", **{"and": floor(-0.15)})
    assert robot.contact_gaps(np.zeros(6))["touch"] == pytest.approx(0.0, abs=1e-15)
    assert isinstance(robot.links[0].body.parts[0].shape, Box)
    assert Ellipsoid((1, 1, 1)).kind == "ellipsoid"


@pytest.mark.parametrize("e", [1e-6, 1e-3, 0.02, 0.03, 0.0301, 0.5, 0.99, 0.9999, 1.0 - 1e-7])
def test_every_restitution_has_its_damping(e):
    """ln((1 + x)/(1 - e x)) = x (1 + e), and more damping for less restitution."""
    x = impact_damping(e)
    assert 0.0 < x <= 1.0 / e
    if 0.05 < e < 0.9999:  # below, 1 - e x has lost its digits
        assert np.log1p(x) - np.log1p(-e * x) == pytest.approx(x * (1.0 + e), rel=1e-9)
    assert impact_damping(0.99 * e) > x


def test_a_thin_plane_is_touched_by_smooth_bodies_only():
    smooth = body((0, 0, 0.0698), ellipsoid={"radii": [0.05, 0.06, 0.07]})
    robot = touching({"b": smooth}, between="b", **{"and": {"plane": {}}})
    found = robot.contacts(np.zeros(6))
    assert found.gap.min() == pytest.approx(-2e-4, rel=1e-9)
    np.testing.assert_allclose(found.normal[0], [0, 0, 1], atol=1e-12)
    for flat in (can((0, 0, 0.1)), cube((0, 0, 0.1))):
        with pytest.raises(sorosim.SorosimError, match="use a half_space"):
            touching({"b": flat}, between="b", **{"and": {"plane": {}}})


def test_damping_does_not_change_what_rests():
    """In statics nothing approaches, however far the way is that friction resists."""
    depths = []
    for damping in (0.0, 20.0):
        robot = touching({"rod": rod((-0.1, 0, 0.0099))}, between="rod", **{"and": floor()}, stiffness=1e5,
                         friction=0.4, damping=damping)  # fmt: skip
        eq = sorosim.statics(robot, sticking=robot.initial_q)
        depths.append(eq.contacts.gap.min())
    assert depths[0] == pytest.approx(depths[1], rel=1e-9)


def test_the_tangent_of_statics_knows_how_places_move_with_friction(rng):
    """Far from where contacts stuck, the rates that friction sees turn the arms of contacts, too."""
    links = {"rod": rod((-0.1, 0, 0.008)), "a": body((0.02, 0.03, 0.055), sphere={"radius": 0.05})}
    robot = touching(links, among=["rod", "a"], stiffness=1e5, friction=0.6, slip_speed=1.0,
                     loads={"floor": {"contact": {"between": ["rod", "a"], "and": floor(0.001), "friction": 0.4,
                                                  "slip_speed": 1.0, "stiffness": 1e5}}})  # fmt: skip
    system = StaticSystem(robot, np.zeros(0), {}, (0.3 * rng.normal(size=robot.ndof), None))
    x = 1e-3 * rng.normal(size=robot.ndof)
    found = robot.contacts(x)
    assert set(found.load) == {"touch", "floor"}
    _, J = system.jacobian(x, 1.0)
    for _ in range(3):
        d = rng.normal(size=robot.ndof)
        slope = best_slope(lambda h, d=d: system.residual(x + h * d, 1.0), STEPS)
        assert relative_error(J @ d, slope) < 1e-6


def test_a_flat_face_of_a_mesh_is_flat_on_its_diagonal():
    corners = [[x, y, z] for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
             [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
    links = {"b": body((0, 0, 0.0999), sphere={"radius": 0.05})}
    of_mesh, of_box = (
        touching(links, between="b", **{"and": shape})
        .inverse_dynamics_derivatives(np.zeros(6), np.zeros(6), qdd=np.zeros(6))
        .dtau_dq
        for shape in ({"mesh": {"vertices": corners, "faces": faces}}, {"box": {"size": [0.1, 0.1, 0.1]}})
    )
    np.testing.assert_allclose(of_mesh, of_box, atol=1e-9 * np.abs(of_box).max())


def test_links_that_a_loop_joins_do_not_touch():
    four = sorosim.load("four_bar")
    law = ContactLaw(1e5)
    links = [link.name for link in four.links if link.body is not None]
    robot = four.with_loads(c=Contact(links, law=law))
    joined = {frozenset((loop.a.link, loop.b.link)) for loop in four.description.loops.values()}
    found = robot.contacts(robot.initial_q)
    assert joined
    assert not {frozenset((a.strip("'"), b.strip("'"))) for a, b in zip(found.a, found.b, strict=True)} & joined


@pytest.mark.parametrize(
    ("contact", "message"),
    [
        ({"between": ["a", "a"], "and": floor()}, "'a' twice"),
        ({"between": {"link": "a", "at": at((0, 0, 1))}, "and": floor()}, "no pose for a rod"),
    ],
)
def test_what_would_be_ignored_is_refused(contact, message):
    with pytest.raises(sorosim.SorosimError, match=message):
        touching({"a": rod()}, **contact)


def test_self_contact_of_one_link_can_be_left_out():
    links = {"a": rod(joint="fixed", length=0.6, quadrature=16), "b": ball((0, 0, 9))}
    q = np.zeros(15)
    q[2], q[5], q[0] = 7.0, 0.2, 0.2
    assert touching(links, among=["a", "b"]).contacts(q).n > 0
    assert touching(links, among=["a", "b"], apart=[["a", "a"]]).contacts(q).n == 0
    with pytest.raises(sorosim.SorosimError, match="two surfaces that can touch each other"):
        touching(links, among="a", apart=[["a", "a"]])


# -- ends of rods


def pushed(radius, wall, length=0.1, **contact):
    """A stiff rod on a slide along x, its tip at `length`, and something ahead of it."""
    cart = {"joint": {"prismatic": {"axis": [1, 0, 0]}}}
    finger = {"parent": "cart", **rod(joint="fixed", length=length, radius=radius)}
    return touching({"cart": cart, "finger": finger}, between="finger", **{"and": wall}, **contact)


def gap_of(robot, x=0.0):
    q = np.zeros(robot.ndof)
    q[0] = x
    return robot.contact_gaps(q, 0.5)["touch"]


AHEAD = {
    "half space": {"half_space": {}, "at": at((0.12, 0, 0), axis=[0, 1, 0], angle=-np.pi / 2)},
    "plane": {"plane": {}, "at": at((0.12, 0, 0), axis=[0, 1, 0], angle=-np.pi / 2)},
    "box": {"box": {"size": [0.1, 0.2, 0.2]}, "at": at((0.17, 0, 0))},
    "ball": {"sphere": {"radius": 0.05}, "at": at((0.17, 0, 0))},
    "capsule": {"capsule": {"radius": 0.05, "length": 0.1}, "at": at((0.17, 0, 0))},
    "pole": {"pole": {"radius": 0.05}, "at": at((0.17, 0, 0))},
    "cylinder": {"cylinder": {"radius": 0.05, "length": 0.2}, "at": at((0.17, 0, 0))},
    "bowl": {"bowl": {"radius": 0.2}, "at": at((-0.08, 0, 0))},
}


@pytest.mark.parametrize("radius", [0.005, 0.015, [0.02, 0.01], [0.01, 0.015]])
@pytest.mark.parametrize("name", AHEAD)
def test_a_rod_touches_what_is_ahead_of_it_with_its_end(name, radius):
    exact, r = 0.02, radius if isinstance(radius, float) else radius[1]
    if name == "bowl":
        # the rim is nearer to the wall than the middle, which stands a hundredth of the radius before it
        exact = 0.2 - np.hypot(0.18 - 0.01 * r, r)
    # the middle of a flat end is at the tip
    assert gap_of(pushed(radius, AHEAD[name])) == pytest.approx(exact, abs=1e-7)
    assert gap_of(pushed(radius, AHEAD[name], ends="flat")) == pytest.approx(exact, abs=1e-7)
    # what draws a capsule to its middle widens the gap by up to 2.5e-5 of its length
    if name != "bowl":
        assert gap_of(pushed(radius, AHEAD[name], ends="round")) == pytest.approx(0.02 - r, abs=2.5e-5 * 0.1)


@pytest.mark.parametrize("tilt", [0.05, 0.3, 0.8, 1.4])
@pytest.mark.parametrize("name", ["half space", "plane", "box"])
def test_the_rim_of_an_end_meets_a_slanting_wall(name, tilt):
    r = 0.01
    if name == "box":
        pose = at((0.15 + 0.05 * np.cos(tilt), 0, 0.05 * np.sin(tilt)), axis=[0, 1, 0], angle=-tilt)
    else:
        pose = at((0.15, 0, 0), axis=[0, 1, 0], angle=-np.pi / 2 - tilt)
    gap = gap_of(pushed(r, AHEAD[name] | {"at": pose}))
    # the wall's normal leans by the tilt: its distance from the tip's middle, less what the rim stands out
    exact = 0.05 * np.cos(tilt) - r * np.sin(tilt)
    # the rim is a hundredth of the radius behind the end
    assert exact - 1e-9 < gap < exact + 0.011 * r


def test_a_ball_beside_an_end_touches_the_side_of_the_cylinder_that_the_rod_is():
    r, R = 0.01, 0.02
    for x, y in ((0.05, 0.04), (0.095, 0.04), (0.0999, 0.04), (0.125, 0.0), (0.125, 0.02), (0.11, 0.03)):
        one = pushed(r, {"sphere": {"radius": R}, "at": at((x, y, 0))})
        across, along = max(y - r, 0.0), max(x - 0.1, 0.0)
        # edges are rounded by a hundredth of the radius
        assert gap_of(one) == pytest.approx(np.hypot(across, along) - R, abs=0.01 * r)


def test_an_end_presses_with_one_force_until_the_ball_within_it_does():
    robot = pushed(0.01, AHEAD["half space"])
    q = np.zeros(robot.ndof)
    for depth in (1e-4, 5e-4, 9e-4):
        q[0] = 0.02 + depth
        found = robot.contacts(q)
        assert len(found.gap) == 1
        assert found.force[0, 0] == pytest.approx(-1e6 * depth**1.5, rel=1e-9)
        assert found.position[0] == pytest.approx([0.12 + depth, 0.0, 0.0], abs=1e-9)


def test_an_end_does_not_pass_through_a_thin_plane_before_its_middle_is_a_radius_beyond():
    robot = pushed(0.01, AHEAD["plane"])
    assert gap_of(robot, 0.029) == pytest.approx(-0.009, abs=1e-9)


def test_short_rods_are_cylinders_and_pointed_ones_end_in_points():
    # a disc of 2 cm, shorter than wide
    assert gap_of(pushed(0.03, AHEAD["half space"], length=0.02)) == pytest.approx(0.1, abs=1e-9)
    side = {"half_space": {}, "at": at((0, 0, 0.05), axis=[1, 0, 0], angle=np.pi)}
    assert gap_of(pushed(0.03, side, length=0.02)) == pytest.approx(0.02, abs=0.01 * 0.03)
    assert gap_of(pushed([0.01, 0.0], AHEAD["half space"])) == pytest.approx(0.02, abs=1e-9)


def test_a_rod_bent_to_a_ring_touches_its_own_end_where_the_ring_closes():
    # 0.6 m: of radius 0.6/angle; the ends are 2 pi - angle of it apart
    links = {"a": rod(joint="fixed", length=0.6, quadrature=16)}
    flat, balls = touching(links, among="a"), touching(links, among="a", ends="round")
    q = np.zeros(flat.ndof)
    for angle, meets in ((0.0, ""), (3.0, ""), (6.0, ""), (6.2, "round"), (6.4, "flat round")):
        q[flat.coordinate_names.index("a.bending_y[0]")] = angle
        assert (len(flat.contacts(q).gap) > 0) == ("flat" in meets)
        assert (len(balls.contacts(q).gap) > 0) == ("round" in meets)


def test_spheres_have_no_flat_ends():
    with pytest.raises(ModelError, match="no flat ends where rods are spheres"):
        pushed(0.01, AHEAD["half space"], rods="spheres", ends="flat")
    assert gap_of(pushed(0.01, AHEAD["half space"], rods="spheres")) == pytest.approx(0.01, abs=1e-12)


def press(links, q_of, **contact):
    """Contact forces (ndof,) and the energy that contacts store, both of states, without friction and damping."""
    robot, without = (touching(links, **contact, between="a", **{"and": "b"}, stiffness=k) for k in (1e6, 1e-9))
    still = np.zeros(robot.ndof)

    def force(x):
        return robot.inverse_dynamics(x, still, qdd=still) - without.inverse_dynamics(x, still, qdd=still)

    def stored(x):
        return robot.energy(x, still).elastic - without.energy(x, still).elastic

    q = still.copy()
    for name, value in q_of.items():
        q[robot.coordinate_names.index(name)] = value
    return robot, q, force, stored


DOWN = {"axis": [0, 1, 0], "angle": np.pi / 2}  # the rod's tip is 0.2 m below, tx leads down, tz along x


@pytest.mark.parametrize(("depth", "tilt"), [(3e-3, 0.1), (5e-3, 0.0)])
@pytest.mark.parametrize("name", ["box", "cylinder"])
def test_a_flat_end_deep_across_an_edge_is_pressed_by_a_continuous_force(name, depth, tilt):
    """The force is the gradient of what is stored, three and five times deeper than the edge is rounded."""
    below = cube((0, 0, -0.05)) if name == "box" else can((0, 0, -0.05))
    turned = {"b.free.rx": 0.3 * tilt, "b.free.ry": tilt}
    links = {"a": below | {"joint": "fixed"}, "b": rod((0, 0, 0.2), turn=DOWN)}
    robot, q, force, stored = press(links, turned)
    down, along = (robot.coordinate_names.index(f"b.free.t{x}") for x in "xz")
    q[down] = depth
    for x in np.linspace(0.03, 0.055, 26):
        q[along] = x
        found, ways = force(q), np.eye(robot.ndof)[: along + 1]
        slopes = [best_slope(lambda h, d=d: stored(q + h * d), STEPS) for d in ways]
        size = np.linalg.norm(found)
        assert size > 0.0
        # curvatures, up to one over the rounding of a millimetre, may jump within the smallest step
        np.testing.assert_allclose(found[: along + 1], slopes, atol=3e-7 / 1e-3 * size)
        # ways out turn by no more than the path over the rounding of the rod's end, 2 % of its half length
        step = 1e-7 * np.eye(robot.ndof)[along]
        assert np.linalg.norm((force(q + step) - found)[: along + 1]) < 3.0 * 1e-7 / (0.02 * 5.5e-3) * size


def test_friction_at_a_deep_edge_is_tangential_and_of_coulombs_size(rng):
    links = {"a": cube((0, 0, -0.05)) | {"joint": "fixed"}, "b": rod((0, 0, 0.2), turn=DOWN)}
    robot = touching(links, **(LAW | {"damping": 0.0}), between="a", **{"and": "b"})
    q = np.zeros(robot.ndof)
    for name, value in {"tx": 3e-3, "tz": 0.053, "ry": 0.002}.items():
        q[robot.coordinate_names.index(f"b.free.{name}")] = value
    shared = 0
    for _ in range(20):
        found = robot.contacts(q, rng.normal(size=robot.ndof))
        for n, slip, f, gap in zip(found.normal, found.slip, found.force, found.gap, strict=True):
            pressed, across = f @ n, f - (f @ n) * n
            shared += pressed < 0.99 * 1e5 * abs(gap) ** 1.5
            assert abs(slip @ n) < 1e-12 * np.linalg.norm(slip)
            coulomb = -0.3 * pressed * slip / np.hypot(np.linalg.norm(slip), 0.05)
            np.testing.assert_allclose(across, coulomb, atol=1e-9 * pressed)
    assert shared  # where two faces share, the normal force is that of the gradient
    by_q, by_qd = derivative_errors(robot, q, rng.normal(size=robot.ndof), rng)
    assert by_q < 2e-6
    assert by_qd < 1e-9


@pytest.mark.parametrize("depth", [1e-4, 8e-4])
def test_two_flat_ends_that_meet_press_as_one_end_on_a_wall(depth):
    links = {"a": rod(joint="fixed"), "b": rod((0.4, 0, 0), turn={"axis": [0, 0, 1], "angle": np.pi})}
    robot, q, force, stored = press(links, {"b.free.tx": depth})
    found = robot.contacts(q)
    assert len(found.gap) == 2
    # one of either sign: each end is the disc once
    assert np.abs(found.force[:, 0]).sum() == pytest.approx(1e6 * depth**1.5, rel=1e-9)
    assert stored(q) == pytest.approx(0.4 * 1e6 * depth**2.5, rel=1e-6)
    column = robot.coordinate_names.index("b.free.tx")
    assert force(q)[column] == pytest.approx(1e6 * depth**1.5, rel=1e-6)


def test_an_end_half_on_its_way_to_the_middle_of_what_it_is_in_is_called_deep():
    """Beyond the middle it is less deep again, and pressed onwards."""
    thin = body((0, 0, -0.002), "fixed", box={"size": [0.1, 0.1, 0.004]})
    for below, most in (
        (thin, 0.001),
        (rod((0, 0, -0.2), "fixed", turn={"axis": [0, 1, 0], "angle": -np.pi / 2}), 0.00275),
    ):
        robot = touching({"a": below, "b": rod((0, 0, 0.2), turn=DOWN)}, between="a", **{"and": "b"})
        for depth, told in ((0.98 * most, False), (1.02 * most, True), (1.9 * most, True)):
            q = np.zeros(robot.ndof)
            q[robot.coordinate_names.index("b.free.tx")] = depth
            assert any("deeper than" in one for one in _deep(robot, q[None], None)) == told


def test_what_nothing_opposite_can_meet_is_left_out():
    """Points of rods meet planes and open solids, their pieces closed ones and each other."""
    links = {"a": rod(joint="fixed"), "b": ball((0.1, 0, 0.2))}
    flat = {surfaces.POINT, surfaces.CONVEX}
    for second, kept in (({"link": "b"}, {surfaces.SEGMENT, surfaces.POINT}), (floor(), flat)):
        given = [second] if "link" in second else second
        robot = touching(links, between="a", **{"and": given if "link" not in second else "b"})
        forms = set(robot.engine.loading.packed.laws.surfaces.core["form"])
        assert forms == kept
