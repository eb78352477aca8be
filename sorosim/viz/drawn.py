"""One robot of a scene (pyvista): its surfaces, colours, trails, frames, and what it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.robot import Robot
from sorosim.viz.arrows import Arrows
from sorosim.viz.colours import StrainValues, colour_map, round_range, tension_columns
from sorosim.viz.forces import Acting, acting
from sorosim.viz.geometry import BODY, ROD, TENDON, Geometry
from sorosim.viz.look import PLAIN, STRAINS, TENSION, Look
from sorosim.viz.meshes import Floor, Frames, Surface, Trails
from sorosim.viz.target import Motion, sample
from sorosim.viz.touching import CLEAR, GLASS, STONE, obstacle_meshes

Array = NDArray[np.float64]

SOFT, SKIN, FLESH = "#ee9170", "#e07c5c", "#f3c9b6"  # rods; their outside and inside where tendons are seen through it
RIGID, CORD = "#93a3b8", "#3b3f46"
SHADOW = "#dde0e5"
MATT = {"ambient": 0.22, "diffuse": 0.9, "specular": 0.12, "specular_power": 14.0}
MEANING = {"ambient": 0.5, "diffuse": 0.55}  # colours that mean something are shaded less
TRAIL_POINTS = 3000  # of a run, at most
FRAMES_ALONG = 9  # of a rod
ON_TOP = 60000.0  # in steps of the depth buffer
HOVER = 0.0002  # how much lower the shadow of each further robot lies, relative to what is seen


class DrawnRobot:
    """A robot's actors in a plotter.

    Parameters
    ----------
    plotter : pyvista.Plotter
    robot : Robot
    tint : str
        Code of a colour for all of it; "": the usual ones.
    offset : (3,) ndarray, optional
        Where in the picture the world of this robot lies [m].
    number : int
        Which one it is in its scene.
    """

    def __init__(
        self, plotter: Any, robot: Robot, tint: str = "", offset: Array | None = None, number: int = 0
    ) -> None:
        self.robot, self.plotter, self.geometry = robot, plotter, Geometry(robot)
        self.offset = np.zeros(3) if offset is None else offset
        self.lines: dict[str, tuple[Any, float]] = {}  # actors' properties, widths in a picture 720 pixels high
        self.motion: Motion | None = None
        self.arrows: Arrows | None = None
        self.strain: StrainValues | None = None
        self._number, self._tint = number, tint
        self._states, self._tensions = np.zeros((0, robot.ndof)), np.zeros((0, 0))  # what colours must span
        self._columns = tension_columns(self.geometry)
        self._paths: Any = None
        self._trails: Trails | None = None
        self._obstacles: list[Any] = []
        self._add_surfaces()
        self._add_frames()

    # -- what it is made of ----------------------------------------------------------------------------------------

    def _surface(self, *kinds: str) -> Surface | None:
        parts = [part for part in self.geometry.parts if part.kind in kinds]
        return Surface(parts, self.geometry.n_points) if parts else None

    def _add(self, mesh: Any, name: str = "", **style: Any) -> Any:
        named = {"name": self._named(name)} if name else {}
        actor = self.plotter.add_mesh(mesh, reset_camera=False, show_scalar_bar=False, **named, **style)
        actor.position = tuple(self.offset)
        return actor

    def _named(self, name: str) -> str:
        return f"{name}_{self._number}" if self._number else name

    def _skinned(self, surface: Surface, **style: Any) -> Any:
        actor = self._add(surface.mesh, **style)
        # the mesh has normals of its own; pyvista's smooth shading would work on a copy
        actor.prop.interpolation = "phong"
        return actor

    def _add_lines(self, name: str, mesh: Any, width: float, **style: Any) -> Any:
        actor = self._add(mesh, name, lighting=False, **style)
        self.lines[name] = actor.prop, width
        return actor

    def _add_surfaces(self) -> None:
        self._rods, self._cords = self._surface(ROD), self._surface(TENDON)
        self._shade = self._surface(ROD, BODY)
        self._flesh: Any = None
        self._skin: Any = None
        self._cord: Any = None
        self._shadow: Any = None
        if self._rods is not None:
            # where tendons show: a skin through which they are seen before the pale inside of the far wall
            self._flesh = self._skinned(self._rods, color=FLESH, lighting=False, culling="front", scalars=None)
            map_ = colour_map(STRAINS[0])
            self._skin = self._skinned(self._rods, scalars="value", cmap=map_, culling="back", **MATT)
        self._bodies: list[tuple[Surface, Any, str]] = []
        for colour in dict.fromkeys(part.colour for part in self.geometry.parts if part.kind == BODY):
            of_colour = [part for part in self.geometry.parts if part.kind == BODY and part.colour == colour]
            surface = Surface(of_colour, self.geometry.n_points)
            actor = self._skinned(surface, color=colour or RIGID, scalars=None, **MATT)
            self._bodies.append((surface, actor, colour or RIGID))
        if self._cords is not None:
            self._cord = self._skinned(self._cords, scalars="value", cmap=colour_map(TENSION), ambient=0.6, diffuse=0.5)
            self._cord.prop.color = CORD
        if self._shade is not None:
            self._shadow = self._skinned(self._shade, color=SHADOW, lighting=False, scalars=None)
        every = (self._rods, *(surface for surface, _, _ in self._bodies), self._cords)
        self.surfaces = [surface for surface in every if surface is not None]

    def _add_frames(self) -> None:
        along = [
            line[np.linspace(0, len(line) - 1, FRAMES_ALONG).astype(int)] for line in self.geometry.centrelines.values()
        ]
        self.frames = Frames(np.unique(np.concatenate([list(self.geometry.frames.values()), *along])))
        self._triads = self._add_lines("frames", self.frames.mesh, 2.5, scalars="colour", rgb=True)
        _on_top(self._triads)

    def _add_trails(self, motion: Motion, links: Sequence[str] | None) -> None:
        t, q = motion.t, np.asarray(motion.q, dtype=float)
        some = np.unique(np.linspace(0, len(t) - 1, min(len(t), TRAIL_POINTS)).astype(int))
        self._tips = self.geometry.tip_stations(links)
        places = self.robot.engine.places(tuple(self.geometry.places[k] for k in self._tips))
        paths = np.stack([self.robot.engine.poses_at(places, q[k])[0][:, :3, 3] for k in some])
        self._trails = Trails(t[some], paths, self._tint)
        self._paths = self._add_lines("trails", self._trails.mesh, 2.5, scalars="colour", rgb=True)

    # -- how it looks ----------------------------------------------------------------------------------------------

    def tint(self, colour: str) -> None:
        """Give all of it one colour; "": the usual ones."""
        self._tint = colour

    def quantity(self, look: Look) -> str:
        """What its colours show."""
        return PLAIN if self._tint else look.colour_of(self.robot)

    def dress(self, look: Look, floor: bool, shown: bool = True) -> None:
        """Let the actors follow the look; `floor`: whether there is one; `shown`: whether the robot itself is seen."""
        strained = self.quantity(look) in STRAINS
        glassy = self._cord is not None and look.tendons and not strained and not self._tint
        if self._skin is not None:
            self._skin.mapper.scalar_visibility = strained
            light = MATT | (MEANING if strained else {})
            self._skin.prop.ambient, self._skin.prop.diffuse = light["ambient"], light["diffuse"]
            self._skin.prop.color = self._tint or (SKIN if glassy else SOFT)
            self._skin.prop.opacity = 0.4 if glassy else 1.0
            self._skin.visibility, self._flesh.visibility = shown, shown and glassy
        for _, actor, colour in self._bodies:
            actor.prop.color, actor.visibility = self._tint or colour, shown
        if self._cord is not None:
            self._cord.visibility = shown and look.tendons and not self._tint
        self._triads.visibility = shown and look.frames
        tips = look.tips_of(self.robot)
        if look.trails and tips != [] and self.motion is not None and self.motion.timed and self._trails is None:
            self._add_trails(self.motion, tips)
        if self._paths is not None:
            self._paths.visibility = shown and look.trails
        for actor in self._obstacles:
            actor.visibility = look.contacts
        if self._shadow is not None:
            self._shadow.visibility = shown and look.floor and floor

    def prepare(self, states: Array, inputs: Array | None) -> None:
        """Take the states (n, ndof) and inputs that colours must span."""
        self._states = states
        if inputs is not None:
            rows = zip(np.broadcast_to(states, (len(inputs), states.shape[1])), inputs, strict=True)
            self._tensions = np.array([self.robot.engine.tensions(q, u)[self._columns] for q, u in rows])

    def seen(self, states: Array) -> Array:
        """Points (n, 3) of it at some states, as the picture has them."""
        some = self.geometry.outermost
        if len(some):
            return np.concatenate([self.geometry.some_points(q, some) for q in states]) + self.offset
        # a robot of massless frames has no surface
        return np.concatenate([self.geometry.at(q).g[:, :3, 3] for q in states]) + self.offset

    def colour(self, look: Look) -> tuple[Any, str, int] | None:
        """Set the range of its colours; returns what a bar of them needs: mapper, quantity, number of labels."""
        self.strain, quantity = None, self.quantity(look)
        if self._cord is not None:
            self._cord.mapper.scalar_visibility = False
        if quantity == TENSION and self._cord is not None and self._tensions.size:
            mapper, low, high = self._cord.mapper, min(0.0, float(self._tensions.min())), float(self._tensions.max())
        elif quantity in STRAINS and self._skin is not None:
            mapper, self.strain = self._skin.mapper, StrainValues(self.geometry, quantity)
            low, high = self.strain.range(self._states)
        else:
            return None
        low, high, labels = round_range(low, high, quantity in STRAINS)
        mapper.scalar_range, mapper.scalar_visibility = (low, high), True
        return mapper, quantity, labels

    def add_obstacles(self, seen: Array) -> Array:
        """Draw what the robot may touch; returns those points (n, 3) of it that the picture must hold."""
        framed = [np.zeros((0, 3))]
        for k, (mesh, clear, whole) in enumerate(obstacle_meshes(self.robot, seen - self.offset)):
            style: Any = {"color": GLASS, "opacity": CLEAR, "lighting": False} if clear else {"color": STONE, **MATT}
            actor = self._add(mesh, f"obstacle{k}", smooth_shading=not clear, split_sharp_edges=not clear, **style)
            self._obstacles.append(actor)
            if whole:
                framed.append(np.asarray(mesh.points, dtype=float) + self.offset)
        return np.concatenate(framed)

    # -- what it shows ---------------------------------------------------------------------------------------------

    def update(self, q: Array, u: Array | None, t: float | None, look: Look, floor: Floor | None) -> None:
        """Show it at coordinates q, its tendons coloured by their tensions under inputs u, at time t."""
        shape = self.geometry.at(q)
        for surface in self.surfaces:
            if surface is not self._cords or look.tendons:
                surface.update(shape.points, shape.normals)
        if look.frames:
            self.frames.update(shape.g)
        if look.trails and self._trails is not None and t is not None:
            self._trails.update(t, shape.g[self._tips, :3, 3])
        if look.floor and self._shade is not None and floor is not None:
            self._shade.update(floor.shadow(shape.points, self._number * HOVER))
        if self.strain is not None and self._rods is not None:
            self._rods.paint(self.strain.at(q))
        if u is not None and self._cords is not None:
            self._cords.paint(self.robot.engine.tensions(q, u)[self._columns])
        self._update_arrows(self.acting(q, u, t, look) if self.arrows is not None else None)

    def acting(self, q: Array, u: Array | None, t: float | None, look: Look) -> Acting:
        """The wrenches that the look shows."""
        return acting(self.robot, self.motion, q, u, t, look.forces)

    def has_forces(self, look: Look) -> bool:
        """Whether there is anything that could be drawn as an arrow."""
        return bool(set(look.forces) - {"contacts"}) or (look.contacts and self.robot.engine.loading.touches)

    def resting(self) -> Iterator[tuple[None, Array, None]]:
        """The states that it was prepared for, as `states`, without times and inputs."""
        return ((None, q, None) for q in self._states)

    def show_arrows(self, shown: bool) -> None:
        """Show the arrows, or hide them."""
        for name in ("forces", "moments"):
            if self._named(name) in self.plotter.actors:
                self.plotter.actors[self._named(name)].visibility = shown

    def _update_arrows(self, found: Acting | None) -> None:
        meshes = {} if found is None or self.arrows is None else self.arrows.meshes(found)
        for name in ("forces", "moments"):
            if name not in meshes:
                self.plotter.remove_actor(self._named(name), render=False)
                continue
            actor = self._add(meshes[name], name, scalars="colour", rgb=True, render=False, **(MATT | MEANING))
            actor.prop.interpolation = "phong"
            _on_top(actor)

    def states(self, n: int) -> tuple[Array, Array, Array]:
        """Times, coordinates and inputs of at most n moments along its motion."""
        assert self.motion is not None
        t = self.motion.t
        times = np.linspace(t[0], t[-1], min(len(t), n))
        return times, *sample(self.motion, times)


def _on_top(actor: Any) -> None:
    """Draw lines or triangles over what they lie in: frames and arrows begin inside of rods and bodies."""
    actor.mapper.SetResolveCoincidentTopologyToPolygonOffset()
    actor.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(0.0, -ON_TOP)
    actor.mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(0.0, -ON_TOP)
