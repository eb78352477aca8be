"""Shapes of rods through points: against shapes that are known, and what is said of points that no rod passes."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import yaml
from helpers.differences import jacobian
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.optimize import brentq

import sorosim
from benchmarks.closings import BASES, MORE, start
from sorosim.analysis.equilibria import shapes
from sorosim.analysis.equilibria.shapes import InitialShape, _Fit, fitted
from sorosim.base.errors import InputError, ModelError
from sorosim.files import load_text
from sorosim.studies.doctor import examine

THIN = {"length": 1, "section": {"circle": {"radius": "5 mm"}}, "material": "rubber"}


def rope(joint="spherical", strain=None, **more):
    rod = {**THIN, "strain": strain or {"torsion": 0, "bending": 2}, **more}
    return sorosim.load({
        "sorosim": 1, "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": 1000}},
        "links": {"rope": {"joint": joint, "at": {"position": [0.1, 0.2, 0.3]}, "rod": rod}},
    })  # fmt: skip


def points_of(robot, q, s):
    """Points of a state, in the frame of the joint, which has the axes of the world."""
    return robot.poses(q, "rope", s=s)[:, :3, 3] - [0.1, 0.2, 0.3]


def reference_shapes():
    """Names, joints, strains and coordinates of shapes with a known centreline."""
    circle = {"rope.bending_y[0]": 2.0}
    helix = {"rope.bending_y[0]": 15.0, "rope.torsion[0]": 8.0}
    wave = {"rope.bending_z[0]": 1.0, "rope.bending_z[1]": -2.0, "rope.bending_y[2]": 1.5}
    return {
        "circle": ("fixed", {"bending": 2}, circle),
        "helix": ("free", {"torsion": 0, "bending": 2}, helix),
        "wave": ("spherical", {"torsion": 0, "bending": 2}, wave),
    }


@pytest.mark.parametrize("name", reference_shapes())
@pytest.mark.parametrize("given", [True, False])
def test_a_rod_finds_its_shape_from_points_on_it(name, given):
    joint, strain, coordinates = reference_shapes()[name]
    robot = rope(joint, strain)
    s, between = np.linspace(0.0, 1.0, 13), np.linspace(0.0, 1.0, 41)
    q = robot.coordinates(coordinates)
    shape = sorosim.fit_shape(robot, "rope", points_of(robot, q, s), arc_lengths=s if given else None)
    assert shape.missed.max() < 1e-8  # 1e-11 at worst
    assert_allclose(points_of(robot, shape.q, between), points_of(robot, q, between), atol=1e-5)  # 2e-6
    assert_allclose(shape.arc_lengths, s, atol=1e-5)


def test_the_helix_of_divisions_and_of_elements_is_the_analytic_one():
    turns, radius = 4.0 * np.pi, 0.05
    pitch, s = np.sqrt(1.0 - (turns * radius) ** 2), np.linspace(0.0, 1.0, 30)
    points = np.stack([pitch * s, radius * np.cos(turns * s), radius * np.sin(turns * s)], axis=1)
    for strain, more in (
        ({"torsion": 0, "bending": 2}, {"divisions": 8}),
        ({"basis": "linear_elements", "torsion": 1, "bending": 24}, {}),
    ):
        robot = rope("free", strain, **more)
        shape = sorosim.fit_shape(robot, "rope", points)
        assert shape.missed.max() < 1e-4  # 2e-5: its divisions are no helices
        assert_allclose(
            np.linalg.norm(points_of(robot, shape.q, np.linspace(0, 1, 50))[:, 1:], axis=1), radius, atol=2e-3
        )


def test_a_rope_between_two_points_sags_along_gravity():
    robot = rope(divisions=6)
    shape = sorosim.fit_shape(robot, "rope", [["0 cm", 0, 0], ["80 cm", 0, 0]])
    assert_allclose(points_of(robot, shape.q, [0.0, 1.0]), [[0, 0, 0], [0.8, 0, 0]], atol=1e-9)
    sag = -points_of(robot, shape.q, [0.5])[0, 2]
    # an elastica of 0.8 of its length between hinges rises by 0.27 of it, a catenary by 0.28
    assert 0.25 < sag < 0.30


def test_of_all_shapes_through_points_it_has_about_the_least_energy():
    robot = rope("spherical", divisions=6)
    shape = sorosim.fit_shape(robot, "rope", [[0, 0, 0], [0.8, 0, 0]])
    K = -robot.internal_force_derivatives(shape.q, np.zeros(robot.ndof)).dtau_dq
    along = null_space(robot.jacobian(shape.q, "rope")[3:])  # moves no end
    assert np.abs(along.T @ K @ shape.q).max() < 0.1 * np.abs(K @ shape.q).max()


def test_the_derivative_of_the_errors_is_that_of_differences(rng):
    robot = rope("free", {"torsion": 1, "bending": 2, "elongation": 1, "shear": 0}, divisions=2)
    layout = robot.engine.layout.links["rope"]
    shape = InitialShape([[0, 0, 0], [0.3, 0.2, 0], [0.5, 0.1, 0.1], [0.9, 0, 0]])
    fit = _Fit(robot, "rope", layout, shape, robot.initial_q, [])
    x = np.concatenate([rng.normal(scale=0.3, size=robot.ndof), [0.31, 0.62]])
    difference = jacobian(lambda x: fit.errors(x)[0], x, np.full(len(x), 1e-6))
    assert_allclose(fit.errors(x)[1][:, : robot.ndof], difference[:, : robot.ndof], atol=1e-8)  # 3e-10
    # places between nodes are reached by Magnus steps, whose tangents are strains to their fourth order
    assert_allclose(fit.errors(x)[1][:, robot.ndof :], difference[:, robot.ndof :], atol=1e-4)  # 2e-5


@pytest.mark.parametrize("joint", ["free", "spherical"])
def test_one_point_may_have_its_arc_length(joint):
    robot, point = rope(joint), [0.1, 0.3, 0.2]
    shape = sorosim.fit_shape(robot, "rope", [point], arc_lengths=["60 cm"])
    assert_allclose(points_of(robot, shape.q, [0.6]), [point], atol=1e-9)
    assert_allclose(shape.arc_lengths, [0.6])


def test_named_coordinates_stay_and_frames_are_seen():
    robot = rope("spherical", {"torsion": 0, "bending": 2})
    q0 = {"rope.spherical.rx": 0.2}
    world = np.array([[0.1, 0.2, 0.3], [0.8, 0.4, 0.1]])
    shape = sorosim.fit_shape(robot, "rope", world, frame="world", q0=q0, fixed=["rope.spherical.rx"])
    assert shape.q[robot.coordinate_names.index("rope.spherical.rx")] == 0.2
    assert_allclose(robot.pose(shape.q, "rope")[:3, 3], world[1], atol=1e-9)


def test_noise_is_missed_by_no_more_than_its_size(rng):
    robot = rope("fixed", {"bending": 2})
    s = np.linspace(0.05, 1.0, 30)
    q = robot.coordinates({"rope.bending_y[0]": 1.5, "rope.bending_z[1]": 1.0})
    noisy = points_of(robot, q, s) + rng.normal(scale=2e-3, size=(30, 3))
    shape = sorosim.fit_shape(robot, "rope", noisy, arc_lengths=s)
    assert shape.missed.max() < 5 * 2e-3 * np.sqrt(3)
    assert_allclose(points_of(robot, shape.q, s), points_of(robot, q, s), atol=5e-3)


@pytest.mark.parametrize(
    ("points", "more", "where", "words"),
    [
        ([[0, 0, 0], [1.4, 0, 0]], {}, "through", "1.4 m between the first and the last"),
        ([[0.2, 0, 0], [0.7, 0, 0]], {"arc_lengths": [0.2, 0.4]}, r"through\[1\]", "0.5 m apart with 0.2 m"),
        ([[0, 0, 0], [0.5, 0, 0]], {"arc_lengths": ["0 cm", "1.5 m"]}, "arc_lengths", "1.5 m"),
        ([[0, 0, 0], [0.5, 0, 0]], {"arc_lengths": [0.5, 0.2]}, "arc_lengths", "increase"),
        ([[0, 0, 0], [0.5, 0, 0]], {"arc_lengths": [0, 0.2, 0.3]}, "arc_lengths", "2 arc lengths, one a point"),
        ([[0, 0, 0], ["5 kg", 0, 0]], {}, r"through\[1\]\[0\]", "a mass"),
        ([], {}, "through", "an empty list"),
        ([[0, 0, 0], [0.5, 0, 0]], {"frame": "tip"}, "frame", "joint or world"),
        ([[0, 0, 0], [0.5, 0, 0]], {"fixed": ["rope"]}, "fixed", "names of coordinates"),
        ([[0, 0, 0], [0.5, 0, 0]], {"fixed": "rope"}, "fixed", "a list of names"),
    ],
)
def test_what_no_rod_can_do_is_refused(points, more, where, words):
    with pytest.raises(InputError, match=rf"^{where}: .*{words}"):
        sorosim.fit_shape(rope("fixed"), "rope", points, **more)


def test_a_shape_that_the_strains_do_not_have_is_refused():
    stiff = rope("fixed", {"bending_z": 0})  # in a plane
    with pytest.raises(InputError, match=r"through\[0\]: expected points that 'rope' can pass through.*misses by 0.5"):
        sorosim.fit_shape(stiff, "rope", [[0.8, 0, 0.5]])


def test_only_rods_of_given_length_have_shapes():
    with pytest.raises(InputError, match="expected the name of a rod of given length, got 'tip'; rods: rope"):
        sorosim.fit_shape(rope(), "tip", [[0, 0, 0]])
    with pytest.raises(InputError, match="expected the name of a rod of given length, got 'robot'"):
        sorosim.fit_shape(sorosim.load("concentric_tubes"), "robot", [[0, 0, 0.1]])
    with pytest.raises(InputError, match="expected the name of a rod of given length, got 'vine'"):
        sorosim.fit_shape(sorosim.load("vine"), "vine", [[0.1, 0, 0]])


def test_a_rigid_rod_turns_towards_its_points():
    straight = rope("spherical", {"basis": "legendre"})
    shape = sorosim.fit_shape(straight, "rope", [[0, 0, 0], [0.3, 0.4, 0], [0.6, 0.8, 0]])
    assert_allclose(straight.pose(shape.q, "rope")[:3, 0], [0.6, 0.8, 0.0], atol=1e-9)
    assert shape.missed.max() < 1e-9


def curve(turn):
    """Points (2001, 3) of a curve of unit length in the plane of x and z, by how far it has turned where [rad]."""
    middle = np.linspace(0.0, 1.0, 2001)[1:] - 0.5 / 2000
    along = np.stack([np.cos(turn(middle)), 0.0 * middle, -np.sin(turn(middle))], axis=1)
    return np.vstack([np.zeros(3), np.cumsum(along, axis=0) / 2000])


CURVES = {
    "catenary": lambda s: np.arctan(CATENARY_SLOPE * (1.0 - 2.0 * s)),  # hangs 0.6 of its length wide
    "arc": lambda s: np.radians(300.0) * s,
    "S": lambda s: np.sin(2.0 * np.pi * s),
    "spiral": lambda s: np.pi * s**2,
}
# of a catenary of the parameter a, w = 2 a asinh(1/(2 a)) wide: 1/(2 a)
CATENARY_SLOPE = brentq(lambda slope: np.arcsinh(slope) / slope - 0.6, 0.1, 100.0)


def turn_of(robot, q):
    """How far the tangent turns in all [rad]."""
    tangents = robot.poses(q, "rope", s=np.linspace(0.0, 1.0, 200))[:, :3, 0]
    return np.arccos(np.clip(np.sum(tangents[1:] * tangents[:-1], axis=1), -1.0, 1.0)).sum()


@pytest.mark.parametrize("joint", ["revolute", "spherical"])
@pytest.mark.parametrize("name", CURVES)
def test_no_rod_coils_to_meet_the_points_of_a_smooth_curve(joint, name):
    """Also where orders outnumber the points, or points the orders, and rods that stretch are stiff."""
    points = curve(CURVES[name])
    own = np.abs(np.diff(CURVES[name](np.linspace(0.0, 1.0, 2001)))).sum()
    axis = {"revolute": {"axis": [0, 1, 0]}} if joint == "revolute" else joint
    for n, order, more in ((3, 16, {}), (9, 6, {}), (9, 16, {}), (25, 2, {"divisions": 8})):
        strain = {"bending_y": order, **({"elongation": 0} if more else {})}
        robot = rope(axis, strain, section={"circle": {"radius": "1 mm"}}, **more)
        s = np.round(np.linspace(0.0, 1.0, n) * 2000).astype(int)
        found = sorosim.fit_shape(robot, "rope", points[s].round(3), arc_lengths=np.linspace(0.0, 1.0, n))  # to a mm
        assert found.missed.max() < 5e-3
        assert turn_of(robot, found.q) < 1.5 * own


@pytest.mark.parametrize("base", BASES)
def test_a_shape_has_no_more_energy_than_a_known_one_on_any_base(base):
    for k in range(3):
        trial = start(np.random.default_rng(k), base)
        assert not trial.error
        assert trial.missed < 1e-4
        assert trial.energy < MORE * trial.known_energy


@pytest.mark.parametrize("joint", ["revolute", "universal", "spherical"])
def test_a_rope_through_points_of_its_catenary_hangs_as_it_should(joint):
    """The end of the start decides which equilibrium is found: a coil would hang 0.32 m deep, and be stable."""
    hinge = {"revolute": {"axis": [0, 1, 0]}}
    base = {"revolute": hinge, "universal": {"universal": {"axis": [0, 1, 0], "second_axis": [0, 0, 1]}}}
    points = curve(CURVES["catenary"])
    robot = sorosim.load({
        "sorosim": 1, "materials": {"m": {"young": 1e6, "poisson": 0.5, "density": 1000}},
        "links": {"rope": {"joint": base.get(joint, joint), "rod": {
            "length": 1.0, "section": {"circle": {"radius": 1e-3}}, "material": "m", "strain": {"bending_y": 10}}}},
        "loops": {"end": {"joint": hinge, "from": "rope", "to": {"at": {"position": [0.6, 0, 0]}}}},
        "initial": {"rope": {"through": points[::500].tolist(), "arc_lengths": [0.0, 0.25, 0.5, 0.75, 1.0]}},
    })  # fmt: skip
    eq = sorosim.statics(robot)
    depth = -robot.poses(eq.q, "rope", s=np.linspace(0.0, 1.0, 200))[:, 2, 3].min()
    # the chain hangs by 0.36278, the heavy elastica by 0.36260 m, order 10 is off by 0.4 mm
    assert_allclose(depth, -points[:, 2].min(), atol=1e-3)
    assert eq.stability == "stable" or joint != "revolute"  # others may turn about the line of the pins


# -- in files ----------------------------------------------------------------------------------------------------------

HUNG = """\
sorosim: 1
name: hung
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000, damping: 10 kPa*s}}
links:
  rope:
    at: {position: [0, 0, 1 m]}
    joint: spherical
    rod:
      {length: 1 m, section: {circle: {radius: 5 mm}}, material: rubber, strain: {torsion: 0, bending: 2}, divisions: 4}
loops:
  end: {joint: spherical, from: rope, to: {at: {position: [80 cm, 0, 1 m]}}}
initial:
  rope: {through: [[0, 0, 0], [78 cm, 0, 0]]}
"""


@pytest.mark.parametrize("arc_lengths", [None, [0.0, 0.3]])
def test_a_joint_that_translates_along_one_axis_takes_the_base_there(arc_lengths):
    rod = {"length": 0.3, "section": {"circle": {"radius": 0.01}}, "material": "m", "strain": {"bending": 3}}
    robot = sorosim.load({
        "sorosim": 1, "name": "slider", "materials": {"m": {"young": 1e6, "poisson": 0.5, "density": 1000}},
        "links": {"a": {"joint": {"prismatic": {"axis": [0, 0, 1]}}, "rod": rod}},
    })  # fmt: skip
    found = sorosim.fit_shape(robot, "a", [[0, 0, 1.0], [0.2, 0, 1.1]], arc_lengths=arc_lengths)
    assert found.missed.max() < 1e-9
    assert found.q[0] == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(InputError, match=r"through"):
        sorosim.fit_shape(robot, "a", [[1.0, 0, 1.0], [1.2, 0, 1.1]], arc_lengths=arc_lengths)


def test_a_file_says_a_shape_and_its_loops_are_closed():
    robot = load_text(HUNG, "hung.yaml")
    assert robot.loop_gaps(robot.initial_q)["end"][0] < 1e-10
    assert robot.pose(robot.initial_q, "rope", s=0.5)[2, 3] < 0.8
    again = load_text(robot.to_yaml(), "again.yaml")
    assert_allclose(again.initial_q, robot.initial_q, atol=1e-12)
    assert robot.description.text == HUNG


def test_a_changed_rod_takes_its_shape_anew():
    robot = load_text(HUNG, "hung.yaml").with_values({"links.rope.rod.length": "1.2 m"})
    assert robot.loop_gaps(robot.initial_q)["end"][0] < 1e-10
    assert robot.pose(robot.initial_q, "rope", s=0.5)[2, 3] < 0.65
    other = robot.with_values({"initial.rope.through[1]": ["60 cm", 0, 0]})
    assert not np.allclose(other.initial_q, robot.initial_q, atol=1e-3)


def test_driven_and_named_coordinates_stay():
    text = HUNG.replace("joint: spherical\n    rod", "joint: {revolute: {axis: [0, 1, 0]}}\n    rod")
    text = text.split("loops:")[0] + "initial:\n  rope: {through: [[30 cm, 0, -80 cm]]}\n"
    driven = load_text(text + "simulate: {t_end: 1 s, driven: {rope: 40 deg*cos(t)}}\n", "driven.yaml")
    assert driven.initial_q[0] == 0.0  # the motion says it
    q = driven.initial_q
    q[0] = np.deg2rad(40)
    assert_allclose(driven.pose(q, "rope")[:3, 3], [0.3, 0, 0.2], atol=1e-9)
    held = load_text(text + "statics: {driven: {rope: 60 deg}}\n", "held.yaml")  # of the equilibrium that begins there
    assert_allclose(held.initial_q[0], np.deg2rad(60), rtol=1e-12)
    assert_allclose(held.pose(held.initial_q, "rope")[:3, 3], [0.3, 0, 0.2], atol=1e-9)
    named = load_text(text + "  rope.revolute: 70 deg\n", "named.yaml")
    assert_allclose(named.initial_q[0], np.deg2rad(70), rtol=1e-12)
    assert_allclose(named.pose(named.initial_q, "rope")[:3, 3], [0.3, 0, 0.2], atol=1e-9)


def test_loops_that_cannot_be_closed_are_said_at_the_shape():
    text = HUNG.replace("position: [80 cm, 0, 1 m]", "position: [2 m, 0, 1 m]")
    robot = load_text(text, "hung.yaml")
    with pytest.raises(
        sorosim.base.errors.FileError, match=r"hung.yaml:13:9: initial.rope: expected shapes whose loops"
    ):
        _ = robot.initial_q


TOO_FAR = HUNG.split("loops:")[0] + "initial:\n  rope: {through: [[0, 0, 0], [3 m, 0, 0]]}\n"


def test_loading_solves_nothing(monkeypatch):
    """A file gives points; whatever looks at the robot alone needs no shape, and none is looked for twice."""
    calls = []
    monkeypatch.setattr(shapes, "fitted", lambda *given: calls.append(given) or fitted(*given))
    robot = load_text(HUNG, "hung.yaml")
    for one in (robot, robot.with_loads(), robot.with_values({"links.rope.rod.length": "1.1 m"})):
        assert one.summary()
        assert "through: [[0, 0, 0], [0.78, 0, 0]]" in one.to_yaml()
        assert one.mass_matrix(np.zeros(one.ndof)).any()
        assert pickle.loads(pickle.dumps(one)).description.shapes == robot.description.shapes
    assert not robot.initial_qd.any()
    assert not calls
    first, again = robot.initial_q, robot.initial_q
    assert len(calls) == 1
    assert np.array_equal(first, again)
    assert first is not again


def test_threads_that_ask_at_once_find_the_same_start():
    robot = load_text(HUNG, "hung.yaml")
    with ThreadPoolExecutor(4) as pool:
        starts = list(pool.map(lambda _: robot.initial_q, range(8)))
    assert all(np.array_equal(one, starts[0]) for one in starts)
    assert starts[0].any()


def test_a_shape_that_is_not_found_is_said_where_it_was_written_by_all_that_begin_there():
    robot = load_text(TOO_FAR, "far.yaml")
    words = r"^far.yaml:11:19: initial.rope.through: expected points within the 1 m of 'rope', got points with 3 m"
    copies = pickle.loads(pickle.dumps(robot)), robot.with_loads(), robot.with_values({"materials.rubber.damping": 0})
    asked = [
        *(lambda one=one: one.initial_q for one in (robot, robot, *copies)), lambda: examine(robot),
        lambda: sorosim.statics(robot), lambda: sorosim.simulate(robot, t_end=0.1),
        lambda: sorosim.assemble(robot),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(sorosim.base.errors.FileError, match=words):
            ask()
    with pytest.raises(ModelError, match=r"^initial.rope.through: expected points within the 1 m"):
        _ = sorosim.load(yaml.safe_load(TOO_FAR)).initial_q


def test_a_start_that_is_given_needs_no_shape():
    robot, plain = load_text(TOO_FAR, "far.yaml"), load_text(TOO_FAR.split("initial:")[0], "plain.yaml")
    q0 = robot.coordinates({"rope.spherical.ry": 0.3})
    assert_allclose(sorosim.statics(robot, q0=q0).q, sorosim.statics(plain, q0=q0).q, atol=1e-12)


def test_descriptions_in_python_take_shapes_too():
    robot = load_text(HUNG, "hung.yaml")
    given = {name: getattr(robot.description, name) for name in ("loops", "shapes")}
    made = sorosim.Robot(sorosim.Description("made", robot.links, **given))
    assert_allclose(made.initial_q, robot.initial_q, atol=1e-12)
    with pytest.raises(ModelError, match=r"^shapes.rope: expected an InitialShape, "):
        sorosim.Description("made", robot.links, shapes={"rope": [[0, 0, 0]]})
    other = sorosim.Robot(sorosim.Description("made", robot.links, shapes={"rpe": InitialShape([[0, 0, 0]])}))
    with pytest.raises(
        ModelError, match=r"^initial.rpe.through: expected the name of a rod of given length, got 'rpe'"
    ):
        _ = other.initial_q


def test_the_doctor_says_how_far_points_are_missed():
    text = HUNG.split("loops:")[0].replace("bending: 2}, divisions: 4", "bending: 0}")
    text += "initial:\n  rope: {through: [[0, 0, 0], [20 cm, 0, -10 cm], [40 cm, 0, 10 cm], [60 cm, 0, -10 cm]]}\n"
    found = [one for one in examine(load_text(text, "low.yaml")) if one.code == "initial.missed"]
    assert [one.where for one in found] == ["initial.rope"]
    assert found[0].value > 0.01
    assert not [
        one for one in examine(load_text(HUNG.replace("78 cm", "80 cm"), "hung.yaml")) if one.code == "initial.missed"
    ]


def test_python_objects_take_shapes_of_files_only():
    with pytest.raises(ModelError, match="2 arc lengths, one a point, got 1"):
        InitialShape([[0, 0, 0], [1, 0, 0]], arc_lengths=[0.5])
