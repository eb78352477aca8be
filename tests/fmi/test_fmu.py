"""Robots as functional mock-up units: FMPy validates and simulates them; their motion is that of sorosim."""

import io
import pickle
import sys
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError
from sorosim.connect.cli.main import main
from sorosim.connect.fmi.slave import RobotSlave

fmpy = pytest.importorskip("fmpy")
pytest.importorskip("pythonfmu")
pytest.importorskip("pythonfmu3")

from fmpy.fmi2 import FMU2Slave  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

YOUNG = "materials.silicone.young"
INTERVAL, END = 0.01, 0.1
# what moves each robot: inputs that are held, and where its driven coordinates are at the end of each interval
MOVED = {
    "cable_manipulator": {"u.cable1": 3.0},
    "pneumatic_bellow": {"u.chamber2": 20e3},
    "soft_gripper": {"driven.palm": 0.05},
}


def exported(folder, name, **options):
    robot = sorosim.load(name)
    return robot, str(sorosim.export_fmu(robot, folder / f"{robot.name.replace(' ', '_')}.fmu", **options))


def simulated(path, start, outputs, end=END):
    return fmpy.simulate_fmu(path, stop_time=end, output_interval=INTERVAL, start_values=start, output=outputs)


def outputs_of(robot):
    return [f"q.{name}" for name in robot.coordinate_names]


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", MOVED)
def test_fmpy_finds_nothing_wrong_and_the_motion_is_that_of_a_stepper(tmp_path, name, fmi):
    robot, path = exported(tmp_path, name, fmi=fmi, dt=INTERVAL / 4)
    assert validate_fmu(path) == []
    got = simulated(path, MOVED[name], outputs_of(robot))
    start = robot.description.simulate
    u = {key.removeprefix("u."): value for key, value in MOVED[name].items() if key.startswith("u.")}
    driven = {key.removeprefix("driven."): value for key, value in MOVED[name].items() if key.startswith("driven.")}
    inputs = np.array([u.get(actuator, 0.0) for actuator in robot.input_dimensions])
    sim = sorosim.Stepper(robot, INTERVAL / 4, driven=driven)
    state = sim.reset(start.get("q0"), start.get("qd0"), u=inputs)
    assert list(got[0])[1:] == state.q.tolist()
    for row in got[1:]:
        for _ in range(4):
            state = sim.step(inputs)
        np.testing.assert_array_equal(list(row)[1:], state.q)


def test_motion_is_that_of_simulate_to_the_order_of_the_steps(tmp_path):
    exact, errors = None, []
    for n in (4, 8):
        robot, path = exported(tmp_path, "cable_manipulator", dt=INTERVAL / n, tolerance=1e-12)
        got = simulated(path, MOVED["cable_manipulator"], ["tip.arm.x", "tip.arm.z"])
        if exact is None:
            run = sorosim.simulate(robot, END, u={"cable1": 3.0}, rtol=1e-9, dt_out=INTERVAL)
            exact = np.array([robot.pose(q, "arm")[[0, 2], 3] for q in run.q])
        errors.append(np.abs(np.column_stack([got["tip.arm.x"], got["tip.arm.z"]]) - exact).max())
    assert errors[1] < 1e-4 * 0.5  # of the arm's length
    assert 3.0 < errors[0] / errors[1] < 5.0  # of second order


def test_sensors_tips_and_start_values(tmp_path):
    robot, path = exported(tmp_path, "pneumatic_bellow")
    names = {variable.name: variable for variable in fmpy.read_model_description(path).modelVariables}
    assert names["u.chamber1"].unit == "Pa"
    assert names["tip.weight.z"].unit == "m"
    first = robot.coordinate_names[0]
    sensors = [name for name in names if name.startswith("sensors.tip.")]
    got = simulated(path, {f"q.{first}": 0.3}, [f"q.{first}", "tip.weight.z", *sensors], end=INTERVAL)[0]
    sim = sorosim.Stepper(robot, 0.005)
    q = sim.reset("equilibrium").q.copy()
    q[0] = 0.3
    state = sim.reset(q)
    assert got[f"q.{first}"] == 0.3
    assert got["tip.weight.z"] == robot.pose(state.q, "weight")[2, 3]
    assert [got[name] for name in sensors] == sim.measure()["tip"].tolist()
    assert len(sensors) == 6


def test_parameters_change_the_robot(tmp_path):
    robot, path = exported(tmp_path, "cable_manipulator", parameters=[YOUNG])
    stiff = 2.0 * sorosim.scalars(robot)[YOUNG]
    got = simulated(path, {"parameters.materials.silicone.young": stiff, "u.cable1": 3.0}, ["tip.arm.z"])
    sim = sorosim.Stepper(robot.with_values({YOUNG: stiff}), 0.005)
    u = {"cable1": 3.0}
    state = sim.reset(robot.description.simulate.get("q0"), u=u)
    for _ in range(20):
        state = sim.step(u)
    assert got["tip.arm.z"][-1] == sim.robot.pose(state.q, "arm")[2, 3]


class Slave:
    """A unit that FMPy moves by hand, begun at t = 0."""

    def __init__(self, path, folder):
        about = fmpy.read_model_description(path)
        self.references = {variable.name: variable.valueReference for variable in about.modelVariables}
        self.said = []
        self.unit = FMU2Slave(
            guid=about.guid, unzipDirectory=fmpy.extract(path, str(folder)), instanceName="one",
            modelIdentifier=about.coSimulation.modelIdentifier,
        )  # fmt: skip
        self.begin()

    def begin(self):
        self.unit.instantiate()
        self.unit.setupExperiment(startTime=0.0)
        self.unit.enterInitializationMode()
        self.unit.exitInitializationMode()

    def end(self):
        self.unit.terminate()
        self.unit.fmi2FreeInstance(self.unit.component)

    def put(self, name, value):
        self.unit.setReal([self.references[name]], [value])

    def get(self, *names):
        return self.unit.getReal([self.references[name] for name in names])


def test_states_are_kept_written_and_given_back(tmp_path):
    robot, path = exported(tmp_path, "cable_manipulator")
    slave, names = Slave(path, tmp_path / "unit"), outputs_of(robot)
    slave.put("u.cable2", 2.0)
    slave.unit.doStep(0.0, 0.02)
    state = slave.unit.getFMUstate()
    kept = slave.unit.serializeFMUstate(state)
    slave.unit.doStep(0.02, 0.02)
    after = slave.get(*names)
    slave.put("u.cable2", 0.0)
    slave.unit.doStep(0.04, 0.013)  # another size
    for given in (state, slave.unit.deSerializeFMUstate(kept)):
        slave.unit.setFMUstate(given)
        assert slave.get("u.cable2") == [2.0]
        slave.unit.doStep(0.02, 0.02)
        assert slave.get(*names) == after
    slave.end()


@pytest.mark.parametrize("given", [pickle.dumps(print), b"", b"{}", b"[1]", b'{"kind": "x"}', b"[" * 100_000])
def test_states_that_sorosim_did_not_write_are_refused_and_none_is_code(given):
    with pytest.raises(InputError, match="a state of this unit"):
        RobotSlave._fmu_state_from_bytes(given)


def test_one_process_begins_a_unit_many_times(tmp_path):
    # the reference that pythonfmu drops for each instance once crashed the second one
    robot, path = exported(tmp_path, "cable_manipulator")
    slave, ends = Slave(path, tmp_path / "unit"), []
    for _ in range(8):
        slave.end()
        slave.begin()
        slave.unit.doStep(0.0, 0.01)
        ends.append(slave.get(*outputs_of(robot)))
    assert ends == 8 * ends[:1]
    assert any(ends[0])
    slave.end()
    exported(tmp_path, "pneumatic_bellow")  # and writes others in between


def test_a_step_that_fails_leaves_the_state(tmp_path):
    robot, path = exported(tmp_path, "cable_manipulator")
    slave, names = Slave(path, tmp_path / "unit"), outputs_of(robot)
    slave.unit.doStep(0.0, 0.01)
    before = slave.get(*names)
    slave.put("u.cable1", float("nan"))
    with pytest.raises(fmpy.fmi1.FMICallException, match="discard"):
        slave.unit.doStep(0.01, 0.01)
    assert slave.get(*names) == before
    slave.put("u.cable1", 0.0)
    slave.unit.doStep(0.01, 0.01)
    assert slave.get(*names) != before
    slave.end()


def test_a_unit_has_the_files_of_its_robot(tmp_path):
    base = "include: {file: cable_manipulator, without: [gravity, simulate, statics]}"
    (tmp_path / "arm.yaml").write_text(f"sorosim: 1\nname: long arm\n{base}\n", encoding="utf-8")
    _, path = exported(tmp_path, tmp_path / "arm.yaml")
    (tmp_path / "arm.yaml").unlink()
    assert len(simulated(path, {}, ["tip.arm.x"])) == 11
    with zipfile.ZipFile(path) as unit:
        text = unit.read("modelDescription.xml").decode()
    assert ElementTree.parse(io.StringIO(text)).getroot().get("modelName") == "long_arm"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fmi": 4}, "fmi: expected 2 or 3"),
        ({"dt": "-1 ms"}, "dt: expected"),
        ({"parameters": ["materials.silicone.yong"]}, "materials.silicone.young"),
        ({"parameters": ["links.arm.rod.strain.order"]}, "links.arm.rod.strain"),
        ({"method": "bdf"}, "method: expected"),
        ({"path": "arm.zip"}, "a file name that ends in .fmu"),
        ({"path": "nowhere/arm.fmu"}, "nowhere"),
    ],
)
def test_mistakes(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sorosim.SorosimError) as error:
        sorosim.export_fmu(sorosim.load("cable_manipulator"), **options)
    assert said in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_without_the_package(tmp_path, monkeypatch):
    for name in [module for module in sys.modules if module.partition(".")[0] == "pythonfmu"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pythonfmu", None)
    with pytest.raises(InputError, match=r"pip install 'sorosim\[fmu\]'"):
        sorosim.export_fmu(sorosim.load("cable_manipulator"), tmp_path / "arm.fmu")


def test_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["sorosim", "fmu", "cable_manipulator", "--fmi", "3", "--parameter", YOUNG, "--out", "arm.fmu"]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)
    assert capsys.readouterr().out.strip() == "arm.fmu"
    about = fmpy.read_model_description("arm.fmu")
    assert about.fmiVersion == "3.0"
    assert f"parameters.{YOUNG}" in {v.name for v in about.modelVariables}
