"""statics goes on to stable equilibria: pendulums, cables, columns, loose joints, ropes that lie on each other."""

import re

import numpy as np
import pytest
import yaml
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import sorosim
from sorosim.analysis.solvers.descent import Descent, curvatures, descend, descent_direction
from sorosim.base.errors import ConvergenceError
from sorosim.files import dump, load_text
from sorosim.studies.doctor import OK, examine

HEADER = """sorosim: 1
name: it
materials: {rubber: {young: 1 MPa, poisson: 0.45, density: 1100 kg/m^3, damping: 5 kPa*s}}
"""
BAR = "body: {cylinder: {radius: 1 cm, length: 40 cm}, density: 2700 kg/m^3, at: {position: [0, 0, -20 cm]}}"
END = "frames: {end: {position: [0, 0, -40 cm]}}"
HINGE = "joint: {revolute: {axis: [0, 1, 0]}}"
DOWN = "at: {rotation: {axis: [0, 1, 0], angle: 90 deg}}"
UP = "at: {rotation: {axis: [0, 1, 0], angle: -90 deg}}"
SOFT = (
    "rod: {length: 40 cm, section: {circle: {radius: 8 mm}}, material: rubber, "
    "strain: {bending: 3, torsion: 1, elongation: 0}}"
)
DISC = "body: {cylinder: {radius: 10 cm, length: 2 cm}, density: 2700 kg/m^3}, frames: {rim: {position: [10 cm, 0, 0]}}"


def robot(text):
    return load_text(HEADER + text, "robot.yaml")


PENDULUMS = {
    "hinge": f"links: {{a: {{{HINGE}, {BAR}}}}}",
    "double": f"links: {{a: {{{HINGE}, {BAR}, {END}}}, b: {{parent: a, at: {{frame: end}}, {HINGE}, {BAR}, {END}}}}}",
    "ball": f"links: {{a: {{joint: spherical, {BAR}}}}}",
    "rod on a hinge": f"links: {{a: {{{HINGE}, {DOWN}, {SOFT}}}}}",
    "rod on a ball joint": f"links: {{a: {{joint: spherical, {DOWN}, {SOFT}}}}}",
}
PI = np.pi
STARTS = {
    "hinge": [[0.0], [1.5], [PI / 2], [2.5], [3.0], [PI - 1e-6], [PI], [-2.0], [6.0], [10.0]],
    "double": [[PI, 0], [0, PI], [PI, PI], [PI / 2, 0], [PI / 2, PI], [2.0, -1.0], [-3.0, 2.9], [0.3, 3.0]],
    "ball": [[0, 0, 0], [PI, 0, 0], [0, PI, 0], [PI / 2, 0, 0], [0, 0, 1.0], [1.0, 2.0, 0.5], [3.0, 0, 0]],
    "rod on a hinge": [[0.0], [1.0], [PI / 2], [PI], [-2.0]],
    "rod on a ball joint": [[0, 0, 0], [0, PI, 0], [0, PI / 2, 0], [PI, 0, 0], [1.0, 2.0, 0.5]],
}


@pytest.mark.parametrize("name", PENDULUMS)
def test_pendulums_come_out_hanging_from_any_start(name):
    pendulum = robot(PENDULUMS[name])
    zero = np.zeros(pendulum.ndof)
    hanging = pendulum.energy(zero, zero).gravity  # at q = 0 all hang straight down; rods then stretch a little
    for start in STARTS[name]:
        q0 = np.concatenate([start, np.zeros(pendulum.ndof - len(start))])
        eq = sorosim.statics(pendulum, q0=q0)
        assert eq.stable, start
        assert eq.residual_norm < 1e-9
        assert pendulum.energy(eq.q, zero).gravity <= hanging + 1e-9, start


def test_the_first_equilibrium_is_kept_on_request_and_called_unstable():
    pendulum = robot(PENDULUMS["hinge"])
    eq = sorosim.statics(pendulum, q0=[3.0], stable=False)
    assert eq.q[0] == pytest.approx(PI, abs=1e-12)
    assert not eq.stable
    assert "unstable: small motions about it grow" in eq.message
    assert "at more energy than at the start" in sorosim.statics(pendulum, q0=[3.0]).message
    assert "at an unstable equilibrium" in sorosim.statics(pendulum, q0=[PI]).message
    of_file = robot(PENDULUMS["hinge"] + "\nstatics: {stable: false}\n")
    assert of_file.description.statics == {"stable": False}
    assert not sorosim.statics(of_file, q0=[3.0]).stable
    assert sorosim.statics(of_file, q0=[3.0], stable=True).stable
    assert "stable: false" in dump(of_file)


def test_a_far_way_is_in_the_message():
    pendulum = robot(PENDULUMS["hinge"])
    assert "far from the start: 'b' moved by 0.8 m" in sorosim.statics(robot(PENDULUMS["double"]), q0=[PI, 0.0]).message
    assert "far" not in sorosim.statics(pendulum, q0=[0.3]).message


def test_a_rod_that_buckles_under_its_weight_leans_to_the_same_side_each_time():
    column = robot(f"links: {{a: {{{UP}, {SOFT}}}}}")  # 40 cm, beyond its 31 cm
    upright, leaning = sorosim.statics(column, stable=False), sorosim.statics(column)
    assert not upright.stable
    assert upright.tip()[2] > 0.39
    assert leaning.stable
    zero = np.zeros(column.ndof)
    assert column.energy(leaning.q, zero).total < column.energy(upright.q, zero).total
    # a round column may lean anywhere: it falls where it was pushed, and along its first coordinate if it was not
    assert abs(leaning.tip()[1]) < 1e-6 * abs(leaning.tip()[0])
    q0 = np.zeros(column.ndof)
    q0[[name.startswith("a.bending_z[0]") for name in column.coordinate_names]] = 0.1
    pushed = sorosim.statics(column, q0=q0)
    assert abs(pushed.tip()[0]) < 1e-3 * abs(pushed.tip()[1])
    assert pushed.tip()[2] == pytest.approx(leaning.tip()[2], abs=1e-9)


# -- cables ------------------------------------------------------------------------------------------------------------


def cable(order):
    return robot(f"""
links:
  r: {{joint: spherical, rod: {{length: 60 cm, section: {{circle: {{radius: 2 mm}}}}, material: rubber,
      strain: {{bending: {order}, torsion: 1, elongation: 1}}}}}}
loops:
  end: {{joint: spherical, from: r, to: {{at: {{position: [50 cm, 0, 0]}}}}}}
""")


def catenary(length, span):
    """Sag of an inextensible cable."""
    a = brentq(lambda a: 2.0 * a * np.sinh(0.5 * span / a) - length, 0.05, 10.0)
    return a * (np.cosh(0.5 * span / a) - 1.0)


@pytest.mark.parametrize("young", ["1 MPa", "100 MPa"])
@pytest.mark.parametrize("n", [10, 30, pytest.param(100, marks=pytest.mark.slow)])
def test_a_rope_of_many_pieces_hangs_from_straight_and_from_an_arch(n, young):
    piece = f"length: {0.6 / n}, section: {{circle: {{radius: 2 mm}}}}, material: rubber"
    piece += ", strain: {bending: 0, torsion: 0, elongation: 0}"
    pinned = robot(f"""
links:
  r: {{joint: spherical, rod: {{divisions: [{", ".join(n * [f"{{{piece}}}"])}]}}}}
loops:
  end: {{joint: spherical, from: r, to: {{at: {{position: [50 cm, 0, 0]}}}}}}
""").with_values({"materials.rubber.young": young})
    arch = np.zeros(pinned.ndof)
    half_angle = brentq(lambda a: np.sin(a) / a - 5 / 6, 0.1, 3.0)
    arch[pinned.coordinate_names.index("r.spherical.ry")] = -half_angle
    arch[["bending_y" in name for name in pinned.coordinate_names]] = 2.0 * half_angle / n
    assert pinned.pose(arch, "r", s=0.5)[2, 3] > 0.1
    for q0 in (None, arch):
        rest = sorosim.statics(pinned, q0=q0)
        assert rest.stable
        assert -pinned.pose(rest.q, "r", s=0.5)[2, 3] == pytest.approx(catenary(0.6, 0.5), abs=3e-3)


@pytest.mark.parametrize(("force", "flutters"), [(0.2, False), (0.6, True)])
def test_a_follower_beyond_the_load_of_beck_is_said_to_flutter(force, flutters):
    # 20.05 EI/L^2 = 0.40 N, with little inner damping 10.94 EI/L^2 = 0.22 N
    column = robot(
        f"gravity: [0, 0, 0]\nlinks: {{a: {{{SOFT}}}}}\n"
        f"loads: {{jet: {{wrench: {{link: a, force: [{-force}, 0, 0], frame: body}}}}}}"
    )
    eq = sorosim.statics(column)
    assert eq.stable is not flutters
    assert ("unstable: it flutters" in eq.message) is flutters


@pytest.mark.parametrize("radius", ["1 cm", "5 mm", "1 mm"])
@pytest.mark.parametrize("joint", ["spherical", "{spherical: {damping: 1e-3}}"])
def test_upright_bars_on_ball_joints_come_out_hanging_and_are_stable(radius, joint):
    shape = f"cylinder: {{radius: {radius}, length: 40 cm}}, density: 1000 kg/m^3, at: {{position: [0, 0, 20 cm]}}"
    upright = robot(f"links: {{a: {{joint: {joint}, body: {{{shape}}}}}}}")
    for start in STARTS["ball"]:
        eq = sorosim.statics(upright, q0=np.array(start, float))
        assert upright.pose(eq.q, "a")[2, 2] < -1.0 + 1e-9, start
        assert eq.stable, start
        # it may turn about itself, and what rounding says of that is small against its inertia only
        assert eq.linearize().stability == "neutral", start
        assert "neutral: the tangent stiffness is singular" in eq.message, start


@pytest.mark.parametrize("order", [4, 6, 10, pytest.param(14, marks=pytest.mark.slow), 18, 20])
def test_a_pinned_cable_hangs_whatever_its_order_and_start(order, rng):
    pinned = cable(order)
    rest = sorosim.statics(pinned)  # from straight, which is an unstable compression
    # EI/(w L^3) = 4e-4: stiff ends flatten the cable by some part of a per cent of its length
    assert -pinned.pose(rest.q, "r", s=0.5)[2, 3] == pytest.approx(catenary(0.6, 0.5), abs=3e-3)
    assert rest.stable
    assert "neutral" in rest.message  # it spins about itself between its ball joints
    assert rest.linearize().stability == "neutral"
    for size in (0.03, 0.1, 0.3):  # of coordinates: up to centimetres away from rest
        q0 = rest.q + size * rng.normal(size=pinned.ndof)
        found = sorosim.statics(pinned, q0=q0)
        assert found.stable
        assert pinned.pose(found.q, "r", s=0.5)[2, 3] == pytest.approx(pinned.pose(rest.q, "r", s=0.5)[2, 3], abs=1e-7)


# -- loose joints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("joint", "start"), [("{revolute: {axis: [0, 0, 1]}}", [1.0]), ("{planar: {axis: [0, 0, 1]}}", [1.0, 0.2, 0.3])]
)
def test_robots_on_loose_joints_rest_wherever_they_are(joint, start):
    text = f"links: {{t: {{joint: {joint}, {DISC}}}, r: {{parent: t, at: {{frame: rim}}, {SOFT}}}}}"
    loose = robot(text)
    n = len(start)
    here = sorosim.statics(loose)
    there = sorosim.statics(loose, q0=np.concatenate([start, np.zeros(loose.ndof - n)]))
    np.testing.assert_allclose(there.q[n:], here.q[n:], atol=1e-9)
    np.testing.assert_allclose(there.q[:n], start, atol=1e-9)
    assert here.stable
    assert "neutral" in here.message
    found = examine(loose)
    at_rest = [finding for finding in found if finding.where == "equilibrium"]
    assert [finding.level for finding in at_rest] == [OK]
    assert "rests at" in at_rest[0].what
    assert any(finding.where == "discretisation" or "right to" in finding.what for finding in found)
    if n == 3:  # on a slope nothing balances the weight
        sloping = robot(text + "\ngravity: [1, 0, -9.81]\n")
        with pytest.raises(ConvergenceError, match="nothing holds it along 't"):
            sorosim.statics(sloping)


# -- what touches ------------------------------------------------------------------------------------------------------


def ropes(stiffness=None):
    rope = (
        "joint: spherical, rod: {{length: {}, section: {{circle: {{radius: 5 mm}}}}, material: rubber, "
        "strain: {{bending: 4, torsion: 1, elongation: 1}}}}"
    )
    contact = f'contact: {{between: low, and: high, stiffness: "{stiffness}"}}'
    touch = f"loads: {{touch: {{{contact}}}}}" if stiffness else ""
    return robot(f"""
links:
  low: {{at: {{position: [-50 cm, 0, 0]}}, {rope.format("105 cm")}}}
  high: {{at: {{position: [0, -25 cm, 2 cm], rotation: {{axis: [0, 0, 1], angle: 90 deg}}}}, {rope.format("65 cm")}}}
loops:
  a: {{joint: spherical, from: low, to: {{at: {{position: [50 cm, 0, 0]}}}}}}
  b: {{joint: spherical, from: high, to: {{at: {{position: [0, 25 cm, 2 cm]}}}}}}
{touch}
""")


def test_a_rope_that_falls_on_another_one_lies_on_it():
    both, apart = ropes("1e4 N/m^1.5"), ropes()
    hanging = sorosim.statics(apart).q
    half = both.ndof // 2
    heights = [both.pose(hanging, name, s=0.5)[2, 3] for name in ("low", "high")]
    assert heights[1] < heights[0] - 0.01  # but for the contact the upper one would hang below the lower
    arch = hanging.copy()
    over = Rotation.from_rotvec([PI, 0.0, 0.0]) * Rotation.from_rotvec(hanging[half : half + 3])  # about its chord
    arch[half : half + 3] = over.as_rotvec()
    assert max(gap[0] for gap in both.loop_gaps(arch).values()) < 1e-12
    eq = sorosim.statics(both, q0=arch)
    low, high = (eq.robot.pose(eq.q, name, s=0.5)[:3, 3] for name in ("low", "high"))
    assert both.pose(arch, "high", s=0.5)[2, 3] > both.pose(arch, "low", s=0.5)[2, 3]
    assert eq.stable
    assert eq.contacts.n > 0
    # a diameter apart, less what surfaces give under the weight of a rope: (0.5 N/1e4 N/m^1.5)^(2/3) = 1.4 mm
    assert high[2] - low[2] > 0.01 - 0.0045


def crossing(n, drop, stiffness="1e4 N/m^1.5"):
    """Two ropes across each other, as n pieces each; the pins of `up` are lower by `drop`."""
    piece = {
        "length": 1.0 / n, "section": {"circle": {"radius": 0.005}}, "material": "rubber",
        "strain": {"bending": 0, "torsion": 0, "elongation": 0},
    }  # fmt: skip
    rope = {"divisions": [piece] * n}
    turned = {"axis": [0, 0, 1], "angle": "90 deg"}
    return robot(yaml.safe_dump({
        "links": {
            "low": {"joint": "spherical", "at": {"position": [-0.4, 0, 0]}, "rod": rope},
            "up": {"joint": "spherical", "at": {"position": [0, -0.4, -drop], "rotation": turned}, "rod": rope},
        },
        "loops": {
            "a": {"joint": "spherical", "from": "low", "to": {"at": {"position": [0.4, 0, 0]}}},
            "b": {"joint": "spherical", "from": "up", "to": {"at": {"position": [0, 0.4, -drop]}}},
        },
        "loads": {"touch": {"contact": {"between": "up", "and": "low", "stiffness": stiffness}}},
    }))  # fmt: skip


def arcs(crossed, n, half_angle=1.1311025856511006):
    """Circular arcs from pin to pin: sin(a)/a = 0.8; `low` hangs, `up` stands."""
    q = np.zeros(crossed.ndof)
    for name, sign in (("low", 1.0), ("up", -1.0)):
        q[crossed.coordinate_names.index(f"{name}.spherical.ry")] = sign * half_angle
        for i, coordinate in enumerate(crossed.coordinate_names):
            if coordinate.startswith(name) and "bending_y" in coordinate:
                q[i] = -2.0 * sign * half_angle / n
    return q


def side(crossed, q):
    """Height of `up` over `low` where they cross, seen from above: of chords between points."""
    a, b = (np.array([crossed.pose(q, name, s=s)[:3, 3] for s in np.linspace(0, 1, 41)]) for name in ("low", "up"))
    for i, j in np.ndindex(40, 40):
        da, db = a[i + 1] - a[i], b[j + 1] - b[j]
        s, t = np.linalg.solve(np.array([da[:2], -db[:2]]).T, (b[j] - a[i])[:2])
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            return (b[j] + t * db)[2] - (a[i] + s * da)[2]
    raise AssertionError("they do not cross")


@pytest.mark.parametrize(("n", "drop"), [(9, 0.05), (14, 0.2)])
def test_a_rope_lies_on_the_one_below_and_never_passes_through_it(n, drop):
    crossed = crossing(n, drop)
    q0 = arcs(crossed, n)
    eq = sorosim.statics(crossed, q0=q0)
    assert eq.stable
    # pins are lower by many diameters: without contact it would hang below
    assert 0.006 < side(crossed, eq.q) < 0.011 < side(crossed, q0)
    assert "through" not in eq.message


def test_where_ropes_had_to_pass_through_each_other_statics_says_so():
    too_soft = crossing(9, 0.2, "10 N/m^1.5")
    eq = sorosim.statics(too_soft, q0=arcs(too_soft, 9))
    assert not eq.stable
    assert side(too_soft, eq.q) > 0.0
    assert "surfaces pass through each other: the contact is too soft" in eq.message
    # the straight rope above is not closed: it sags through the one that stands as an arc below it
    crossed = crossing(9, -0.3)
    standing = -arcs(crossed, 9)
    standing[[name.startswith("up") for name in crossed.coordinate_names]] = 0.0
    assert side(crossed, standing) > 0.0
    eq = sorosim.statics(crossed, q0=standing)
    assert side(crossed, sorosim.assemble(crossed, standing).q) < 0.0
    assert "closing the loops moved surfaces through each other" in eq.message


# -- the descent -------------------------------------------------------------------------------------------------------


def plain(n):
    return Descent(n, lambda x: np.eye(n), lambda x: np.eye(n).reshape(-1, 1, n).repeat(3, axis=1) / np.sqrt(3.0))


def newton(jacobian):
    def settle(x, at_rest):
        for _ in range(20):
            r, J = jacobian(x)
            x = x - np.linalg.solve(J, r)
        return x

    return settle


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.0, 2.0], [1e-3, -1.0], [-0.4, 0.7]])
def test_descent_of_a_double_well_ends_in_the_well_on_its_side(start):
    def jacobian(x):  # potential (x^2 - 1)^2/4 + 5 y^2/2
        return np.array([x[0] ** 3 - x[0], 5.0 * x[1]]), np.diag([3.0 * x[0] ** 2 - 1.0, 5.0])

    for towards in (1.0, -1.0):
        end, _ = descend(jacobian, np.array(start), plain(2), newton(jacobian), towards=np.array([towards, 0.0]))
        side = np.sign(start[0]) or towards
        np.testing.assert_allclose(end, [side, 0.0], atol=1e-12)


def test_descent_on_a_circle_ends_at_its_lowest_point():
    def jacobian(x):  # a bead of weight 1 on x^2 + y^2 = 1, with its multiplier
        r = np.array([2.0 * x[0] * -x[2], 1.0 - 2.0 * x[1] * x[2], x[0] ** 2 + x[1] ** 2 - 1.0])
        A = np.array([2.0 * x[0], 2.0 * x[1]])
        return r, np.block([[-2.0 * x[2] * np.eye(2), -A[:, None]], [A[None], np.zeros((1, 1))]])

    for angle in (0.5 * PI, 1.0, 3.0, -1.5):
        start = np.array([np.cos(angle), np.sin(angle), 0.0])
        end, _ = descend(jacobian, start, plain(2), newton(jacobian))
        np.testing.assert_allclose(end, [0.0, -1.0, -0.5], atol=1e-9)


def test_of_equal_curvatures_the_motion_does_not_depend_on_rounding(rng):
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for K in (np.diag([-1.0, -1.0, 2.0]), np.diag([-1.0, -1.0, 2.0]) + 1e-15 * Q):
        found = curvatures(K, np.eye(3))
        np.testing.assert_allclose(descent_direction(found, np.eye(3), np.zeros(3)), [1.0, 0.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(
            descent_direction(found, np.eye(3), np.array([0.0, -2.0, 5.0])), [0.0, -1.0, 0.0], atol=1e-9
        )


def test_what_falls_for_ever_is_given_up():
    def jacobian(x):
        return np.array([1.0]), np.zeros((1, 1))

    assert descend(jacobian, np.zeros(1), plain(1), newton(jacobian)) == (None, "it falls without end")


def test_a_descent_that_hardly_moves_is_given_up():
    def jacobian(x):  # derivatives are far too large
        return x.copy(), np.array([[1e6]])

    end, course = descend(jacobian, np.ones(1), plain(1), lambda x, at_rest: None)
    assert end is None
    assert re.fullmatch(r"it hardly moves any more after \d{3} steps", course)
