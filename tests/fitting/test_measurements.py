"""Measurements: from arrays and tables, units, gaps, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim import Measurements

X = np.arange(12.0).reshape(4, 3)
TABLE = """# a comment
t [ms],u.cable1 [N],arm.x [mm],arm.y [cm],arm.z [m]
0, 0, 100, 1, 0.1
10, 1, 110, 2, 0.1
20, 2, 120, 3, 0.1
"""


def written(tmp_path, text):
    path = tmp_path / "data.csv"
    path.write_text(text)
    return path


def test_a_table_is_read_in_its_units(tmp_path):
    data = Measurements.from_csv(written(tmp_path, TABLE))
    assert_allclose(data.t, [0.0, 0.01, 0.02])
    assert_allclose(data.positions["arm"], [[0.1, 0.01, 0.1], [0.11, 0.02, 0.1], [0.12, 0.03, 0.1]])
    assert data.name == "data"
    assert data.markers == ("arm",)
    assert len(data) == 3
    bound = data.bind(sorosim.load("cable_manipulator"))
    assert_allclose(bound.u[:, 0], [0.0, 1.0, 2.0])


def test_texts_with_units_are_taken_wherever_numbers_are():
    robot = sorosim.load("cable_manipulator")
    data = Measurements(
        {"cable1": ["1 N", 2.0], "cable2": "500 mN"}, positions={"arm": [["1 cm", "2 mm", 0.0], [0.1, 0.2, "3 m"]]},
        t=["0 s", "5 ms"], sd="0.5 mm",
    )  # fmt: skip
    bound = data.bind(robot)
    assert_allclose(bound.u[:, :2], [[1.0, 0.5], [2.0, 0.5]])
    assert_allclose(bound.values, [[0.01, 0.002, 0.0], [0.1, 0.2, 3.0]])
    assert_allclose(bound.sd, 5e-4)


def test_gaps_are_left_out_when_asked_for(tmp_path):
    robot = sorosim.load("cable_manipulator")
    path = written(tmp_path, TABLE.replace("110", ""))
    bound = Measurements.from_csv(path, gaps=True).bind(robot)
    assert bound.valid.sum() == 8
    assert not bound.valid[1, 0]
    with pytest.raises(
        sorosim.FileError, match=r"data.csv:4:3: 'arm.x \[mm\]': expected a finite number, got ''; gaps=True"
    ):
        Measurements.from_csv(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("arm.x [mm]", "arm.x [N]", r"data.csv:2:3: arm.x \[N\]: expected a length"),
        ("arm.x [mm]", "arm.w [mm]", "data.csv:2:3: expected t, u.ACTUATOR.*got 'arm.w"),
        ("arm.x [mm]", "arm.y [mm]", "data.csv:2:4: expected every name once"),
        ("u.cable1 [N],", "u.cable1 [N],nonsense,", "data.csv:2:3: expected t, u.ACTUATOR.*got 'nonsense'"),
        ("arm.x [mm]", "tip.x [mm]", "data.csv:2:3: tip: expected the columns tip.x, tip.y, tip.z, got no y"),
        ("110", "11O", r"data.csv:4:3: 'arm.x \[mm\]': expected a finite number, got '11O'"),
        ("110", "1e300", r"data.csv:4:3: 'arm.x \[mm\]': expected a finite number, got '1e300'"),
        ("10, 1,", "10, ,", r"data.csv:4:2: 'u.cable1 \[N\]': expected a finite number, got ''"),
        ("110, 2", "110", "data.csv:4:0: expected 5 columns, got 4"),
        ("20, 2, ", "30, 2, ", r"data.csv:4:1: t\[1\]: expected equally spaced times, every 0.015 s, got 0.01 s"),
        ("20, 2, ", "10, 2, ", r"data.csv:5:1: t\[2\]: expected increasing times, got 0.01 s after 0.01 s"),
        ("u.cable1 [N]", "u.cable1 [Pa]", r"data.csv:2:2: u.cable1 \[Pa\]: expected a force"),
        ("u.cable1 [N]", "u.cabel1 [N]", "data.csv:2:2: u: expected .*did you mean cable1"),
        ("u.cable1 [N]", "driven.arm [N]", "data.csv:2:2: driven: expected"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_told_with_its_place(tmp_path, old, new, message):
    path = written(tmp_path, TABLE.replace(old, new, 1))
    with pytest.raises(sorosim.FileError, match=message):
        Measurements.from_csv(path).bind(sorosim.load("cable_manipulator"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"places": {"arm": "amr"}}, "^data.places.arm: expected a link, or a frame.*did you mean arm"),
        ({"places": {"arm": ("arm", 1.5)}}, "^data.places.arm.arm: expected a fraction"),
        ({"places": {"arm": sorosim.Anchor("amr")}}, "^data.places.arm.link: expected .*did you mean arm"),
        ({"places": {"amr": "arm"}}, "^places: expected names of markers.*did you mean arm"),
        ({"sd": {"arm": "3 s"}}, "^data.sd.arm: expected a length"),
        ({"sd": {"amr": 1.0}}, "^data.sd: expected the name of a marker.*did you mean arm"),
        ({"substeps": 0}, "^substeps: expected a whole number"),
        ({"q0": [0.0], "qd0": "fast"}, "^qd0: "),
    ],
)  # fmt: skip
def test_a_mistake_beside_a_table_is_told_by_its_argument(tmp_path, given, message):
    path = written(tmp_path, TABLE)
    with pytest.raises(sorosim.InputError, match=message):
        sorosim.fit(
            sorosim.load("cable_manipulator"), [Measurements.from_csv(path, **given)], ["materials.silicone.young"]
        )


def test_a_marker_without_a_place_is_told_by_its_column(tmp_path):
    path = written(tmp_path, TABLE.replace("arm.", "tip."))
    with pytest.raises(sorosim.FileError, match=r"data.csv:2:3: positions\.tip: expected a link, or a frame"):
        Measurements.from_csv(path).bind(sorosim.load("cable_manipulator"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Measurements: expected positions or readings"),
        ({"positions": {"arm": X[:0]}}, "at least one row"),
        ({"positions": {"arm": X[:, :2]}}, r"positions.arm: expected n rows of 3 numbers, got shape \(4, 2\)"),
        ({"positions": {"arm": X, "b": X[:2]}}, "positions.b: expected 4 rows, as positions.arm has, got 2"),
        ({"positions": {"arm": X}, "t": [0.0, 1.0]}, "positions.arm: expected 2 rows, one for each time, got 4"),
        ({"positions": {"arm": X}, "t": [0.0, 1.0, 2.0, 4.0]}, r"t\[3\]: expected equally spaced times"),
        ({"positions": {"arm": X}, "t": [3.0, 2.0, 1.0, 0.0]}, r"t\[1\]: expected increasing times"),
        ({"positions": {"arm": X}, "t": [0.0, 1.0, np.nan, 3.0]}, r"t\[2\]: expected a finite number"),
        ({"positions": {"arm": [["1 kg", 0, 0]] * 4}}, r"positions.arm\[0, 0\]: expected a length"),
        ({"positions": {"arm": [[np.inf, 0, 0]] * 4}}, r"positions.arm\[0, 0\]: expected a length"),
        ({"positions": X}, "positions: expected a mapping"),
        ({"positions": {"arm": X}, "places": {"amr": "arm"}}, "places: expected names of markers.*did you mean arm"),
        ({"positions": {"arm": X}, "substeps": 0}, "substeps: expected a whole number"),
        ({"positions": {"arm": X}, "gaps": 1}, "gaps: expected True or False"),
        ({"positions": {"arm": X}, "q0": "rest"}, "q0: expected coordinates, got 'rest'"),
        ({"positions": {"arm": X}, "q0": "rest", "t": range(4)}, "q0: expected 'equilibrium', or coordinates"),
        ({"positions": {"arm": X}, "qd0": [0.0]}, "qd0: expected none, since equilibria are at rest"),
        ({"readings": {"gauge": 3.0}}, "readings.gauge: expected rows of numbers"),
    ],
)  # fmt: skip
def test_a_mistake_in_arrays_is_one_clear_error(given, message):
    with pytest.raises(sorosim.InputError, match=message):
        Measurements(**given)
