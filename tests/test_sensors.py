"""Sensors against mechanics done by hand, differences of poses, and other ways to the same numbers; noise; sampling."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
import scipy.io
from helpers.robots import cable_manipulator, random_pose, varied_tree
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.analysis.results.readings import hermite
from sorosim.base.errors import FileError, InputError, ModelError
from sorosim.base.registry import SENSORS
from sorosim.base.signals import as_signal
from sorosim.files import dump, load_text
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.lie import exp_se3, log_se3
from sorosim.mechanics.lie.quaternion import continuous, quaternion_of, rotated
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.chart import turned_back
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.base import seed_of
from sorosim.mechanics.sensors.kinds import (
    AccelerationSensor,
    Imu,
    JointWrenchSensor,
    LoadSensor,
    LoopWrenchSensor,
    PoseSensor,
    StrainSensor,
    TendonSensor,
    TwistSensor,
)

G = 9.81
SWING = """
sorosim: 1
name: swing
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 5 kPa*s}}
links:
  lid:
    joint: {revolute: {axis: [0, 1, 0], stiffness: 0.3, damping: 0.01}}
    body: {mass: 0.2, centre: [0.1, 0, 0], inertia: [1e-3, 2e-3, 3e-3]}
    frames: {top: {position: [0.1, 0, 0.02]}}
  arm:
    parent: lid
    at: {frame: top}
    rod:
      length: 30 cm
      section: {circle: {radius: 1 cm}}
      material: rubber
      strain: {torsion: 1, bending: 2}
actuators: {cable: {tendon: {rod: arm, y: 0, z: 5 mm}}}
loads: {push: {wrench: {link: arm, s: 0.6, force: [0, 0.1*sin(5*t), 0], frame: body}}}
sensors:
  imu: {imu: {link: arm, s: 0.37, at: {position: [0, 0, 1 cm], rotation: {rpy: [10 deg, 20 deg, 30 deg]}}}}
  fast: {imu: {link: arm}, rate: 170 Hz, noise: [0.01, 0.01, 0.01, 0.1, 0.1, 0.1], bias: 0.02}
  pose: {pose: {link: lid, frame: top}, rate: 60 Hz, noise: [1 mm, 1 mm, 1 mm, 1 deg, 1 deg, 1 deg]}
  strain: {strain: {link: arm, s: 0.37}, rate: 170 Hz}
  cable: {tendon: cable}
  base: {joint_wrench: lid}
  push: {load: push}
simulate: {t_end: 0.5, u: {cable: 2*sin(3*t)}}
"""


def swing(text=SWING):
    return load_text(text, "swing.yaml")


def with_site(robot, link, s=1.0, at=None, frame=""):
    """The robot with everything that can sit in one frame."""
    options = {"at": np.eye(4) if at is None else at, "frame": frame}
    kinds = {"pose": PoseSensor, "twist": TwistSensor, "acceleration": AccelerationSensor, "imu": Imu}
    return robot.with_sensors(**{name: kind(link, s, **options) for name, kind in kinds.items()})


def body(joint="free", mass=1.5, centre=(0.0, 0.0, 0.0), **options):
    link = Link("body", RigidBody(mass, centre=centre, inertia=(0.02, 0.03, 0.04)), joint=Joint(joint, **options))
    return Robot(Description("body", (link,)))


# -- accelerometers and gyroscopes


def test_an_imu_at_the_centre_of_a_falling_body_feels_nothing(rng):
    robot = body().with_sensors(imu=Imu("body"))
    reading = robot.measure(rng.normal(size=6), rng.normal(size=6))["imu"]
    assert_allclose(reading[3:], 0.0, atol=1e-12)


def test_beside_the_centre_of_a_falling_body_an_imu_feels_how_it_turns(rng):
    at, p = np.eye(4), np.array([0.1, -0.2, 0.3])
    at[:3, 3] = p
    robot = with_site(body(), "body", at=at)
    found = robot.measure(rng.normal(size=6), rng.normal(size=6))
    w, alpha = found["imu"][:3], found["acceleration"][:3]
    assert_allclose(found["imu"][3:], np.cross(alpha, p) + np.cross(w, np.cross(w, p)), atol=1e-12)
    # Euler's equations without a moment
    inertia = np.diag([0.02, 0.03, 0.04])
    assert_allclose(inertia @ alpha + np.cross(w, inertia @ w), 0.0, atol=1e-12)


def test_an_imu_at_rest_feels_what_holds_it_up(rng):
    at = random_pose(rng)
    robot = body("fixed").with_sensors(level=Imu("body"), turned=Imu("body", at=at))
    found = robot.measure(np.zeros(0))
    assert_allclose(found["level"], [0, 0, 0, 0, 0, G], atol=1e-14)
    assert_allclose(found["turned"], [0, 0, 0, *(at[:3, :3].T @ [0, 0, G])], atol=1e-14)


def test_an_imu_on_a_pendulum_reads_the_closed_form():
    length, mass = 0.7, 1.5
    link = Link("bob", RigidBody(mass, centre=(0, 0, -length), inertia=(1e-9,) * 3),
                joint=Joint("revolute", axis=(0, 1, 0)))  # fmt: skip
    at = np.eye(4)
    at[2, 3] = -length
    robot = Robot(Description("pendulum", (link,))).with_sensors(imu=Imu("bob", at=at), wrench=JointWrenchSensor("bob"))
    angle, rate = 0.8, 1.7
    found = robot.measure([angle], [rate])
    # along the string its tension, across it nothing: gravity moves the bob as it likes
    tension = G * np.cos(angle) + length * rate**2
    assert_allclose(found["imu"], [0, rate, 0, 0, 0, tension], atol=1e-6)
    assert_allclose(found["wrench"], [0, 0, 0, 0, 0, mass * tension], atol=1e-6)


# -- motions against differences of poses


@pytest.mark.parametrize("s", [0.0, 0.13, 0.5, 0.86, 1.0])
def test_twist_and_accelerations_are_rates_of_the_pose(s, rng):
    at = random_pose(rng)
    robot = with_site(swing(), "arm", s, at)
    q, qd, qdd = (rng.normal(size=robot.ndof) for _ in range(3))

    def pose(t):
        return robot.pose(q + t * qd + 0.5 * t**2 * qdd, "arm", s=s) @ at

    found, h, here = robot.measure(q, qd, qdd=qdd), 2e-4, np.linalg.inv(pose(0.0))
    # log(g0^-1 g(t)) = eta t + (alpha, R^T a - w x v) t^2 / 2 + ...; even and odd parts by Richardson's rule
    logs = {k: log_se3(here @ pose(k * h)) for k in (-2, -1, 1, 2)}
    first = [(logs[k] - logs[-k]) / (2 * k * h) for k in (1, 2)]
    second = [(logs[k] + logs[-k]) / (k * h) ** 2 for k in (1, 2)]
    eta, etad = ((4 * x[0] - x[1]) / 3 for x in (first, second))
    scale = 1.0 + np.abs(etad).max()
    assert_allclose(found["twist"], eta, atol=1e-8 * scale)
    etad[3:] += np.cross(eta[:3], eta[3:])
    assert_allclose(found["acceleration"], etad, atol=3e-6 * scale)
    gravity = pose(0.0)[:3, :3].T @ [0.0, 0.0, -G]
    assert_allclose(found["imu"], [*found["twist"][:3], *(found["acceleration"][3:] - gravity)], atol=1e-12 * scale)
    assert_allclose(found["pose"][:3], pose(0.0)[:3, 3], atol=1e-15)
    assert_allclose(found["pose"][3:], quaternion_of(pose(0.0)[:3, :3]), atol=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_sensors_agree_with_the_kinematics_of_any_robot(seed, rng):
    robot = varied_tree(seed)
    names = [link.name for link in robot.links]
    for name in names:
        sensed = with_site(robot, name, 0.7)
        q, qd, qdd = (0.5 * rng.normal(size=robot.ndof) for _ in range(3))
        found, h = sensed.measure(q, qd, qdd=qdd), 1e-5
        assert_allclose(found["twist"], robot.jacobian(q, name, s=0.7) @ qd, atol=1e-12)
        rates = [robot.jacobian(q + k * h * qd, name, s=0.7) @ (qd + k * h * qdd) for k in (-1, 1)]
        etad, eta = (rates[1] - rates[0]) / (2 * h), found["twist"]
        etad[3:] += np.cross(eta[:3], eta[3:])
        assert_allclose(found["acceleration"], etad, atol=1e-7 * (1.0 + np.abs(etad).max()))


def test_twists_along_a_run_are_rates_of_its_poses():
    robot = with_site(swing(), "arm", 0.37)
    wanted = {name: robot.description.sensors[name] for name in ("pose", "twist", "acceleration")}
    robot = Robot(replace(robot.description, sensors=wanted))
    run = sorosim.simulate(robot, 0.3, dt_out=5e-4, rtol=1e-9, atol=1e-12)
    found, h = run.readings, 5e-4
    p, v, a = found["pose"].values[:, :3], found["twist"].values[:, 3:], found["acceleration"].values[:, 3:]
    R = np.array([robot.pose(q, "arm", s=0.37)[:3, :3] for q in run.q])
    middle = slice(2, -2)
    rate = (8 * (p[3:-1] - p[1:-3]) - (p[4:] - p[:-4])) / (12 * h)
    second = (16 * (p[3:-1] + p[1:-3]) - (p[4:] + p[:-4]) - 30 * p[middle]) / (12 * h**2)
    turned_into = np.einsum("kij,kj->ki", R, v)[middle], np.einsum("kij,kj->ki", R, a)[middle]
    assert np.abs(rate - turned_into[0]).max() < 1e-5 * np.abs(rate).max()
    # the run itself is exact to rtol only, and differences magnify that by 1/h^2
    assert np.abs(second - turned_into[1])[20:].max() < 1e-3 * np.abs(second).max()


def test_sensors_do_not_change_the_motion():
    plain = swing(SWING[: SWING.index("sensors:")] + SWING[SWING.index("simulate:") :])
    assert plain.sensor_names == ()
    assert_array_equal(sorosim.simulate(swing(), 0.1).q, sorosim.simulate(plain, 0.1).q)


# -- strain, tendons, loads


def test_strain_is_the_sum_of_the_basis(rng):
    robot, s = cable_manipulator(), 0.37
    robot = robot.with_sensors(strain=StrainSensor("arm", s), tip=StrainSensor("arm"))
    q = 0.3 * rng.normal(size=robot.ndof)
    legendre = [np.polynomial.legendre.Legendre.basis(k) for k in range(5)]
    values = np.array([P(2 * s - 1) for P in legendre])
    expected = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    for row, (first, count, scale) in enumerate(
        [(0, 5, 2.0), (5, 5, 2.0), (10, 5, 2.0), (15, 3, 1.0), (18, 3, 1.0), (21, 3, 1.0)]
    ):
        expected[row] += scale * values[:count] @ q[first : first + count]
    found = robot.measure(q)
    assert_allclose(found["strain"], expected, rtol=1e-13)
    assert robot.instruments.readers["strain"].units == ("1/m",) * 3 + ("-",) * 3


@pytest.mark.parametrize("seed", range(6))
def test_strain_is_the_rate_of_the_pose_along_any_rod(seed, rng):
    robot = varied_tree(seed)
    rods = [link.name for link in robot.links if link.rod is not None]
    q, h = 0.3 * rng.normal(size=robot.ndof), 1e-4
    for name in rods:
        rod, s = robot.engine.layout.links[name].link.rod, 0.4321
        found = robot.with_sensors(strain=StrainSensor(name, s)).measure(q)["strain"]
        # a short Magnus step beyond a place: exp of the strain's mean
        ends = robot.poses(q, name, s=[s - h, s + h])
        mean = log_se3(np.linalg.inv(ends[0]) @ ends[1]) / (2 * h * rod.length)
        assert_allclose(found, mean, atol=2e-2 * (1.0 + np.abs(found).max()))


def test_where_divisions_meet_the_strain_is_that_of_the_second():
    text = SWING.replace("sensors:", "sensors:\n  kink: {strain: {link: arm, s: 0.5}}").replace(
        "strain: {torsion: 1, bending: 2}\n",
        "strain: {torsion: 1, bending: 2}\n",
    )
    piece = "{length: 15 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending_y: 0}"
    begin, end = text.index("      length: 30"), text.index("actuators:")
    text = f"{text[:begin]}      divisions: [{piece}}}, {piece}, reference: {{torsion: 3}}}}]\n{text[end:]}"
    found = swing(text).measure([0.0, 0.3, 0.6])
    assert_allclose(found["kink"], [3.0, 4.0, 0.0, 1.0, 0.0, 0.0])
    assert_allclose(found["strain"], [0.0, 2.0, 0.0, 1.0, 0.0, 0.0])


def test_a_tendon_sensor_has_length_and_tension(rng):
    robot = sorosim.load("cable_manipulator").with_sensors(a=TendonSensor("cable4"), b=TendonSensor("cable1"))
    q = 0.3 * rng.normal(size=robot.ndof)
    found, lengths = robot.measure(q, u={"cable4": 3.0, "cable1": 2.0}), robot.tendon_lengths(q)
    assert_array_equal(found["a"], [lengths["cable4"], 3.0])
    assert_array_equal(found["b"], [lengths["cable1"], 2.0])
    assert lengths["cable4"] == robot.engine.tendon_lengths(q)[3]


def test_a_load_sensor_has_the_wrench_in_the_axes_of_its_point(rng):
    robot = swing().with_loads(weight=Wrench("arm", 0.5, moment=(0, 0, 0.2), force=(0, 0, -1.0)))
    robot = robot.with_sensors(weight=LoadSensor("weight"))
    q = 0.5 * rng.normal(size=robot.ndof)
    R = robot.pose(q, "arm", s=0.5)[:3, :3]
    found = robot.measure(q, t=0.7)
    assert_allclose(found["weight"], [*(R.T @ [0, 0, 0.2]), *(R.T @ [0, 0, -1.0])], atol=1e-15)
    assert_allclose(found["push"], [0, 0, 0, 0, 0.1 * np.sin(3.5), 0], atol=1e-15)


class Springs:
    """A load at two points, pulled to the world's origin."""

    places = (("arm", 0.25), ("arm", 0.75))
    dissipates = False

    def bind(self, layout):
        self.nodes = np.array([layout.link("arm").node_at(s) for _, s in self.places])
        return self

    def evaluate(self, t, g, eta):
        wrench = np.zeros((2, 6))
        wrench[:, 3:] = -np.einsum("kji,kj->ki", g[:, :3, :3], g[:, :3, 3])
        return wrench, np.zeros((2, 6, 6)), np.zeros((2, 6, 6))


class Values(tuple):
    wrench = property(lambda self: self[0])


def test_a_load_of_several_points_has_six_channels_each(rng):
    springs = Springs()
    robot = swing().with_loads(springs=springs).with_sensors(springs=LoadSensor("springs", noise=[0.1] * 12))
    reader = robot.instruments.readers["springs"]
    assert reader.channels[:7] == ("m_x[0]", "m_y[0]", "m_z[0]", "f_x[0]", "f_y[0]", "f_z[0]", "m_x[1]")
    q = 0.5 * rng.normal(size=robot.ndof)
    g = robot.pose(q, "arm", s=0.75)
    assert_allclose(robot.measure(q)["springs"][9:], -g[:3, :3].T @ g[:3, 3], atol=1e-14)


# -- wrenches in joints and loops


def dalembert(robot, link, q, qd, qdd, t=0.0):
    """Wrench on a link through its joint, by sums over the masses beyond it: momentum's rate less weight and loads."""
    layouts = robot.engine.layout.links
    beyond = {link}
    for other in robot.links:
        if other.parent in beyond:
            beyond.add(other.name)
    nodes = np.array([int(k) for name in beyond for k in layouts[name].nodes])
    origin = robot.engine.poses(np.array([layouts[link].nodes[0]]), q, qd)[0][0]
    h = 1e-5

    def momentum(x):
        """Linear and angular momentum about the joint's place at x = 0, world axes."""
        rates = qd + x * qdd
        g, eta = robot.engine.poses(nodes, q + x * qd + 0.5 * x**2 * qdd, rates)
        total = np.zeros(6)
        for k, node in enumerate(nodes):
            p = robot.engine.tree.inertia[node] @ eta[k]
            R = g[k][:3, :3]
            force = R @ p[3:]
            total += np.concatenate([R @ p[:3] + np.cross(g[k][:3, 3] - origin[:3, 3], force), force])
        return total

    needed = (momentum(h) - momentum(-h)) / (2 * h)
    g, _ = robot.engine.poses(nodes, q, qd)
    for k, node in enumerate(nodes):
        inertia = robot.engine.tree.inertia[node]
        mass = inertia[3, 3]
        if mass:
            centre = np.array([inertia[2, 4], inertia[0, 5], inertia[1, 3]]) / mass
            arm = g[k][:3, :3] @ centre + g[k][:3, 3] - origin[:3, 3]
            weight = mass * robot.engine.gravity
            needed -= np.concatenate([np.cross(arm, weight), weight])
    for load in robot.description.loads.values():
        if load.link in beyond:
            place = robot.pose(q, load.link, s=load.s)
            f = np.array([as_signal(entry).value(t) for entry in load.wrench])
            axes = place[:3, :3] if load.frame == "body" else np.eye(3)
            m, force = axes @ f[:3], axes @ f[3:]
            needed -= np.concatenate([m + np.cross(place[:3, 3] - origin[:3, 3], force), force])
    R = origin[:3, :3]
    return np.concatenate([R.T @ needed[:3], R.T @ needed[3:]])


@pytest.mark.parametrize("link", ["lid", "arm"])
def test_a_joint_wrench_is_that_of_dalembert(link, rng):
    robot = swing().with_sensors(joint=JointWrenchSensor(link))
    q, qd, qdd = (0.5 * rng.normal(size=robot.ndof) for _ in range(3))
    found = robot.measure(q, qd, u=[1.3], t=0.4, qdd=qdd)["joint"]
    assert_allclose(found, dalembert(robot, link, q, qd, qdd, 0.4), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_joint_wrenches_of_any_robot_give_its_generalised_forces(seed, rng):
    robot = varied_tree(seed)
    q, qd, qdd = (0.5 * rng.normal(size=robot.ndof) for _ in range(3))
    tau = robot.inverse_dynamics(q, qd, qdd=qdd)
    if robot.n_multipliers:
        pytest.skip("inverse dynamics leaves loops open")
    robot = robot.with_sensors(**{link.name: JointWrenchSensor(link.name) for link in robot.links})
    found = robot.measure(q, qd, qdd=qdd)
    for link in robot.links:
        layout = robot.engine.layout.links[link.name]
        if link.joint.kind in ("revolute", "prismatic", "helical"):
            axis = link.joint.stages[0].columns[0]
            assert_allclose(axis @ found[link.name], tau[layout.column], rtol=1e-9, atol=1e-12)


def test_a_driven_joint_needs_the_wrench_along_its_axis():
    text = SWING.replace("t_end: 0.5", "t_end: 0.5, driven: {lid: 0.5*sin(4*t)}")
    run = sorosim.simulate(swing(text), rtol=1e-6, atol=1e-9)
    spring = -0.3 * run.q[:, 0] - 0.01 * run.qd[:, 0]
    assert_allclose(run.readings["base"].channel("m_y"), run.driven["lid"] + spring, atol=1e-10)


def test_a_free_joint_passes_no_more_than_its_spring():
    run = sorosim.simulate(swing(), 0.3)
    spring = -0.3 * run.q[:, 0] - 0.01 * run.qd[:, 0]
    assert_allclose(run.readings["base"].channel("m_y"), spring, atol=1e-10)


def test_the_base_of_a_resting_robot_carries_its_weight():
    robot = sorosim.load("cable_manipulator").with_sensors(base=JointWrenchSensor("arm"))
    eq = sorosim.statics(robot, u={"cable1": 5.0})
    weight = G * robot.engine.tree.inertia[:, 3, 3].sum()
    assert_allclose(eq.measure()["base"][3:], [0.0, 0.0, weight], atol=1e-8 * weight)


def test_loops_are_part_of_joint_wrenches():
    """Of a four-bar: nothing but damping acts about the axes of its joints, though the loop pulls at both sides."""
    robot = sorosim.load("four_bar")
    joints = {link.name: JointWrenchSensor(link.name) for link in robot.links}
    robot = robot.with_sensors(pin=LoopWrenchSensor("pin"), **joints)
    run = sorosim.simulate(robot, 0.3)
    assert_array_equal(run.readings["pin"].values, run.loop_wrench("pin"))
    for name in joints:
        damping = -1e-4 * run.qd[:, robot.engine.layout.links[name].column]
        largest = np.abs(run.readings[name].values).max()
        assert largest > 1.0
        assert_allclose(run.readings[name].channel("m_z"), damping, atol=1e-6 * largest)


BRIDGE = """
sorosim: 1
name: bridge
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}}
links:
  arm: {rod: {length: 30 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 3, elongation: 2}}}
loops:
  pier: {joint: spherical, from: arm, to: {at: {position: [29 cm, 0, -1 cm], rotation: {rpy: [0, 40 deg, 20 deg]}}}}
sensors:
  base: {joint_wrench: arm}
  pier: {loop_wrench: pier}
"""


def test_the_two_ends_of_a_bridge_carry_it():
    robot = load_text(BRIDGE, "bridge.yaml")
    eq = sorosim.statics(robot)
    found = eq.measure()
    assert_array_equal(found["pier"], eq.loop_wrench("pier"))
    frame_b = robot.description.loops["pier"].b.at
    pier, base = frame_b[:3, :3] @ found["pier"][3:], found["base"]
    weight = -robot.engine.tree.inertia[:, 3, 3].sum() * robot.engine.gravity
    assert_allclose(base[3:] + pier, weight, atol=1e-8)
    assert pier[2] > 0.2 * weight[2]
    # moments about the base: of the pier, and of the weight at the centre of mass
    h, moments = 1e-6, np.cross(frame_b[:3, 3], pier) + base[:3]
    for axis, force in ((1, 0), (0, 1)):  # potential energy under a sideways gravity is the centre's place
        sideways = replace(robot.description, gravity=tuple(np.eye(3)[force]))
        place = -Robot(sideways).energy(eq.q, 0 * eq.q).gravity
        sign = -1.0 if axis == 1 else 1.0
        assert abs(moments[axis] - sign * place * G) < 1e-8, h


def test_measuring_with_given_accelerations_finds_the_multipliers():
    robot = sorosim.load("four_bar")
    loop = robot.loop_names[0]
    robot = robot.with_sensors(loop=LoopWrenchSensor(loop))
    run = sorosim.simulate(robot, 0.1)
    q, qd = run.q[-1], run.qd[-1]
    by_dynamics = robot.measure(q, qd)["loop"]
    given = robot.measure(q, qd, qdd=robot.forward_dynamics(q, qd))["loop"]
    assert_allclose(given, by_dynamics, atol=1e-9 * np.abs(by_dynamics).max())
    assert_allclose(by_dynamics, run.loop_wrench(loop)[-1], rtol=1e-3, atol=1e-3 * np.abs(by_dynamics).max())
    lam = np.arange(robot.n_multipliers) + 1.0
    found = robot.measure(q, qd, lam=lam)["loop"]
    assert_allclose(found, robot.engine.loop_wrench(0, q, qd, robot.inputs(None), lam))


# -- sampling


def test_samples_are_multiples_of_the_period_and_rows_are_taken_as_they_are():
    robot = swing()
    run = sorosim.simulate(robot)
    found = run.readings
    assert_array_equal(found["imu"].t, run.t)
    assert_allclose(found["fast"].t, np.arange(86) / 170.0, rtol=1e-15)
    assert_allclose(found["pose"].t, np.arange(31) / 60.0, rtol=1e-15)
    on_row = found["strain"].t == 0.1
    assert on_row.sum() == 1
    assert_array_equal(found["strain"].values[on_row][0], robot.measure(run.q[10])["strain"])


PENDULUM = """
sorosim: 1
name: double pendulum
links:
  upper:
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 1, centre: [0.2, 0, 0], inertia: [1e-3, 2e-3, 3e-3]}
    frames: {end: {position: [0.4, 0, 0]}}
  lower:
    parent: upper
    at: {frame: end}
    joint: {revolute: {axis: [0.2, 1, 0]}}
    body: {mass: 0.5, centre: [0.2, 0, 0], inertia: [1e-3, 2e-3, 3e-3]}
initial: {lower.revolute: 60 deg}
"""
ORDERS = {"pose": (PoseSensor, 6), "twist": (TwistSensor, 5), "acceleration": (AccelerationSensor, 4)}


@pytest.fixture(scope="module")
def fine():
    """A run that is exact to 1e-12, so to speak, with rows 1/1280 s apart."""
    robot = load_text(PENDULUM, "pendulum.yaml")
    at = {
        f"{name} {rate:g}": kind("lower", rate=rate) for name, (kind, _) in ORDERS.items() for rate in (1280.0, 640.0)
    }
    return sorosim.simulate(robot.with_sensors(**at), 0.3, dt_out=1 / 1280, method="radau", rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ORDERS)
def test_between_rows_errors_shrink_by_the_order_of_the_polynomial(fine, name):
    """Rows 1/320 s and 1/160 s apart, read at quarters of these, where the fine run has rows."""
    errors = []
    for every, sensor in ((4, f"{name} 1280"), (8, f"{name} 640")):
        exact, coarse = fine.readings[sensor].values, fine[::every].readings[sensor].values
        errors.append(np.abs(coarse - exact).max())
    order = ORDERS[name][1]
    assert abs(np.log2(errors[1] / errors[0]) - order) < 0.1, errors
    assert errors[0] < 1e-10 * 3000 ** (6 - order), errors


def test_quintic_polynomials_are_met_exactly(rng):
    c = [np.polynomial.Polynomial(rng.normal(size=6)) for _ in range(3)]
    a, h, x = 0.3, 0.7, 0.41

    def at(t):
        return tuple(np.array([p.deriv(k)(t) if k else p(t) for p in c]) for k in range(3))

    for found, wanted in zip(hermite(at(a), at(a + h), h, x), at(a + x * h), strict=True):
        assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_between_rows_a_change_of_chart_is_no_jump():
    """A free body that tumbles: its rotation vector changes to that of the same rotation a turn away."""
    robot = body().with_sensors(pose=PoseSensor("body", rate=1000.0), twist=TwistSensor("body", rate=1000.0))
    run = sorosim.simulate(robot, 1.0, dt_out=0.01, qd0=[0.2, 0.0, 2.0, 3.0, 7.0, 1.0], rtol=1e-10, atol=1e-12)
    assert (np.linalg.norm(np.diff(run.q[:, 3:], axis=0), axis=1) > 3.0).any()
    exact = sorosim.simulate(robot, 1.0, dt_out=0.001, qd0=[0.2, 0.0, 2.0, 3.0, 7.0, 1.0], rtol=1e-10, atol=1e-12)
    for name in ("pose", "twist"):
        got, wanted = run.readings[name].values, exact.readings[name].values
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() < 1e-6
    q = run.readings["pose"].values[:, 3:]
    assert (np.sum(q[1:] * q[:-1], axis=1) > 0.99).all()
    assert (q[:, 0] < 0.0).any()  # signs go on over half a turn


def test_turning_back_keeps_pose_and_twist(rng):
    P = Joint("free", coordinates="screw").stages[0].columns
    q, qd = np.concatenate([rng.normal(size=3), rng.normal(size=3)]), rng.normal(size=6)
    other, rates = turned_back(P, q, qd, 1.0)
    h = 1e-6
    assert_allclose(exp_se3(other @ P), exp_se3(q @ P), atol=1e-12)
    ends = [np.linalg.inv(exp_se3((x - h * v) @ P)) @ exp_se3((x + h * v) @ P) for x, v in ((q, qd), (other, rates))]
    assert_allclose(*ends, atol=1e-12)


def test_between_rows_wrenches_of_loops_fit_the_motion():
    robot = sorosim.load("four_bar")
    robot = robot.with_sensors(
        pin=LoopWrenchSensor("pin", rate=800.0),
        crank=JointWrenchSensor("crank", rate=800.0),
        spin=Imu("crank", rate=800.0),
    )
    run, fine = (sorosim.simulate(robot, 0.2, dt_out=dt, rtol=1e-8, atol=1e-11) for dt in (1 / 400, 1 / 800))
    for name in ("pin", "crank"):
        exact = fine.readings[name].values
        assert_array_equal(exact[3], robot.measure(fine.q[3], fine.qd[3], lam=fine.lam[3])[name])
        assert np.abs(run.readings[name].values - exact).max() < 1e-4 * np.abs(exact).max()
    damping = -1e-4 * run.readings["spin"].channel("w_z")
    assert_allclose(run.readings["crank"].channel("m_z"), damping, atol=1e-5 * np.abs(exact).max())


def test_where_dynamics_has_no_answer_accelerations_are_nan(monkeypatch):
    robot = swing()
    run, evaluate = sorosim.simulate(robot, 0.1), robot.engine.evaluate

    def failing(what, q, *rest, **options):
        if what == task.FORWARD and np.array_equal(q, run.q[-1]):
            raise ModelError("lid", "a mass matrix", "none")
        return evaluate(what, q, *rest, **options)

    monkeypatch.setattr(robot.engine, "evaluate", failing)
    values = run.readings["imu"].values
    assert np.isfinite(values[:-1]).all()
    assert np.isfinite(values[-1, :3]).all()
    assert np.isnan(values[-1, 3:]).all()
    assert np.isfinite(run.readings["cable"].values).all()


def test_under_a_controller_inputs_stay_between_rows():
    robot = sorosim.load("cable_manipulator").with_sensors(
        a=TendonSensor("cable1", rate=250.0), b=AccelerationSensor("arm", rate=250.0)
    )

    def controller(t, q, qd):
        return {"cable1": 1.0 + np.floor(t / 0.04 + 1e-9)}

    run = sorosim.simulate(robot, 0.2, dt_out=0.02, controller=controller, dt_control=0.04, rtol=1e-8, atol=1e-10)
    found = run.readings["a"]
    assert_array_equal(found.channel("tension"), 1.0 + np.floor(found.t / 0.04 + 1e-9))
    assert np.isfinite(run.readings["b"].values).all()


def test_a_run_of_one_row_and_an_empty_one_are_read():
    run = sorosim.simulate(swing(), 0.1)
    assert [len(x.t) for x in run[:0].readings.values()] == [0] * 7
    assert len(run[3].readings["imu"].t) == 1
    assert len(run[0].readings["fast"].t) == 1
    assert len(run[3].readings["fast"].t) == 0  # no multiple of 1/170 s there


def test_too_many_samples_are_refused():
    robot = swing().with_sensors(mad=StrainSensor("arm", rate=1e9))
    run = sorosim.simulate(robot, 0.1)
    with pytest.raises(InputError, match="rate: expected at most 10000000 samples, got 1e\\+08; a lower rate"):
        run.readings


# -- noise


def still(t_end=10.0, **sensors):
    """A body at rest, measured often."""
    robot = body("revolute", axis=(0, 0, 1)).with_sensors(**sensors)
    return sorosim.simulate(robot, t_end, dt_out=t_end / 2)


def test_noise_has_the_mean_and_the_deviation_asked_for():
    deviation, bias = np.array([0.01, 0.02, 0.0, 0.1, 0.2, 0.3]), np.array([0.5, 0, 0, 0, 0, -0.1])
    run = still(imu=Imu("body", rate=2000.0, noise=deviation, bias=bias, seed=3))
    error = run.readings["imu"].values - [0, 0, 0, 0, 0, G] - bias
    n = len(error)
    assert n == 20001
    assert_array_equal(error[:, 2], 0.0)
    noisy = deviation > 0
    z = error[:, noisy] / deviation[noisy]
    assert np.abs(z.mean(axis=0)).max() < 4.0 / np.sqrt(n)
    assert np.abs(z.std(axis=0) - 1.0).max() < 4.0 / np.sqrt(2 * n)
    assert np.abs(np.corrcoef(z.T) - np.eye(5)).max() < 4.5 / np.sqrt(n)
    after = np.mean(z[1:] * z[:-1], axis=0)
    assert np.abs(after).max() < 4.5 / np.sqrt(n)
    assert np.abs(np.mean(z**4, axis=0) - 3.0).max() < 5.0 * np.sqrt(96.0 / n)


def test_noise_of_rotations_is_a_small_rotation_in_the_axes_of_the_sensor(rng):
    at = random_pose(rng)
    run = still(pose=PoseSensor("body", at=at, rate=500.0, noise=(0, 0, 0, 0.01, 0.02, 0.03), seed=1))
    values = run.readings["pose"].values
    assert_allclose(np.linalg.norm(values[:, 3:], axis=1), 1.0, atol=1e-14)
    assert_allclose(values[:, :3] - at[:3, 3], 0.0, atol=1e-15)
    back = quaternion_of(at[:3, :3]) * [1, -1, -1, -1]
    product = np.array([_times(back, q) for q in values[:, 3:]])
    vector = 2.0 * product[:, 1:] * np.sign(product[:, :1])
    assert_allclose(vector.std(axis=0), [0.01, 0.02, 0.03], rtol=0.05)


def _times(a, b):
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def test_the_same_seed_gives_the_same_bits_whatever_else_is_measured():
    robot = swing()
    run = sorosim.simulate(robot)
    assert_array_equal(sorosim.simulate(swing()).readings["fast"].values, run.readings["fast"].values)
    alone = Robot(replace(robot.description, sensors={"fast": robot.description.sensors["fast"]}))
    assert_array_equal(sorosim.simulate(alone).readings["fast"].values, run.readings["fast"].values)
    other = robot.with_sensors(other=robot.description.sensors["fast"])
    found = sorosim.simulate(other).readings
    assert not np.array_equal(found["other"].values, found["fast"].values)
    seeded = replace(robot.description.sensors["fast"], seed=seed_of("fast"))
    found = sorosim.simulate(robot.with_sensors(renamed=seeded)).readings
    assert_array_equal(found["renamed"].values, found["fast"].values)


def test_a_longer_run_begins_with_the_readings_of_a_shorter_one():
    """At rest at the same times, since the integrator's last step differs."""
    short, long = still(0.5, imu=Imu("body", rate=80.0, noise=0.1)), still(1.0, imu=Imu("body", rate=80.0, noise=0.1))
    n = len(short.readings["imu"].t)
    assert_allclose(long.readings["imu"].values[:n], short.readings["imu"].values, atol=1e-13)


def test_a_run_that_was_taken_up_again_gives_the_same_bits(tmp_path):
    robot = swing()
    whole = sorosim.simulate(robot, 0.5, checkpoint=0.1)
    sorosim.simulate(robot, 0.23, checkpoint=0.1, out=tmp_path / "run.h5")
    again = sorosim.resume(tmp_path / "run.h5", 0.5)
    assert_same_readings(again.readings, whole.readings)
    assert_same_readings(sorosim.open(tmp_path / "run.h5").readings, whole.readings)


def assert_same_readings(a, b):
    assert list(a) == list(b)
    for name in a:
        assert a[name].channels == b[name].channels
        assert a[name].units == b[name].units
        assert_array_equal(a[name].t, b[name].t)
        assert_array_equal(a[name].values, b[name].values)


def test_quaternions_are_those_of_rotations(rng):
    for k in range(200):
        w = rng.normal(size=3)
        w *= rng.uniform(0.0, 2 * np.pi) / np.linalg.norm(w) if k % 3 else np.pi / np.linalg.norm(w)
        half = 0.5 * np.linalg.norm(w)
        wanted = np.array([np.cos(half), *(np.sin(half) * w / np.linalg.norm(w))])
        found = quaternion_of(exp_se3(np.array([*w, 0, 0, 0]))[:3, :3])
        assert found[0] >= 0.0
        assert min(np.abs(found - wanted).max(), np.abs(found + wanted).max()) < 1e-12
        start = quaternion_of(random_pose(rng)[:3, :3])
        assert_allclose(rotated(start[None], w[None])[0], _times(start, wanted), atol=1e-14)
    assert continuous(np.zeros((0, 4))).shape == (0, 4)


# -- files


def test_readings_are_in_the_file(tmp_path):
    run = sorosim.simulate(swing())
    run.save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        group = file["readings/fast"]
        assert_array_equal(group["values"][:], run.readings["fast"].values)
        assert_array_equal(group["t"][:], run.readings["fast"].t)
        assert list(group["channels"].asstr()[:]) == ["w_x", "w_y", "w_z", "f_x", "f_y", "f_z"]
        assert list(group["units"].asstr()[:]) == ["rad/s"] * 3 + ["m/s^2"] * 3
    again = sorosim.open(tmp_path / "run.h5")
    assert_same_readings(again.readings, run.readings)
    again.__dict__.pop("readings")  # drawn and computed anew
    assert_same_readings(again.readings, run.readings)


def test_a_file_of_damaged_readings_is_refused(tmp_path):
    run = sorosim.simulate(swing(), 0.05)
    for damage, message in (("t", "without 'readings/fast/t'"), ("values", "readings/fast/values")):
        run.save(tmp_path / "run.h5")
        with h5py.File(tmp_path / "run.h5", "a") as file:
            del file[f"readings/fast/{damage}"]
            if damage == "values":
                file["readings/fast/values"] = np.zeros((2, 3))
        with pytest.raises(FileError, match=message):
            sorosim.open(tmp_path / "run.h5")


def test_readings_become_tables_and_structures(tmp_path):
    run = sorosim.simulate(swing(), 0.1)
    files = run.readings_to_csv(tmp_path / "tables")
    assert [path.name for path in files] == [f"{name}.csv" for name in run.robot.sensor_names]
    table = np.genfromtxt(files[1], delimiter=",", skip_header=1)
    assert_array_equal(table[:, 1:], run.readings["fast"].values)
    head = files[1].read_text().splitlines()[0]
    assert head == "t [s],w_x [rad/s],w_y [rad/s],w_z [rad/s],f_x [m/s^2],f_y [m/s^2],f_z [m/s^2]"
    run.to_mat(tmp_path / "run.mat")
    cells = scipy.io.loadmat(tmp_path / "run.mat", simplify_cells=True)["readings"]
    assert [cell["name"] for cell in cells] == list(run.robot.sensor_names)
    assert_array_equal(cells[1]["values"], run.readings["fast"].values)
    assert list(cells[1]["channels"]) == list(run.readings["fast"].channels)
    odd = sorosim.simulate(swing().with_sensors(**{"a/b": StrainSensor("arm")}), 0.02)
    with pytest.raises(InputError, match="expected a name that a file can have, got 'a/b'"):
        odd.readings_to_csv(tmp_path / "odd")
    with pytest.raises(FileError, match="cannot be made"):
        run.readings_to_csv(tmp_path / "run.mat")


def test_a_run_without_sensors_has_no_readings(tmp_path):
    run = sorosim.simulate(cable_manipulator(), 0.02)
    run.save(tmp_path / "run.h5")
    assert run.readings == sorosim.open(tmp_path / "run.h5").readings == {}
    assert run.readings_to_csv(tmp_path / "none") == []


def test_every_sensor_is_plotted(tmp_path):
    run = sorosim.simulate(swing(), 0.1)
    figures = run.plot(tmp_path)
    for name in run.robot.sensor_names:
        assert (tmp_path / f"sensor_{name}.png").stat().st_size > 5000
    axes = figures["sensor_fast"].axes
    assert [ax.get_ylabel() for ax in axes] == ["angular rate [rad/s]", "specific force [m/s^2]"]
    assert axes[-1].get_xlabel() == "t [s]"
    assert len(axes[0].lines) == 3
    assert [ax.get_ylabel() for ax in figures["sensor_strain"].axes] == [
        "curvature [1/m]",
        "elongation [-]",
        "shear [-]",
    ]
    assert set(run.plot(what="sensor_imu")) == {"sensor_imu"}
    with pytest.raises(InputError, match="got 'sensor_imo'; did you mean sensor_imu"):
        run.plot(what="sensor_imo")


def test_the_robot_tells_its_sensors_and_writes_them():
    robot = swing()
    lines = robot.summary().splitlines()
    assert lines[0].endswith("1 actuator, 7 sensors")
    assert "  fast: imu on arm, 170 Hz" in lines
    assert "  imu: imu on arm at s = 0.37" in lines
    assert "  pose: pose on lid at frame top, 60 Hz" in lines
    again = load_text(dump(robot), "dump.yaml")
    assert again.sensor_names == robot.sensor_names
    assert repr(again.description.sensors) == repr(load_text(dump(again), "dump.yaml").description.sensors)
    run, other = sorosim.simulate(robot, 0.1), sorosim.simulate(again, 0.1)
    for name in robot.sensor_names:
        assert_allclose(other.readings[name].values, run.readings[name].values, rtol=1e-12, atol=1e-12)


def test_every_kind_of_sensor_is_a_name_of_sorosim():
    for kind in SENSORS.declared().values():
        if kind.__module__.startswith("sorosim."):
            assert getattr(sorosim, kind.__name__) is kind


# -- mistakes in Python


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (StrainSensor("arn"), "sensors.x.link: expected the name of a link with a rod, got 'arn'; did you mean arm?"),
        (StrainSensor("lid"), "sensors.x.link: expected the name of a link with a rod, got 'lid'; known: arm"),
        (Imu("lit"), "sensors.x.link: expected the name of a link, got 'lit'; did you mean lid?"),
        (Imu("lid", frame="tpo"),
         "sensors.x.frame: expected the name of a frame of 'lid', got 'tpo'; did you mean top?"),
        (Imu("arm", frame="top"),
         "sensors.x.frame: expected the name of a frame of 'arm', got 'top'; it is a rod; say where on it, with s"),
        (TendonSensor("cabel"), "sensors.x.tendon: expected the name of a tendon, got 'cabel'; did you mean cable?"),
        (JointWrenchSensor("world"), "sensors.x.link: expected the name of a link, got 'world'; known: lid, arm"),
        (LoopWrenchSensor("pin"), "sensors.x.loop: expected the name of a loop, got 'pin'; there are none"),
        (LoadSensor("pus"), "sensors.x.load: expected the name of a load, got 'pus'; did you mean push?"),
        ("imu", "sensors.x: expected a sensor, such as sorosim.PoseSensor, got 'imu'"),
    ],
)  # fmt: skip
def test_a_sensor_that_does_not_fit_the_robot_is_refused(sensor, message):
    with pytest.raises(ModelError) as caught:
        swing().with_sensors(x=sensor)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"s": 1.5}, "imu.s: expected a number from 0 to 1, got 1.5; it is a fraction of the rod's length, X/L"),
        ({"rate": 0}, "imu.rate: expected a rate greater than 0, got 0"),
        ({"rate": "10 m"}, "imu.rate: expected a rate greater than 0, such as 100 Hz, got '10 m', a length"),
        ({"rate": np.inf}, "imu.rate: expected a rate greater than 0, got inf; it has to be finite"),
        (
            {"noise": -0.1},
            "imu.noise: expected an angular speed of 0 or more, got -0.1; a list has one for each channel",
        ),
        ({"noise": [0, 0, -1.0, 0, 0, 0]}, "imu.noise[2]: expected an angular speed of 0 or more, got -1"),
        ({"noise": [1, 2]}, "imu.noise: expected one number, or 6: w_x, w_y, w_z, f_x, f_y, f_z, got 2"),
        ({"bias": np.nan}, "imu.bias: expected an angular speed, got nan; it has to be finite"),
        ({"seed": -1}, "imu.seed: expected a whole number from 0 to 18446744073709551615, got -1"),
        ({"seed": 1.5}, "imu.seed: expected a whole number from 0 to 18446744073709551615, got 1.5"),
        ({"seed": True}, "imu.seed: expected a whole number from 0 to 18446744073709551615, got true"),
        ({"seed": 2**64}, "imu.seed: expected a whole number from 0 to 18446744073709551615, got 18446744073709551616"),
        ({"frame": 3}, "imu.frame: expected a name, got 3; put it in quotes"),
    ],
)
def test_a_sensor_that_cannot_be_is_refused(options, message):
    with pytest.raises(ModelError) as caught:
        Imu("arm", **options)
    assert str(caught.value) == message


def test_a_pose_sensor_has_errors_of_place_and_of_rotation():
    with pytest.raises(ModelError) as caught:
        PoseSensor("arm", bias=[0.0] * 7)
    assert str(caught.value) == "pose.bias: expected one number, or 6: x, y, z, r_x, r_y, r_z, got 7"


def test_measure_checks_what_it_is_given():
    robot = swing()
    with pytest.raises(InputError, match="qdd: expected 9 numbers"):
        robot.measure(robot.initial_q, qdd=[1.0])
    with pytest.raises(InputError, match="lam: expected 0 numbers"):
        robot.measure(robot.initial_q, lam=[1.0])
    with pytest.raises(InputError, match="the name of an actuator"):
        robot.measure(robot.initial_q, u={"cabel": 1.0})
    with pytest.raises(InputError, match="channel: expected the name of a channel, got 'f_w'"):
        sorosim.simulate(robot, 0.02).readings["fast"].channel("f_w")
