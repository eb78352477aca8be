"""Calls of public functions with wrong arguments: one error of the package that names the argument, or a result."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from helpers.wrong_calls import ARM, drawings, foreign
from numpy.typing import ArrayLike

import sorosim
from sorosim.base.errors import InputError, SorosimWarning
from sorosim.base.public import public


def test_500_wrong_calls_raise_no_error_that_is_not_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert foreign(500, 0) == []


@pytest.mark.slow
def test_500_wrong_calls_of_what_draws_and_of_sessions_raise_no_error_that_is_not_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert foreign(500, 0, drawings()) == []


@pytest.mark.parametrize("options", [{"progress": True}, {"fps": "x"}, {"size": 3}, {"path": 3}])
def test_wrong_options_of_films_are_named(tmp_path, options):
    run = sorosim.simulate(sorosim.load(ARM))
    with pytest.raises(InputError, match=rf"^{next(iter(options))}: expected "):
        run.movie(**{"path": tmp_path / "a.gif", **options})


def test_whether_a_page_waits_is_true_or_false():
    pytest.importorskip("viser")
    with pytest.raises(InputError, match="block: expected True or False, got 3"):
        sorosim.live(sorosim.load(ARM), block=3)


@public
def typed(
    points: ArrayLike, *names: str, count: int = 1, table: Mapping[str, float] | None = None,
    rule: Callable[[float], float] = abs, many: Sequence[int] = (), **more: float,
):  # fmt: skip
    rule(0.0)
    raise KeyError("inside")


FITTING = {"points": [0.0, 1.0], "count": np.int64(2), "table": {"a": np.float32(1.0)}, "many": np.arange(3), "b": 2}
WRONG = [("points", [1j]), ("points", [np.nan]), ("points", np.ma.masked_all(2)), ("points", "1"), ("points", None),
         ("count", True), ("count", 1.0), ("count", 10**400), ("table", {}.items()), ("table", {1: 1.0}),
         ("table", {"a": "x"}), ("table", np.array([])), ("rule", 3), ("many", "12"), ("many", [1, "2"]), ("many", 1),
         ("many", np.array(3)), ("b", 10**400), ("b", "x")]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda x: str(x)[:12])
def test_where_a_call_fails_the_first_argument_that_does_not_fulfil_its_annotation_is_named(name, value):
    with pytest.raises(InputError, match=rf"^{name}: expected ") as raised:
        typed(**{**FITTING, name: value})
    assert isinstance(raised.value.__cause__, Exception)


def test_errors_that_no_argument_explains_stay_as_they_are():
    with pytest.raises(KeyError, match="inside"):
        typed(**FITTING)
    with pytest.raises(InputError, match=r"^names\[1\]: expected a text, got 3"):
        typed([1.0], "a", 3)
    with pytest.raises(TypeError, match="points"):
        typed()


def test_a_fault_of_the_package_is_not_blamed_on_a_path_in_text(tmp_path, monkeypatch):
    def broken(*args):
        raise IndexError("a fault of ours")

    monkeypatch.setattr("sorosim.view.viz.several.motion_group", broken)
    with pytest.raises(IndexError, match="a fault of ours"):
        sorosim.still(str(tmp_path / "a.png"), [])


def test_a_name_that_a_result_does_not_have_is_told_with_the_nearest():
    robot = sorosim.load("cable_manipulator").with_sensors(tip=sorosim.PoseSensor("arm"))
    eq, run = sorosim.statics(robot, {"cable1": "1 N"}), sorosim.simulate(robot, t_end="2 ms")
    for found, near in (
        (eq.measure(), "tip"), (robot.measure(eq.q), "tip"), (run.readings, "tip"),
        (sorosim.sensitivities(robot, ["gravity[2]"]).readings(eq), "tip"),
        (run[:2].options, "method"), (run.stats, "n_steps"), (robot.tendon_lengths(eq.q), "cable1"),
        (sorosim.scalars(robot), "materials.silicone.young"),
    ):  # fmt: skip
        for one in (found, copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            assert near in one
            assert f"{near}x" not in one
            assert one.get(f"{near}x") is None
            with pytest.raises(InputError, match=rf"a name that is there, got '{near}x'; did you mean .*{near}"):
                one[f"{near}x"]
            with pytest.raises(KeyError):
                one[0]


def test_what_a_function_of_the_caller_raises_is_not_taken_for_a_wrong_argument():
    def controller(t, q, qd):
        raise LookupError("mine")

    with pytest.raises(Exception, match="mine"):
        sorosim.simulate(sorosim.load(ARM), controller=controller, dt_control="1 ms")


def test_warnings_name_the_line_that_called_the_package():
    with pytest.warns(SorosimWarning) as told:
        sorosim.load(ARM).linearize([0.5] * 5)
    assert all(one.filename == __file__ for one in told)
