"""Derivatives of the equations of family along paths against differences, for everything that may change."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.analysis.bifurcation.equilibrium_family import EquilibriumFamily
from sorosim.analysis.bifurcation.parameter_path import ParameterPath
from sorosim.analysis.sensitivity import parameter
from sorosim.base.errors import InputError

GRIPPER = {
    "sorosim": 1, "name": "ring", "gravity": [0, 0, -9.81], "parameters": {"width": 0.02},
    "materials": {"m": {"young": "1 MPa", "poisson": 0.4, "density": 1000}},
    "links": {
        "base": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": {"sphere": {"radius": 0.01}, "density": 1000}},
        "arm": {
            "parent": "base", "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": 0.1}},
            "rod": {"length": 0.3, "section": {"circle": {"radius": "$width/2"}}, "material": "m",
                    "strain": {"basis": "legendre", "bending": 2, "torsion": 1, "elongation": 1}},
        },
    },
    "loops": {"pin": {"joint": {"revolute": {"axis": [0, 1, 0]}}, "from": {"link": "arm"},
                      "to": {"at": {"position": [0.28, 0, 0.02]}}}},
    "actuators": {"cord": {"tendon": {"rod": "arm", "y": 0, "z": "0.8*r"}},
                  "wound": {"tendon": {"rod": "arm", "y": "0.5*r", "z": 0, "stiffness": "200 N/m"}},
                  "motor": {"joint": {"link": "arm"}}, "closing": {"loop": {"loop": "pin"}}},
    "loads": {"pull": {"wrench": {"link": "arm", "s": 0.5, "force": [0.1, 0.2, -0.3], "frame": "body"}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def ring():
    return sorosim.load(GRIPPER)


SINGLE = ["u.cord", "u.wound", "u.motor", "u.closing", "driven.base", "loads.pull.wrench.force[2]", "materials.m.young",
          "links.arm.rod.length", "parameters.width", "loops.pin.to.at.position[2]", "gravity[2]"]  # fmt: skip


def path_of(robot, names, rng, straight=False):
    u, driven = rng.normal(size=len(robot.actuator_names)) * 1e-2, {"base": 0.01}
    file = sorosim.scalars(robot)
    origin = [file.get(name, 0.06) for name in names]
    slope = [0.3 * (abs(value) or 1.0) for value in origin]
    path = ParameterPath(robot, names, origin, slope, u, driven)
    if straight:
        path.detect_affine(np.zeros(robot.ndof), 0.0, 1.0)
    return path


@pytest.mark.parametrize("names", [*([name] for name in SINGLE), SINGLE], ids=[*SINGLE, "all together"])
def test_slopes_are_the_differences_of_residuals(ring, names):
    rng = np.random.default_rng(3)
    path = path_of(ring, names, rng)
    q = 0.1 * rng.normal(size=ring.ndof)
    lam = rng.normal(size=ring.n_multipliers)
    found = path.equations(path.set_driven(q.copy(), 0.1), 0.1, lam)
    h = 1e-3

    def at(p):
        other = path.equations(path.set_driven(q.copy(), p), p, lam)
        return np.concatenate([other.tau, other.error])

    # fourth order: truncation below 1e-11 of what changes, rounding 1e-13 of the largest part
    differences = (8.0 * (at(0.1 + h) - at(0.1 - h)) - (at(0.1 + 2 * h) - at(0.1 - 2 * h))) / (12.0 * h)
    exact = np.concatenate([found.tau_slope, found.error_slope])
    assert np.abs(exact).max() > 0.0
    size = np.abs(np.concatenate([found.tau, found.error])).max()
    assert_allclose(differences, exact, rtol=0, atol=1e-9 * np.abs(exact).max() + 1e-12 * size)


def test_factors_are_straight_lines_and_give_the_same_equations(ring):
    names = ["loads.pull.wrench.force[2]", "gravity[2]", "u.cord"]
    paths = [path_of(ring, names, np.random.default_rng(3), straight) for straight in (False, True)]
    assert paths[0]._affine_range is None
    assert paths[1]._affine_range == (0.0, 1.0)
    q, lam = 0.1 * np.random.default_rng(4).normal(size=ring.ndof), np.ones(ring.n_multipliers)
    for p in (0.0, 0.4, 2.0, -1.0):
        for one, other in zip(*(path.equations(q, p, lam) for path in paths), strict=True):
            assert_allclose(one, other, rtol=0, atol=1e-12 * max(np.abs(one).max(), 1e-3))


def test_what_is_no_factor_is_made_anew(ring):
    path = path_of(ring, ["parameters.width"], np.random.default_rng(0), straight=True)
    assert path._affine_range is None
    assert path.robot(1.0).links[1].rod.divisions[0].section.radius is not None
    assert path.robot(0.0) is ring


@pytest.mark.parametrize("name", ["u.cord", "driven.base", "parameters.width"])
def test_jacobians_of_the_unknowns_are_the_differences_of_their_residuals(ring, name):
    rng = np.random.default_rng(5)
    path = path_of(ring, [name], rng)
    eq = sorosim.statics(path.robot(0.0), path.inputs(0.0), driven=path.driven(0.0))
    family = EquilibriumFamily(path, eq.q, 0.0, 2.0)
    x = family.unknowns(eq.q, 0.0)
    r, J, slope = family.evaluate(x, 0.0)
    assert np.abs(r).max() < 1e-9
    h = 1e-4
    for k in range(len(x) + 1):
        step = h * np.eye(len(x) + 1)[k]
        ends = [family.evaluate(x + m * step[:-1], m * step[-1])[0] for m in (1, -1, 2, -2)]
        difference = (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)
        exact = J[:, k] if k < len(x) else slope
        assert_allclose(difference, exact, rtol=0, atol=1e-7 * np.abs(exact).max() + 1e-10)


def test_names_and_values_that_do_not_fit_are_refused(ring):
    for name, hint in [("u.chord", "cord"), ("cord", "u.cord"), ("driven.bass", "base"),
                       ("materials.m.yung", "materials.m.young"), (3, "actuator")]:  # fmt: skip
        with pytest.raises(InputError, match=hint):
            parameter(ring, name, "along")
    with pytest.raises(InputError, match="write it into the file"):
        parameter(sorosim.load("pendulum"), "gravity[2]", "along")
    assert parameter(ring, "u.cord", "along").number("to", "2 kN") == 2000.0
    assert parameter(ring, "materials.m.young", "along").number("to", "2 MPa") == 2e6
    assert parameter(ring, "driven.base", "along").number("to", "3 cm") == 0.03
    for name, value in [("u.cord", "2 m"), ("materials.m.young", "2 N"), ("driven.base", "2 N"), ("u.cord", None)]:
        with pytest.raises(InputError):
            parameter(ring, name, "along").number("to", value)
