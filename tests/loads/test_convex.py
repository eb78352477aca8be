"""Smooth convex bodies: their support functions, distances by other algorithms, contacts in closed form."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.spatial.transform import Rotation
from trimesh import Trimesh
from validation.contact_robots import at, body, floor, rod, total_wrench, touching

import sorosim
from sorosim.mechanics.kernels.convex import convex_distance, support
from sorosim.mechanics.loads.contact_cores import SMOOTHED, least_radius_of_curvature, superellipsoid
from sorosim.mechanics.model.shape import Ellipsoid, Superellipsoid

G = 9.81
SHAPES = {
    "ellipsoid": ((0.05, 0.03, 0.02), (1.0, 1.0)),
    "pebble": ((0.05, 0.03, 0.02), (0.5, 0.8)),
    "box": ((0.05, 0.04, 0.03), (0.1, 0.1)),
    "cylinder": ((0.03, 0.03, 0.05), (0.05, 1.0)),
}
EACH = pytest.mark.parametrize("name", SHAPES)


def normals(rng, n=200):
    """Unit vectors, a third of them within 1e-3 of a plane of symmetry."""
    u = rng.normal(size=(n, 3))
    u[::3, 1] *= 1e-3
    return u / np.linalg.norm(u, axis=1)[:, None]


def at_normal(f, u):
    S = np.zeros((3, 3))
    h, x = support(f, tuple(u), S)
    return h, np.array(x), S


def exact_support(radii, roundness, u):
    """That of the superellipsoid itself, without smoothing: the dual norm."""
    q, p = (2.0 / (2.0 - e) for e in roundness)
    t = np.abs(np.array(radii) * u)
    s = (t[..., 0] ** p + t[..., 1] ** p) ** (1.0 / p)
    return (s**q + t[..., 2] ** q) ** (1.0 / q)


def smoothed_support(f, u):
    """The support function as the theory has it, in plain numpy, for many directions."""
    t = np.array(f[:3]) * u
    v = np.sqrt(t**2 + SMOOTHED**2 * (t**2).sum(axis=-1, keepdims=True))
    s = (v[..., 0] ** f[4] + v[..., 1] ** f[4]) ** (1.0 / f[4])
    return (s ** f[3] + v[..., 2] ** f[3]) ** (1.0 / f[3])


@EACH
def test_places_and_curvatures_are_derivatives_of_the_support_function(name, rng):
    f = np.array(superellipsoid(*SHAPES[name]))
    for u in normals(rng):
        h, x, S = at_normal(f, u)
        assert h == pytest.approx(smoothed_support(f, u), rel=1e-13)
        assert x @ u == pytest.approx(h, rel=1e-13)  # homogeneous of degree one
        np.testing.assert_allclose(S @ u, 0.0, atol=1e-12 * np.abs(S).max())
        assert np.linalg.eigvalsh(S)[0] > -1e-12 * np.abs(S).max()  # convex
        d, step = rng.normal(size=3), 1e-5
        (ahead, x_ahead, _), (behind, x_behind, _) = (at_normal(f, u + s * d) for s in (step, -step))
        bend = np.abs(S).max() * np.linalg.norm(d)
        assert (ahead - behind) / (2 * step) == pytest.approx(x @ d, abs=1e-5 * bend)
        # faces turn within SMOOTHED: (step/SMOOTHED)^2 = 4e-6 of the largest, times a factor of shape
        np.testing.assert_allclose((x_ahead - x_behind) / (2 * step), S @ d, atol=1e-4 * bend)


@pytest.mark.parametrize(("roundness", "inside"), [(1.0, 1e-15), (0.5, 2e-3), (0.1, 0.012), (0.05, 0.015)])
def test_a_superellipsoid_keeps_its_extents_and_is_a_little_smaller(roundness, inside, rng):
    radii, e = (0.05, 0.03, 0.02), (roundness, roundness)
    f = superellipsoid(radii, e)
    np.testing.assert_allclose(smoothed_support(f, np.eye(3)), radii, rtol=1e-14)
    u = normals(rng, 20000)
    off = smoothed_support(f, u) / exact_support(radii, e, u) - 1.0
    assert off.max() < 1e-14
    assert -inside <= off.min() <= -0.5 * inside or roundness == 1.0


def test_an_ellipsoid_has_its_closed_form(rng):
    a = np.array([0.05, 0.03, 0.02])
    f = np.array(superellipsoid(a))
    assert least_radius_of_curvature(f) == pytest.approx(0.02**2 / 0.05, rel=1e-4)
    for u in normals(rng, 20):
        h, x, S = at_normal(f, u)
        exact = np.sqrt((a * u) @ (a * u))
        assert h == pytest.approx(exact, rel=1e-14)
        np.testing.assert_allclose(x, a * a * u / exact, rtol=1e-13)
        np.testing.assert_allclose(S, (np.diag(a * a) - np.outer(x, x)) / exact, atol=1e-16)


@EACH
def test_distances_of_points_are_along_normals(name, rng):
    """A point at the distance phi along a normal has it, as deep inside as the surface is bent, and far outside."""
    f = np.array(superellipsoid(*SHAPES[name]))
    least, n, H, S = least_radius_of_curvature(f), np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
    for u in normals(rng):
        h, x, bent = at_normal(f, u)
        for phi in (-0.5 * least, -0.01 * least, 0.0, 1e-3 * h, h, 100.0 * h):
            found = convex_distance(f, x + phi * u, n, H, S)
            assert found == pytest.approx(phi, abs=1e-12 * (h + phi))
            np.testing.assert_allclose(n, u, atol=1e-11)
            # across u the inverse of S + phi, along it nothing
            across = (bent + phi * (np.eye(3) - np.outer(u, u))) @ H
            np.testing.assert_allclose(across, np.eye(3) - np.outer(u, u), atol=1e-7)


# directions from a to b, and turns of b
POSES = [
    ([0.02, 0.03, 0.07], [1, 2, 0.3], 0.9),
    ([-0.08, 0.01, 0.02], [0, 0.2, 1], 2.0),
]


def shaped(name):
    radii, roundness = SHAPES[name]
    return {"superellipsoid": {"radii": list(radii), "roundness": list(roundness)}}


@pytest.mark.parametrize(("a", "b"), list(combinations_with_replacement(SHAPES, 2)))
def test_gaps_are_the_largest_width_between_two_bodies(a, b, rng):
    """max over u of u.(o_b - o_a) - h_a(u) - h_b(-u), from the best of many directions, by another algorithm.

    Apart, just so, and inside each other by less than either is bent.
    """
    f_a, f_b = (superellipsoid(*SHAPES[name]) for name in (a, b))
    bent, u = min(least_radius_of_curvature(f) for f in (f_a, f_b)), normals(rng, 5000)
    for direction, axis, angle in POSES:
        turn = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis))

        def width(v, place, turn=turn):
            v = v / np.linalg.norm(v, axis=-1, keepdims=True)
            return v @ place - smoothed_support(f_a, v) - smoothed_support(f_b, turn.inv().apply(-v).reshape(v.shape))

        def largest(place, width=width):
            start = u[np.argmax(width(u, place))]
            options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000}
            return -minimize(lambda v: -width(v, place), start, method="Nelder-Mead", options=options).fun

        touch = brentq(lambda far, d=direction: largest(far * np.array(d)), 0.1, 5.0, xtol=1e-10)
        for far in (3.0 * touch, touch * (1.0 + 1e-3), touch - 0.4 * bent / np.linalg.norm(direction)):
            place = far * np.array(direction)
            exact = largest(place)
            links = {
                "a": body((0, 0, 0), "fixed", **shaped(a)),
                "b": body(place, "fixed", turn={"axis": axis, "angle": angle}, **shaped(b)),
                "w": body((0, 0, 9), sphere={"radius": 1}),
            }
            for between, others in (("a", "b"), ("b", "a")):
                robot = touching(links, between=between, **{"and": others})
                assert robot.contact_gaps(np.zeros(robot.ndof), 2.0)["touch"] == pytest.approx(exact, abs=1e-10)


ROUND = {"ellipsoid": {"radii": [0.04, 0.04, 0.04]}}
OPPOSITE = {
    "floor": (None, floor(-0.0398)),
    "rod": (rod((-0.1, 0.01, -0.0478)), "a"),
    "sphere": (body((0.01, 0, -0.0785), sphere={"radius": 0.04}), "a"),
    "capsule": (body((0.01, 0, -0.0685), turn={"axis": [1, 0, 0.3], "angle": 1.5},
                     capsule={"radius": 0.03, "length": 0.1}), "a"),
    "box": (body((0.01, 0, -0.088), turn={"axis": [1, 0, 0.3], "angle": 0.1}, box={"size": [0.1, 0.1, 0.1]}), "a"),
    "cylinder": (body((0.01, 0, -0.089), cylinder={"radius": 0.05, "length": 0.1}), "a"),
    "pole": (None, {"pole": {"radius": 0.02}, "at": at((0, 0.01, -0.0585), axis=[0, 1, 0], angle=1.57)}),
}  # fmt: skip


@pytest.mark.parametrize("name", OPPOSITE)
def test_a_ball_is_an_ellipsoid(name):
    """Opposite everything that a sphere touches in one place, an ellipsoid of equal half axes has the same force."""
    link, other = OPPOSITE[name]
    found = []
    for shape in ({"sphere": {"radius": 0.04}}, ROUND):
        links = {**({} if link is None else {"a": link}), "b": body((0, 0, 0), **shape)}
        robot = touching(links, between="b", **{"and": other})
        q = np.zeros(robot.ndof)
        contacts = robot.contacts(q)
        assert len(contacts.gap) == 1
        found.append(np.append(contacts.force_on("b"), contacts.gap))
        if link is not None:
            np.testing.assert_allclose(total_wrench(robot, q, q), 0.0, atol=1e-12 * np.abs(contacts.force).max())
    # segments are drawn to their middles, of balls and of solids by unlike parts: 1e-4 of the length, see theory.md
    rough = 1e-3 if name in ("rod", "capsule") else 1e-9
    np.testing.assert_allclose(found[1], found[0], rtol=rough, atol=rough * np.abs(found[0]).max())


# flat and slender bodies, and boxes that they meet by edges and corners
SLENDER = {
    "plate": ((0.1, 0.08, 0.01), (0.2, 0.2)),
    "sharp rod": ((0.2, 0.02, 0.002), (0.05, 0.05)),
    "disc": ((0.1, 0.1, 0.005), (0.1, 1.0)),
    "needle": ((0.003, 0.003, 0.2), (1.0, 1.0)),
}
BOXES = {"beam": (0.4, 0.02, 0.02), "cube": (0.05, 0.05, 0.05), "sheet": (0.3, 0.3, 0.002)}


@pytest.mark.parametrize("flat", SLENDER)
@pytest.mark.parametrize("box", BOXES)
def test_flat_bodies_find_edges_and_corners_of_boxes(flat, box):
    """Gap and normal against the largest width u.d - h_a(u) - h_b(-u), of a box shrunk and rounded, from both sides.

    Inside each other by less than the rounding the way out may be along an edge, where the depth is the smaller of two.
    """
    rng = np.random.default_rng(3)
    f, size = superellipsoid(*SLENDER[flat]), 0.5 * np.array(BOXES[box])
    rounding = 0.02 * size.min()
    links = {
        "a": body((0, 0, 0), "fixed", box={"size": list(BOXES[box])}),
        "b": body((0, 0, 0), superellipsoid={"radii": SLENDER[flat][0], "roundness": SLENDER[flat][1]}),
    }
    robot = touching(links, between="b", **{"and": "a"}, gravity=(0, 0, 0))
    spread, away = normals(rng, 20000), np.array([0.0, 0.0, 1.0])
    for _ in range(2):
        turn, towards = Rotation.random(random_state=rng), normals(rng, 1)[0]

        def width(v, place, turn=turn):
            v = v / np.linalg.norm(v, axis=-1, keepdims=True)
            of_box = np.abs(v) @ (size - rounding) + rounding
            return v @ place - of_box - smoothed_support(f, turn.inv().apply(-v).reshape(v.shape))

        def largest(place, width=width):
            best = None
            for start in spread[np.argsort(-width(spread, place))[:3]]:
                options = {"xatol": 1e-12, "fatol": 1e-16, "maxiter": 4000}
                found = minimize(lambda v: -width(v, place), start, method="Nelder-Mead", options=options)
                best = found if best is None or found.fun < best.fun else best
            return -best.fun, best.x / np.linalg.norm(best.x)

        touch = brentq(lambda far, d=towards: largest(far * d)[0], 1e-3, 2.0, xtol=1e-9)
        for more in (0.3, 1e-3):
            place = (touch + more) * towards
            exact, away = largest(place)
            q = np.concatenate([place, turn.as_rotvec()])
            assert robot.contact_gaps(q, 3.0)["touch"] == pytest.approx(exact, abs=1e-7)  # of the other algorithm
        # as deep as half of the rounding, along the normal
        q[:3] = place - (exact + 0.5 * rounding) * away
        contacts = robot.contacts(q)
        assert len(contacts.gap) == 1
        assert -0.5 * rounding * 1.01 <= contacts.gap[0] < -0.2 * rounding
        assert contacts.normal[0] @ away > 0.6  # 1 on a face; edges turn it


@pytest.mark.parametrize(("other", "half"), [
    ({"box": {"size": [0.1, 0.1, 0.01]}}, 5.0), ({"pole": {"radius": 0.005}}, 5.0),
    ({"ellipsoid": {"radii": [0.02, 0.02, 0.005]}}, 5.0),
])  # fmt: skip
def test_a_body_that_reaches_through_another_one_is_pressed_back(other, half):
    """A ball of 3 cm, as deep as it is thick and more: the gap of an ellipsoid goes on as that of a sphere."""
    turned = {"axis": [1, 0, 0], "angle": np.pi / 2} if "pole" in other else {"axis": [0, 0, 1], "angle": 0.0}
    for depth in (1.0, 0.9 * half, 1.2 * half, 1.9 * half, 2.4 * half, 4.0 * half):
        place = (0.0, 0.0, 0.03 + 1e-3 * (half - depth))
        gaps = []
        for shape in ({"sphere": {"radius": 0.03}}, {"ellipsoid": {"radii": [0.03] * 3}}):
            robot = touching(
                {"b": body(place, **shape)}, between="b", **{"and": {**other, "at": at((0, 0, 0), **turned)}}
            )
            (gap,) = robot.contacts(np.zeros(6)).gap
            gaps.append(gap)
        assert gaps[0] == pytest.approx(-1e-3 * depth, rel=1e-6)
        assert gaps[1] == pytest.approx(gaps[0], rel=1e-6)


@pytest.mark.parametrize("radius", [0.001, 0.004, 0.03])
def test_all_of_a_flat_end_is_touched(radius):
    """Along the last radii of a rod and around its rim an ellipsoid of equal half axes finds what a sphere finds."""
    rods = {"a": rod(joint="fixed")}  # of 1 cm radius, 20 cm long
    for x, z in [*((x, 0.01) for x in (0.17, 0.186, 0.188, 0.19, 0.192, 0.194, 0.196, 0.198, 0.1995)), (0.2, 0.005)]:
        side = z == 0.01
        place = (x, 0.0, 0.01 + radius - 2e-4) if side else (0.2 + radius - 2e-4, 0.0, z)
        gaps = []
        for shape in ({"sphere": {"radius": radius}}, {"ellipsoid": {"radii": [radius] * 3}}):
            robot = touching({**rods, "b": body(place, **shape)}, between="b", **{"and": "a"})
            gaps.append(robot.contacts(np.zeros(robot.ndof)).gap.min())
        assert gaps[1] == pytest.approx(gaps[0], abs=2e-5)


def test_the_way_out_of_the_middle_is_the_shortest():
    f, n, H, S = np.array(superellipsoid((1.0, 0.01, 0.01))), np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
    for x in (0.0, 1e-18, 1e-9, 0.3):
        phi = convex_distance(f, np.array([x, 0.0, 0.0]), n, H, S)
        assert phi == pytest.approx(-0.01 * np.sqrt(1.0 - x * x / (1.0 - 1e-4)), rel=1e-9)


def test_an_ellipsoid_rests_and_rocks_on_a_plane_as_its_curvature_says():
    """Depth (W/k)^(2/3); without friction it rocks about its centre with W (a^2/c - c)/I."""
    a, b, c = 0.06, 0.05, 0.03
    links = {"egg": body((0, 0, 0), ellipsoid={"radii": [a, b, c]})}
    robot = touching(links, between="egg", **{"and": floor()}, stiffness=1e7)
    eq = sorosim.statics(robot, q0=[0, 0, c, 0, 0, 0])
    depth = (G / 1e7) ** (2 / 3)
    assert c - robot.pose(eq.q, "egg")[2, 3] == pytest.approx(depth, rel=1e-6)
    assert eq.contacts.force[0] == pytest.approx([0, 0, G], abs=1e-6)
    frequencies = np.sort(eq.linearize().frequencies)
    # about y it rocks on a, about x on b; the plane presses at the depth below the centre
    exact = [np.sqrt(G * (side**2 / c - c) / (0.2 * (side**2 + c**2))) / (2 * np.pi) for side in (b, a)]
    np.testing.assert_allclose(frequencies[3:5], np.sort(exact), rtol=1e-6)


def test_two_eggs_on_each_other_carry_their_weights():
    lift = {"prismatic": {"axis": [0, 0, 1]}}
    links = {
        "low": body((0, 0, 0.03), lift, mass=2.0, ellipsoid={"radii": [0.06, 0.05, 0.03]}),
        "high": body((0, 0, 0.1), lift, superellipsoid={"radii": [0.05, 0.05, 0.04], "roundness": [0.5, 0.5]}),
    }
    robot = touching(links, among=["low", "high", floor()], stiffness=1e6)
    eq = sorosim.statics(robot)
    forces = np.sort(eq.contacts.force[:, 2])
    np.testing.assert_allclose(np.abs(forces), [G, 3 * G], rtol=1e-9)
    depths = np.sort(-eq.contacts.gap)
    np.testing.assert_allclose(depths, [(G / 1e6) ** (2 / 3), (3 * G / 1e6) ** (2 / 3)], rtol=1e-9)


def test_a_box_on_a_slope_presses_its_lower_corners_as_the_moment_says():
    angle, size, k = 0.2, (0.2, 0.1, 0.1), 1e6
    turn = {"axis": [0, 1, 0], "angle": angle}
    across = np.array([np.sin(angle), 0.0, np.cos(angle)])
    links = {"box": body(across * 0.05, turn=turn, box={"size": list(size)})}
    robot = touching(links, between="box", **{"and": floor(slope=angle)}, stiffness=k, exponent=1, onset=1e-8,
                     friction=0.5)  # fmt: skip
    eq = sorosim.statics(robot, sticking=robot.initial_q)
    assert len(eq.contacts.gap) == 4
    place = robot.pose(eq.q, "box")
    ahead = (eq.contacts.position - place[:3, 3]) @ place[:3, 0]
    normal = eq.contacts.force @ across
    # corners are rounded by a hundredth of the smallest side: they press 1 mm behind the edges
    rim = 0.5 * size[0] - 0.01 * size[2]
    lever = G * np.sin(angle) * 0.5 * size[2] / (2 * rim)
    assert normal[ahead > 0].sum() == pytest.approx(0.5 * G * np.cos(angle) + lever, rel=2e-4)
    assert normal[ahead < 0].sum() == pytest.approx(0.5 * G * np.cos(angle) - lever, rel=2e-4)
    along = np.cross([0, 1, 0], across)
    assert eq.contacts.force.sum(axis=0) @ along == pytest.approx(-G * np.sin(angle), rel=1e-8)


def test_ellipsoids_touch_nothing_hollow():
    with pytest.raises(sorosim.SorosimError, match="use a mesh, or spheres inside it"):
        touching({"a": body((0, 0, 0), **shaped("pebble"))}, between="a", **{"and": {"bowl": {"radius": 1}}})


@EACH
def test_volume_and_inertia_are_those_of_the_surface(name):
    shape = Superellipsoid(*SHAPES[name])
    surface = Trimesh(*shape.surface(400))
    assert surface.is_watertight
    assert surface.is_winding_consistent
    moments = shape.moments
    # the mesh is inside by (pi/400)^2/2 of the radius, and cuts edges
    assert surface.volume == pytest.approx(moments.volume, rel=1e-3)
    second = 0.5 * np.trace(surface.moment_inertia) * np.eye(3) - surface.moment_inertia
    np.testing.assert_allclose(second, moments.second, rtol=2e-3, atol=1e-6 * moments.second.max())


def test_a_superellipsoid_of_roundness_one_is_an_ellipsoid():
    one, other = Superellipsoid((0.05, 0.03, 0.02), (1.0, 1.0)), Ellipsoid((0.05, 0.03, 0.02))
    assert one.moments.volume == pytest.approx(other.moments.volume, rel=1e-14)
    np.testing.assert_allclose(one.moments.second, other.moments.second, rtol=1e-13)
    np.testing.assert_allclose(one.faces_to_flow, other.faces_to_flow, rtol=1e-14)
