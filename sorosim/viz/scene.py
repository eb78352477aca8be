"""The robot in 3D (pyvista): a scene that follows q."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.robot import Robot
from sorosim.viz.camera import VIEW_ANGLE, fit_camera, up_axis
from sorosim.viz.colours import ScaleBar, StrainValues, colour_map, round_range, tension_columns
from sorosim.viz.geometry import BODY, ROD, TENDON, Geometry, Shape
from sorosim.viz.look import PLAIN, STRAINS, TENSION, Look
from sorosim.viz.meshes import AXIS_COLOURS, Floor, Frames, Surface, Trails
from sorosim.viz.offscreen import load_pyvista
from sorosim.viz.target import LARGEST_SIDE, PICTURES, check_size, run_times, sample, written
from sorosim.viz.touching import (
    FORCE,
    GLASS,
    STONE,
    Arrows,
    contacts_at,
    largest_force,
    obstacle_meshes,
)
from sorosim.viz.words import INK, Words, in_font

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

SOFT, SKIN, FLESH = "#ee9170", "#e07c5c", "#f3c9b6"  # rods; their outside and inside where tendons are seen through it
RIGID, CORD = "#93a3b8", "#3b3f46"
SHADOW, FLOOR, LINES = "#dde0e5", "#f6f7f9", "#c3c8cf"
MATT = {"ambient": 0.22, "diffuse": 0.9, "specular": 0.12, "specular_power": 14.0}
# lights that go with the camera: position (right, up, towards us), intensity
LIGHTS = (((-1.0, 1.6, 1.2), 0.68), ((1.5, -0.8, 1.0), 0.32), ((-0.8, -1.5, 1.0), 0.16), ((0.0, 0.0, 1.0), 0.14))
AXES_CORNER = (0.0, 0.0, 0.15, 0.24)  # left, bottom, right, top, as parts of the picture
FITTED_STATES = 60  # of a run, for the camera and the floor
TRAIL_POINTS = 3000  # of a run, at most
FRAMES_ALONG = 9  # of a rod
ON_TOP = 60000.0  # in steps of the depth buffer


class Scene:
    """A robot in 3D. Close it, or use it in a `with` statement.

    Parameters
    ----------
    robot : Robot
    size : (int, int)
        Width and height of the picture [pixels].
    off_screen : bool
        Pictures (default), or a window.
    **look
        As for `sorosim.viz.look.Look`: view, colour, tendons, floor, axes, frames, trails, contacts, title.
    """

    # free below and beside the robot, as parts of the picture; beside a bar of colours there is always as much
    margin_below, margin_right, margin_bar = 0.06, 0.05, 0.14

    def __init__(
        self, robot: Robot, *, size: Sequence[int] = (1280, 720), off_screen: bool = True, **look: Any
    ) -> None:
        self.robot, self.size, self.look = robot, check_size(size), Look().changed(robot, look)
        pyvista = load_pyvista()
        self.geometry = Geometry(robot)
        self._up = up_axis(robot.engine.gravity)
        self._floor: Floor | None = None
        self._off_screen = off_screen
        self._framed = np.zeros((0, 3))  # what the camera must see
        self._states, self._tensions = np.zeros((0, robot.ndof)), np.zeros((0, 0))  # what colours must span
        self._run: Any = None
        self._arrows: Arrows | None = None
        self._now: tuple[Any, Any, float | None] | None = None  # what is shown: q, u, t
        self._columns = tension_columns(self.geometry)
        self._strain: StrainValues | None = None
        self._bar: ScaleBar | None = None
        self._lines: dict[str, tuple[Any, float]] = {}  # actors' properties, widths in a picture 720 pixels high
        self.plotter = pyvista.Plotter(off_screen=off_screen, window_size=self._window(), lighting=None)
        self.plotter.set_background("white")
        # one skin at a time is seen through: sorting layers by depth would only take time
        self.plotter.renderer.SetUseOIT(False)
        if self._finer > 1:
            self.plotter.disable_anti_aliasing()
        for position, intensity in LIGHTS:
            self.plotter.add_light(pyvista.Light(position=position, light_type="camera light", intensity=intensity))
        self._add_robot()
        self._add_helpers()
        self.words = Words(self.plotter)
        self.words.say("heading", robot.name if self.look.title is None else self.look.title)
        self._dress()

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the graphics memory back."""
        self.plotter.close()

    # -- what is in it ---------------------------------------------------------------------------------------------

    def _surface(self, *kinds: str) -> Surface | None:
        parts = [part for part in self.geometry.parts if part.kind in kinds]
        return Surface(parts, self.geometry.n_points) if parts else None

    def _add(self, surface: Surface, **style: Any) -> Any:
        actor = self.plotter.add_mesh(surface.mesh, reset_camera=False, show_scalar_bar=False, **style)
        # the mesh has normals of its own; pyvista's smooth shading would work on a copy
        actor.prop.interpolation = "phong"
        return actor

    def _add_lines(self, name: str, mesh: Any, width: float, **style: Any) -> Any:
        actor = self.plotter.add_mesh(mesh, name=name, lighting=False, reset_camera=False, **style)
        self._lines[name] = actor.prop, width
        return actor

    def _add_robot(self) -> None:
        self._rods, self._cords = self._surface(ROD), self._surface(TENDON)
        self._bodies: dict[str, Surface] = {}
        for colour in dict.fromkeys(part.colour for part in self.geometry.parts if part.kind == BODY):
            of_colour = [part for part in self.geometry.parts if part.kind == BODY and part.colour == colour]
            self._bodies[colour] = Surface(of_colour, self.geometry.n_points)
        self._shade = self._surface(ROD, BODY)
        self._flesh: Any = None
        self._skin: Any = None
        self._cord: Any = None
        self._shadow: Any = None
        if self._rods is not None:
            # where tendons show: a skin through which they are seen before the pale inside of the far wall
            self._flesh = self._add(self._rods, color=FLESH, lighting=False, culling="front", scalars=None)
            map_ = colour_map(STRAINS[0])
            self._skin = self._add(self._rods, scalars="value", cmap=map_, culling="back", **MATT)
        for colour, surface in self._bodies.items():
            self._add(surface, color=colour or RIGID, scalars=None, **MATT)
        if self._cords is not None:
            self._cord = self._add(self._cords, scalars="value", cmap=colour_map(TENSION), ambient=0.6, diffuse=0.5)
            self._cord.prop.color = CORD
        if self._shade is not None:
            self._shadow = self._add(self._shade, color=SHADOW, lighting=False, scalars=None)
        every = (self._rods, *self._bodies.values(), self._cords)
        self._surfaces = [surface for surface in every if surface is not None]

    def _add_helpers(self) -> None:
        along = [
            line[np.linspace(0, len(line) - 1, FRAMES_ALONG).astype(int)] for line in self.geometry.centrelines.values()
        ]
        self._frames = Frames(np.unique(np.concatenate([list(self.geometry.frames.values()), *along])))
        self._triads = self._add_lines("frames", self._frames.mesh, 2.5, scalars="colour", rgb=True)
        # frames lie inside of thick rods: they are drawn over them
        self._triads.mapper.SetResolveCoincidentTopologyToPolygonOffset()
        self._triads.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(0.0, -ON_TOP)
        self._trails: Trails | None = None
        self._paths: Any = None
        colours = {f"{x}_color": "#{:02x}{:02x}{:02x}".format(*c) for x, c in zip("xyz", AXIS_COLOURS, strict=True)}
        axes = self.plotter.add_axes(color=INK, xlabel="x", ylabel="y", zlabel="z", viewport=AXES_CORNER, **colours)
        for k in "XYZ":
            self._lines[k] = getattr(axes, f"Get{k}AxisShaftProperty")(), 3.0
            in_font(getattr(axes, f"Get{k}AxisCaptionActor2D")().GetCaptionTextProperty()).SetItalic(False)

    def _add_trails(self) -> None:
        t = run_times(self._run)
        some = np.unique(np.linspace(0, len(t) - 1, min(len(t), TRAIL_POINTS)).astype(int))
        engine, q = self.robot.engine, np.asarray(self._run.q, dtype=float)
        places = engine.places(tuple((name, 1.0) for name in self.geometry.tips))
        self._trails = Trails(t[some], np.stack([engine.look(places, q[k])[0][:, :3, 3] for k in some]))
        self._paths = self._add_lines("trails", self._trails.mesh, 2.5, scalars="colour", rgb=True)

    # -- how it looks ----------------------------------------------------------------------------------------------

    def change(self, **look: Any) -> None:
        """Show other things, or the same otherwise; see `sorosim.viz.look.Look`. A new view moves the camera."""
        before, self.look = self.look, self.look.changed(self.robot, look)
        self._dress()
        if self.look.colour_of(self.robot) != before.colour_of(self.robot):
            self._set_colours()
        if self._now is not None:
            self.update(*self._now)
        if "view" in look:
            self.place_camera()
        self._scale()

    def _dress(self) -> None:
        """Let the actors follow the look."""
        look, strained = self.look, self.look.colour_of(self.robot) in STRAINS
        glassy = self._cord is not None and look.tendons and not strained
        if self._skin is not None:
            self._skin.mapper.scalar_visibility = strained
            # colours that mean something are shaded less
            self._skin.prop.ambient, self._skin.prop.diffuse = (0.5, 0.55) if strained else (0.22, 0.9)
            self._skin.prop.color, self._skin.prop.opacity = SKIN if glassy else SOFT, 0.4 if glassy else 1.0
            self._flesh.visibility = glassy
        if self._cord is not None:
            self._cord.visibility = look.tendons
        self._triads.visibility = look.frames
        if look.trails and self._run is not None and self._trails is None:
            self._add_trails()
        if self._paths is not None:
            self._paths.visibility = look.trails
        for name in ("floor", "grid"):
            if name in self.plotter.actors:
                self.plotter.actors[name].visibility = look.floor
        for name, actor in self.plotter.actors.items():
            if name.startswith("obstacle"):
                actor.visibility = look.contacts
        if self._shadow is not None:
            self._shadow.visibility = look.floor and self._floor is not None
        self.words.say("grid", f"grid {self._floor.step:g} m" if self._floor is not None and look.floor else "")
        (self.plotter.show_axes if look.axes else self.plotter.hide_axes)()

    def _set_colours(self) -> None:
        """Set range and bar of the colours for what must be seen."""
        if self._bar is not None:
            self._bar.remove()
        self._bar, self._strain = None, None
        quantity, mapper = self.look.colour_of(self.robot), None
        if self._cord is not None:
            self._cord.mapper.scalar_visibility = False
        if quantity == TENSION and self._cord is not None and self._tensions.size:
            mapper, low, high = self._cord.mapper, min(0.0, float(self._tensions.min())), float(self._tensions.max())
        elif quantity in STRAINS and self._skin is not None:
            mapper, self._strain = self._skin.mapper, StrainValues(self.geometry, quantity)
            low, high = self._strain.range(self._states)
        if quantity == PLAIN or mapper is None:
            return
        low, high, labels = round_range(low, high, quantity in STRAINS)
        mapper.scalar_range, mapper.scalar_visibility = (low, high), True
        self._bar = ScaleBar(self.plotter, mapper, quantity, labels)

    # -- what it shows ---------------------------------------------------------------------------------------------

    def fit(self, states: ArrayLike, inputs: ArrayLike | None = None) -> None:
        """Set camera, floor and colours so that they suit a whole motion.

        Parameters
        ----------
        states : (n, ndof) array_like
        inputs : (n, n_actuators) array_like, optional
        """
        # every seventh point will do for what is seen, seven being no divisor of the numbers around
        some = np.concatenate([np.zeros(0, dtype=np.int64), *(surface.index for surface in self._surfaces)])[::7]
        self._states = np.atleast_2d(np.asarray(states, dtype=float))
        if len(some):
            seen = np.concatenate([self.geometry.some_points(q, some) for q in self._states])
        else:  # a robot of massless frames has no surface
            seen = np.concatenate([self.geometry.at(q).g[:, :3, 3] for q in self._states])
        size = float(np.ptp(seen, axis=0).max()) or 1.0
        self._frames.length = 0.07 * size
        self._floor = Floor(seen, self._up)
        # the floor belongs to the picture, whether it is drawn now or later
        self._framed = np.concatenate([seen, self._floor.shadow(seen)]) if self.look.floor else seen
        if self.robot.engine.loading.touches:
            self._add_obstacles(seen, size)
        self.plotter.add_mesh(self._floor.plane, color=FLOOR, name="floor", lighting=False, reset_camera=False)
        self._add_lines("grid", self._floor.grid, 1.2, color=LINES)
        if inputs is not None:
            given = np.atleast_2d(np.asarray(inputs, dtype=float))
            rows = zip(np.broadcast_to(self._states, (len(given), self._states.shape[1])), given, strict=True)
            self._tensions = np.array([self.robot.engine.tensions(q, u)[self._columns] for q, u in rows])
        self._set_colours()
        self._dress()
        self.place_camera()
        self._scale()

    def _add_obstacles(self, seen: Array, size: float) -> None:
        """Draw what the robot may touch, and get the arrows of forces ready."""
        for k, (mesh, clear, whole) in enumerate(obstacle_meshes(self.robot, seen)):
            style: Any = {"color": GLASS, "opacity": 0.28, "lighting": False} if clear else {"color": STONE, **MATT}
            self.plotter.add_mesh(mesh, name=f"obstacle{k}", reset_camera=False, smooth_shading=not clear,
                                  split_sharp_edges=not clear, **style)  # fmt: skip
            if whole and self.look.contacts:
                self._framed = np.concatenate([self._framed, np.asarray(mesh.points, dtype=float)])
        self._arrows = Arrows(largest_force(self.robot, self._run, self._states), size)

    def _update_contacts(self, q: Array, t: float | None) -> None:
        mesh = self._arrows.mesh(contacts_at(self.robot, self._run, q, t)) if self._arrows is not None else None
        if mesh is None or not self.look.contacts:
            self.plotter.remove_actor("forces", render=False)
        else:
            self.plotter.add_mesh(mesh, name="forces", color=FORCE, reset_camera=False, render=False, **MATT)

    def fit_run(self, run: Any) -> None:
        """As `fit`, for a run."""
        t, self._run = run_times(run), run
        self.fit(*sample(run, np.linspace(t[0], t[-1], min(len(t), FITTED_STATES))))

    def update(self, q: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float | None = None) -> None:
        """Show the robot at coordinates q (ndof,), its tendons coloured by their tensions under inputs u, and t [s]."""
        if len(self._framed) == 0:
            self.fit(self.robot.coordinates(q), None if u is None else self.robot.inputs(u))
        shape, self._now = self.geometry.at(q), (q, u, t)
        for surface in self._surfaces:
            if surface is not self._cords or self.look.tendons:
                surface.update(shape.points, shape.normals)
        self._update_helpers(shape, t)
        if self._arrows is not None:
            self._update_contacts(self.robot.coordinates(q), t)
        if self._strain is not None and self._rods is not None:
            self._rods.paint(self._strain.at(self.robot.coordinates(q)))
        if u is not None and self._cords is not None:
            tensions = self.robot.engine.tensions(self.robot.coordinates(q), self.robot.inputs(u))
            self._cords.paint(tensions[self._columns])
        self.words.say("clock", "" if t is None else f"t = {t:.2f} s")
        # near and far planes follow the robot, else they cut it
        self.plotter.reset_camera_clipping_range()

    def _update_helpers(self, shape: Shape, t: float | None) -> None:
        if self.look.frames:
            self._frames.update(shape.g)
        if self.look.trails and self._trails is not None and t is not None:
            self._trails.update(t, shape.g[list(self.geometry.tips.values()), :3, 3])
        if self.look.floor and self._shade is not None and self._floor is not None:
            self._shade.update(self._floor.shadow(shape.points))

    @property
    def _finer(self) -> int:
        """How much finer than the picture we draw, for smooth edges; VTK's own ways are slower without a card."""
        return 2 if self._off_screen and max(self.size) <= LARGEST_SIDE // 2 else 1

    def _window(self) -> list[int]:
        return [self._finer * side for side in self.size]

    def _resize(self, size: tuple[int, int]) -> None:
        self.size = size
        self.plotter.window_size = self._window()
        self.place_camera()
        self._scale()

    def place_camera(self) -> None:
        """Put the camera where the view of the look is, all in sight."""
        margins = (0.05, self.margin_right if self._bar is None else self.margin_bar, self.margin_below, 0.12)
        where = fit_camera(self._framed, self._up, self.look.view, self.size[0] / self.size[1], margins)
        camera = self.plotter.camera
        camera.position, camera.focal_point, camera.up = (tuple(vector) for vector in where)
        camera.view_angle = VIEW_ANGLE
        self.plotter.reset_camera_clipping_range()

    def _scale(self) -> None:
        """Set the sizes of letters and lines for the size of the picture."""
        scale = self._finer * self.size[1] / 720.0
        self.words.scale(scale)
        if self._bar is not None:
            self._bar.scale(scale)
        for line, width in self._lines.values():
            line.SetLineWidth(width * scale)

    def image(self) -> Image:
        """The picture (height, width, 3)."""
        from PIL import Image

        if len(self._framed) == 0:
            self.update(self.robot.initial_q)
        self.plotter.render()
        drawn = self.plotter.screenshot(return_img=True)
        return np.asarray(drawn if self._finer == 1 else Image.fromarray(drawn).reduce(self._finer))

    def still(self, path: str | os.PathLike[str], size: Sequence[int] | None = None) -> None:
        """Write the picture to a file, in another size if wanted.

        Raises
        ------
        InputError
            The suffix is none of a picture, or the size is none.
        FileError
            The file cannot be written.
        """
        before, wanted = self.size, self.size if size is None else check_size(size)
        with written(path, PICTURES) as draft:
            import imageio.v3

            if len(self._framed) == 0:
                self.update(self.robot.initial_q)
            try:
                self._resize(wanted)
                imageio.v3.imwrite(draft, self.image())
            finally:
                self._resize(before)
