"""The actors (pyvista) of one robot: surfaces, shadow, frames, trails, arrows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, IntArray
from sorosim.view.viz import colours
from sorosim.view.viz.arrows import COLOURS, ArrowScale, arrow_triangles
from sorosim.view.viz.colours import StrainField, colour_map, rgb
from sorosim.view.viz.geometry import BODY, ROD, TENDON, Part
from sorosim.view.viz.offscreen import load_pyvista
from sorosim.view.viz.options import STRAINS, TENSION, DrawingOptions
from sorosim.view.viz.surfaces import Obstacle
from sorosim.view.viz.visuals import Floor, Frame, RobotVisual
from sorosim.view.viz.wrenches import Wrenches

MATT = {"ambient": 0.22, "diffuse": 0.9, "specular": 0.12, "specular_power": 14.0}
DATA = {"ambient": 0.5, "diffuse": 0.55}  # colours that show values are shaded less
ON_TOP = 60000.0  # in steps of the depth buffer
# by which part of their distance parts come nearer to the camera than others whose surfaces may coincide with theirs:
# each, and the nearest; offsets in the depth buffer would take them out of ambient occlusion
LAYER, NEAREST = 4e-4, 2e-3
SHADOW_GAP = 0.0002  # how much lower the shadow of each further robot lies, relative to the size of the floor


class Surface:
    """Some parts of the robot as one mesh."""

    def __init__(self, parts: Sequence[Part], n_points: int) -> None:
        self.index = np.concatenate([np.arange(part.points.start, part.points.stop) for part in parts])
        self._owner = np.repeat(np.arange(len(parts)), [part.points.stop - part.points.start for part in parts])
        self._n_parts = len(parts)
        new = np.zeros(n_points, dtype=np.int64)
        new[self.index] = np.arange(len(self.index))
        faces = new[np.concatenate([part.faces for part in parts])]
        self.mesh = load_pyvista().PolyData.from_regular_faces(np.zeros((len(self.index), 3)), faces)
        self.mesh.point_data.active_normals = np.tile([0.0, 0.0, 1.0], (len(self.index), 1))
        self.mesh.point_data["value"] = np.zeros(len(self.index))

    def update(self, points: Array, normals: Array | None = None) -> None:
        """Take points and normals from those of all parts."""
        _move(self.mesh, points[self.index])
        if normals is not None:
            self.mesh.point_data.active_normals[:] = normals[self.index]
            self.mesh.GetPointData().GetNormals().Modified()

    def set_values(self, values: Array) -> None:
        """Give each point a number, for its colour, from those of all points; or from one of each part."""
        own_values = values[self._owner] if len(values) == self._n_parts else values[self.index]
        self.mesh.point_data["value"][:] = own_values
        self.mesh.GetPointData().GetArray("value").Modified()


class Triads:
    """Frames at stations as lines of three colours."""

    def __init__(self, stations: ArrayLike) -> None:
        self._stations, self.length = np.array(stations, dtype=np.int64), 0.1
        rows = [rgb(colour) for colour in colours.AXIS_COLOURS] * len(self._stations)
        self.mesh = _lines(np.arange(2 * len(rows)).reshape(-1, 2), rows)

    def update(self, g: Array) -> None:
        """Take the poses from those of all stations (n, 4, 4)."""
        at = g[self._stations]
        origin = np.broadcast_to(at[:, None, :3, 3], (len(at), 3, 3))
        ends = origin + self.length * np.swapaxes(at[:, :3, :3], 1, 2)
        _move(self.mesh, np.stack([origin, ends], axis=2).reshape(-1, 3))


class Trails:
    """Paths of tips up to the present as lines."""

    def __init__(self, visual: RobotVisual, trails: Sequence[tuple[int, str]]) -> None:
        self.stations = [station for station, _ in trails]
        self._times, paths = visual.paths(self.stations)
        self._paths = np.concatenate([paths, paths[-1:]])  # the last is the present place
        n, m = self._paths.shape[:2]
        self.mesh = _lines(np.arange(n * m).reshape(m, n), [rgb(colour) for _, colour in trails])

    def update(self, t: float, tips: Array) -> None:
        """Draw them up to time t, where the tips (n_tips, 3) are."""
        points = self._paths.copy()
        points[np.searchsorted(self._times, t, side="right") :] = tips
        _move(self.mesh, np.swapaxes(points, 0, 1).reshape(-1, 3))


def _lines(index: IntArray, codes: Sequence[tuple[int, ...]]) -> Any:
    """A mesh of lines (n, m) through points, all at the origin at first, each line in a colour."""
    lines = np.column_stack([np.full(len(index), index.shape[1]), index])
    mesh = load_pyvista().PolyData(np.zeros((index.size, 3)), lines=lines.ravel())
    mesh.cell_data["colour"] = np.array(codes, dtype=np.uint8)
    return mesh


def _move(mesh: Any, points: Array) -> None:
    mesh.points[:] = points
    mesh.GetPoints().Modified()


def floor_meshes(floor: Floor) -> tuple[Any, Any]:
    """The plane and the grid of a floor; shadows, grid and plane lie a hair's breadth below each other."""
    pyvista, down = load_pyvista(), floor.size * floor.axes[2]
    corners = floor.corners - 0.002 * down
    grid = pyvista.line_segments_from_points(floor.lines.reshape(-1, 3) @ floor.axes - 0.001 * down)
    return pyvista.PolyData.from_regular_faces(corners, np.array([[0, 1, 2, 3]])), grid


def obstacle_mesh(obstacle: Obstacle) -> tuple[Any, dict[str, Any]]:
    """The mesh of an obstacle, and how it is drawn."""
    mesh = load_pyvista().PolyData.from_regular_faces(obstacle.points, obstacle.faces)
    mesh.point_data.active_normals = obstacle.normals
    style = {"opacity": obstacle.opacity, "lighting": False} if obstacle.opacity < 1.0 else MATT
    return mesh, {"color": obstacle.colour, **style}


class RobotActors:
    """A robot's actors in a plotter.

    Attributes
    ----------
    visual : RobotVisual
    surfaces : list of Surface
    lines : dict
        Properties of the actors that are lines, and their widths in a picture 720 pixels high.
    """

    def __init__(self, plotter: Any, visual: RobotVisual, number: int = 0) -> None:
        self.plotter, self.visual = plotter, visual
        self.lines: dict[str, tuple[Any, float]] = {}
        self._number = number
        self._strain: StrainField | None = None
        self._trails: Trails | None = None
        self._add_surfaces()
        self.triads = Triads(visual.framed)
        _draw_on_top(self._add_lines("frames", self.triads.mesh))

    # -- actors ----------------------------------------------------------------------------------------------------

    def _named(self, name: str) -> str:
        return f"{name}_{self._number}" if self._number else name

    def _actor(self, name: str) -> Any:
        """The actor of a name, None where there is none."""
        return self.plotter.actors.get(self._named(name))

    def _add(self, name: str, mesh: Any, **style: Any) -> Any:
        actor = self.plotter.add_mesh(
            mesh, name=self._named(name), reset_camera=False, show_scalar_bar=False, render=False, **style
        )
        # meshes have normals of their own; pyvista's smooth shading would work on a copy
        actor.prop.interpolation = "phong"
        return actor

    def _add_lines(self, name: str, mesh: Any) -> Any:
        actor = self._add(name, mesh, lighting=False, scalars="colour", rgb=True)
        self.lines[name] = actor.prop, 2.5
        return actor

    def _add_surfaces(self) -> None:
        parts, n_points = self.visual.geometry.parts, self.visual.geometry.n_points

        def surface(*kinds: str) -> Surface | None:
            some = [part for part in parts if part.kind in kinds]
            return Surface(some, n_points) if some else None

        self._rods, self._tendons, self._shaded = surface(ROD), surface(TENDON), surface(ROD, BODY)
        if self._rods is not None:
            # rods in which tendons are visible: a translucent outside before the pale inside of the far wall
            mesh = self._rods.mesh
            self._add("inside", mesh, color=colours.SOFT_INSIDE, lighting=False, culling="front", scalars=None)
            self._add("outside", mesh, scalars="value", cmap=colour_map(STRAINS[0]), culling="back", **MATT)
        bodies: dict[str, list[Part]] = {}
        for part in parts:
            if part.kind == BODY:
                bodies.setdefault(part.colour or colours.RIGID, []).append(part)
        self._bodies = {colour: Surface(some, n_points) for colour, some in bodies.items()}
        for colour, body in self._bodies.items():
            self._add(f"bodies {colour}", body.mesh, color=colour, scalars=None, **MATT)
        if self._tendons is not None:
            style = {"cmap": colour_map(TENSION), "ambient": 0.6, "diffuse": 0.5}
            self._add("tendons", self._tendons.mesh, scalars="value", **style).prop.color = colours.CORD
        if self._shaded is not None:
            self._add("shadow", self._shaded.mesh, color=colours.SHADOW, lighting=False, scalars=None)
        soft = [one for one in (self._rods, self._tendons) if one is not None]
        # with layers: of surfaces that coincide that of the highest is seen
        self.surfaces = [(one, 0) for one in soft]
        self.surfaces += [(one, layer) for layer, one in enumerate(self._bodies.values(), int(bool(soft)))]

    # -- how they are drawn ----------------------------------------------------------------------------------------

    def apply(self, options: DrawingOptions, visible: bool, shadow: bool) -> None:
        """Follow the options; `visible`: whether the robot itself is; `shadow`: whether there is a floor for one."""
        tint = self.visual.tint
        strained = self.visual.quantity(options) in STRAINS
        translucent = self._tendons is not None and options.tendons and not strained and not tint
        if self._rods is not None:
            outside = self._actor("outside")
            outside.mapper.scalar_visibility = strained
            shading = MATT | (DATA if strained else {})
            outside.prop.ambient, outside.prop.diffuse = shading["ambient"], shading["diffuse"]
            outside.prop.color = tint or (colours.SOFT_OUTSIDE if translucent else colours.SOFT)
            outside.prop.opacity = 0.4 if translucent else 1.0
            self._show("outside", visible)
            self._show("inside", visible and translucent)
        for colour in self._bodies:
            self._actor(f"bodies {colour}").prop.color = tint or colour
            self._show(f"bodies {colour}", visible)
        self._show("tendons", visible and options.tendons and not tint)
        self._show("frames", visible and options.frames)
        self._show("shadow", shadow and options.floor)
        motion = self.visual.motion
        wanted = self._trails is None and options.trails and motion is not None and motion.timed
        if wanted and (trails := self.visual.trails(options)):
            self._trails = Trails(self.visual, trails)
            self._add_lines("trails", self._trails.mesh)
        self._show("trails", visible and options.trails)

    def _show(self, name: str, visible: bool) -> None:
        if (actor := self._actor(name)) is not None:
            actor.visibility = visible

    def show_arrows(self, visible: bool) -> None:
        """Show the arrows, or hide them."""
        self._show("forces", visible)
        self._show("moments", visible)

    def set_colours(self, options: DrawingOptions) -> tuple[Any, str, int] | None:
        """Set the range of its colours; returns what a bar of them needs: mapper, quantity, number of labels."""
        quantity, self._strain = self.visual.quantity(options), None
        if self._tendons is not None:
            self._actor("tendons").mapper.scalar_visibility = False
        bounds = self.visual.colour_range(quantity)
        if bounds is None:
            return None
        if quantity in STRAINS:
            self._strain = StrainField(self.visual.geometry, quantity)
        mapper = self._actor("tendons" if self._strain is None else "outside").mapper
        mapper.scalar_range, mapper.scalar_visibility = bounds[:2], True
        return mapper, quantity, bounds[2]

    # -- colours and state -----------------------------------------------------------------------------------------

    def update(
        self, frame: Frame, options: DrawingOptions, floor: Floor | None, scale: ArrowScale | None, least: Array,
        eye: Array,
    ) -> None:  # fmt: skip
        """Show a frame to an eye (3,), rods and tendons with a least half-width at each station (n_stations,) [m]."""
        shape = self.visual.geometry.shape(frame.g, least)
        towards = min(LAYER, NEAREST / max(len(self._bodies), 1)) * (eye - shape.points)
        for surface, layer in self.surfaces:
            if surface is not self._tendons or options.tendons:
                surface.update(shape.points + layer * towards if layer else shape.points, shape.normals)
        if options.frames:
            self.triads.update(frame.g)
        if options.trails and self._trails is not None and frame.t is not None:
            self._trails.update(frame.t, frame.g[self._trails.stations, :3, 3])
        if options.floor and self._shaded is not None and floor is not None:
            self._shaded.update(floor.shadow(shape.points, self._number * SHADOW_GAP))
        if self._strain is not None and self._rods is not None:
            self._rods.set_values(self._strain.at(frame.q))
        if self._tendons is not None and len(frame.tensions):
            self._tendons.set_values(frame.tensions)
        meshes = dict(_arrow_meshes(scale, frame.wrenches)) if scale is not None else {}
        for name in ("forces", "moments"):
            if name in meshes:
                _draw_on_top(self._add(name, meshes[name], scalars="colour", rgb=True, **(MATT | DATA)))
            else:
                self.plotter.remove_actor(self._named(name), render=False)


def _arrow_meshes(scale: ArrowScale, wrenches: Wrenches) -> Iterator[tuple[str, Any]]:
    """A mesh of all forces and one of all moments, by the names "forces" and "moments"; none where none is drawn."""
    for heads, rows, starts, vectors in scale.arrows(wrenches):
        points, normals, faces = arrow_triangles(starts, vectors, scale.width, heads)
        mesh = load_pyvista().PolyData.from_regular_faces(points, faces)
        mesh.point_data.active_normals = normals
        codes = np.array([COLOURS[wrenches.kind[row]] for row in rows], dtype=np.uint8)
        mesh.point_data["colour"] = np.repeat(codes, len(points) // len(rows), axis=0)
        yield ("forces", "moments")[heads - 1], mesh


def _draw_on_top(actor: Any) -> None:
    """Draw lines or triangles over what they lie in: frames and arrows begin inside of rods and bodies."""
    actor.mapper.SetResolveCoincidentTopologyToPolygonOffset()
    actor.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(0.0, -ON_TOP)
    actor.mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(0.0, -ON_TOP)
