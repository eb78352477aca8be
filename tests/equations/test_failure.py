"""Solvers that give up, each for a reason that was planted: the message names it, and the last state is kept."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from typer.testing import CliRunner

import sorosim
from sorosim.analysis.equations import failure
from sorosim.analysis.equations.callbacks import OdeCallbacks
from sorosim.analysis.equations.failure import Failure
from sorosim.analysis.equations.system import OdeSystem
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.base.errors import ConvergenceError, InputError, Interrupted, ModelError
from sorosim.connect.cli.main import app
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.loads.base import LoadValues
from tests.helpers.arms import rubber_arm

ARM = rubber_arm()
METHODS = ["bdf", "radau", "lsoda", "cvode", "ida", "newmark", "generalized-alpha"]


@pytest.fixture(scope="module")
def arm():
    return sorosim.load(ARM)


def linkage(**changes):
    """The four-bar linkage at rest."""
    return sorosim.load("four_bar", set={"initial": {}, **changes})


def failed(call, *args, **options):
    with pytest.raises(ConvergenceError) as caught:
        call(*args, **options)
    return caught.value


@dataclass(frozen=True)
class Explosive:
    """A force that is fine until a time, and then infinite."""

    when: float
    nodes: object = field(default_factory=lambda: np.array([8]))
    places = (("arm", 1.0),)
    dissipates = False

    def bind(self, layout):
        return replace(self, nodes=np.array([layout.link("arm").node_at(1.0)]))

    def evaluate(self, t, g, eta):
        f = np.zeros((1, 6))
        f[0, 5] = np.inf if t >= self.when else 0.01
        return LoadValues(f, np.zeros((1, 6, 6)), np.zeros((1, 6, 6)))


# -- statics


def test_statics_under_too_large_a_pull_names_what_is_unbalanced(arm):
    error = failed(sorosim.statics, arm, u={"pull": 1e4})
    assert "load continuation from the unloaded state stopped at" in str(error)
    report = error.report
    assert f"'{report.where}' of 'arm' is {report.residual:.3g} {report.unit} out of balance" in str(error)
    assert "'arm' is strained by" in str(error)
    assert "look at the units of inputs and loads" in str(error)
    assert "raise the inputs in steps" in str(error)
    # the number is that of the state itself: what is unbalanced there at the full load
    state = error.partial
    zero = np.zeros(arm.ndof)
    unbalanced = arm.inverse_dynamics(state.q, zero, qdd=zero) - arm.internal_force(state.q, zero, u=[1e4])
    assert abs(unbalanced[arm.coordinate_names.index(report.where)]) == pytest.approx(report.residual, rel=1e-9)
    assert 0.0 < report.relative <= 1.0 + 1e-9


def test_statics_of_loops_that_conflict_names_the_loop():
    error = failed(sorosim.statics, linkage(**{"loops.pin.to.at": {"position": [5, 0, 0]}}))
    assert "cannot be closed: 'pin' by" in str(error)
    assert error.report.where == "pin"
    assert error.report.unit == "m"
    gap = error.partial.robot.loop_gaps(error.partial.q)["pin"][0]
    assert error.report.residual == pytest.approx(gap, rel=1e-12)


def test_assembly_that_fails_says_by_how_much():
    robot = linkage(**{"loops.pin.to.at": {"position": [5, 0, 0]}})
    error = failed(sorosim.assemble, robot)
    assert (error.report.where, error.report.unit) == ("pin", "m")
    assert error.report.residual == pytest.approx(robot.loop_gaps(error.partial)["pin"][0], rel=1e-12)


def test_continuation_that_fails_names_the_parameter_and_the_rod(arm):
    error = failed(sorosim.continuation, arm, "u.pull", to=1e5)
    curve = error.partial
    assert f"steps became too small, at u.pull = {curve.parameter[-1]:.6g}; where it stopped" in str(error)
    assert "'arm' is strained by" in str(error)
    assert (error.report.where, error.report.link) == ("", "arm")
    assert "look at the units" in str(error)


def test_following_that_fails_hands_the_report_on(arm):
    error = failed(sorosim.follow, arm, sorosim.statics(arm), u={"pull": 1e4}, steps=2)
    assert str(error).startswith("follow: stopped at")
    assert error.report.link == "arm"
    assert isinstance(error.partial, Equilibrium)


def test_a_failed_equilibrium_is_written_and_drawn(tmp_path):
    (tmp_path / "arm.yaml").write_text(sorosim.load(ARM).to_yaml())
    out = tmp_path / "out.h5"
    told = CliRunner().invoke(app, ["statics", str(tmp_path / "arm.yaml"), "--u", "pull=10 kN", "--out", str(out)])
    assert "out of balance" in str(told.exception)
    assert f"where it stopped is in {out}" in told.output.replace("\n", "")
    state = sorosim.open(out)
    assert np.isfinite(state.q).all()
    assert state.q.any()
    assert "no equilibrium, the search for one stopped here" in CliRunner().invoke(app, ["info", str(out)]).output
    state.plot(tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 1000


# -- motions


@pytest.mark.parametrize("method", METHODS)
def test_an_input_with_a_pole_is_named_by_every_method(arm, method):
    error = failed(sorosim.simulate, arm, 2.0, u={"pull": "1/(1 - t)"}, method=method)
    assert f"simulate 'arm' by {method}: stopped at t = 1 s" in str(error)
    assert "the input of 'pull' has grown to" in str(error) or "the input of 'pull' is inf" in str(error)
    assert "look at the formula of what grows so" in str(error)
    report = error.report
    assert isinstance(report, Failure)
    assert report.t == pytest.approx(1.0, abs=1e-6)
    assert report.link == "arm"
    assert report.where in arm.coordinate_names
    # the motion is kept to the very last state
    assert error.partial.t[-1] == pytest.approx(report.t, abs=1e-12)
    assert np.isfinite(error.partial.q).all()


def test_too_large_a_fixed_step_names_what_newton_leaves(arm):
    error = failed(sorosim.simulate, arm, 1.0, dt_out=0.05, u={"pull": "5000*t"}, method="generalized-alpha", step=0.05)
    assert "Newton's method does not converge" in str(error)
    assert f"at steps of {error.report.step:.2g} s" in str(error)
    # halved as far as a 64th, and into whole parts of what is left of the interval
    assert 0.05 / 128 <= error.report.step <= 0.05 / 32
    assert f"'{error.report.where}' of 'arm' is" in str(error)
    assert error.report.relative > 0.01


@pytest.mark.parametrize("method", ["bdf", "cvode", "ida", "newmark", "generalized-alpha"])
def test_a_load_that_becomes_infinite_is_named(arm, method):
    error = failed(sorosim.simulate, arm.with_loads(bang=Explosive(0.1)), 1.0, method=method)
    assert "loads.bang" in str(error)
    assert "infinity" in str(error)
    # all rows before are kept
    assert error.partial.t[-1] == pytest.approx(0.1, abs=0.0101)
    assert len(error.partial.t) >= 10


@pytest.mark.parametrize("method", METHODS)
def test_an_input_that_is_no_number_from_a_time_on_is_named_by_every_method(arm, method):
    error = failed(sorosim.simulate, arm, 0.5, u={"pull": "sqrt(0.1 - t)"}, method=method)
    assert "the input of 'pull' is nan at t = 0.1" in str(error)
    assert "moves mass" not in str(error)  # which NaN does not, but that explains nothing
    assert "nan N m" not in str(error)
    assert error.report.t == pytest.approx(0.1, rel=1e-3)
    assert np.isfinite(error.partial.q).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("force", "said"),
    [
        ("0.001*sqrt(1.08 - t)", "the load 'push' is infinite or NaN"),
        ("0.001/(1.08 - t)^2", "the load 'push' has grown"),
    ],
)
def test_a_load_without_a_value_from_a_time_on_or_with_a_pole_is_named_by_every_method(method, force, said):
    robot = sorosim.load({**ARM, "loads": {"push": {"wrench": {"link": "arm", "s": 1, "force": [0, 0, force]}}}})
    error = failed(sorosim.simulate, robot, 1.2, method=method)
    assert said in str(error)
    assert "look at the formula of what grows so" in str(error)
    assert error.report.t == pytest.approx(1.08, rel=1e-2)  # lsoda tells its last step but one


@pytest.mark.parametrize("method", METHODS)
def test_an_input_without_a_value_at_the_start_is_refused_by_every_method(arm, method):
    with pytest.raises(InputError, match=r"^u\.pull: expected a signal that is finite at t = 0, got inf"):
        sorosim.simulate(arm, 0.5, u={"pull": "1/t"}, method=method)


def test_growth_is_not_looked_for_where_it_would_take_minutes(arm, monkeypatch):
    message = str(failed(sorosim.simulate, arm, 2.0, u={"pull": "1/(1 - t)"}))
    assert "motions grow within" in message
    monkeypatch.setattr(failure, "MAX_EIGENVALUES", arm.ndof - 1)
    assert "motions grow within" not in str(failed(sorosim.simulate, arm, 2.0, u={"pull": "1/(1 - t)"}))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("what", ["input", "event"])
def test_a_function_of_the_user_that_returns_nan_on_the_way_leaves_the_motion_so_far(arm, method, what):
    def late(t, *state):
        return np.nan if t > 0.1 else 1.0

    given = {"u": {"pull": late}} if what == "input" else {"events": [late]}
    error = failed(sorosim.simulate, arm, 0.2, method=method, **given)
    assert ("u.pull" if what == "input" else "events[0]") in str(error)
    assert "a finite number" in str(error)
    assert "method=" not in str(error)  # no other one helps
    assert 0.05 < error.partial.t[-1] <= 0.1 + 1e-12
    with pytest.raises(InputError, match="a finite number"):  # and at the start it is a mistake of the call
        sorosim.simulate(arm, 0.2, u={"pull": lambda t: np.nan}, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_absurd_tolerances_and_inputs_fail_and_say_so(arm, method, capfd, recwarn):
    error = failed(sorosim.simulate, arm, 0.2, u={"pull": "2*sin(20*t)"}, method=method, atol=1e-300)
    assert "rounding may be all that is left below such tolerances: try larger ones" in str(error)
    assert "out of balance" not in str(error)  # by rounding
    error = failed(sorosim.simulate, arm, 0.2, u={"pull": "1e300*t"}, method=method)
    assert "nan N m" not in str(error)
    assert capfd.readouterr() == ("", "")  # CVODE and IDA have their say in the message
    assert not recwarn


def test_what_was_refused_on_the_way_is_no_reason_of_a_later_failure(arm):
    system = OdeSystem(arm, Prescribed.of(arm, {}, {}))
    trials = OdeCallbacks(system, None)
    state = np.zeros(2 * arm.ndof)
    trials.note_failure(0.2, state, ModelError("arm", "mass", "none"))
    assert "expected mass" in trials.failure_reason(0.2)
    assert trials.failure_reason(0.3) == ""
    trials.note_failure(0.4, np.full_like(state, np.nan), ModelError("arm", "mass", "none"))
    assert trials.nonfinite[0] == 0.4
    assert trials.failure_reason(0.4) == ""


@pytest.mark.parametrize("method", METHODS)
def test_tolerances_below_the_digits_of_numbers_and_steps_without_end_are_refused(arm, method):
    with pytest.raises(InputError, match=r"rtol: expected a number of 2\.22045e-14 or more"):
        sorosim.simulate(arm, 0.2, method=method, rtol=1e-16)
    with pytest.raises(InputError, match=r"max_step: expected at least 2e-13 s, for at most 1e\+12 steps, got 1e-16"):
        sorosim.simulate(arm, 0.2, method=method, max_step=1e-16)
    with pytest.raises(InputError, match="step: expected at least"):
        sorosim.simulate(arm, 0.2, method="newmark", step=1e-16)
    assert sorosim.simulate(arm, 1e-5, method=method, rtol=2.3e-14, atol=1e-16).t[-1] == 1e-5


@pytest.mark.parametrize("method", ["bdf", "ida", "generalized-alpha"])
def test_a_mechanism_driven_beyond_its_reach_names_the_loop(method):
    error = failed(sorosim.simulate, linkage(), 3.0, driven={"rocker": "1.5*smoothstep(t)"}, method=method)
    assert "came near to a singular configuration: loop 'pin'" in str(error)
    assert "no method passes a place where loops lock" in str(error)
    assert error.report.link in ("crank", "coupler")  # both swing round at the dead point
    assert isinstance(error.partial, Run)


def test_the_coordinate_that_changes_fastest_is_that_of_the_equations(arm):
    error = failed(sorosim.simulate, arm, 2.0, u={"pull": "1/(1 - t)"})
    run = error.partial
    qdd = arm.forward_dynamics(run.q[-1], run.qd[-1], u=run.u[-1], t=run.t[-1])
    rates = np.maximum(np.abs(run.qd[-1]) / (1e-6 + 1e-3 * np.abs(run.q[-1])),
                       np.abs(qdd) / (1e-6 + 1e-3 * np.abs(run.qd[-1])))  # fmt: skip
    assert error.report.where == arm.coordinate_names[int(np.argmax(rates))]


def test_a_failed_run_is_in_its_file_and_can_be_played(arm, tmp_path):
    out = tmp_path / "run.h5"
    error = failed(sorosim.simulate, arm, 2.0, u={"pull": "1/(1 - t)"}, out=out)
    again = sorosim.open(out)
    np.testing.assert_array_equal(again.t, error.partial.t)
    np.testing.assert_array_equal(again.q, error.partial.q)
    assert "stopped at t = 1 s" in again.message
    again.plot(tmp_path / "plots", "snapshots")
    assert list((tmp_path / "plots").glob("*.png"))


@pytest.mark.parametrize("there", [False, True])
def test_a_start_that_fails_is_written_beside_what_is_there(tmp_path, there):
    (tmp_path / "arm.yaml").write_text(sorosim.load(ARM).to_yaml())
    out = tmp_path / "run.h5"
    if there:
        sorosim.simulate(sorosim.load(ARM), 0.02, out=out)
        before = out.read_bytes()
    command = ["simulate", str(tmp_path / "arm.yaml"), "--t-end", "1", "--u", "pull=10 kN", "--q0", "equilibrium"]
    told = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert "there is no equilibrium to start from" in str(told.exception)
    kept = tmp_path / "run_stopped.h5" if there else out
    assert str(kept) in told.output.replace("\n", "")
    assert isinstance(sorosim.open(kept), Equilibrium)
    assert not there or out.read_bytes() == before


def test_a_start_whose_loops_cannot_be_closed_can_be_looked_at(tmp_path):
    robot = linkage(**{"loops.pin.to.at": {"position": [5, 0, 0]}})
    (tmp_path / "linkage.yaml").write_text(robot.to_yaml())
    out = tmp_path / "run.h5"
    command = ["simulate", str(tmp_path / "linkage.yaml"), "--q0", "assembled", "--out", str(out)]
    told = CliRunner().invoke(app, command)
    assert "cannot be closed: 'pin'" in str(told.exception)
    shown = sorosim.open(out)
    assert shown.q.any()
    shown.plot(tmp_path / "shown.png")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_tells_how_far_it_is_and_where_it_was_interrupted(arm, method):
    told = []

    def progress(t):
        told.append(t)
        if t >= 3.0:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        sorosim.simulate(arm, 10.0, dt_out=0.01, u={"pull": "sin(20*t)"}, method=method, progress=progress)
    assert len(told) > 3
    assert f"interrupted at t = {told[-1]:.6g} s" in str(caught.value)
    assert 2.5 < caught.value.partial.t[-1] <= told[-1]


def test_a_report_survives_pickling(arm):
    import pickle

    error = failed(sorosim.statics, arm, u={"pull": 1e4})
    again = pickle.loads(pickle.dumps(error))
    assert again.report == error.report
    assert str(again) == str(error)
