"""A parameter has one name, dimension and unit, and one pair of bounds, wherever it varies."""

import numpy as np
import pytest

import sorosim
from sorosim.analysis.sensitivity import parameter
from sorosim.base.errors import InputError
from sorosim.connect.fmi.variables import variables_of
from sorosim.mechanics.engine.parameter import DRIVEN, FILE, INPUT, Parameter, driven_parameter, input_parameter
from sorosim.studies.control.optimal import input_bounds
from sorosim.studies.fitting.unknowns import unknowns_of
from sorosim.studies.sweeps.parameters import parameter as swept
from sorosim.view.interactive.session import Session

DATA = {
    "sorosim": 1,
    "name": "crane",
    "materials": {"steel": {"young": "200 GPa", "density": 7800, "poisson": 0.3}},
    "links": {
        "rail": {
            "joint": {
                "prismatic": {"axis": [1, 0, 0], "limits": {"low": "-10 cm", "high": "20 cm", "stiffness": "1 MN/m"}}
            },
            "body": {"mass": "1 kg", "inertia": ["1 g*m^2"] * 3},
        },
        "arm": {
            "parent": "rail",
            "rod": {"length": "1 m", "section": {"circle": {"radius": "2 mm"}}, "material": "steel",
                    "strain": {"basis": "legendre", "bending": 1}},
        },
    },
    "actuators": {"cord": {"tendon": {"rod": "arm", "y": "1 mm", "z": 0}},
                  "twist": {"moment": {"rod": "arm", "bending_y": 1.0}}},
    "simulate": {"driven": {"rail": 0.0}},
}  # fmt: skip
NAMES = {"u.cord": ("force", "N"), "driven.rail": ("length", "m"), "materials.steel.young": ("stiffness", "Pa")}


@pytest.fixture(scope="module")
def robot():
    return sorosim.load(DATA)


def test_its_name_dimension_and_unit_are_the_same_in_every_study(robot):
    file = "materials.steel.young"
    variables = {f"{one.kind}.{one.of}".removeprefix("parameters."): one for one in variables_of(robot, [file])}
    fitted = unknowns_of(robot, [], [file], None)[0]
    curve = sorosim.continuation(robot, {"u.cord": (0.0, 1e-3), "driven.rail": (0.0, 1e-3), file: (2e11, 2.01e11)},
                                 max_points=2)  # fmt: skip
    controls = Session(robot).state.controls.all
    for name, (_, unit) in NAMES.items():
        one = parameter(robot, name, "along")
        assert one.name == name
        assert one.unit == unit
        assert swept(robot, name).dimension == one.dimension
        assert swept(robot, name).unit_of([]) == unit
        assert (variables[name].unit, variables[name].dimension) == (unit, one.dimension)
        assert curve.units[name] == unit
        if one.kind != FILE:
            assert controls[one.target].of == one
    assert (fitted.unit, fitted.value) == ("Pa", 2e11)
    assert fitted.value == parameter(robot, file, "").value


def test_its_bounds_are_the_same_in_every_study(robot):
    cord, rail = input_parameter(robot, "cord"), driven_parameter(robot, "rail")
    assert (cord.low, cord.high) == (0.0, np.inf)
    assert (rail.low, rail.high) == (-0.1, 0.2)
    assert input_bounds(robot, None)[:, cord.index].tolist() == [cord.low, cord.high]
    solver = sorosim.InverseSolver(robot, free=["rail", "cord"])
    assert dict(zip(solver.names, zip(solver.low, solver.high, strict=True), strict=True)) == {
        "cord": (0.0, np.inf), "rail": (-0.1, 0.2),
    }  # fmt: skip
    controls = Session(robot).state.controls.all
    assert (controls["rail"].low, controls["rail"].high) == (-0.1, 0.2)
    assert controls["cord"].low == 0.0


def test_its_index_says_by_what_derivatives_are_taken(robot):
    q, qd = np.linspace(-0.02, 0.03, robot.ndof), np.zeros(robot.ndof)
    base = robot.internal_force(q, qd, u=[1.0, 0.0])
    for name in ("u.cord", "u.twist"):
        one, h = parameter(robot, name, ""), 1e-3
        u = np.array([1.0, 0.0])
        u[one.index] += h
        change = (robot.internal_force(q, qd, u=u) - base) / h
        np.testing.assert_allclose(robot.internal_force_derivatives(q, qd, u=[1.0, 0.0]).B[:, one.index], change,
                                   rtol=1e-9, atol=1e-12)  # fmt: skip
    assert parameter(robot, "driven.rail", "").index == robot.coordinate_names.index("rail.prismatic")


def test_a_coordinate_may_be_fixed_under_one_name_and_change_under_the_other(robot):
    one = sorosim.continuation(robot, "driven.rail", to=0.01, driven={"rail": 0.0}, max_points=3)
    other = sorosim.continuation(robot, "driven.rail.prismatic", to=0.01, driven={"rail": 0.0}, max_points=3)
    np.testing.assert_array_equal(one.q, other.q)


def test_wrong_values_are_told_with_the_dimension(robot):
    for name, value in (("u.cord", "1 m"), ("driven.rail", "1 N"), ("materials.steel.young", "1 N")):
        with pytest.raises(InputError, match=r"^to: expected a .*, got '1 "):
            parameter(robot, name, "along").number("to", value)
    assert Parameter(FILE, "links.arm.rod.quadrature").number("to", "2 cm") == 0.02
    with pytest.raises(InputError, match=r"did you mean cord"):
        parameter(robot, f"{INPUT}.chord", "along")
    with pytest.raises(InputError, match=r"^along: .*raill"):
        parameter(robot, f"{DRIVEN}.raill", "along")
