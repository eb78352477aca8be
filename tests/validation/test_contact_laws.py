"""Contact against closed forms: rebound, restitution, friction, rolling, momentum."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from validation.contact_robots import body, floor, rod, total_wrench, touching

import sorosim

G = 9.81


def ball_on(ground, **contact):
    return touching(
        {"ball": body((0, 0, 0), "free", sphere={"radius": 0.1})}, between="ball", **{"and": ground}, **contact
    )


def dropped(robot, height, t_end, **options):
    """The ball let go with its lowest point at a height."""
    q0 = np.zeros(robot.ndof)
    q0[2] = 0.1 + height
    return sorosim.simulate(robot, t_end, dt_out=1e-3, q0=q0, **options)


def impact(robot, speed, t_end, **options):
    """The ball thrown straight at the floor."""
    q0, qd0 = np.zeros(robot.ndof), np.zeros(robot.ndof)
    q0[2], qd0[2] = 0.1 + 1e-3, -speed
    return sorosim.simulate(robot, t_end, dt_out=1e-4, q0=q0, qd0=qd0, rtol=1e-9, atol=1e-12, **options)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.5])
def test_an_elastic_ball_comes_back_to_its_height(agrees, exponent):
    height, k = 0.2, 1e6
    robot = ball_on(floor(), stiffness=k, exponent=exponent)
    run = dropped(robot, height, 0.6, rtol=1e-9, atol=1e-12, dense=True)
    z = run.q[:, 2] - 0.1
    landed = int(np.argmin(z))
    # m g (h + d) = k d^(p + 1) / (p + 1) at the lowest point
    deepest = brentq(lambda d: k * d ** (exponent + 1) / (exponent + 1) - G * (height + d), 0.0, 0.1)
    fine = [run.at(t)[0][2] - 0.1 for t in np.linspace(run.t[landed - 1], run.t[landed + 1], 2001)]
    agrees("depth of an elastic impact", -min(fine), deepest, rtol=1e-6, unit="m", source="energy")
    # measured: 2e-9 .. 4e-8 of the height
    assert z[landed:].max() == pytest.approx(height, abs=1e-6)


def test_the_time_of_an_impact_is_that_of_hertz(agrees):
    speed, k = 0.5, 1e6
    robot = ball_on(floor(), gravity=(0, 0, 0), stiffness=k)
    run = impact(robot, speed, 0.03, events=[robot.onset("touch"), robot.release("touch")], dense=True)
    (begin,), (end,) = run.events[0][0], run.events[1][0]
    deepest = (2.5 * 0.5 * speed**2 / k) ** 0.4
    # twice the way in: 2 d/v times the integral of 1/sqrt(1 - x^2.5)
    lasts = 2.0 * deepest / speed * quad(lambda x: 1.0 / np.sqrt(1.0 - x**2.5), 0.0, 1.0, epsabs=1e-12)[0]
    agrees("time of an impact", end - begin, lasts, rtol=1e-6, unit="s", source="Hertz, 1882")
    assert begin == pytest.approx(1e-3 / speed, rel=1e-6)


@pytest.mark.parametrize("e", [0.9, 0.5, 0.2])
@pytest.mark.parametrize("method", ["bdf", "generalized-alpha"])
def test_restitution_is_what_was_asked_for(agrees, e, method):
    speed = 0.5
    robot = ball_on(floor(), gravity=(0, 0, 0), restitution=e, impact_speed=speed)
    run = impact(robot, speed, 0.05, method=method)
    # nothing but the band in which the damping lets go, where the law is not the formula's, keeps it from being exact
    agrees(
        "speed after an impact with restitution", run.qd[-1, 2], e * speed, rtol=2e-4, unit="m/s", source="definition"
    )


def test_a_ball_rests_as_deep_as_its_weight_presses():
    robot = ball_on(floor(), stiffness=1e5)
    eq = sorosim.statics(robot, q0=[0, 0, 0.0999, 0, 0, 0])
    assert 0.1 - robot.pose(eq.q, "ball")[2, 3] == pytest.approx((G / 1e5) ** (2 / 3), rel=1e-9)
    assert "neutral" in eq.message  # it may roll on
    assert eq.contacts.force[0] == pytest.approx([0, 0, G], abs=1e-9)
    assert eq.contacts.normal_force.sum() == pytest.approx(G, rel=1e-10)


def block_on_incline(angle, friction, **more):
    """A flat block that lies on an incline; its middle is at the origin."""
    turn = {"axis": [0, 1, 0], "angle": angle}
    links = {"block": body((0, 0, 0), "free", turn=turn, box={"size": [0.2, 0.2, 0.04]})}
    ground = {"half_space": {}, "at": {"position": [-0.02 * np.sin(angle), 0, -0.02 * np.cos(angle)], "rotation": turn}}
    return touching(links, between="block", **{"and": ground}, friction=friction, damping=5.0, **more)


def settled(robot, t_end=0.6, **options):
    """Let go on the incline: velocity along it at the end, and the acceleration over the last half."""
    run = sorosim.simulate(robot, t_end, dt_out=0.01, rtol=1e-7, atol=1e-10, **options)
    half = len(run) // 2
    along = run.qd[:, 0]
    return along[-1], (along[-1] - along[half]) / (run.t[-1] - run.t[half])


def test_a_block_sticks_below_the_angle_of_friction_and_slides_above():
    mu = 0.4
    limit = np.arctan(mu)
    for share in (0.5, 0.9, 0.99):
        angle = share * limit
        speed, acceleration = settled(block_on_incline(angle, mu), 1.5)
        # what sticks creeps: mu v / sqrt(v^2 + s^2) = tan(angle)
        creep = 1e-3 * np.tan(angle) / np.sqrt(mu**2 - np.tan(angle) ** 2)
        assert speed == pytest.approx(creep, rel=2e-2)
        assert abs(acceleration) < 2e-3 * G
    for share in (1.01, 1.2):
        angle = share * limit
        # so slow a slip that friction is full: 1 - (1e-5 / 0.01)^2 / 2
        speed, acceleration = settled(block_on_incline(angle, mu, slip_speed=1e-5))
        assert acceleration == pytest.approx(G * (np.sin(angle) - mu * np.cos(angle)), rel=5e-3)
        assert speed > 0.01


def test_a_block_that_slides_loses_what_friction_takes(agrees):
    mu, angle = 0.3, 0.5
    robot = block_on_incline(angle, mu, slip_speed=1e-4)
    _, acceleration = settled(robot)
    # five times the 3e-5 by which it still sinks in while that is measured
    agrees(
        "acceleration of a block that slides down",
        acceleration,
        G * (np.sin(angle) - mu * np.cos(angle)),
        rtol=2e-4,
        unit="m/s^2",
        source="Coulomb",
    )
    run = sorosim.simulate(robot, 0.6, dt_out=1e-3, rtol=1e-7, atol=1e-10)
    energy = run.energy()
    way = run.q[-1, 0]
    assert energy.dissipated[-1] == pytest.approx(mu * G * np.cos(angle) * way, rel=2e-3)


@pytest.mark.parametrize("method", ["bdf", "generalized-alpha"])
def test_a_ball_rolls_down(agrees, method):
    angle = 0.2
    turn = {"axis": [0, 1, 0], "angle": angle}
    start = 0.1 - (G * np.cos(angle) / 1e6) ** (2 / 3)
    links = {"ball": body((start * np.sin(angle), 0, start * np.cos(angle)), "free", turn=turn, sphere={"radius": 0.1})}
    robot = touching(links, between="ball", **{"and": floor(slope=angle)}, friction=0.5, slip_speed=1e-4, damping=5.0)
    run = sorosim.simulate(robot, 1.0, dt_out=0.01, rtol=1e-7, atol=1e-10, method=method)
    w = robot.kinematics(run.q[-1], run.qd[-1]).eta[0, 1]
    speed = np.linalg.norm(np.diff(run.positions(), axis=0), axis=1) / 0.01
    half = len(speed) // 2
    found = (speed[-1] - speed[half]) / (run.t[-1] - run.t[half + 1])
    # a solid ball: g sin / (1 + 2/5); friction is a constant force, so the slip is constant too; five times 1.7e-5
    agrees("acceleration of a ball that rolls down", found, G * np.sin(angle) * 5 / 7, rtol=1e-4, unit="m/s^2",
           source="closed form")  # fmt: skip
    assert abs(w) * 0.1 == pytest.approx(speed[-1], rel=1e-2)


def test_a_cylinder_rolls_down_on_its_side(agrees):
    angle = 0.2
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    lying = R @ np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    start = {"position": (R @ [0, 0, 0.1 - 2e-5]).tolist(), "rotation": {"matrix": lying.tolist()}}
    links = {"roll": {"joint": "free", "at": start, "body": {"cylinder": {"radius": 0.1, "length": 0.3}, "mass": 1.0}}}
    robot = touching(links, between="roll", **{"and": floor(slope=angle)}, friction=0.5, slip_speed=1e-4, damping=5.0)
    run = sorosim.simulate(robot, 0.8, dt_out=0.01, rtol=1e-7, atol=1e-10)
    x = run.positions()
    speed = np.linalg.norm(np.diff(x, axis=0), axis=1) / 0.01
    half = len(speed) // 2
    found = (speed[-1] - speed[half]) / (run.t[-1] - run.t[half + 1])
    agrees("acceleration of a cylinder that rolls down", found, G * np.sin(angle) * 2 / 3, rtol=1e-4, unit="m/s^2",
           source="closed form")  # fmt: skip


PEBBLE = {"radii": [0.05, 0.06, 0.04], "roundness": [0.4, 0.7]}
PAIRS = {
    "rods": ({"a": rod(), "b": rod((0, 0.0, 0.012))}, {}),
    "rods as spheres": ({"a": rod(), "b": rod((0, 0.0, 0.012))}, {"rods": "spheres"}),
    "ball and rod": ({"a": rod(), "b": body((0.1, 0, 0.045), sphere={"radius": 0.04})}, {}),
    "capsules": ({"a": body((0, 0, 0), capsule={"radius": 0.03, "length": 0.1}),
                  "b": body((0, 0.02, 0.05), capsule={"radius": 0.03, "length": 0.1})}, {}),
    "boxes": ({"a": body((0, 0, 0), box={"size": [0.1, 0.1, 0.1]}),
               "b": body((0.02, 0.03, 0.0995), box={"size": [0.1, 0.1, 0.1]})}, {}),
    "cylinder and box": ({"a": body((0, 0, 0), box={"size": [0.1, 0.1, 0.1]}),
                          "b": body((0.02, 0.03, 0.0995), cylinder={"radius": 0.05, "length": 0.1})}, {}),
    "ellipsoid and box": ({"a": body((0, 0, 0), box={"size": [0.1, 0.1, 0.1]}),
                           "b": body((0.02, 0.03, 0.0899), ellipsoid={"radii": [0.05, 0.06, 0.04]})}, {}),
    "superellipsoid and rod": ({"a": rod(), "b": body((0.1, 0.01, 0.0498), superellipsoid=PEBBLE)}, {}),
    "superellipsoids": ({"a": body((0, 0, 0), superellipsoid=PEBBLE),
                         "b": body((0.01, 0.02, 0.0795), superellipsoid=PEBBLE)}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_exchange_momentum_to_rounding(name, rng):
    links, more = PAIRS[name]
    robot = touching(links, between="a", **{"and": "b"}, friction=0.4, damping=0.5, **more)
    q, qd = np.zeros(robot.ndof), rng.normal(size=robot.ndof)
    forces = robot.contacts(q, qd).force
    assert len(forces) > 0
    sum_of_all = total_wrench(robot, q, qd)
    np.testing.assert_allclose(sum_of_all, 0.0, atol=1e-13 * np.abs(forces).max())


def test_two_free_rods_that_collide_keep_momentum_and_energy():
    links = {
        "a": rod((0, 0, 0), bending=2, elongation=0),
        "b": rod((0.13, -0.1, 0.03), turn={"axis": [0, 0, 1], "angle": np.pi / 2}, bending=2, elongation=0),
    }
    robot = touching(links, between="a", **{"and": "b"}, gravity=(0, 0, 0), stiffness=1e4)
    qd0 = np.zeros(robot.ndof)
    names = list(robot.coordinate_names)
    qd0[[k for k, name in enumerate(names) if name.startswith("b.")][2]] = -0.5
    run = sorosim.simulate(robot, 0.1, dt_out=1e-3, qd0=qd0, rtol=1e-9, atol=1e-12)
    touched = np.unique(run.contacts.row)
    assert len(touched) > 2
    energy = run.energy()
    # the contact's own energy is back when they have parted
    assert touched.max() < len(run) - 1
    assert energy.total[-1] == pytest.approx(energy.total[0], rel=1e-6)


def test_two_superellipsoids_that_collide_keep_momentum_and_energy():
    """Off the line of their centres, so that both turn: without friction and damping the contact has a potential."""
    turn = {"axis": [1, 2, 0.3], "angle": 0.9}
    links = {
        "a": body((0, 0, 0), superellipsoid=PEBBLE),
        "b": body((0.03, 0.02, 0.12), turn=turn, superellipsoid=PEBBLE),
    }
    robot = touching(links, between="a", **{"and": "b"}, gravity=(0, 0, 0), stiffness=1e5)
    qd0 = np.zeros(robot.ndof)
    qd0[robot.coordinate_names.index("a.free.tz")] = 0.5
    run = sorosim.simulate(robot, 0.4, dt_out=1e-3, qd0=qd0, rtol=1e-9, atol=1e-12)
    touched = np.unique(run.contacts.row)
    assert 2 < len(touched) < len(run) - 1
    assert touched.max() < len(run) - 1
    energy = run.energy()
    assert energy.total[-1] == pytest.approx(energy.total[0], rel=1e-6)
    first, last = (momenta(robot, run.q[k], run.qd[k]) for k in (0, -1))
    np.testing.assert_allclose(last, first, atol=1e-7)
    spin = robot.jacobian(run.q[-1], "a") @ run.qd[-1]
    assert np.linalg.norm(spin[:3]) > 0.1


def momenta(robot, q, qd):
    """Angular momentum about the world's origin and momentum (6,) of the bodies of 1 kg."""
    total = np.zeros(6)
    for name in ("a", "b"):
        pose, twist = robot.pose(q, name), robot.jacobian(q, name) @ qd
        second = robot.links[0].body.parts[0].shape.moments
        J = (np.trace(second.second) * np.eye(3) - second.second) / second.volume
        turning, moving = pose[:3, :3] @ J @ twist[:3], pose[:3, :3] @ twist[3:]
        total += np.concatenate([turning + np.cross(pose[:3, 3], moving), moving])
    return total
