"""Magnets in a field against the elastica of a magnetised rod, their energy, and the contract of loads."""

import numpy as np
import pytest
from helpers.limbs import limbs, pose
from scipy.optimize import brentq

import sorosim
from sorosim.base.errors import SorosimError
from sorosim.mechanics.loads.magnet import Magnet, MagnetisedRod
from sorosim.mechanics.model.anchor import Anchor
from sorosim.testing import check_load

L, RADIUS, E, M = 0.04, 1e-3, 1e6, 100e3
AREA, INERTIA = np.pi * RADIUS**2, 0.25 * np.pi * RADIUS**4
TIP = Anchor("arm", s=0.6, at=pose([0.2, 0.1, 0.0], [0.1, 0.0, 0.05]))
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
FIELD, GRADIENT, CENTRE = (0.3, "0.2*sin(t)", -0.1), (0.5, -0.2, "0.3 + 0.1*t", 0.4, -0.6), (0.1, -0.2, 0.3)
LOADS = {
    "in a field": MagnetisedRod("arm", magnetisation=("1e5*(1 - 0.5*s)", 2e4, "1e4*X/L"), field=FIELD),
    "in a gradient": MagnetisedRod("leg", magnetisation=(1e5, 0, 2e4), gradient=GRADIENT, centre=CENTRE),
    "dipole on a rod": Magnet(
        Anchor("arm", s=0.6, at=pose([0.2, 0.1, 0.0], [0.1, 0.0, 0.05])),
        dipole=(2, 1, 3),
        field=FIELD,
        gradient=GRADIENT,
    ),
    "dipole on a body": Magnet("ball", dipole=(2, 1, 3), gradient=GRADIENT, centre=CENTRE),
}


@pytest.mark.parametrize("name", LOADS)
def test_load_keeps_its_contract(name):
    assert check_load(LOADS[name], limbs(), name=name, n_states=2).worst < 1e-9


def rod(order=10, **load):
    """A rod along x without weight."""
    return sorosim.load({
        "sorosim": 1, "name": "rod", "gravity": [0, 0, 0],
        "materials": {"m": {"young": E, "poisson": 0.5, "density": 2000, "damping": 100}},
        "links": {"rod": {"rod": {
            "length": L, "section": {"circle": {"radius": RADIUS}}, "material": "m", "strain": {"bending_y": order},
            "quadrature": 4 * order,  # poses between Gauss points are of fourth order in their distance
        }}},
        "loads": {"coil": {"magnetised_rod": {"rod": "rod", "magnetisation": [M, 0, 0], **load}}},
    })  # fmt: skip


def elastica(number, phi):
    """Tip (x, z)/L and its angle: theta'' = -number sin(phi - theta), theta(0) = 0, theta'(1) = 0, by quadrature.

    theta'^2 = 2 number (cos(phi - tip) - cos(phi - theta)); theta = tip - v^2 takes the root out of the integrals.
    """

    def along(tip, of):
        v, weight = (0.5 * np.sqrt(tip) * values for values in (NODES + 1.0, WEIGHTS))
        theta = tip - v * v
        drop = 2.0 * np.sin(phi - 0.5 * (tip + theta)) * np.sin(0.5 * v * v)  # of the cosines
        return weight @ (2.0 * v * of(theta) / np.sqrt(2.0 * number * drop))

    tip = brentq(lambda tip: along(tip, np.ones_like) - 1.0, 1e-3, phi - 1e-9, xtol=1e-14)
    return along(tip, np.cos), along(tip, np.sin), tip


@pytest.mark.parametrize("angle", [90.0, 150.0])
@pytest.mark.parametrize("number", [0.5, 4.0, 12.0])
def test_a_magnetised_rod_is_the_elastica(number, angle):
    # the hard-magnetic elastica: a follower's moment M B sin(phi - theta) per length, in closed form by quadrature
    phi, field = np.radians(angle), number * E * INERTIA / (AREA * M * L**2)
    robot = rod(order=16, field=[field * np.cos(phi), 0, field * np.sin(phi)])
    # an opposing field has more than one equilibrium: begin bent towards the stable one
    start = np.zeros(robot.ndof)
    start[0] = -0.5 * phi / L
    found = sorosim.statics(robot, q0=start)
    x, z, tip = elastica(number, phi)
    g = robot.pose(found.q, "rod")
    assert found.stable
    np.testing.assert_allclose(g[[0, 2], 3] / L, [x, z], atol=1e-8)
    assert np.arctan2(g[2, 0], g[0, 0]) == pytest.approx(tip, abs=1e-8)


def test_an_opposing_field_buckles_a_rod_at_a_quarter_of_pi_squared():
    # theta'' + number theta = 0 with theta(0) = theta'(1) = 0: the least number is (pi/2)^2; beyond, statics lets go of
    # the straight rod and finds the bent one
    unit = 0.25 * np.pi**2 * E * INERTIA / (AREA * M * L**2)
    for number, is_straight in ((0.999, True), (1.001, False)):
        found = sorosim.statics(rod(order=6, field=[-number * unit, 0, 0]))
        assert found.stable
        assert (np.abs(found.q).max() < 1e-9) == is_straight


def test_forces_are_the_gradient_of_the_energy():
    robot = rod(order=4, field=[0.01, 0.02, -0.03], gradient=[0.4, 0.3, 0.2, -0.5, 0.1], centre=[0.01, 0.02, 0.03])
    load = robot.description.loads["coil"]
    G = np.array([[0.4, 0.2, -0.5], [0.2, 0.3, 0.1], [-0.5, 0.1, -0.7]])

    def energy(q):
        total = 0.0
        for point in load.sections(robot.engine.layout):
            g = robot.pose(q, "rod", s=point.X / L)
            B = np.array(load.field) + G @ (g[:3, 3] - load.centre)
            total -= B @ g[:3, 0] * M * AREA * point.weight
        return total

    q, zero, h = np.array([3.0, -8.0, 5.0, 2.0, 1.0])[: robot.ndof], np.zeros(robot.ndof), 1e-4
    slope = [(energy(q + h * e) - energy(q - h * e)) / (2.0 * h) for e in np.eye(robot.ndof)]
    bare = rod(order=4, field=[0, 0, 0])
    got = robot.inverse_dynamics(q, zero, qdd=zero) - bare.inverse_dynamics(q, zero, qdd=zero)
    np.testing.assert_allclose(got, slope, rtol=0.0, atol=1e-8 * np.abs(slope).max())


def test_a_gradient_pulls_a_magnet():
    # a ball on a slide: force m dBz/dz upwards, as its weight pulls down
    m, weight = 0.5, 9.81 * 0.1
    robot = sorosim.load({
        "sorosim": 1, "name": "ball", "gravity": [0, 0, -9.81],
        "links": {"ball": {
            "joint": {"prismatic": {"axis": [0, 0, 1], "stiffness": "20 N/m"}},
            "body": {"sphere": {"radius": "1 cm"}, "mass": "100 g"},
        }},
        "loads": {"magnet": {"magnet": {
            "link": "ball", "dipole": ["0", "0", "0.5 A*m^2"], "field": [0, 0, "1 mT"],
            "gradient": [-0.5 * weight / m, -0.5 * weight / m, 0, 0, 0],
        }}},
    })  # fmt: skip
    assert sorosim.statics(robot).q == pytest.approx(0.0, abs=1e-12)


def test_the_tip_of_the_catheter_follows_the_field():
    robot = sorosim.load("magnetic_catheter")
    run = sorosim.simulate(robot)
    late = run.t > 2.0
    x, y = run.tip()[late, 0], run.tip()[late, 1]
    phase = np.unwrap(np.arctan2(y, x)) - np.pi * run.t[late]
    assert np.ptp(phase) < 0.1  # it lags by its damping, evenly
    assert np.hypot(x, y).min() > 0.01


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"field": [0, 0, "20 mN"]}, "magnetic flux density"),
        ({"field": [0, 0]}, "a list of 3"),
        ({"gradient": [1, 2, 3]}, "a list of 5"),
        ({"magnetisation": ["1 T", 0, 0]}, "magnetisation"),
        ({"magnetisation": ["1/(X - X)", 0, 0]}, "finite"),
        ({"magnetisation": ["(100 kA/m)*sin(t)", 0, 0]}, "'t'"),
    ],
)
def test_mistakes(change, said):
    with pytest.raises(SorosimError) as error:
        rod(**{"field": [0, 0, 0.02]} | change)
    assert said in str(error.value)


def test_a_magnet_without_a_field_is_refused():
    with pytest.raises(SorosimError, match="a field or a gradient"):
        rod()
