"""What a sweep may change in the robot's file, and what it says of the rest before anything runs."""

import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal

import sorosim

FINGER = """sorosim: 1
name: finger
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 5 kPa*s}}
links:
  turn:
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 20 g, inertia: [1e-6, 1e-6, 1e-6]}
  finger:
    parent: turn
    rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}, quadrature: 6}
actuators: {tendon: {tendon: {rod: finger, y: 0, z: 5 mm}}}
statics: {driven: {turn: 10 deg}}
simulate: {t_end: 0.1, dt_out: 0.02, driven: {turn: "0.3*smoothstep(t/0.1)"}}
"""
HOLLOW = FINGER.replace("section: {circle: {radius: 1 cm}}",
                        "section: {hollow_circle: {radius: 1 cm, inner_radius: 5 mm}}")  # fmt: skip
OUTER, INNER = (f"links.finger.rod.section.hollow_circle.{name}" for name in ("radius", "inner_radius"))


@pytest.mark.parametrize("unit", [1.0, "cm"])
def test_values_that_are_right_together_only_are_taken(unit):
    """Holes of 1.5 and 2 cm, too wide for the tube of the file, in tubes that are wide enough."""
    points = [{OUTER: 2.0, INNER: 1.5}, {OUTER: 3.0, INNER: 2.0}]
    said = [{name: f"{x} cm" if unit == "cm" else 0.01 * x for name, x in point.items()} for point in points]
    sweep = sorosim.sweep(sorosim.load(yaml.safe_load(HOLLOW)), {"list": said})
    assert sweep.ok.all()
    for i, point in enumerate(points):
        text = HOLLOW.replace("radius: 1 cm,", f"radius: {point[OUTER]} cm,").replace(
            "5 mm}", f"{point[INNER]} cm}}", 1
        )
        eq = sorosim.statics(sorosim.load(yaml.safe_load(text)), {"tendon": 0.0})
        assert_allclose(sweep.q[i], eq.q, rtol=0, atol=1e-9)  # warm and cold starts end within rounding of each other


def test_one_point_with_a_robot_is_enough():
    points = [{OUTER: 0.009, INNER: 0.0095}] * 4 + [{OUTER: 0.009, INNER: 0.008}, {OUTER: 0.007, INNER: 0.0075}]
    sweep = sorosim.sweep(sorosim.load(yaml.safe_load(HOLLOW)), {"list": points})
    assert sweep.ok.tolist() == [False] * 4 + [True, False]


def test_corners_of_a_grid_that_cannot_be_are_points_that_failed():
    points = {"grid": {OUTER: [0.01, 0.02], INNER: [0.005, 0.015]}}
    sweep = sorosim.sweep(sorosim.load(yaml.safe_load(HOLLOW)), points)
    assert sweep.status.tolist() == ["ok", "failed", "ok", "ok"]
    assert "a wall of positive thickness" in sweep.failed[1]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        # no wall at any point, though each number is right beside that of the file
        ({"list": [{OUTER: 0.009, INNER: 0.0095}, {OUTER: 0.007, INNER: 0.0075}]},
         "points at which there is a robot, got none among 2 that were tried (links.finger.rod.section"),
        ({"grid": {"links.finger.rod.strain.bending": {"from": 1, "to": 3, "n": 6}}},
         "points.grid.'links.finger.rod.strain.bending': expected values that the robot's file can have, got 1.4"),
        ({"grid": {"links.turn.body.mass": [1, 0, 1]}}, "got 0 (links.turn.body.mass: expected a mass greater than 0"),
        ({"list": [{"links.turn.body.mas": 1}]}, "points.list[0].'links.turn.body.mas': expected a known key"),
        ({"csv": "wrong.csv"}, "points.csv: expected a known key, got 'mas', for 'links.turn.body.mas'; did you mean"),
        ({"csv": "blank.csv"}, "points.csv: expected names in the first row, got none over column 2"),
        ({"path": {"through": {"u.tendon": [0, 1, 0, 1]}, "steps": 500_000}},
         "points.path.through: expected at most 1000000 points, got 1.5e+06; fewer steps"),
        ({"grid": {"simulate.t_end": [1, 2]}},
         "points.grid.'simulate.t_end': expected a value that statics depends on, got one of the block 'simulate'"),
        ({"grid": {"statics.u.tendon": [1, 2]}}, "expected every input, coordinate and value once, got "
         "'statics.u.tendon' beside u.tendon"),
        ({"grid": {"statics.driven.turn.revolute": [1, 2]}}, "got 'statics.driven.turn.revolute' beside driven.turn"),
        ({"grid": {"sensors.tip.imu.link": ["finger"]}}, "points.grid.'sensors.tip.imu.link': expected"),
    ],
)  # fmt: skip
def test_what_cannot_be_or_changes_nothing_is_refused_before_anything_runs(tmp_path, monkeypatch, points, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.csv").write_text("links.turn.body.mas\n1\n")
    (tmp_path / "blank.csv").write_text("u.tendon,\n1,\n2,\n")
    text = HOLLOW if OUTER in str(points) else FINGER
    held = {} if "path" in points else {"u": {"tendon": 1.0}}
    with pytest.raises(sorosim.ModelError) as caught:
        sorosim.sweep(sorosim.load(yaml.safe_load(text)), points, **held, driven={"turn": 0.0})
    assert message in str(caught.value)


def test_ends_and_tolerances_of_runs_vary():
    """What the robot's own block says may vary, what the sweep says itself may not."""
    data = yaml.safe_load(FINGER)
    del data["simulate"]["t_end"]
    robot = sorosim.load(data)
    task = {"simulate": {"method": "cvode", "dt_out": 0.01}}
    sweep = sorosim.sweep(
        robot, {"grid": {"simulate.t_end": ["20 ms", 0.04], "simulate.rtol": [1e-4, 1e-8]}}, task=task
    )
    assert_array_equal(sweep.columns["t"], [0.02, 0.02, 0.04, 0.04])
    for i, (t_end, rtol) in enumerate(((0.02, 1e-4), (0.02, 1e-8), (0.04, 1e-4), (0.04, 1e-8))):
        run = sorosim.simulate(robot, t_end, method="cvode", dt_out=0.01, rtol=rtol)
        assert_array_equal(sweep.q[i], run.q[-1])
    with pytest.raises(sorosim.ModelError, match=r"got 'simulate\.t_end' beside the option 't_end'"):
        sorosim.sweep(robot, {"grid": {"simulate.t_end": [0.1]}}, task={"simulate": {"t_end": 0.2}})


PARTS = """sorosim: 1
name: parts
parameters: {n: 1, feel: 1}
prefabs:
  leg:
    links: {leg: {joint: {revolute: {axis: [0, 1, 0], stiffness: 1}}, body: {mass: 1, inertia: [1, 1, 1]}}}
    sensors: {foot: {pose: {link: leg}}}
parts: {front: {prefab: leg, repeat: $n}}
"""


def test_robots_with_other_columns_are_refused_or_fail(monkeypatch):
    """More legs, more sensors: their readings have no place in one table."""
    robot = sorosim.load(yaml.safe_load(PARTS))
    with pytest.raises(sorosim.ModelError, match="robot: expected the same sensors at all points, got 'front2_foot"):
        sorosim.sweep(robot, {"grid": {"parameters.n": [1, 2]}})
    # where the door did not try the value: the point fails, the others do not
    monkeypatch.setattr("sorosim.studies.sweeps.file_values.FileValues.check", lambda *_: None)
    sweep = sorosim.sweep(robot, {"grid": {"parameters.n": [1, 2, 1]}})
    assert sweep.status.tolist() == ["ok", "failed", "ok"]
    assert "the same sensors and driven coordinates at all points, got 14 instead of 7 numbers" in sweep.failed[1]


@pytest.mark.parametrize("name", ["q", "position", "point", "t", "parameter"])
def test_summaries_take_no_other_columns_place(name):
    data = {**yaml.safe_load(FINGER), "parameters": {"parameter": 1}}
    summary = {name if name != "parameter" else "gravity": {"max": "finger.z"}}
    points = {"list": [{"u.tendon": 0}]} if name != "parameter" else {"list": [{"gravity": "none"}]}
    with pytest.raises(sorosim.ModelError, match="expected a name that no other column has"):
        sorosim.sweep(sorosim.load(data), points, task="simulate", summary=summary)


def test_outputs_that_are_near_each_other_keep_their_names():
    finger = sorosim.load(yaml.safe_load(FINGER))
    places = [{"link": "finger", "s": s} for s in (0.5, 0.12345671, 0.12345672)]
    sweep = sorosim.sweep(finger, {"list": [{"u.tendon": 1}]}, outputs=places)
    assert list(sweep.poses) == ["finger(0.5)", "finger(0.12345671)", "finger(0.12345672)"]
    eq = sweep.equilibrium(0)
    for place, pose in zip(places, sweep.poses.values(), strict=True):
        assert_array_equal(pose[0], finger.pose(eq.q, "finger", s=place["s"]))


def test_a_sweep_without_outputs_draws_what_it_is_asked_for(tmp_path):
    finger = sorosim.load(yaml.safe_load(FINGER))
    sweep = sorosim.sweep(finger, {"grid": {"u.tendon": [0, 1]}}, outputs=[])
    with pytest.raises(sorosim.InputError, match="output: expected a sweep with outputs, got one without any"):
        sweep.tip()
    with pytest.raises(sorosim.InputError, match="y: expected a column to draw, since the sweep has no outputs"):
        sweep.plot()
    assert len(sweep.plot(tmp_path / "a.png", y="energy.elastic").axes) == 1
    assert sweep.to_xarray()["energy.elastic"].shape == (2,)


def test_parameters_vary_beside_tables_and_included_files(tmp_path):
    """What the text of a robot takes over from other files leaves its parameters what they are."""
    (tmp_path / "pull.csv").write_text("0,0\n0.1,2\n1,2\n")
    (tmp_path / "rubber.yaml").write_text(f"materials: {yaml.safe_load(FINGER)['materials']}")
    text = FINGER.replace("length: 20 cm", "length: $long")
    text = text.replace("t_end: 0.1", "t_end: 0.1, u: {tendon: {csv: pull.csv}}")
    lines = [line for line in text.splitlines() if not line.startswith("materials")]
    (tmp_path / "finger.yaml").write_text("\n".join([*lines, "include: [rubber.yaml]", "parameters: {long: 20 cm}"]))
    robot = sorosim.load(tmp_path / "finger.yaml")
    for name in ("pull.csv", "rubber.yaml"):
        (tmp_path / name).unlink()
    sweep = sorosim.sweep(
        robot, {"grid": {"parameters.long": ["15 cm", "20 cm"]}}, task={"simulate": {"method": "cvode"}}
    )
    table = {"times": [0, 0.1, 1], "values": [0, 2, 2], "interpolation": "linear"}
    for i, length in enumerate(("15 cm", "20 cm")):
        data = yaml.safe_load(FINGER.replace("20 cm", length))
        data["simulate"]["u"] = {"tendon": table}
        assert_array_equal(sweep.q[i], sorosim.simulate(sorosim.load(data), method="cvode").q[-1])


def test_every_number_has_its_unit(tmp_path):
    data = yaml.safe_load(FINGER)
    data["sensors"] = {"tip": {"pose": {"link": "finger"}}, "imu": {"imu": {"link": "finger"}}}
    summary = {"top": {"max": "finger.z"}, "turned": {"rms": "turn.revolute"}, "pulled": {"mean": "u.tendon"},
               "effort": {"max": "moment(turn)"}, "lost": {"last": "energy.dissipated"},
               "spin": {"max": "imu.w_y"}}  # fmt: skip
    sweep = sorosim.sweep(sorosim.load(data), {"grid": {"u.tendon": [0, 1]}}, task={"simulate": {"t_end": 0.02}},
                          summary=summary)  # fmt: skip
    units = {name: array.attrs.get("units", "") for name, array in sweep.to_xarray().items()}
    wanted = {"top": "m", "turned": "rad", "pulled": "N", "effort": "N m", "lost": "J", "spin": "rad/s", "t": "s",
              "energy.kinetic": "J", "moment(turn)": "N m", "tip.x": "m", "tip.q_w": "", "imu.f_x": "m/s^2",
              "n_evaluations": ""}  # fmt: skip
    assert {name: units[name] for name in wanted} == wanted
    (axes,) = sweep.plot(tmp_path / "a.png", y="effort").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("u.tendon [N]", "effort [N m]")
