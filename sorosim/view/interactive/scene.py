"""The robot in the page: the surfaces, stations and arrows of every drawing, as nodes of viser's scene.

Rods and tendons are meshes whose points are sent anew in each frame, bodies meshes whose poses are.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.model.shape import Sphere
from sorosim.view.interactive.observing import Estimated
from sorosim.view.interactive.state import LiveState
from sorosim.view.viz.arrows import COLOURS, IMPACT, ArrowScale, arrow_shape, arrow_triangles, peaks_of
from sorosim.view.viz.camera import VIEW_ANGLE, fit_camera, largest, up_axis
from sorosim.view.viz.colours import part_colour, rgb
from sorosim.view.viz.geometry import BODY, ROD, TENDON
from sorosim.view.viz.motion import motion_of
from sorosim.view.viz.options import CENTRE_OF_MASS, FORCES
from sorosim.view.viz.surfaces import grounds, obstacles, shape_surface
from sorosim.view.viz.visuals import COARSE, Floor, RobotVisual, quaternions
from sorosim.view.viz.wrenches import Wrenches, centre_of_mass

PULL_COLOUR = (214, 39, 140)
GRID_COLOUR = (150, 155, 163)  # seen on white and on black: a page is light or dark, the scene is one
CORD_COLOUR = (100, 107, 120)  # of tendons, as well
GRID_THICKNESS = 1.0  # pixels
CLEAR = 0.4  # opacity of rods in which there are tendons
PULL_WIDTH = 0.025  # of the arrow's head, relative to the size of the robot
ASPECT, MARGINS = 1.6, (0.08, 0.3, 0.12, 0.14)  # of what the camera sees at first: the panel is at the right
BESIDE = 0.9, (0.05, 0.48, 0.12, 0.14)  # the same beside an editor
RECENT = 300  # moments that set the scale of arrows, some ten seconds
WELCOME = 5.0  # s for which a page has the first camera, until what it reports is its own
ESTIMATE, BAND = (0, 114, 178), (86, 180, 233)  # colours of an estimate, and of its 95 % ellipsoids
FAINT = {ESTIMATE: 0.45, BAND: 0.3}  # their opacities
MOST_ELLIPSOIDS, ALONG = 40, 6  # of a robot, and of a rod
AROUND = 12  # points around one
KEPT = "/handles", "/WorldAxes"  # nodes that stay where the robot is another one
ROOM = 0.3  # below a robot that nothing bears, relative to its size: it may sink


class RobotScene:
    """One robot in a scene of viser; `ends` (n, 3) are those of the lines of its floor.

    Parameters
    ----------
    server : viser.ViserServer
    first : LiveState
        State that camera and floor suit.
    on_drag, on_click : coroutine function
        Take viser's events of a pointer that drags the robot, or clicks at it.
    beside : bool
        Whether an editor stands beside the scene.
    aims : bool
        Whether pages that are open look at this robot anew.
    before : RobotScene, optional
        That of a robot before, whose meshes it takes where theirs are alike: a pointer that drags one holds it still.
    """

    def __init__(
        self, server: Any, first: LiveState, on_drag: Callable[[Any], Any], on_click: Callable[[Any], Any], *,
        beside: bool = False, aims: bool = True, before: RobotScene | None = None,
    ) -> None:  # fmt: skip
        self._beside = beside
        self._server, self._scene = server, server.scene
        self.visual = RobotVisual(first.robot, resolution=COARSE)
        self._extent = self.visual.extent(first.q[None])
        self._size = largest([self._extent])
        self._meshes: list[tuple[Any, Any, float | None]] = []  # with what they are alike in, and how clear they are
        self._obstacles: list[tuple[Any, float | None]] = []  # with how clear they are
        self._soft, self._rigid = self._robot(self.visual.geometry.poses(first.q), on_drag, on_click, before)
        self._estimate = None if first.estimated is None else _Estimate(self._scene, first, self.visual)
        self._surroundings(up_axis(first.gravity), aims)
        self._arrows: dict[tuple[str, int], tuple[Any, int]] = {}  # kind, heads -> mesh and number of arrows
        self._peaks, self._kinds = deque[Array](maxlen=RECENT), tuple[str, ...]()
        self._scale = ArrowScale([], self._size)
        label = {"font_size_mode": "screen", "anchor": "bottom-left", "visible": False}
        self._force_label = self._scene.add_label("/pull/force", "", **label)
        self._selected_label = self._scene.add_label("/selected", "", **label)
        self.selected = ""  # link that has its name beside it
        self._followed: Array | None = None
        self._came = dict[int, float]()  # when each page did, on the clock [s]
        self._aims = dict[int, Array]()  # of each page, where its camera looks, from what it follows

    @property
    def arrow_label(self) -> str:
        """What lengths of arrows mean."""
        return self._scale.label

    def nearest(self, q: Array, point: Array) -> tuple[str, float]:
        """Link and s of the drawn section or body that is nearest to a point (3,)."""
        geometry = self.visual.geometry
        nearest = int(np.argmin(np.linalg.norm(geometry.at(q).points - point, axis=1)))
        return geometry.places[geometry.station[nearest]]

    def met(self, q: Array, origin: Array, direction: Array) -> str:
        """The link that is drawn nearest to a ray."""
        geometry = self.visual.geometry
        away = geometry.at(q).points - origin
        along = away @ direction / (direction @ direction)
        distance = np.linalg.norm(away - along[:, None] * direction, axis=1)
        close = distance <= distance.min() + 0.01 * self._size  # of these the first that the ray comes to
        nearest = int(np.argmin(np.where(close, along, np.inf)))
        return str(geometry.places[geometry.station[nearest]][0])

    def show(self, now: LiveState, kinds: Collection[str], follow: str | None, band: bool = True) -> None:
        """Draw a state, with wrenches of some kinds as arrows, cameras that follow a link, and the estimate's band."""
        geometry = self.visual.geometry
        g = geometry.poses(now.q)
        shape = geometry.shape(g)
        for mesh, points in self._soft:
            mesh.vertices = shape.points[points].astype(np.float32)
        poses = g[[station for _, station in self._rigid]]
        for (mesh, _), pose, (x, y, z, w) in zip(self._rigid, poses, quaternions(poses[None])[0], strict=True):
            mesh.position, mesh.wxyz = pose[:3, 3], (w, x, y, z)
        if self._estimate is not None and now.estimated is not None:
            self._estimate.show(now.estimated, band)
        self._show_selected(g)
        self._show_wrenches(now, kinds)
        self._show_pull(now)
        self._follow(now, g, follow)

    # -- nodes -----------------------------------------------------------------------------------------------------

    def pale(self, pale: bool) -> None:
        """Let what is inside of the robot and of obstacles be seen through them, or no longer."""
        for mesh, opacity in [*((mesh, opacity) for mesh, _, opacity in self._meshes), *self._obstacles]:
            if mesh.opacity != (new := min(CLEAR, opacity or 1.0) if pale else opacity):
                mesh.opacity = new

    def _clear(self, kept: Collection[str]) -> None:
        """Remove what the scene shows but the nodes of some names, and handles."""
        for name in list(self._scene._handle_from_node_name):
            if not any(one.startswith(f"{name}/") for one in (*kept, *KEPT)) and not name.startswith((*kept, *KEPT)):
                self._scene.remove_by_name(name)

    def _robot(
        self, g: Array, on_drag: Callable[[Any], Any], on_click: Callable[[Any], Any], before: RobotScene | None
    ) -> tuple[list[Any], list[Any]]:
        """Meshes of rods and tendons with their points, and of bodies with their stations.

        Those of one look that change their shape are one mesh: each is a message a frame, of a tenth of a millisecond.
        """
        geometry, shape = self.visual.geometry, self.visual.geometry.shape(g)
        soft, rigid = list[Any](), list[Any]()
        clear = any(part.kind == TENDON for part in geometry.parts)
        alike: dict[Any, list[Any]] = {}
        meshes = [] if before is None else before._meshes
        for k, part in enumerate(geometry.parts):
            look = (
                CORD_COLOUR if part.kind == TENDON else rgb(part_colour(part)),
                CLEAR if clear and part.kind == ROD else None,
            )
            alike.setdefault((k if part.kind == BODY else -1, *look), []).append(part)
        for k, ((body, colour, opacity), parts) in enumerate(alike.items()):
            points = np.concatenate([np.arange(part.points.start, part.points.stop) for part in parts])
            begins = np.cumsum([0, *(part.points.stop - part.points.start for part in parts)])
            faces = np.concatenate(
                [part.faces - part.points.start + begin for part, begin in zip(parts, begins, strict=False)]
            )
            vertices = (shape.points if body < 0 else geometry.local)[points]
            kind = body < 0, colour, len(vertices), faces.tobytes()
            if k < len(meshes) and meshes[k][1] == kind:
                mesh = meshes[k][0]
                mesh.vertices = vertices.astype(np.float32)
            else:
                mesh = self._scene.add_mesh_simple(
                    f"/robot/{k}", vertices, faces, color=colour, opacity=opacity, side="double"
                )
                mesh.on_drag("left")(on_drag)
                mesh.on_click(on_click)
            self._meshes.append((mesh, kind, opacity))
            if body < 0:
                soft.append((mesh, points))
            else:
                rigid.append((mesh, int(geometry.station[points[0]])))
        self._clear([mesh.name for mesh, *_ in self._meshes])
        return soft, rigid

    def _surroundings(self, up: Array, aims: bool) -> None:
        scene, robot = self._scene, self.visual.robot
        room = 0.0 if robot.engine.loading.touches else ROOM * self._size
        points = np.concatenate([self._extent, self._extent - room * up])
        floor = Floor.below(points, up, grounds(robot, up))
        self.ends = (floor.lines @ floor.axes).reshape(-1, 3)
        framed = [points, self.ends]
        scene.set_up_direction(up)
        scene.add_line_segments(
            "/floor", floor.lines @ floor.axes, GRID_COLOUR, thickness=GRID_THICKNESS, thickness_units="screen"
        )
        for k, one in enumerate(obstacles(robot, points)):
            framed += [one.points] if one.framed else []
            opacity = None if one.opacity >= 1.0 else one.opacity
            mesh = scene.add_mesh_simple(
                f"/obstacles/{k}", one.points, one.faces, color=rgb(one.colour), opacity=opacity, side="double",
                cast_shadow=False,
            )  # fmt: skip
            self._obstacles.append((mesh, opacity))
        camera = fit_camera(np.concatenate(framed), up, "iso", *(BESIDE if self._beside else (ASPECT, MARGINS)))
        first = self._server.initial_camera
        first.position, first.look_at, first.up = camera.position, camera.focus, camera.up
        first.fov, first.near = float(np.deg2rad(VIEW_ANGLE)), 0.01 * self._size
        for client in self._server.get_clients().values() if aims else ():  # of the robot before
            with client.atomic():
                client.camera.up_direction, client.camera.position = camera.up, camera.position
                client.camera.look_at = camera.focus

    def _show_selected(self, g: Array) -> None:
        """The name of the link that is selected, in its middle."""
        label = self._selected_label
        stations = [k for k, (link, _) in enumerate(self.visual.geometry.places) if link == self.selected]
        if label.text != (text := self.selected if stations else ""):
            label.text, label.visible = text, bool(stations)
        if stations:
            label.position = g[stations, :3, 3].mean(axis=0)

    def _show_wrenches(self, now: LiveState, kinds: Collection[str]) -> None:
        acting = Wrenches.of(())
        if kinds:
            self.visual.motion = motion_of(now.run())
            acting = self.visual.wrenches(now.q, now.u, now.t, kinds)
            self._rescale(acting, tuple(kinds))
        drawn = {key: (np.zeros((0, 3)),) * 2 for key in self._arrows if key[0] in FORCES}
        for arrows in self._scale.arrows(acting):
            for kind in FORCES:
                own = [k for k, row in enumerate(arrows.rows) if acting.kind[row] == kind]
                if own:
                    drawn[kind, arrows.heads] = arrows.starts[own], arrows.vectors[own]
        for (kind, heads), (starts, vectors) in drawn.items():
            self._show_arrows(kind, heads, starts, vectors, self._scale.width, COLOURS[kind])

    def _rescale(self, acting: Wrenches, kinds: tuple[str, ...]) -> None:
        """One scale for all arrows until now: it changes where larger ones come and stay, not for an impact.

        What set it was an impact, too, where what is usual since is `IMPACT` times smaller.
        """
        if kinds != self._kinds:
            self._peaks.clear()
            self._kinds = kinds
        ((force, moment),) = peaks_of([acting])
        if not (force or moment):
            return
        self._peaks.append(np.array([force, moment]))
        peaks, before = np.array(self._peaks), np.array(self._scale.largest)
        usual = np.array(ArrowScale([acting], self._size, peaks).largest)
        kept = np.where(usual >= before / IMPACT, before, 0.0)
        self._scale = ArrowScale([acting], self._size, peaks, kept)

    def _show_arrows(
        self, kind: str, heads: int, starts: Array, vectors: Array, width: float, colour: tuple[int, ...]
    ) -> None:
        """Arrows of one kind as one mesh, with room for more than there are; what is not needed is a point."""
        key, shape = (kind, heads), arrow_shape(heads)
        size, n = len(shape.normals), len(starts)
        mesh, room = self._arrows.get(key, (None, 0))
        if mesh is None or n > room:
            room = max(2 * n, 4)
            faces = (shape.faces + size * np.arange(room)[:, None, None]).reshape(-1, 3)
            mesh = self._scene.add_mesh_simple(
                f"/arrows/{kind}{heads}", np.zeros((room * size, 3)), faces, color=colour, cast_shadow=False
            )
            self._arrows[key] = mesh, room
        mesh.visible = n > 0
        if n:
            points = np.zeros((room * size, 3), dtype=np.float32)
            points[: n * size] = arrow_triangles(starts, vectors, width, heads)[0]
            points[n * size :] = points[0]
            mesh.vertices = points

    def _show_pull(self, now: LiveState) -> None:
        starts, vectors = np.zeros((0, 3)), np.zeros((0, 3))
        if now.pull is not None:
            point, target, force = now.pull
            if (away := target - point).any():
                starts, vectors = point[None], away[None]
            self._force_label.text, self._force_label.position = f"{np.linalg.norm(force):.3g} N", target
        self._force_label.visible = now.pull is not None
        self._show_arrows("pull", 1, starts, vectors, PULL_WIDTH * self._size, PULL_COLOUR)

    def _follow(self, now: LiveState, g: Array, follow: str | None) -> None:
        if follow is None:
            self._followed = None
            return
        at_mass = follow == CENTRE_OF_MASS
        place = centre_of_mass(now.robot, now.q)[0] if at_mass else g[self.visual.geometry.frames[follow], :3, 3]
        cameras = {number: client.camera for number, client in self._server.get_clients().items()}
        clock, first = time.monotonic(), self._server.initial_camera  # of who comes later, and of "reset view"
        if self._followed is None:
            self._aims = {number: camera.look_at - place for number, camera in cameras.items()}
            self._came = dict.fromkeys(cameras, -np.inf)
        elif (by := place - self._followed).any():
            first.position, first.look_at = first.position + by, first.look_at + by
            for number, camera in cameras.items():
                # pages report late where their cameras are, but rightly how these stand to what they look at; at first
                # they report another one than that which they were given
                came = clock - self._came.setdefault(number, clock) < WELCOME
                arm = first.position - first.look_at if came else camera.position - camera.look_at
                aim = place + self._aims.setdefault(number, first.look_at - place)
                with camera.client.atomic():
                    camera.position = aim + arm
                    camera.look_at = aim
        self._followed = place


class _Estimate:
    """What an observer takes for the robot, in one colour, and 95 % ellipsoids of places along it: two meshes."""

    def __init__(self, scene: Any, first: LiveState, visual: RobotVisual) -> None:
        self._geometry, robot = (geometry := visual.geometry), first.robot
        rods = list(geometry.centrelines)
        along = [(rod, (k + 1) / ALONG) for rod in rods for k in range(ALONG)]
        tips: list[Any] = [(rod, 1.0) for rod in rods] or [link.name for link in robot.links]
        self._places: list[Any] = (along if 0 < len(along) <= MOST_ELLIPSOIDS else tips)[:MOST_ELLIPSOIDS]
        self._frames = LinkFrames(robot.description, robot.engine, self._places)
        parts = [part for part in geometry.parts if part.kind != TENDON]
        self._points = np.concatenate([np.arange(part.points.start, part.points.stop) for part in parts])
        begins = np.cumsum([0, *(part.points.stop - part.points.start for part in parts)])
        faces = [part.faces - part.points.start + begin for part, begin in zip(parts, begins, strict=False)]
        ball, n = shape_surface(Sphere(1.0), AROUND), len(self._places)
        self._ball, self._most = ball.points, largest([visual.extent(first.q[None])])
        balls = (ball.faces + len(ball.points) * np.arange(n)[:, None, None]).reshape(-1, 3)
        points = geometry.at(first.q).points[self._points]
        shapes = {ESTIMATE: (points, np.concatenate(faces)), BAND: (np.tile(ball.points, (n, 1)), balls)}
        self._robot, self._band = (
            scene.add_mesh_simple(
                f"/estimate/{k}", *shapes[colour], color=colour, opacity=FAINT[colour], side="double",
                cast_shadow=False, receive_shadow=False, visible=False,
            )
            for k, colour in enumerate(shapes)
        )  # fmt: skip

    def show(self, estimated: Estimated, band: bool) -> None:
        """Draw what is known now, if anything is."""
        seen = estimated.seen
        self._robot.visible, self._band.visible = seen is not None, seen is not None and band
        if seen is not None:
            self._robot.vertices = self._geometry.at(seen.q).points[self._points].astype(np.float32)
            if band:
                places, axes = estimated.ellipsoids(self._frames)
                length = np.linalg.norm(axes, axis=1, keepdims=True)
                axes *= np.minimum(1.0, self._most / np.maximum(length, 1e-300))  # what is larger hides the robot
                points = places[:, None] + self._ball @ axes.transpose(0, 2, 1)
                self._band.vertices = points.reshape(-1, 3).astype(np.float32)
