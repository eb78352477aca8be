"""Sweeps against single calls of statics and simulate, in one process and several; what they keep of failures."""

import os

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.studies.sweeps.task import compute_block

FINGER = """sorosim: 1
name: finger
materials:
  rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 5 kPa*s}
  foam: {young: 0.4 MPa, poisson: 0.3, density: 300 kg/m^3}
links:
  turn:
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 20 g, inertia: [1e-6, 1e-6, 1e-6]}
  finger:
    parent: turn
    rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}, quadrature: 6}
actuators:
  tendon: {tendon: {rod: finger, y: 0, z: 5 mm}}
  side: {tendon: {rod: finger, y: 5 mm, z: 0}}
sensors: {tip: {pose: {link: finger}}, base: {joint_wrench: turn}}
statics: {u: {side: 0.5 N}, driven: {turn: 10 deg}}
simulate: {t_end: 0.1, dt_out: 0.02, driven: {turn: "0.3*smoothstep(t/0.1)"}}
"""


@pytest.fixture(scope="module")
def finger(tmp_path_factory):
    path = tmp_path_factory.mktemp("robots") / "finger.yaml"
    path.write_text(FINGER, encoding="utf-8")
    return sorosim.load(path)


NOTEBOOK = """
import os
from dataclasses import dataclass
import numpy as np
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.loads.base import LoadValues

@dataclass(frozen=True)
class Pull:
    link: str
    force_w: tuple
    home: int = 0  # the only process in which it lives, if there is one

    @property
    def places(self):
        return ((self.link, 1.0),)

    def bind(self, layout):
        return BoundPull(np.array([layout.link(self.link).node_at(1.0)]), np.array(self.force_w), self.home)

@dataclass(frozen=True)
class BoundPull:
    nodes: np.ndarray
    force_w: np.ndarray
    home: int
    dissipates = False

    def evaluate(self, t, g, eta):
        if self.home and os.getpid() != self.home:
            os._exit(1)
        wrench, K = np.zeros((1, 6)), np.zeros((1, 6, 6))
        wrench[0, 3:] = g[0, :3, :3].T @ self.force_w
        K[0, 3:, :3] = skew(wrench[0, 3:])
        return LoadValues(wrench, K, np.zeros((1, 6, 6)))
"""


@pytest.fixture(scope="module")
def pull():
    """A load that no other process can import, as those of notebooks."""
    names = {"__name__": "notebook"}
    exec(NOTEBOOK, names)
    return names["Pull"]


GRID = {"grid": {"u.tendon": {"from": 0, "to": "3 N", "n": 4}, "driven.turn": ["0 deg", "30 deg", 1.0]}}


def assert_same(a, b):
    """The same bits."""
    assert a.arrays.keys() == b.arrays.keys()
    for name in a.arrays:
        assert_array_equal(a.arrays[name], b.arrays[name], strict=True)
    assert a.messages == b.messages
    assert a.plan.as_data() == b.plan.as_data()


def test_a_cold_sweep_is_what_single_calls_give(finger):
    sweep = sorosim.sweep(finger, GRID, start="cold")
    assert sweep.names == ("u.tendon", "driven.turn")
    assert sweep.units == ("N", "rad")
    assert sweep.shape == (4, 3)
    assert sweep.ok.all()
    for i in range(len(sweep)):
        point = sweep.point(i)
        # what the sweep does not speak of stands in the robot's file
        eq = sorosim.statics(finger, {"tendon": point["u.tendon"], "side": 0.5}, driven={"turn": point["driven.turn"]})
        assert_array_equal(sweep.q[i], eq.q)
        assert sweep.driven["turn"][i] == eq.driven["turn"]
        assert_array_equal(sweep.poses["finger"][i], finger.pose(eq.q, "finger"))
        assert_array_equal(sweep.tip()[i], eq.tip())
        column = {name: sweep.columns[name][i] for name in sweep.columns}
        assert column["moment(turn)"] == eq.driven["turn"]
        assert column["energy.elastic"] == finger.energy(eq.q, np.zeros(finger.ndof)).elastic
        assert column["stable"] == eq.stable
        assert column["n_evaluations"] == eq.n_evaluations
        assert column["tip.z"] == eq.measure()["tip"][2]
        assert column["message"] == eq.message
    assert_array_equal(sweep.values[:, 0].reshape(4, 3)[:, 0], [0.0, 1.0, 2.0, 3.0])
    assert_allclose(sweep.values[:3, 1], [0.0, np.pi / 6, 1.0], rtol=1e-15)


def test_warm_starts_find_the_same_equilibria_with_fewer_evaluations(finger):
    points = {"grid": {"u.tendon": {"from": 0, "to": 3, "n": 8}, "u.side": {"from": 0, "to": 3, "n": 8}}}
    cold, warm, followed = (sorosim.sweep(finger, points, start=start) for start in ("cold", "warm", "follow"))
    # residuals at the level of rounding, stiffness of order 1e-3: coordinates agree much better than this
    for other in (warm, followed):
        assert_allclose(other.q, cold.q, rtol=0, atol=1e-9)
        assert other.columns["warm"].sum() == 64 - 2  # two blocks begin cold
    assert warm.columns["n_evaluations"].sum() < 0.9 * cold.columns["n_evaluations"].sum()
    assert not cold.columns["warm"].any()


@pytest.mark.parametrize("task", ["statics", {"simulate": {"method": "cvode"}}])
def test_bits_do_not_depend_on_the_number_of_processes(finger, task):
    points = {"random": {"n": 9, "over": {"u.tendon": [0, 3], "links.finger.rod.length": ["15 cm", "20 cm"]}}}
    one = sorosim.sweep(finger, points, task=task, block=2)
    assert_same(one, sorosim.sweep(finger, points, task=task, block=2, jobs=2))
    assert one.ok.all()


def test_what_is_found_depends_on_blocks_alone(finger):
    sweep = sorosim.sweep(finger, GRID, block=5)
    plan = sweep.plan
    assert [len(block) for block in plan.blocks] == [5, 5, 2]
    last = plan.blocks[2]
    alone = compute_block(plan.job(), 2, last.tolist(), [plan.samples.row(i) for i in last])
    for name, array in alone.arrays.items():
        assert_array_equal(array, sweep.arrays[name][last])


def test_values_of_the_robots_file_vary_and_their_robots_have_them(finger):
    points = {"grid": {"links.finger.rod.strain.bending": [1, 3], "links.finger.rod.material": ["rubber", "foam"],
                       "materials.rubber.young": ["0.8 MPa", "1 MPa"]}}  # fmt: skip
    sweep = sorosim.sweep(finger, points)
    assert sweep.units == ("", "", "Pa")
    assert sweep.q.shape == (8, 9)  # 1 + 2 (3 + 1) of the robots of order 3
    for i in range(8):
        robot, point = sweep.robot_at(i), sweep.point(i)
        settings = {**point, "links.finger.rod.strain.bending": int(point["links.finger.rod.strain.bending"])}
        same = sorosim.load(yaml.safe_load(FINGER), set=settings)
        assert robot.ndof == same.ndof
        assert_array_equal(np.isnan(sweep.q[i]), np.arange(9) >= robot.ndof)
        eq = sorosim.statics(same)
        assert_allclose(sweep.q[i, : same.ndof], eq.q, rtol=0, atol=1e-9)
    assert set(sweep.columns["links.finger.rod.material"]) == {"rubber", "foam"}


def test_equilibria_of_points_can_be_used(finger):
    sweep = sorosim.sweep(finger, GRID)
    eq, single = sweep.equilibrium(-1), sorosim.statics(finger, {"tendon": 3.0, "side": 0.5}, driven={"turn": 1.0})
    assert_array_equal(eq.q, sweep.q[11])
    assert_allclose(eq.tangent_stiffness, single.tangent_stiffness, rtol=1e-9, atol=1e-12)
    assert eq.stable
    assert len(sorosim.follow(finger, eq, u={"tendon": 2.0})) == 10
    with pytest.raises(sorosim.InputError, match="number of a point, up to 11"):
        sweep.equilibrium(12)
    with pytest.raises(sorosim.InputError, match="expected a sweep of runs, got one of statics"):
        sweep.run(0)


def test_values_that_the_file_cannot_have_are_refused_before_anything_runs(finger):
    points = {"path": {"through": {"links.finger.rod.length": [0.2, -0.1, 0.2]}, "steps": 2}}
    with pytest.raises(sorosim.ModelError, match=r"got -0\.1 \(.*expected a length greater than 0"):
        sorosim.sweep(finger, points)


def test_a_failed_equilibrium_does_not_stop_the_sweep(finger):
    """A tendon that winds up more than its length: the door of statics refuses it at some points."""
    text = FINGER.replace("y: 0, z: 5 mm}}", "y: 0, z: 5 mm, stiffness: 500 N/m}}")
    robot = sorosim.load(yaml.safe_load(text))
    sweep = sorosim.sweep(robot, {"grid": {"u.tendon": [0, "5 mm", "30 cm", "10 mm"]}}, block=4)
    assert sweep.status.tolist() == ["ok", "ok", "failed", "ok"]
    assert list(sweep.failed) == [2]
    assert "less than its length" in sweep.failed[2]
    assert np.isnan(sweep.q[2]).all()
    assert np.isnan(sweep.columns["moment(turn)"][2])
    # the next one starts from the last that was found
    assert sweep.columns["warm"].tolist() == [False, True, False, True]
    with pytest.raises(sorosim.InputError, match="point 2, which failed"):
        sweep.equilibrium(2)


def test_a_warm_start_that_fails_is_tried_anew(finger, monkeypatch):
    from sorosim.studies.sweeps import task

    def no_start(robot, u, driven, q0=None):
        if q0 is not None:
            raise sorosim.ConvergenceError("not from here")
        return sorosim.statics(robot, u, driven=driven)

    monkeypatch.setattr(task, "statics", no_start)
    sweep = sorosim.sweep(finger, GRID)
    assert sweep.ok.all()
    assert not sweep.columns["warm"].any()
    monkeypatch.undo()
    assert_array_equal(sweep.q, sorosim.sweep(finger, GRID, start="cold").q)


def test_whatever_a_point_raises_is_its_own(finger, monkeypatch):
    from sorosim.studies.sweeps import task

    calls = []

    def broken(robot, u, driven, q0=None):
        calls.append(u["tendon"])
        if u["tendon"] == 1.0:
            raise ZeroDivisionError("of a plug-in")
        return sorosim.statics(robot, u, driven=driven, q0=q0)

    monkeypatch.setattr(task, "statics", broken)
    sweep = sorosim.sweep(finger, {"grid": {"u.tendon": [0, 1, 2]}})
    assert sweep.status.tolist() == ["ok", "failed", "ok"]
    assert sweep.failed == {1: "ZeroDivisionError: of a plug-in"}


def test_a_sweep_of_runs_is_what_single_runs_give(finger, tmp_path):
    points = {"list": [{"u.tendon": 1.0}, {"u.tendon": "2*sin(20*t)"}]}
    task = {"simulate": {"method": "cvode", "t_end": "0.12 s", "keep_runs": True}}
    summary = {
        "highest": {"max": "finger.z"}, "deepest": {"min": "finger.z"}, "way": {"range": "finger.z"},
        "end": {"last": "turn.revolute"}, "effort": {"rms": "moment(turn)"}, "mean": {"mean": "u.tendon"},
        "lost": {"last": "energy.dissipated"}, "seen": {"max": "tip.z"},
    }  # fmt: skip
    sweep = sorosim.sweep(finger, points, task=task, summary=summary, outputs=["finger"], out=tmp_path / "runs.h5")
    for i, u in enumerate((1.0, "2*sin(20*t)")):
        run = sorosim.simulate(finger, 0.12, u={"tendon": u}, method="cvode")
        column = {name: sweep.columns[name][i] for name in sweep.columns}
        assert_array_equal(sweep.q[i], run.q[-1])
        assert_array_equal(sweep.qd[i], run.qd[-1])
        z, t, force = run.tip("finger")[:, 2], run.t, run.driven["turn"]
        assert (column["highest"], column["deepest"]) == (z.max(), z.min())
        assert column["way"] == z.max() - z.min()
        assert column["end"] == run.q[-1, 0]
        assert_allclose(column["effort"], np.sqrt(np.trapezoid(force**2, t) / 0.12), rtol=1e-13)
        assert_allclose(column["mean"], np.trapezoid(run.u[:, 0], t) / 0.12, rtol=1e-13)
        assert column["lost"] == run.energy().dissipated[-1]
        assert column["seen"] == run.readings["tip"].values[:, 2].max()
        assert column["t"] == 0.12
        assert column["n_evaluations"] == run.stats["n_rhs"]
        assert_array_equal(sweep.run(i).q, run.q)  # the one that was kept
    assert len(list((tmp_path / "runs_runs").iterdir())) == 2
    again = sorosim.sweep(finger, points, task={"simulate": {"method": "cvode", "t_end": 0.12}}, summary=summary)
    assert_array_equal(again.run(1).q, sweep.run(1).q)  # computed again
    with pytest.raises(sorosim.InputError, match="expected a sweep of statics, got one of runs"):
        sweep.equilibrium(0)


def test_a_run_that_gives_up_says_how_far_it_came(finger):
    points = {"list": [{"u.tendon": "sqrt(0.05-t)"}, {"u.tendon": 1}]}
    sweep = sorosim.sweep(finger, points, task={"simulate": {"method": "bdf"}})
    assert sweep.status.tolist() == ["failed", "ok"]
    assert "stopped at t = " in sweep.failed[0]
    assert 0.0 < sweep.columns["t"][0] <= 0.06
    assert np.isnan(sweep.q[0]).all()


def test_sampling_takes_units_and_csv_tables_stand_beside(finger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_text("u.tendon, driven.turn\n1,20 deg\n1500 mN,0.5\n# none\n2,0\n")
    sweep = sorosim.sweep(finger, {"csv": "points.csv"})
    assert_allclose(sweep.values, [[1.0, np.pi / 9], [1.5, 0.5], [2.0, 0.0]], rtol=1e-15)
    sampled = sorosim.sweep(finger, {"sobol": {"n": 8, "over": {"u.tendon": ["500 mN", "2 N"]}}})
    assert 0.5 <= sampled.values.min() <= sampled.values.max() <= 2.0


def test_robots_that_no_file_can_express_are_swept_too(finger, pull, tmp_path):
    own = finger.with_loads(pull=pull("finger", (0.0, 0.0, 0.3)))
    one, two = (sorosim.sweep(own, GRID, block=4, jobs=jobs) for jobs in (1, 2))
    assert_same(one, two)
    assert one.ok.all()
    wrench = {"loads": {"pull": {"wrench": {"link": "finger", "force": [0, 0, 0.3], "frame": "world"}}}}
    same = sorosim.load({**yaml.safe_load(FINGER), **wrench})
    assert_allclose(one.q, sorosim.sweep(same, GRID, block=4).q, rtol=0, atol=1e-12)
    one.save(tmp_path / "own.h5")
    with pytest.raises(sorosim.FileError, match="its robot was built of Python objects"):
        sorosim.open(tmp_path / "own.h5")
    points = {"grid": {"links.finger.rod.length": [0.1, 0.2]}}
    with pytest.raises(sorosim.ModelError, match="a robot with a file, whose values can vary"):
        sorosim.sweep(own, points)


def test_a_process_that_dies_is_told_and_leaves_no_empty_result(finger, pull, tmp_path):
    own = finger.with_loads(pull=pull("finger", (0.0, 0.0, 0.3), os.getpid()))
    assert sorosim.sweep(own, GRID).ok.all()
    with pytest.raises(sorosim.InputError, match="jobs: expected worker processes to the end, got one that was killed"):
        sorosim.sweep(own, GRID, block=4, jobs=2, out=tmp_path / "own.h5")
    assert not list(tmp_path.iterdir())


def test_progress_is_told_after_every_block(finger):
    told = []
    sorosim.sweep(finger, GRID, block=5, progress=lambda *numbers: told.append(numbers))
    assert told == [(0, 12, 0), (5, 12, 0), (10, 12, 0), (12, 12, 0)]


def test_repr_says_what_there_is(finger):
    sweep = sorosim.sweep(finger, GRID)
    assert repr(sweep) == "<SweepResult of 'finger': statics at 12 points over u.tendon, driven.turn; 12 ok>"
    assert len(sweep) == 12
    assert sweep.complete
