"""The places that a robot's file names as its outputs are shown wherever one place is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import sorosim
from sorosim.connect.cli.main import app
from sorosim.files import load_text
from sorosim.mechanics.quantities import summarized
from sorosim.view.interactive.session import Session
from sorosim.view.viz.plots import plot_snapshots, plot_tip

FILE: dict[str, Any] = {
    "sorosim": 1,
    "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": 1000, "damping": "10 kPa*s"}},
    "links": {
        "arm": {"rod": {"length": "20 cm", "section": {"circle": {"radius": "1 cm"}}, "material": "rubber",
                        "strain": {"bending_y": 3}}},
        "hand": {"parent": "arm", "body": {"box": {"size": ["2 cm", "2 cm", "2 cm"]}, "mass": "10 g"},
                 "frames": {"grip": {"position": ["3 cm", 0, "1 cm"]}}},
        "cap": {"parent": "hand", "body": {"sphere": {"radius": "5 mm"}, "mass": "1 g"}},
    },
    "simulate": {"t_end": "0.1 s", "dt_out": "20 ms"},
}  # fmt: skip
GRIP = {"link": "hand", "at": {"frame": "grip"}}
MIDDLE = {"link": "arm", "at": {"s": 0.5}}


def robot(outputs: Any = None) -> sorosim.Robot:
    return sorosim.load({**FILE, **({} if outputs is None else {"outputs": outputs})})


def grip(of: sorosim.Robot, q: Any) -> Any:
    return (of.pose(q, "hand") @ [0.03, 0.0, 0.01, 1.0])[:3]


@pytest.mark.parametrize(("outputs", "points", "link", "s"), [
    (None, ("origin of cap",), "cap", 1.0), ("hand", ("origin of hand",), "hand", 1.0),
    ("arm", ("tip of arm",), "arm", 1.0), ([MIDDLE, "cap"], ("arm at s = 0.5", "origin of cap"), "arm", 0.5),
])  # fmt: skip
def test_the_tip_of_a_result_is_the_first_output(outputs: Any, points: tuple[str, ...], link: str, s: float) -> None:
    own = robot(outputs)
    rest, run = sorosim.statics(own), sorosim.simulate(own)
    assert own.outputs.points == points
    assert_allclose(rest.tip(), own.pose(rest.q, link, s=s)[:3, 3], rtol=0.0, atol=1e-15)
    assert_allclose(run.tip(), run.positions(link, s), rtol=0.0, atol=1e-15)
    assert_allclose(run.positions(s=s), run.positions(link, s), rtol=0.0, atol=0.0)


def test_an_output_in_a_frame_beside_its_link_moves_with_it() -> None:
    own = robot(GRIP)
    rest, run = sorosim.statics(own), sorosim.simulate(own)
    assert own.outputs.points == ("hand.grip",)
    assert_allclose(rest.tip(), grip(own, rest.q), rtol=0.0, atol=1e-15)
    assert_allclose(run.tip(), [grip(own, q) for q in run.q], rtol=0.0, atol=1e-15)
    linear, h = rest.linearize(), 1e-6
    C, names = linear.positions()
    assert names == ("hand.grip.x", "hand.grip.y", "hand.grip.z")
    differences = [(grip(own, rest.q + h * e) - grip(own, rest.q - h * e)) / (2.0 * h) for e in np.eye(own.ndof)]
    assert_allclose(C[:, : own.ndof], np.array(differences).T, rtol=0.0, atol=1e-9)


def test_plots_pages_and_curves_show_the_output() -> None:
    own = robot(GRIP)
    run, rest = sorosim.simulate(own), sorosim.statics(own)
    figure = plot_tip(run)
    assert figure.get_suptitle().endswith(": hand.grip")
    assert_allclose(figure.axes[2].lines[0].get_ydata(), run.tip()[:, 2], rtol=0.0, atol=0.0)
    assert [text.get_text() for text in plot_snapshots(run).legends[0].texts][-1] == "hand.grip"
    assert plot_tip(run, "arm").get_suptitle().endswith(": tip of arm")
    assert "hand.grip at the end" in run._repr_html_()
    assert "hand.grip" in rest._repr_html_()
    curve = sorosim.continuation(own, "links.hand.body.mass", to="12 g", max_points=4)
    assert_allclose(curve.tip()[0], grip(own, curve.q[0]), rtol=0.0, atol=1e-15)
    assert curve.plot(shapes=0).axes[0].get_ylabel() == "z of the hand.grip [m]"


def test_sweeps_show_the_output_among_theirs() -> None:
    points = {"grid": {"links.hand.body.mass": ["5 g", "10 g"]}}
    swept = sorosim.sweep(robot([MIDDLE]), points)
    assert list(swept.poses) == ["arm", "hand", "cap", "arm(0.5)"]
    assert_allclose(swept.tip(), swept.poses["arm(0.5)"][:, :3, 3], rtol=0.0, atol=0.0)
    assert swept.plot().axes[0].get_ylabel().startswith("arm(0.5).")
    assert_allclose(sorosim.sweep(robot("hand"), points).tip(), swept.poses["hand"][:, :3, 3], rtol=0.0, atol=1e-12)
    run = sorosim.simulate(robot([MIDDLE]))
    value, unit = summarized(run, "summary", {"low": {"min": "arm(0.5).z"}})["low"]
    assert (value, unit) == (pytest.approx(run.tip()[:, 2].min(), abs=1e-15), "m")


def test_live_sessions_plot_every_output(tmp_path: Any) -> None:
    own = robot([GRIP, "arm"])
    session = Session(own)
    controls = session.state.controls
    assert controls.outputs.points == ("hand.grip", "tip of arm")
    assert controls.tip == "hand"
    assert_allclose(controls.outputs.poses(session.state.q)[0, :3, 3], grip(own, session.state.q), atol=1e-15)


@pytest.mark.parametrize("command", ["statics", "simulate"])
def test_commands_show_every_output(tmp_path: Any, command: str) -> None:
    own, path = robot([GRIP, "arm"]), tmp_path / "own.yaml"
    own.to_yaml(path)
    told = CliRunner().invoke(app, [command, str(path)])
    assert told.exit_code == 0
    end = " at the end" if command == "simulate" else ""
    assert all(f" {name}{end} " in told.output for name in ("hand.grip", "tip of arm"))
    found = json.loads(CliRunner().invoke(app, [command, str(path), "--json"]).stdout)["outputs"]
    result: Any = getattr(sorosim, command)(own)
    q = result.q if command == "statics" else result.q[-1]
    assert_allclose(found["hand.grip"], grip(own, q), rtol=0.0, atol=1e-12)
    assert_allclose(found["tip of arm"], own.pose(q, "arm")[:3, 3], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("outputs", ["hand", GRIP, [GRIP, {"link": "arm", "at": {"s": 0.25}}]])
def test_outputs_survive_yaml_copies_and_other_values(outputs: Any) -> None:
    own = robot(outputs)
    text = own.to_yaml()
    for other in (load_text(text, "own"), own.with_values({"gravity": [0, 0, -1]}), own.with_loads(),
                  own.with_values({"links.hand.body.mass": "20 g"}), sorosim.Robot(own.description)):  # fmt: skip
        assert other.description.outputs == own.description.outputs
        assert other.outputs.points == own.outputs.points
    assert robot().with_values({"outputs": outputs}).description.outputs == own.description.outputs


def test_the_outputs_of_the_including_file_take_the_place_of_those_it_includes(tmp_path: Any) -> None:
    robot("hand").to_yaml(tmp_path / "own.yaml")
    without = "simulate, statics, gravity"
    for more, points in (("", "origin of hand"), ("outputs: arm\n", "tip of arm")):
        (tmp_path / "more.yaml").write_text(
            f"sorosim: 1\ninclude: [{{file: own.yaml, without: [{without}]}}]\n{more}links: {{}}\n"
        )
        assert sorosim.load(tmp_path / "more.yaml").outputs.points == (points,)


@pytest.mark.parametrize(("outputs", "where"), [
    ("hnad", "outputs: expected a link of this robot"), ([GRIP, "hnad"], "outputs[1]: expected a link of this robot"),
    ("world", "outputs"), ({"link": "hand", "at": {"as_built": True}}, "outputs"), ([], "outputs"), (3, "outputs"),
    ({"link": "hand", "at": {"frame": "grap"}}, "outputs.at.frame: expected the name of a frame of 'hand'"),
])  # fmt: skip
def test_places_that_are_none_are_refused_where_they_stand(tmp_path: Any, outputs: Any, where: str) -> None:
    text = robot().to_yaml() + "outputs: " + json.dumps(outputs) + "\n"
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(sorosim.FileError) as caught:
        sorosim.load(tmp_path / "own.yaml")
    assert f"own.yaml:{text.count(chr(10))}" in str(caught.value)
    assert where in str(caught.value)
    with pytest.raises(sorosim.ModelError, match="outputs"):
        sorosim.Description("x", robot().links, outputs=outputs if not isinstance(outputs, dict) else "hnad")
