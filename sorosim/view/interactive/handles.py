"""Handles in the scene: numbers of the part that is selected, which a pointer drags.

The robot follows while a handle is dragged, and the text of the file is changed when it is let go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import SorosimError
from sorosim.base.problems import Path, dotted
from sorosim.files.handles import PlacedHandle, Written, axis_by_difference, dotted_path, handles_of, written_at
from sorosim.mechanics.model.description import PARTS
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.robot import Robot
from sorosim.view.interactive.editor import RobotText
from sorosim.view.interactive.session import Session
from sorosim.view.interactive.state import LiveState
from sorosim.view.viz.arrows import arrow_shape, arrow_triangles

RADIUS, ARROW, WIDTH = 0.016, 0.12, 0.03  # of balls and arrows, relative to the size of the robot
STEP, FREE = 0.01, 1e-4  # to which numbers are rounded, relative to it; the latter with shift
PART = 0.01  # the same of a place on a rod
ONE, SEVERAL, STAYS = (230, 120, 0), (250, 200, 0), (150, 150, 150)
AXES = (214, 60, 50), (60, 150, 60), (50, 100, 210)
ALONG = np.linspace(0.0, 1.0, 201)
ROOT, NOTE = "/handles", "/handles/note"
BLOCKS = ("links", *PARTS)


class Unknown(NamedTuple):
    """A number of the file that a handle moves, and by how much the handle moves with it."""

    written: Written
    value: float  # in SI units
    clipped: Callable[[float, float], float]
    shared: bool  # whether the number of the file is more than that of the handle, as a parameter is


@dataclass(frozen=True, eq=False)
class Item:
    """A handle in the scene: the numbers that it moves, and what it says of itself."""

    handle: PlacedHandle  # its axes are those of the unknowns
    unknowns: tuple[Unknown, ...]
    label: str
    why: str = ""  # it stays
    axis: int = -1  # which of its unknowns an arrow moves; -1: a ball, which moves all
    part: Path = ()
    index: int = 0  # among the handles of the part

    @property
    def arrow(self) -> Array | None:
        """Its direction (3,), of length 1; None of a ball."""
        if self.axis < 0 and (len(self.unknowns) != 1 or self.handle.along):
            return None
        axis = self.handle.axes[:, max(self.axis, 0)]
        return np.asarray(axis / np.linalg.norm(axis))

    def changed(self, changes: Array, size: float, free: bool) -> dict[Path, str]:
        """Numbers of the file that are others after changes (n,), as it writes them."""
        out: dict[Path, str] = {}
        scale = (1.0 if free else PART / STEP) if self.handle.along else size
        for one, by in zip(self.unknowns, changes, strict=True):
            step = scale * (FREE if free else STEP)
            if abs(by) < 0.5 * step:
                continue
            new = one.clipped(one.written.rounded(one.value + float(by), step), step)
            if (text := one.written.text(new)) != one.written.text(one.value):
                out[one.written.path] = text
        return out


def items_of(robot: Robot, part: Path, data: Any, file: str) -> list[Item]:
    """Handles of a part of the file, with what the file's text says of their numbers; arrows follow their ball."""
    out = list[Item]()
    for index, handle in enumerate(handles_of(robot, part)):
        found = [written_at(robot, number, data, file) for number in handle.numbers]
        label, reasons = _name(handle), [one.why for one in found if one.why]
        unit = next((one for one in found if one.unit), None)
        columns: dict[Path, Array] = {}
        unknowns: dict[Path, Unknown] = {}
        for number, one, axis in zip(handle.numbers, found, handle.axes.T, strict=True):
            if one.why:
                continue
            if not one.unit and not number.value and unit is not None:  # a zero among lengths has their unit
                one = one._replace(unit=unit.unit, factor=unit.factor)
            columns[one.path] = columns.get(one.path, 0.0) + axis  # a parameter may say several entries
            unknowns[one.path] = Unknown(one, number.value, number.clipped, one.path != number.path)
        moved = replace(handle, axes=np.stack([*columns.values()], axis=1) if columns else np.zeros((3, 0)))
        why = "" if unknowns else reasons[0]
        out.append(Item(moved, tuple(unknowns.values()), label, why, part=part, index=index))
        if len(unknowns) > 1:
            out += [replace(out[-1], axis=k) for k in range(len(unknowns))]
    return out


def _name(handle: PlacedHandle) -> str:
    """Path of what it moves, without the block."""
    path = handle.numbers[0].path
    return dotted(path[:-1] if len(handle.numbers) > 1 else path).partition(".")[2]


class _Grabbed(NamedTuple):
    """A handle that is dragged."""

    k: int
    item: Item  # as it was taken hold of
    at: Array  # (4, 4) of its frame, world
    offset: Array  # (3,) of the pointer from its point [m]
    places: Array  # (n, 3) along its rod, of one that is a place there


class Handles:
    """Handles of the part that is selected.

    Parameters
    ----------
    session : Session
    text : RobotText
        Of the file.
    commit : callable
        Takes what is to stand in the file, by paths.
    say : callable
        Takes what went wrong, in words.
    """

    def __init__(
        self,
        session: Session,
        text: RobotText,
        commit: Callable[[Mapping[Path, str]], None],
        say: Callable[[str], None],
    ) -> None:
        self.session, self.text, self._commit, self._say = session, text, commit, say
        self._lock = threading.RLock()
        self._part: Path = ()
        self._stale = True  # whether the file says something else, or another part is selected
        self._items: list[Item] = []
        self._nodes: list[Any] = []
        self._note: Any = None
        self._generation = -1
        self._poses = np.zeros((0, 4, 4))
        self._grabbed: _Grabbed | None = None
        self._inbox: SimpleQueue[tuple[str, dict[Path, str]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="sorosim handles", daemon=True)

    def start(self) -> None:
        """Let the robot follow, until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """End that."""
        self._inbox.put(None)
        if self._thread.is_alive():
            self._thread.join()

    @property
    def holds(self) -> bool:
        """Whether a pointer drags one."""
        return self._grabbed is not None

    @property
    def items(self) -> list[Item]:
        """What is shown."""
        return list(self._items)

    def select(self, part: Path) -> None:
        """Show handles of a part of the file."""
        with self._lock:
            self._stale = self._stale or part != self._part
            self._part = part

    def refresh(self) -> None:
        """Take notice of another text."""
        self._stale = True

    # -- in the scene --------------------------------------------------------------------------------------------------

    def show(self, scene: Any, state: LiveState) -> None:
        """Draw them where the robot is."""
        with self._lock:
            if self._stale and self._grabbed is None:
                self._stale = False
                self._read()
                self._draw(scene)
            elif state.generation != self._generation and self._items:
                self._follow(handle_list(self.session.robot, self._parts(self.session.robot)))
            self._generation = state.generation
            links = state.robot.engine.layout.links
            if any(item.handle.link not in (WORLD, *links) for item in self._items):
                self._stale = True  # the robot is another one already
                return
            self._poses = poses_of(state.robot, [item.handle for item in self._items], state.q)
            for item, node, g in zip(self._items, self._nodes, self._poses, strict=True):
                node.position = g[:3, :3] @ item.handle.point + g[:3, 3]
                if item.arrow is not None:
                    node.wxyz = _wxyz(g)
            if self._note is not None and self._grabbed is not None:
                self._note.position = self._nodes[self._grabbed.k].position

    def _parts(self, robot: Robot) -> list[Path]:
        """Parts of the robot that stand where what is selected does: several of one in a prefab, of which the first."""
        document = robot.description.document
        if document is None or len(self._part) < 2:
            return []
        block, name = self._part[:2]
        data, places = document.expanded.data, document.expanded.places
        if block not in ("prefabs", "parts"):
            return [self._part[:2]] if name in (data.get(block) or {}) else []
        found: dict[Path, Path] = {}
        for own in [(one, part) for one in BLOCKS for part in data.get(one) or {}]:
            place = places.place(own).path
            if place[:2] == self._part[:2] or (
                block == "parts" and place[0] == "prefabs" and own[1].startswith(f"{name}_")
            ):
                found.setdefault(place, own)
        return [*found.values()]

    def _read(self) -> None:
        robot, found = self.text.robot, list[Item]()
        if robot is not None and not self.text.imported:  # whose text is not to be changed
            try:
                data = self.text.data
                for part in self._parts(robot):
                    found += items_of(robot, part, data, self.text.path.name)
            except SorosimError:  # the text has mistakes, and the robot is one before
                found = []
        self._items = found

    def _follow(self, handles: Sequence[PlacedHandle]) -> None:
        """Take the places of handles of another robot."""
        balls = [item for item in self._items if item.axis < 0]
        if len(balls) != len(handles):
            self._stale = True
            return
        new = iter(handles)
        now: list[Item] = []
        for item in self._items:
            if item.axis < 0:
                handle = next(new)
            now.append(replace(item, handle=replace(handle, axes=item.handle.axes)))
        self._items = now

    def _draw(self, scene: Any) -> None:
        for node in self._nodes:
            node.remove()
        if self._note is not None:
            self._note.remove()
            self._note = None
        self._nodes = []
        size = self.session.size
        for k, item in enumerate(self._items):
            name = f"{ROOT}/{k}"
            if (direction := item.arrow) is None:
                colour = STAYS if item.why else ONE if item.handle.along else SEVERAL
                node = scene.add_icosphere(name, RADIUS * size, colour, subdivisions=2, cast_shadow=False)
            else:
                points = arrow_triangles(np.zeros((1, 3)), ARROW * size * direction[None], WIDTH * size, 1)[0]
                colour = AXES[item.axis % 3] if item.axis >= 0 else ONE
                node = scene.add_mesh_simple(name, points, arrow_shape(1).faces, color=colour, cast_shadow=False)
            for modifier in (None, "shift"):
                node.on_drag("left", modifier=modifier)(self.dragged)
            self._nodes.append(node)
        if self._items:
            self._note = scene.add_label(NOTE, "", font_size_mode="screen", anchor="bottom-left", visible=False)

    # -- the pointer ---------------------------------------------------------------------------------------------------

    def meets(self, event: Any) -> bool:
        """Whether a pointer that begins to drag what is before a handle drags the handle."""
        with self._lock:
            origin, through = np.array(event.client.camera.position), np.array(event.start_position)
            d = (through - origin) / np.linalg.norm(through - origin)
            size = self.session.size
            away, k = min(((self._away(k, origin, d), k) for k in range(len(self._items))), default=(np.inf, 0))
            if away > RADIUS * size:
                return False
            self._grab(k, event)
            return True

    def _away(self, k: int, origin: Array, d: Array) -> float:
        """How far a handle is from a ray of direction d (3,), of length 1 [m]."""
        g, item = self._poses[k], self._items[k]
        along = np.zeros(3) if item.arrow is None else ARROW * self.session.size * item.arrow
        begin = 0.3 if item.axis >= 0 else 0.0  # behind it is the ball
        points = item.handle.point + np.linspace(begin, 1.0, 8)[:, None] * along
        away = points @ g[:3, :3].T + g[:3, 3] - origin
        return float(np.linalg.norm(away - np.outer(away @ d, d), axis=1).min())

    async def dragged(self, event: Any) -> None:
        """A pointer drags a handle; a coroutine, for these come in order."""
        with self._lock:
            if event.phase == "start" and self._grabbed is None:
                nodes = [node.name for node in self._nodes]
                if event.target.name not in nodes:
                    return
                self._grab(nodes.index(event.target.name), event)
            grabbed = self._grabbed
            if grabbed is None:
                return
            values = self._aimed(grabbed, event)
            if event.phase == "end":
                self._grabbed = None
                self._inbox.put(("end", values))
            else:
                self._tell(grabbed, values)
                self._inbox.put(("drag", values))

    def _grab(self, k: int, event: Any) -> None:
        item, g, state = self._items[k], self._poses[k], self.session.state
        point = g[:3, :3] @ item.handle.point + g[:3, 3]
        places = np.zeros((0, 3))
        if item.handle.along:
            link = item.handle.link
            on_rod = [replace(item.handle, s=float(s)) for s in ALONG]
            assert link != WORLD
            places = poses_of(state.robot, on_rod, state.q)[:, :3, 3]
        elif (robot := self.text.robot) is not None and len(state.q) == robot.ndof:
            axes = item.handle.axes.copy()
            for i, one in enumerate(item.unknowns):
                if one.shared:
                    axes[:, i] = axis_by_difference(robot, item.part, item.index, one.written.path, one.value, state.q)
            item = replace(item, handle=replace(item.handle, axes=axes))
        self._grabbed = _Grabbed(k, item, g.copy(), np.array(event.start_position) - point, places)
        if self._note is not None:
            self._note.position, self._note.visible = point, True

    def _aimed(self, grabbed: _Grabbed, event: Any) -> dict[Path, str]:
        """What the file is to say."""
        item, free = grabbed.item, event.modifier == "shift"
        if not item.unknowns:
            return {}
        origin = np.array(event.client.camera.position)
        through = np.array(event.end_position) - grabbed.offset
        if item.handle.along:
            by = nearest_place(grabbed.places, origin, through - origin) - item.handle.s
            return item.changed(np.array([by]), self.session.size, free)
        handle = item.handle if item.axis < 0 else replace(item.handle, axes=item.handle.axes[:, [item.axis]])
        changes = handle.changes(origin, through - origin, grabbed.at)
        if item.axis >= 0:
            changes = np.where(np.arange(len(item.unknowns)) == item.axis, changes, 0.0)
        return item.changed(changes, self.session.size, free)

    def _tell(self, grabbed: _Grabbed, values: Mapping[Path, str]) -> None:
        item = grabbed.item
        said = [values.get(one.written.path, one.written.text(one.value)) for one in item.unknowns]
        words = f"{item.label}: " + (item.why or ", ".join(said))
        if self._note is not None and self._note.text != words:
            self._note.text = words

    # -- the robot that follows ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        shown: dict[Path, str] = {}
        while (order := self._inbox.get()) is not None:
            while order[0] == "drag" and not self._inbox.empty():
                if (newer := self._inbox.get()) is None:
                    return
                order = newer
            what, values = order
            try:
                if values != shown:
                    self.text.slide({dotted_path(path): text for path, text in values.items()})
                    shown = values
            except SorosimError as error:
                self._say(str(error))  # the last one that can be stays
            except Exception as error:  # of a plug-in
                self.session.fail(error)
            if what == "end":
                self._end(shown)
                shown = {}

    def _end(self, values: Mapping[Path, str]) -> None:
        if self._note is not None:
            self._note.visible = False
        if not values:
            return
        try:
            self._commit(values)
        except SorosimError as error:  # what an alias shares
            self._say(str(error))
            self.text.slide({})
        self._stale = True


def handle_list(robot: Robot, parts: Sequence[Path]) -> list[PlacedHandle]:
    """Handles of some parts of a robot."""
    return [handle for part in parts for handle in handles_of(robot, part)]


def poses_of(robot: Robot, handles: Sequence[PlacedHandle], q: Array) -> Array:
    """Poses (n, 4, 4) of the frames that handles are in."""
    out = np.tile(np.eye(4), (len(handles), 1, 1))
    own = [k for k, one in enumerate(handles) if one.link != WORLD]
    if own:
        places = robot.engine.places(tuple(handles[k].place for k in own))
        out[own] = robot.engine.poses_at(places, robot.coordinates(q))[0]
    return out


def nearest_place(places: Array, origin: Array, direction: Array) -> float:
    """Where along points (n, 3) at equal parts of a rod a ray comes nearest to it, from 0 to 1."""
    d, away = direction / np.linalg.norm(direction), places - origin
    return float(ALONG[int(np.argmin(np.linalg.norm(away - np.outer(away @ d, d), axis=1)))])


def _wxyz(g: Array) -> Array:
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(g[:3, :3]).as_quat()
    return np.array([w, x, y, z])
