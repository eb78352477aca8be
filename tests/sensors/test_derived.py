"""Quantities as sensors: against formulas done by hand, other ways to the same numbers, and differences."""

import numpy as np
import pytest
from helpers.differences import jacobian
from helpers.robots import varied_tree
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import FileError, ModelError
from sorosim.files import dump, load_text
from sorosim.mechanics.lie import exp_so3
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.sensors.derived import (
    BendingSensor,
    CentreOfMassSensor,
    ContactSensor,
    Encoder,
    EulerSensor,
    SectionWrenchSensor,
    euler_angles,
)
from sorosim.mechanics.sensors.kinds import JointWrenchSensor, LoadSensor, PoseSensor, StrainSensor
from sorosim.mechanics.sensors.state import State

G = 9.81
BEAM = """
sorosim: 1
name: beam
materials: {steel: {young: 1 GPa, poisson: 0.3, density: 1000 kg/m^3, damping: 1 kPa*s}}
links:
  beam:
    rod:
      length: 1 m
      section: {circle: {radius: [2 cm, 1 cm]}}
      material: steel
      strain: {torsion: 1, bending: 4, elongation: 2, shear: 2}
  lid: {parent: beam, body: {mass: 0.2, centre: [1 cm, 0, 0], inertia: [1e-4, 1e-4, 1e-4]}}
"""
BLOCK = """
sorosim: 1
name: block
gravity: [0, 0, -9.81]
links:
  block: {joint: {planar: {axis: [0, 1, 0]}}, body: {box: {size: [10 cm, 10 cm, 4 cm]}, mass: 0.5}}
loads:
  floor:
    contact:
      stiffness: 1e5 N/m
      exponent: 1
      damping: 100 s/m
      friction: 0.5
      slip_speed: 1 mm/s
      between: block
      and: {half_space: {}, at: {position: [0, 0, -2 cm]}}
  push: {wrench: {link: block, force: [1 N, 0, 0]}}
"""


def with_sensors(robot, q, qd=None, **sensors):
    """Readings of sensors at a state of a robot."""
    changed = robot.with_sensors(**sensors)
    n = np.zeros(robot.ndof)
    return changed.measure(q, n if qd is None else qd, qdd=n)


def slopes(robot, q, sensor):
    """Derivatives of a reading by q as the sensor has them, and by differences."""
    changed, n = robot.with_sensors(x=sensor), np.zeros(robot.ndof)
    reader, sites = changed.instruments.readers["x"], changed.instruments.sites

    def state(at):
        return State(sites, 0.0, at, n, n, np.zeros(len(robot.actuator_names)), np.zeros(robot.n_multipliers))

    assert reader.is_exact
    along = np.eye(len(q)), np.zeros((len(robot.actuator_names), len(q))), np.zeros((robot.n_multipliers, len(q)))
    return reader.slopes(state(q), *along), jacobian(lambda x: reader.read(state(x)), q, 1e-3)


# -- bending, Euler angles, encoders


@pytest.mark.parametrize("bend", [0.0, 0.4, -2.5])
def test_a_circular_arc_bends_by_curvature_times_length(bend):
    robot = load_text(BEAM, "beam")
    q = robot.coordinates({"beam.bending_y[0]": bend})
    found = with_sensors(robot, q, x=BendingSensor("beam"), half=BendingSensor("beam", s=0.5), lid=BendingSensor("lid"))
    assert_allclose(found["x"], [abs(bend), bend, 0.0], atol=1e-12)
    assert_allclose(found["half"], [abs(bend) / 2, bend / 2, 0.0], atol=1e-12)
    assert_allclose(found["lid"], found["x"], atol=1e-12)


def test_bending_forgets_twist_and_turns_one_axis_onto_the_other(rng):
    robot = varied_tree(3)
    for link in [one.name for one in robot.links if one.rod is not None][:2]:
        q = 0.4 * rng.standard_normal(robot.ndof)
        angle, y, z = with_sensors(robot, q, x=BendingSensor(link, s=0.7))["x"]
        R = [robot.pose(q, link, s=s)[:3, :3] for s in (0.0, 0.7)]
        assert_allclose(angle, np.arccos(np.clip(R[0][:, 0] @ R[1][:, 0], -1, 1)), atol=1e-7)
        assert_allclose(exp_so3(np.array([0.0, y, z]))[:, 0], R[0].T @ R[1][:, 0], atol=1e-12)


def test_euler_angles_are_those_of_rpy(rng):
    for _ in range(20):
        roll, pitch, yaw = rng.uniform([-3, -1.5, -3], [3, 1.5, 3]).tolist()
        body = "body: {mass: 1, inertia: [1, 1, 1]}"
        text = f"sorosim: 1\nlinks: {{a: {{at: {{rotation: {{rpy: [{roll}, {pitch}, {yaw}]}}}}, {body}}}}}"
        robot = load_text(text, "a")
        assert_allclose(robot.with_sensors(x=EulerSensor("a")).measure([])["x"], [roll, pitch, yaw], atol=1e-13)
    R = exp_so3(np.array([0.0, 0.0, 0.7])) @ exp_so3(np.array([0.0, np.pi / 2, 0.0]))
    roll, pitch, yaw = euler_angles(R)
    turned = exp_so3(np.array([0.0, pitch, 0.0])) @ exp_so3(np.array([roll, 0.0, 0.0]))
    assert yaw == 0.0
    assert_allclose(turned, R, atol=1e-8)


def test_euler_angles_along_a_run_go_on_beyond_half_a_turn():
    text = """
sorosim: 1
gravity: [0, 0, 0]
links: {hub: {joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 1, inertia: [1, 1, 1]}}}
sensors: {turn: {euler: {link: hub}}, hub: {encoder: {joint: hub}}}
"""
    run = sorosim.simulate(load_text(text, "hub"), 3.0, qd0=[5.0])
    assert_allclose(run.readings["turn"].channel("yaw"), 5.0 * run.t, atol=1e-4)
    assert_allclose(run.readings["hub"].values, np.column_stack([5.0 * run.t, np.full(len(run.t), 5.0)]), atol=1e-4)
    known = sorosim.mechanics.quantities.quantities(run.robot, (), ())
    assert known["hub.rate"].unit == "rad/s"
    assert run.summarize({"far": {"last": "turn.yaw"}})["far"] == pytest.approx(15.0, abs=1e-4)


def test_an_encoder_reads_any_coordinate_of_a_joint_in_its_unit():
    text = """
sorosim: 1
links:
  rail: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {mass: 1, inertia: [1, 1, 1]}}
  ball: {parent: rail, joint: spherical, body: {mass: 1, inertia: [1, 1, 1]}}
sensors:
  rail: {encoder: {joint: rail}, noise: [1 mm, 1 cm/s]}
  ball: {encoder: {joint: ball, along: ry}}
"""
    robot = load_text(text, "rail")
    rail, ball = robot.instruments.readers["rail"], robot.instruments.readers["ball"]
    assert (rail.channels, rail.units) == (("position", "speed"), ("m", "m/s"))
    assert (ball.channels, ball.units) == (("angle", "rate"), ("rad", "rad/s"))
    assert robot.description.sensors["rail"].noise == (1e-3, 1e-2)
    found = robot.measure([0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4])
    assert_allclose([*found["rail"], *found["ball"]], [0.1, 1, 0.3, 3])
    assert load_text(dump(robot), "again").sensor_names == robot.sensor_names
    with pytest.raises(FileError, match=r"expected a length of 0 or more.*got '1 deg'"):
        load_text(text.replace("1 mm", "1 deg"), "rail")
    with pytest.raises(ModelError, match="along: expected nothing: the joint has one coordinate"):
        robot.with_sensors(x=Encoder("rail", "rx"))


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_quantities_are_those_of_differences(seed, rng):
    robot = varied_tree(seed)
    q = 0.3 * rng.standard_normal(robot.ndof)
    rod, last = next(one.name for one in robot.links if one.rod is not None), robot.links[-1].name
    hub = next(one.name for one in robot.links if one.joint.directions)
    along = robot.engine.layout.links[hub].link.joint.directions
    sensors = [
        BendingSensor(rod, s=0.6), BendingSensor(rod, s=0.6, origin=rod), BendingSensor(last), EulerSensor(last),
        PoseSensor(last), CentreOfMassSensor("world"), Encoder(hub, along[0][0] if len(along) > 1 else ""),
    ]  # fmt: skip
    for sensor in sensors:
        exact, differences = slopes(robot, q, sensor)
        assert_allclose(exact[: len(differences)], differences, atol=2e-7 * max(1.0, np.abs(differences).max()))


def test_a_straight_rod_has_the_derivative_of_both_sides():
    robot = load_text(BEAM, "beam")
    exact, differences = slopes(robot, np.zeros(robot.ndof), BendingSensor("beam"))
    assert_allclose(exact[1:], differences[1:], atol=1e-8)
    assert not exact[0].any()


# -- forces that drive coordinates

ARM = """
sorosim: 1
gravity: [0, -9.81, 0]
materials: {rubber: {young: 5 MPa, poisson: 0.4, density: 1000, damping: 10 kPa*s}}
links:
  hub: {joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 10 g, inertia: [1e-6, 1e-6, 1e-6]}}
  arm: {parent: hub, rod: {length: 10 cm, section: {circle: {radius: 3 mm}}, material: rubber, strain: {bending: 2}}}
  slide: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {sphere: {radius: 1 cm}, mass: 10 g}}
loops: {pin: {joint: {revolute: {axis: [0, 0, 1]}}, from: arm, to: slide}}
actuators: {cord: {tendon: {rod: arm, y: 2 mm, z: 0}}}
loads:
  floor: {contact: {between: slide, and: {half_space: {}, at: {position: [6 cm, 0, 0], rotation: {axis: [0, 1, 0],
    angle: 90 deg}}}, stiffness: 100 N/m^1.5, exponent: 1.5}}
sensors:
  turn: {driven_force: {joint: hub}}
  push: {driven_force: {joint: slide}, noise: 1 mN}
"""


def test_a_driven_force_is_that_of_equilibria_and_runs():
    robot = load_text(ARM, "arm")
    readers = robot.instruments.readers
    assert [readers[name].channels + readers[name].units for name in ("turn", "push")] == [
        ("moment", "N m"), ("force", "N"),
    ]  # fmt: skip
    eq = sorosim.statics(robot, {"cord": 1.0}, driven={"hub": 0.2, "slide": "9 cm"})
    assert min(abs(force) for force in eq.driven.values()) > 1e-3
    ideal = {name: float(eq.measure()[name][0]) for name in ("turn", "push")}
    assert ideal == pytest.approx({"turn": eq.driven["hub"], "push": eq.driven["slide"]}, rel=1e-9)
    run = sorosim.simulate(robot, 0.02, driven={"hub": "0.2 + 0.1*sin(20*t)"}, q0=eq)
    read = run.readings["turn"].values[:, 0]
    assert_allclose(read, run.driven["hub"], atol=1e-9 * np.abs(read).max())
    # what is free needs nothing but its noise of 1 mN
    assert np.abs(run.readings["push"].values).max() < 6e-3


def test_driven_forces_have_exact_derivatives_by_the_state_the_inputs_and_the_multipliers(rng):
    robot = load_text(ARM, "arm")
    n, m = robot.ndof, robot.n_multipliers
    q = np.array([0.3, *(0.2 * rng.standard_normal(n - 2)), 0.055])
    x = np.concatenate([q, [1.2], rng.standard_normal(m)])
    zero, sites = np.zeros(n), robot.instruments.sites

    def state(at):
        return State(sites, 0.0, at[:n], zero, zero, at[n : n + 1], at[n + 1 :])

    along = np.split(np.eye(len(x)), [n, n + 1])
    for reader in robot.instruments.readers.values():
        differences = jacobian(lambda at, reader=reader: reader.read(state(at)), x, 1e-3)
        exact = reader.slopes(state(x), *along)
        assert_allclose(exact, differences, atol=1e-8 * np.abs(differences).max())


def test_inverse_finds_where_a_driven_joint_needs_a_moment():
    text = """
sorosim: 1
gravity: [0, 0, -9.81]
links: {hub: {joint: {revolute: {axis: [0, -1, 0]}}, body: {mass: 2, centre: [10 cm, 0, 0], inertia: [1, 1, 1]}}}
sensors: {turn: {driven_force: {joint: hub}}}
statics: {driven: {hub: 0.2}}
"""
    robot = load_text(text, "hub")
    found = sorosim.inverse(robot, {"turn": ["0.981 N*m"]}, free=["hub"])
    # m g c cos(angle)
    assert found.driven["hub"] == pytest.approx(np.pi / 3.0, abs=1e-6)


# -- mass


def test_the_mass_is_that_of_its_parts_and_its_centre_the_mean_of_theirs():
    robot = load_text(BEAM, "beam")
    rod = 1000.0 * np.pi * (0.02**2 + 0.02 * 0.01 + 0.01**2) / 3.0
    assert robot.mass == pytest.approx(rod + 0.2, rel=1e-13)
    # of a frustum of radii 2 and 1: L (R^2 + 2 R r + 3 r^2) / (4 (R^2 + R r + r^2))
    centre = (4.0 + 4.0 + 3.0) / (4.0 * 7.0)
    expected = (rod * centre + 0.2 * 1.01) / (rod + 0.2)
    assert_allclose(robot.centre_of_mass(np.zeros(robot.ndof)), [expected, 0, 0], atol=1e-13)
    found = with_sensors(robot, np.zeros(robot.ndof), x=CentreOfMassSensor("lid"))
    assert_allclose(found["x"], [1.01, 0, 0], atol=1e-13)


def test_the_centre_of_mass_has_the_energy_of_gravity_and_its_slope_moves_it(rng):
    for seed in range(3):
        robot = varied_tree(seed)
        q, qd = 0.3 * rng.standard_normal((2, robot.ndof))
        g = np.array(robot.description.gravity)
        assert -robot.mass * g @ robot.centre_of_mass(q) == pytest.approx(robot.energy(q, qd).gravity, rel=1e-12)
        near = [robot.centre_of_mass(q + h * qd) for h in (1e-6, -1e-6)]
        assert_allclose(robot.centre_of_mass_jacobian(q) @ qd, (near[0] - near[1]) / 2e-6, atol=1e-8)


def test_fluid_that_moves_with_a_robot_is_none_of_its_mass():
    text = BEAM.replace(
        "body: {mass: 0.2, centre: [1 cm, 0, 0], inertia: [1e-4, 1e-4, 1e-4]}",
        "body: {sphere: {radius: 3 cm}, mass: 0.2}",
    )
    dry, wet = load_text(text, "dry"), load_text(text + "loads: {water: {fluid: {density: 1000}}}\n", "wet")
    q = 0.1 * np.ones(dry.ndof)
    assert wet.mass_matrix(q)[0, 0] > dry.mass_matrix(q)[0, 0]
    assert wet.mass == pytest.approx(dry.mass, rel=1e-13)
    assert_allclose(wet.centre_of_mass_jacobian(q), dry.centre_of_mass_jacobian(q), atol=1e-12)


def test_a_rod_that_is_fed_has_the_mass_of_what_is_out():
    text = """
sorosim: 1
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000}}
links:
  arm:
    joint: feed
    rod: {length: 1 m, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}
"""
    robot = load_text(text, "fed")
    q = np.zeros(robot.ndof)
    q[0] = -0.25
    assert_allclose(robot.centre_of_mass(q), [0.375, 0, 0], atol=1e-12)
    slope = robot.centre_of_mass_jacobian(q)
    assert slope[0, 0] == pytest.approx(0.5, abs=1e-8)


# -- internal forces


@pytest.mark.parametrize("s", [0.0, 0.17, 0.5, 0.93, 1.0])
def test_a_hanging_rod_carries_the_weight_beyond_each_section(s):
    text = BEAM.replace("name: beam", "name: beam\ngravity: [9.81, 0, 0]")
    robot = load_text(text, "beam").with_sensors(x=SectionWrenchSensor("beam", s))
    eq = sorosim.statics(robot)
    r = 0.02 - 0.01 * s
    weight = G * 1000.0 * np.pi * (1.0 - s) * (r * r + r * 0.01 + 0.01**2) / 3.0 + 0.2 * G
    assert_allclose(eq.measure()["x"], [0, 0, 0, weight, 0, 0], atol=1e-9)


@pytest.mark.parametrize("s", [0.0, 0.3, 0.59, 0.61, 1.0])
def test_forces_of_a_stiff_cantilever_are_those_of_statics(s):
    robot = load_text(BEAM.replace("1 GPa", "1e9 GPa"), "beam")
    robot = robot.with_loads(push=Wrench("beam", s=0.6, force=(0.0, 3.0, 0.0)))
    robot = robot.with_sensors(x=SectionWrenchSensor("beam", s))
    m, f = np.split(sorosim.statics(robot).measure()["x"], 2)
    # by Gauss's rule of a high degree: weight along -z, in the axes of the section
    x, w = np.polynomial.legendre.leggauss(20)
    X, w = s + (1.0 - s) * (x + 1.0) / 2.0, (1.0 - s) * w / 2.0
    line = 1000.0 * np.pi * (0.02 - 0.01 * X) ** 2 * G
    assert_allclose(f, [0.0, 3.0 * (s <= 0.6), -(w @ line) - 0.2 * G], atol=1e-7)
    lever = w @ (line * (X - s)) + 0.2 * G * (1.01 - s)
    assert_allclose(m, [0.0, lever, 3.0 * max(0.6 - s, 0.0)], atol=1e-7)


def test_internal_moments_are_those_of_the_strains_of_a_bent_rod():
    robot = load_text(BEAM, "beam").with_loads(tip=Wrench("beam", force=(0.0, 0.2, -0.5)))
    places = np.linspace(0.05, 0.95, 7)
    sensors = {f"m{k}": SectionWrenchSensor("beam", s) for k, s in enumerate(places)}
    sensors |= {f"k{k}": StrainSensor("beam", s) for k, s in enumerate(places)}
    found = sorosim.statics(robot.with_sensors(**sensors)).measure()
    for k, s in enumerate(places):
        stiff = 1e9 * np.pi / 4.0 * (0.02 - 0.01 * s) ** 4
        # Galerkin strains of degree 4 meet the moment to their own accuracy
        assert_allclose(found[f"m{k}"][1:3], stiff * found[f"k{k}"][1:3], atol=0.02 * 2.0)


def test_the_cut_at_the_base_is_the_wrench_of_the_joint(rng):
    robot = varied_tree(1)
    name = next(one.name for one in robot.links if one.rod is not None)
    q, qd, qdd = 0.3 * rng.standard_normal((3, robot.ndof))
    changed = robot.with_sensors(cut=SectionWrenchSensor(name, 0.0), joint=JointWrenchSensor(name))
    found = changed.measure(q, qd, qdd=qdd)
    for own, joint in zip(np.split(found["cut"], 2)[1:], np.split(found["joint"], 2)[1:], strict=True):
        assert_allclose(np.linalg.norm(own), np.linalg.norm(joint), rtol=1e-9)


LOADED = """
loads:
  tip: {wrench: {link: beam, force: [0, 0.2 N, -0.5 N], moment: [0.1 N*m, 0, 0.2 N*m]}}
  wind: {wrench: {link: lid, force: [1 N, 0.3 N, 0], frame: world}}
  string: {spring: {from: {link: beam, at: {s: 0.8}}, to: {link: beam, at: {s: 0.2}}, stiffness: 3 N/m, rest: 10 cm}}
  water: {fluid: {density: 800}}
  floor:
    contact: {between: beam, and: {half_space: {}, at: {position: [0, 0, -8 cm]}}, stiffness: 100 N/m, exponent: 1}
"""


@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("loads", ["", LOADED], ids=["weight", "loads"])
def test_internal_forces_have_exact_derivatives_by_coordinates(s, loads, rng):
    text = BEAM.replace("name: beam", "name: beam\ngravity: [1, 2, -9.81]").replace(
        "body: {mass: 0.2, centre: [1 cm, 0, 0], inertia: [1e-4, 1e-4, 1e-4]}",
        "body: {sphere: {radius: 3 cm}, mass: 0.2}",
    )
    robot = load_text(text + loads, "beam")
    q = 0.3 * rng.standard_normal(robot.ndof)
    q[robot.coordinate_names.index("beam.bending_y[0]")] = 1.0
    if loads:
        assert robot.contacts(q).n > 0
    exact, differences = slopes(robot, q, SectionWrenchSensor("beam", s))
    assert np.abs(differences).max() > 1e-2
    assert_allclose(exact, differences, atol=1e-7 * np.abs(differences).max())


def test_internal_forces_have_exact_derivatives_by_inputs_of_loads_beside_a_stiff_contact(rng):
    """A contact that is 20 um deep: differences over a millimetre would leave it."""
    ball = BEAM.replace(
        "mass: 0.2, centre: [1 cm, 0, 0], inertia: [1e-4, 1e-4, 1e-4]", "sphere: {radius: 3 cm}, mass: 1"
    )
    text = (
        ball
        + LOADED.replace("100 N/m", "1e6 N/m").replace("[0, 0, -8 cm]", "[0, 0, FLOOR]")
        + """\
  jet: {wrench: {link: lid, force: [0, 1 N, 2 N]}}
actuators:
  jet: {load: jet}
  string: {load: string}
sensors:
  cut: {section_wrench: {link: beam, s: 0.3}}
"""
    )
    q = 0.05 * rng.standard_normal(load_text(text.replace("FLOOR", "-9 m"), "beam").ndof)
    # the lowest of the points that touch, by a floor that is raised until one does
    low, high = -2.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        touches = load_text(text.replace("FLOOR", f"{middle!r} m"), "beam").contacts(q).n > 0
        low, high = (low, middle) if touches else (middle, high)
    robot = load_text(text.replace("FLOOR", f"{high + 2e-5!r} m"), "beam")
    assert robot.contacts(q).n == 1
    n, reader, sites = robot.ndof, robot.instruments.readers["cut"], robot.instruments.sites
    zero, x = np.zeros(n), np.concatenate([q, [0.7, 1.3]])

    def read(at):
        return reader.read(State(sites, 0.0, at[:n], zero, zero, at[n:], np.zeros(0)))

    assert reader.is_exact
    state = State(sites, 0.0, q, zero, zero, x[n:], np.zeros(0))
    exact = reader.slopes(state, *np.split(np.eye(n + 2), [n]), np.zeros((0, n + 2)))
    differences = jacobian(read, x, 1e-6)
    # rounding of 1e-15 of 20 N over a millionth
    assert_allclose(exact, differences, atol=1e-7 * np.abs(differences).max())


# -- contacts


def test_slopes_of_a_stiff_contact_by_differences_do_not_leave_it():
    """A block 30 um deep in a floor of 1e5 N/m: the derivative of the force is that, steps of 1 mm would see less."""
    robot = load_text(BLOCK, "block").with_sensors(foot=ContactSensor("block"))
    reader, zero, n = robot.instruments.readers["foot"], np.zeros(robot.ndof), robot.ndof
    heights = np.array([robot.pose(one, "block")[2, 3] for one in np.eye(n)])
    up = np.round(heights)  # of the coordinates that move it up
    assert np.abs(up).sum() == 1.0
    state = State(robot.instruments.sites, 0.0, -3e-5 * up, zero, zero, np.zeros(0), np.zeros(0))
    assert not reader.is_exact
    slope = reader.slopes(state, up[:, None], np.zeros((0, 1)), np.zeros((0, 1)))[2, 0]
    force = reader.read(state)[2]
    assert force > 0.0
    assert slope == pytest.approx(-force / 3e-5, rel=1e-6)


def test_a_block_on_the_floor_presses_by_its_weight_and_sticks():
    robot = load_text(BLOCK, "block").with_sensors(
        foot=ContactSensor("block"), pair=ContactSensor("block", "world"), floor=ContactSensor("world", "block")
    )
    run = sorosim.simulate(robot, 1.0)
    found = {name: one.values[-1] for name, one in run.readings.items()}
    assert_allclose(found["foot"][:4], [-1.0, 0.0, 0.5 * G, 0.5 * G], atol=2e-3)
    assert_allclose(found["pair"], found["foot"], atol=1e-12)
    assert_allclose(found["floor"][:3], -found["foot"][:3], atol=1e-12)
    assert 0.5 * G / 4 <= found["foot"][4] <= 0.5 * G
    assert found["foot"][5] >= 1.0 / (0.25 * G) - 1e-3  # the mean of its parts at least
    assert found["foot"][6] == 1.0


def test_what_is_pushed_too_hard_slides_and_uses_all_of_its_friction():
    robot = load_text(BLOCK.replace("[1 N, 0, 0]", "[4 N, 0, 0]"), "block").with_sensors(foot=ContactSensor("block"))
    last = sorosim.simulate(robot, 0.5).readings["foot"].values[-1]
    assert_allclose(last[[0, 5, 6]], [-0.25 * G, 1.0, 0.0], atol=2e-3)


def test_an_equilibrium_under_friction_is_read_with_what_sticks():
    robot = load_text(BLOCK, "block")
    start = sorosim.simulate(load_text(BLOCK.replace("1 N", "0 N"), "block"), 1.0)
    sensors = {"foot": ContactSensor("block"), "load": LoadSensor("floor"), "joint": JointWrenchSensor("block")}
    eq = sorosim.statics(robot.with_sensors(**sensors), q0=start.q[-1], sticking=start.q[-1])
    again = sorosim.statics(eq.robot, q0=eq.q, sticking=eq)
    for one in (eq, again):
        R = robot.pose(one.q, "block")[:3, :3]
        assert_allclose(R @ one.measure()["load"][3:], one.measure()["foot"][:3], atol=1e-9)
        assert_allclose(one.measure()["joint"], 0.0, atol=1e-6)
    assert_allclose(eq.measure()["foot"][:3], eq.contacts.force_on("block"), atol=1e-12)
    assert_allclose(eq.measure()["foot"][:3], [-1.0, 0.0, 0.5 * G], atol=1e-6)
    assert eq.measure()["foot"][6] == 1.0


def test_a_robot_that_touches_nothing_has_no_contacts_to_read():
    with pytest.raises(ModelError, match="a robot with a load that is a contact, got one without"):
        load_text(BEAM, "beam").with_sensors(x=ContactSensor("lid"))


# -- by numbers of the file


def test_readings_of_an_equilibrium_follow_the_numbers_of_the_file():
    text = BEAM.replace("lid: {parent", "lid: {at: {position: [0, 2 cm, 0]}, parent").replace("1 GPa", "1e-2 GPa")
    text += """sensors:
  bend: {bending: {link: beam}}
  angles: {euler: {link: lid}}
  cut: {section_wrench: {link: beam, s: 0.3}}
  centre: {centre_of_mass: world}
  strain: {strain: {link: beam, s: 0.2}}
"""
    robot = load_text(text, "beam")
    names = ["materials.steel.young", "materials.steel.density", "links.lid.body.mass", "links.beam.rod.length"]
    found = sorosim.sensitivities(robot, names).readings(sorosim.statics(robot))
    for i, name in enumerate(names):
        value = sorosim.scalars(robot)[name]

        def read(x, name=name, value=value):
            other = sorosim.statics(robot.with_values({name: value * (1.0 + x)}), stable=False).measure()
            return np.concatenate([other[one] for one in robot.sensor_names])

        expected = (read(1e-3) - read(-1e-3)) / (2e-3 * value)
        assert_allclose(
            np.concatenate([found[one][:, i] for one in robot.sensor_names]) * value, expected * value, atol=2e-5
        )


def test_a_bend_can_be_a_target():
    text = BEAM + "actuators: {cable: {tendon: {rod: beam, y: 0, z: 5 mm}}}\nsensors: {bend: {bending: {link: beam}}}\n"
    robot = load_text(text, "beam")
    found = sorosim.inverse(robot, {"bend": [None, "-20 deg", None]})
    assert_allclose(found.equilibrium.measure()["bend"][1], -np.deg2rad(20.0), atol=1e-6)


def test_readings_follow_a_number_at_its_bound():
    """Strains by Poisson's ratio, which is 0.5 at most: the slope of the polynomial through values below."""
    sensors = "sensors:\n  strain: {strain: {link: beam, s: 0.2}}\n"
    text = BEAM.replace("1 GPa, poisson: 0.3", "1e-2 GPa, poisson: 0.5")
    robot, path = load_text(text + sensors, "beam"), "materials.steel.poisson"
    found = sorosim.sensitivities(robot, [path]).readings(sorosim.statics(robot))["strain"][:, 0]
    x = np.linspace(0.45, 0.5, 8)
    read = [sorosim.statics(robot.with_values({path: one})).measure()["strain"] for one in x]
    expected = [np.polynomial.Polynomial.fit(x, column, 4).deriv()(0.5) for column in np.transpose(read)]
    assert np.abs(expected).max() > 1e-4  # else this would say nothing
    # differences of statics, whose strains are good to 1e-9
    assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
