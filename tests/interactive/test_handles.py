"""Handles in the scene: what a pointer makes of them, what the robot and the text of the file make of that."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sorosim
from sorosim.files.handles import PlacedHandle, Written, round_step
from sorosim.view.interactive.editor_server import Editing
from sorosim.view.interactive.session import Session

pytest.importorskip("viser")
TEXT = """\
sorosim: 1
name: hand
parameters: {reach: 20 cm, half: 2 cm}
materials:
  rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 1 kPa*s}
links:
  arm:  # it is soft
    at: {rotation: {rpy: [0.3, -0.2, 0.5]}}
    rod: {length: $reach, section: {circle: {radius: [12 mm, 8 mm]}}, material: rubber, strain: {bending: 2}}
  tool:
    parent: arm
    at: {position: [1 cm, 0, 0]}  # in front
    body: {box: {size: [2*$half, 3 cm, 0.02]}, mass: 20 g}
  ball: {parent: tool, at: {position: [5 cm, 0, 0]}, body: {sphere: {radius: 1 in}, mass: 1 g}}
actuators:
  pull: {tendon: {rod: arm, y: 0, z: 5 mm}}
loads:
  push: {wrench: {link: arm, s: 0.5, force: [0, 0, 1 mN]}}
  wall: {contact: {between: ball, and: {sphere: {radius: 3 cm}, at: {position: [0, 0, -1 m]}}, stiffness: 100}}
"""
ALIAS = TEXT.replace("at: {position: [1 cm, 0, 0]}", "at: &at {position: [1 cm, 0, 0]}").replace(
    "at: {position: [5 cm, 0, 0]}", "at: *at"
)


class Node(SimpleNamespace):
    """A node of a scene."""

    def on_drag(self, *_, **__):
        return lambda action: action

    def remove(self):
        self.gone = True


class Scene:
    """As much of viser's as handles need."""

    def add_icosphere(self, name, *_, **__):
        return Node(name=name)

    add_mesh_simple = add_icosphere

    def add_label(self, name, text, **_):
        return Node(name=name, text=text, visible=False)


class Desk:
    """A file in the editor, and a pointer in the scene of its robot."""

    def __init__(self, path, text=TEXT):
        path.write_text(text, encoding="utf-8")
        self.session, self.scene = Session(sorosim.load(path)), Scene()
        self.editing = Editing(self.session, path)
        self.text, self.handles, self.said = self.editing.text, self.editing.handles, []
        self.editing.server.say = self.said.append
        self.handles._say = lambda words: self.said.append(words)
        self.read()

    def read(self):
        self.editing._said({"state": self.text.read(self.text.version, self.text.text)})
        self.show()

    def show(self):
        state = self.session.frame(0.0)
        self.handles.show(self.scene, state)
        return state

    def select(self, *part):
        self.handles.select(part)
        self.show()
        return [item.label for item in self.handles.items]

    def item(self, label, axis=-1):
        found = [k for k, one in enumerate(self.handles.items) if (one.label, one.axis) == (label, axis)]
        return found[0]

    def point(self, k):
        return np.array(self.handles._nodes[k].position)

    def drag(self, k, by, camera=(3.0, -2.0, 1.0), modifier=None):
        """Drag a handle by a vector of the world, as one sees it."""
        begin, self.shown = self.point(k) + np.array([1e-3, 2e-3, -1e-3]), []
        client = SimpleNamespace(camera=SimpleNamespace(position=np.array(camera)))
        for phase, part in (("start", 0.0), ("update", 0.5), ("update", 1.0), ("end", 1.0)):
            event = SimpleNamespace(
                target=self.handles._nodes[k], phase=phase, start_position=tuple(begin), modifier=modifier,
                end_position=tuple(begin + part * np.asarray(by)), client=client,
            )  # fmt: skip
            asyncio.run(self.handles.dragged(event))
            self.shown.append(self.handles._note.text)
        self.handles._inbox.put(None)
        self.handles._run()
        self.read()

    @property
    def changed(self):
        """Lines that are others."""
        pairs = zip(TEXT.split("\n"), self.text.text.split("\n"), strict=True)
        return [new.strip() for old, new in pairs if old != new]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path / "hand.yaml")


def rotated(seed, axes):
    rng = np.random.default_rng(seed)
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    return rng, g, PlacedHandle((), "arm", 1.0, rng.normal(size=3), np.asarray(axes, dtype=float))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 2])
def test_a_ray_through_a_moved_handle_gives_its_numbers_back(seed, n):
    """In any frame: rays through p + A x give x, as one axis or a plane meets them in one point."""
    rng, g, handle = rotated(seed, np.linalg.qr(np.random.default_rng(seed).normal(size=(3, n)))[0] * [1.0, 0.5][:n])
    x = rng.normal(size=n)
    target = g[:3, :3] @ (handle.point + handle.axes @ x) + g[:3, 3]
    origin = target + 5.0 * rng.normal(size=3)
    np.testing.assert_allclose(handle.changes(origin, target - origin, g), x, atol=1e-9)


def test_three_numbers_move_across_the_ray_and_an_axis_along_it_stays():
    _, g, handle = rotated(1, np.eye(3))
    point = g[:3, :3] @ handle.point + g[:3, 3]
    d, by = np.array([0.0, 0.0, 1.0]), np.array([0.3, -0.2, 0.0])
    x = handle.changes(point + by - 4.0 * d, d, g)
    np.testing.assert_allclose(g[:3, :3] @ x, by, atol=1e-12)
    along = PlacedHandle((), "arm", 1.0, handle.point, (g[:3, :3].T @ d)[:, None])
    np.testing.assert_allclose(along.changes(point + by - 4.0 * d, d, g), 0.0, atol=1e-12)


def test_steps_are_round_in_the_unit_of_the_file():
    assert [round_step(x) for x in (1.0, 0.3, 0.049, 7.0, 0.1)] == [1.0, 0.2, 0.02, 5.0, 0.1]
    inches = Written(("x",), "in", 0.0254)
    x = inches.rounded(0.0303, 0.003)  # steps of 0.1 in
    assert inches.text(x) == "1.2 in"
    assert Written(("x",)).text(Written(("x",)).rounded(0.12345, 0.01)) == "0.12"


def test_a_position_is_dragged_and_nothing_else_changes(desk):
    assert set(desk.select("links", "tool")) == {"tool.at.position", "tool.body.box.size[0]", "tool.body.box.size[1]",
                                                  "tool.body.box.size[2]"}  # fmt: skip
    k = desk.item("tool.at.position", axis=1)
    before = desk.point(k)
    R = desk.handles._poses[k][:3, :3]
    desk.drag(k, 0.03 * R[:, 1])
    assert desk.changed == ["at: {position: [1 cm, 3 cm, 0]}  # in front"]
    np.testing.assert_allclose(desk.point(k) - before, 0.03 * R[:, 1], atol=1e-9)
    assert desk.said.count({"updates": 1}) == 1


def test_a_parameter_alone_changes_where_it_is_defined(desk):
    """The rod's length is $reach: its tip comes to where it was dragged."""
    desk.select("links", "arm")
    k = desk.item("arm.rod.length")
    before, axis = desk.point(k), desk.handles._poses[k][:3, 0]
    desk.drag(k, 0.05 * axis)
    assert desk.changed == ["parameters: {reach: 25 cm, half: 2 cm}"]
    np.testing.assert_allclose(desk.point(k) - before, 0.05 * axis, atol=1e-9)


def test_a_computed_number_says_so_and_stays(desk):
    desk.select("links", "tool")
    k = desk.item("tool.body.box.size[0]")
    desk.drag(k, [0.1, 0.1, 0.1])
    assert desk.text.text == TEXT
    assert "it is computed: 2*$half" in desk.shown[1]


def test_bounds_hold(desk):
    """A radius never gets to zero; a place on a rod ends at its tip; with shift numbers are finer."""
    desk.select("links", "ball")
    k = desk.item("ball.body.sphere.radius")
    R = desk.handles._poses[k][:3, :3]
    desk.drag(k, -0.5 * R[:, 0])
    (line,) = desk.changed
    assert 0.0 < float(line.partition("radius: ")[2].split(" in")[0]) < 0.3
    desk.select("loads", "push")
    k = desk.item("push.wrench.s")
    desk.drag(k, 2.0 * desk.handles._poses[k][:3, 0])
    assert desk.session.robot.description.loads["push"].s == 1.0


def test_a_place_on_a_rod_follows_the_pointer_along_it(desk):
    desk.select("loads", "push")
    k = desk.item("push.wrench.s")
    desk.drag(k, 0.05 * desk.handles._poses[k][:3, 0])
    assert desk.changed == ["push: {wrench: {link: arm, s: 0.75, force: [0, 0, 1 mN]}}"]


def test_tapers_holes_and_obstacles_have_handles(desk):
    assert set(desk.select("links", "arm")) == {"arm.rod.length", "arm.rod.section.circle.radius[0]",
                                                 "arm.rod.section.circle.radius[1]"}  # fmt: skip
    k = desk.item("arm.rod.section.circle.radius[1]")
    desk.drag(k, 0.004 * desk.handles._poses[k][:3, 1], modifier="shift")
    assert "[12 mm, 12 mm]" in desk.text.text
    assert desk.select("actuators", "pull") == ["pull.tendon"] * 3
    k = desk.item("pull.tendon", axis=0)
    desk.drag(k, 0.004 * desk.handles._poses[k][:3, 1], modifier="shift")
    assert "{tendon: {rod: arm, y: 4 mm, z: 5 mm}}" in desk.text.text
    assert set(desk.select("loads", "wall")) == {"wall.contact.and.sphere.radius", "wall.contact.and.at.position"}
    k = desk.item("wall.contact.and.at.position", axis=2)
    desk.drag(k, [0.0, 0.0, 0.1])
    assert "at: {position: [0, 0, -0.9 m]}" in desk.text.text


def test_what_no_robot_can_have_is_said_and_the_last_that_can_stays(desk):
    desk.select("actuators", "pull")
    k = desk.item("pull.tendon", axis=0)
    desk.drag(k, 0.5 * desk.handles._poses[k][:3, 1])  # out of the rod
    assert any("inside the section" in str(one) for one in desk.said)
    assert desk.text.text == TEXT


def test_what_an_alias_shares_goes_back(tmp_path):
    desk = Desk(tmp_path / "hand.yaml", ALIAS)
    desk.select("links", "ball")
    k = desk.item("ball.at.position", axis=0)
    desk.drag(k, 0.03 * desk.handles._poses[k][:3, 0])
    assert desk.text.text == ALIAS
    assert any("alias" in str(one) for one in desk.said)
    link = next(one for one in desk.session.robot.links if one.name == "ball")
    assert link.at[0, 3] == pytest.approx(0.01)


def test_what_is_read_from_another_format_has_none(desk):
    assert desk.select("links", "tool")
    desk.text.imported = True
    desk.read()
    assert not desk.handles.items


def test_a_page_that_is_open_makes_the_change(desk):
    """Who drags undoes: the page whose pointer was in the scene is told what to change, and the text waits for it."""
    told = []
    desk.editing.server.tell = lambda message: bool(told.append(message)) or True
    desk.select("links", "tool")
    k = desk.item("tool.at.position", axis=2)
    desk.drag(k, 0.02 * desk.handles._poses[k][:3, 2])
    assert told == [{"numbers": [[["links", "tool", "at", "position", 2], "2 cm"]]}]
    assert desk.text.text == TEXT
    changes = desk.text.edit("numbers", (), values=told[0]["numbers"])
    assert [new for *_, new in changes] == ["2 cm"]


def test_plug_ins_have_the_handles_that_they_declare():
    from sorosim.base.declare import Handle
    from sorosim.files.handles import _Frame, _Walk

    class Fan:
        quantities = {"reach": "length"}
        handles = (Handle(reach=[0.0, 0.0, 1.0]),)

    robot = sorosim.load("pendulum")
    walk = _Walk(robot)
    name = robot.links[0].name
    walk.part(Fan, {"link": name, "reach": "3 cm"}, ("loads", "fan", "fan"), _Frame())
    assert [(one.link, one.point.tolist()) for one in walk.found] == [(name, [0.0, 0.0, 0.03])]
