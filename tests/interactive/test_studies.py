"""Studies of the page: each is what the function of its name computes; they end when asked, fail in words, and are
handed out once."""

import http.client
import json
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError
from sorosim.view.interactive.session import Session
from sorosim.view.interactive.studies import MOST_OFFERED, STUDIES, Studies

TEXT = """\
sorosim: 1
name: a finger
materials:
  rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 5 kPa*s}
links:
  arm:
    rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}}
actuators:
  pull: {tendon: {rod: arm, y: 5 mm, z: 0}}
  push: {tendon: {rod: arm, y: 0, z: 5 mm}}
simulate: {t_end: 0.2 s, method: generalized-alpha, u: {pull: 1 N}}
"""
WAIT = 300.0  # s, of a machine with other work


@pytest.fixture(scope="module")
def robot():
    return sorosim.files.load_text(TEXT, "finger.yaml")


@pytest.fixture
def studies(robot):
    said = []
    out = Studies(Session(robot), said.append)
    out.said = said
    yield out
    out.stop()


def done(studies):
    """Wait for the end of what is computed."""
    studies._thread.join(WAIT)
    assert not studies.state()["busy"]
    return studies.state()


def test_a_motion_is_that_of_simulate(studies, robot):
    studies.start("simulate", {"t_end": "100 ms", "step": "2 ms", "dt_out": ""}, "file")
    state = done(studies)
    run = sorosim.simulate(robot, t_end=0.1, step=0.002)
    assert not state["wrong"]
    assert np.array_equal(studies.result.q, run.q)
    assert studies.playback.data()["span"] == [0.0, 0.1]
    shares = [one["study"]["done"] for one in studies.said if one.get("study", {}).get("busy")]
    assert max(shares) <= 1.0


def test_inputs_are_those_of_the_sliders(studies, robot):
    studies._session.set(pull="2 N")
    studies._session.frame(0.0)
    studies.start("statics", {"stable": "false"})
    done(studies)
    known = sorosim.statics(robot, {"pull": 2.0}, stable=False)
    assert np.array_equal(studies.result.q, known.q)
    assert studies.state()["exports"] == ["h5", "html", "glb"]


def test_modes_are_those_of_linearize(studies, robot):
    studies.start("modes", {"number": "3", "amplitude": "0.05"}, "file")
    state = done(studies)
    lin = sorosim.statics(robot).linearize()
    assert np.array_equal(studies.result.frequencies, lin.frequencies)
    assert [one["number"] for one in state["modes"]] == [1, 2, 3]
    studies.show_mode(2)
    known = lin.mode(2, amplitude=0.05)
    shown = studies.playback.data()
    assert shown["loop"]
    assert shown["words"] == known.message
    assert shown["speed"] == pytest.approx(known.t[-1] / 2.0)  # a period in two seconds
    with pytest.raises(InputError, match="mode"):
        studies.show_mode(1000)


def test_a_sweep_is_that_of_sweep(studies, robot):
    axes = [{"name": "u.pull", "from": "0", "to": "1 N", "n": "3"},
            {"name": "links.arm.rod.length", "from": "15 cm", "to": "20 cm", "n": "2"}]  # fmt: skip
    studies.start("sweep", {"start": "cold"}, "sliders", axes)
    state = done(studies)
    grid = {"u.pull": {"from": 0, "to": 1.0, "n": 3}, "links.arm.rod.length": {"from": 0.15, "to": 0.2, "n": 2}}
    known = sorosim.sweep(robot, {"grid": grid}, u={"push": 0.0}, start="cold")
    assert np.array_equal(studies.result.q, known.q)
    assert [one["name"] for one in state["axes"]] == list(grid)
    assert [one["values"] for one in state["axes"]] == [[0.0, 0.5, 1.0], [0.15, 0.2]]
    assert state["column"] in state["columns"]
    picture = studies.picture(state["column"])
    assert picture["x"][0] < 0.0 < 1.0 < picture["x"][1]
    # the equilibrium of a point is drawn as its own robot
    studies.show_point(3)
    studies._session.frame(0.0)
    drawn = studies.playback(studies._session.state)
    assert np.array_equal(drawn.q, known.q[3])
    assert drawn.robot.description.links[0].body.length == pytest.approx(0.2)


def test_a_sweep_of_one_number_is_a_line(studies):
    studies.start("sweep", {}, "file", [{"name": "u.pull", "from": "0", "to": "1 N", "n": "3"}])
    state = done(studies)
    assert [len(one["values"]) for one in state["axes"]] == [3]
    assert studies.picture(state["column"])["png"]


def test_a_cancelled_motion_keeps_what_it_has(studies):
    begun = threading.Event()
    studies._say = lambda said: begun.set() if said.get("study", {}).get("done") else None
    studies.start("simulate", {"t_end": "1 h", "step": "1 ms"}, "file")
    assert begun.wait(WAIT)
    with pytest.raises(InputError, match="one at a time"):
        studies.start("statics", {})
    studies.cancel()
    state = done(studies)
    assert state["wrong"]
    assert "interrupted" in state["words"]
    assert 0.0 < studies.result.t[-1] < 3600.0
    assert studies.playback.data()["span"][1] == studies.result.t[-1]


@pytest.mark.parametrize(
    ("kind", "options", "axes", "words"),
    [
        ("simulate", {"t_end": "2 m"}, [], "t_end: expected a time greater than 0"),
        ("simulate", {"method": "eular"}, [], "method: expected"),
        ("simulate", {"method": "radau", "step": "1 ms"}, [], "step: expected an option of method radau"),
        ("modes", {"number": "0"}, [], "number: expected a whole number from 1"),
        ("sweep", {}, [], "expected one or two numbers"),
        ("sweep", {}, [{"name": "u.pul", "from": "0", "to": "1", "n": "3"}], "did you mean"),
        ("sweep", {}, [{"name": "u.pull", "from": "0", "to": "1 m", "n": "3"}], "a length"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_words(studies, kind, options, axes, words):
    studies.start(kind, options, "file", axes)
    state = done(studies)
    assert state["wrong"]
    assert words in state["words"]
    assert studies.result is None


def test_what_is_no_study_is_refused_at_once(studies):
    for call in (
        lambda: studies.start("dream", {}), lambda: studies.start("statics", {"u": "x"}), lambda: studies.show_mode(1),
        lambda: studies.start("statics", {}, "nowhere"), lambda: studies.export("h5", "k"),
        lambda: studies.picture("x"),
    ):  # fmt: skip
        with pytest.raises(InputError):
            call()


def test_a_failed_search_keeps_where_it_stopped(studies, monkeypatch):
    found = sorosim.statics(studies._session.robot)

    def fails(*_, **__):
        raise sorosim.ConvergenceError("statics: no equilibrium was found", found)

    monkeypatch.setattr("sorosim.view.interactive.studies.statics", fails)
    studies.start("statics", {})
    state = done(studies)
    assert state["wrong"]
    assert "no equilibrium was found; what there is, is shown" in state["words"]
    assert studies.result is found
    assert studies.playback.data() is not None


def test_forms_are_the_declared_options(studies):
    forms = studies.forms()
    assert json.loads(json.dumps(forms)) == forms
    fields = {one["name"]: one for one in forms["forms"]["simulate"]["fields"]}
    assert set(fields) == set(STUDIES["simulate"].keys)
    assert {"t_end", "dt_out", "method", "rtol", "step", "verify"} <= set(fields)
    assert fields["t_end"]["default"] == "0.2 s"
    assert fields["method"]["default"] == "generalized-alpha"
    assert "bdf" in fields["method"]["words"]
    assert "radau" not in fields["step"]["methods"]
    assert fields["q0"]["free"] and "equilibrium" in fields["q0"]["words"]  # noqa: PT018
    varied = {one["name"]: one for one in forms["varied"]}
    assert {"u.pull", "u.push", "links.arm.rod.length"} <= set(varied)
    assert varied["links.arm.rod.length"] == {"name": "links.arm.rod.length", "unit": "m", "low": 0.1, "high": 0.3}


# -- what is drawn -----------------------------------------------------------------------------------------------------


def test_a_result_plays_until_somebody_takes_hold_of_the_robot(studies):
    session, playback = studies._session, studies.playback
    studies.start("simulate", {}, "file")
    done(studies)
    before = session.frame(0.0)
    assert before.paused
    shown = playback(before)
    assert shown.robot is studies.result.robot
    playback.change(plays=False, t=0.1)
    drawn = playback(session.frame(0.0))
    row = int(np.searchsorted(studies.result.t, 0.1))
    assert np.allclose(drawn.q, studies.result.q[row], rtol=0.0, atol=1e-12)
    playback.change(t=99.0)
    assert playback.data()["t"] == studies.result.t[-1]
    playback.change(plays=True)  # from its begin
    assert playback.data()["t"] == 0.0
    session.set(pull="2 N")
    live = session.frame(0.0)
    assert playback(live) is live
    assert playback.data() is None
    assert not session.frame(0.0).paused  # as it was
    studies._again()
    assert playback.data() is not None
    playback.close()
    assert not session.frame(0.0).paused


def test_a_motion_ends_or_goes_round(studies):
    session, playback = studies._session, studies.playback
    studies.start("simulate", {}, "file")
    done(studies)
    end = float(studies.result.t[-1])
    playback.change(plays=True, speed=1e6)
    live = session.frame(0.0)
    time.sleep(0.01)
    assert playback(live).t == end
    assert not playback.data()["plays"]
    playback.change(plays=True, loop=True)
    time.sleep(0.01)
    assert playback(live).t < end
    assert playback.data()["plays"]


# -- files -------------------------------------------------------------------------------------------------------------


def exported(studies, form):
    """The file that a page is told of."""
    studies.export(form, "key")
    state = done(studies)
    assert not state["wrong"], state["words"]
    ((told,),) = [[one["export"] for one in studies.said if "export" in one][-1:]]
    assert told["key"] == "key"
    return studies.file(told["url"]), told["url"]


def test_what_is_handed_out_opens_again(studies, tmp_path):
    studies.start("simulate", {"t_end": "0.1 s"}, "file")
    done(studies)
    file, url = exported(studies, "h5")
    assert file.name == "a_finger_simulate.h5"
    assert studies.file(url) is None  # served once
    path = tmp_path / file.name
    path.write_bytes(file.content)
    assert np.array_equal(sorosim.open(path).q, studies.result.q)
    page, _ = exported(studies, "html")
    assert page.content.lstrip().lower().startswith(b"<!doctype html>")
    model, _ = exported(studies, "glb")
    assert model.content[:4] == b"glTF"
    assert int.from_bytes(model.content[8:12], "little") == len(model.content)
    assert not [one for one in tmp_path.iterdir() if one != path]
    for _ in range(MOST_OFFERED + 1):
        studies._offer("h5", b"", "x.h5")
    assert len(studies._offered) == MOST_OFFERED


def test_modes_and_points_of_sweeps_are_handed_out(studies, tmp_path):
    studies.start("modes", {}, "file")
    done(studies)
    file, _ = exported(studies, "h5")
    (tmp_path / "mode.h5").write_bytes(file.content)
    assert sorosim.open(tmp_path / "mode.h5").message.startswith("mode 1: ")
    studies.start("sweep", {}, "file", [{"name": "u.pull", "from": "0", "to": "1", "n": "2"}])
    done(studies)
    file, _ = exported(studies, "h5")
    (tmp_path / "sweep.h5").write_bytes(file.content)
    assert np.array_equal(sorosim.open(tmp_path / "sweep.h5").q, studies.result.q)
    assert exported(studies, "glb")[0].content[:4] == b"glTF"
    with pytest.raises(InputError, match="film of none"):
        studies.export("mp4", "key")


@pytest.mark.slow
def test_a_film_is_handed_out_and_can_be_cancelled(studies):
    pytest.importorskip("imageio_ffmpeg")
    pytest.importorskip("pyvista")
    studies.start("simulate", {"t_end": "0.1 s"}, "file")
    done(studies)
    film, _ = exported(studies, "mp4")
    assert film.content[4:8] == b"ftyp"
    begun = threading.Event()
    studies._say = lambda said: begun.set() if said.get("study", {}).get("done") else None
    studies.playback.change(speed=0.001)
    studies.export("mp4", "key")
    assert begun.wait(WAIT)
    studies.cancel()
    assert done(studies)["words"] == "cancelled"
    assert not studies._offered


def test_files_are_served_under_the_token_once(tmp_path):
    pytest.importorskip("viser")
    path = tmp_path / "finger.yaml"
    path.write_text(TEXT, encoding="utf-8")
    with sorosim.live(path, port=0, block=False) as live:
        studies = live._editing.studies
        name = "a finger é.h5"
        url = studies._offer("h5", b"content", name)

        def asked(where):
            parts = urlsplit(live.url)
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
            connection.request("GET", where)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers

        token = urlsplit(live.url).path
        assert asked(f"/{'x' * (len(token) - 2)}/{url}")[0] == 403
        status, content, headers = asked(token + url)
        assert (status, content) == (200, b"content")
        assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''a%20finger%20%C3%A9.h5"
        assert asked(token + url)[0] == 404
