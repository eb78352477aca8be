"""glTF 2.0 files: rigid bodies as moving nodes, rods and tendons as skins over joints along them.

A joint is a section. Every point belongs to one, so the skin is exact at the stored times and blends poses between.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim import __version__
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.base.validation import describe
from sorosim.mechanics.lie.quaternion import without_flips
from sorosim.view.viz.arrows import ArrowScale, ArrowTracks, arrow_tracks, arrow_triangles, colour_code
from sorosim.view.viz.checks import FPS, PathLike, written
from sorosim.view.viz.colours import part_colour
from sorosim.view.viz.geometry import ROD, Part
from sorosim.view.viz.motion import MotionGroup, as_group
from sorosim.view.viz.options import DrawingOptions
from sorosim.view.viz.surfaces import GLASS
from sorosim.view.viz.visuals import COARSE, Frame, RobotVisual, Stage, arrow_scale, quaternions, visuals_of

GLTF = (".glb",)
MOST_FRAMES = 20_000
KNOWN = ("view", "tendons", "contacts", "loads", "joints", "gravity")  # of the options of pictures
MAGIC, JSON_CHUNK, BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
POINTS, INDICES = 34962, 34963  # targets of buffer views
COMPONENT = {"<f4": 5126, "<u2": 5123, "<u4": 5125}
SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
ROD_OPACITY = 0.45  # of rods in which tendons are visible


@public
def export_gltf(result: Any, path: PathLike, *, t: float | None = None, fps: float = 30.0, **options: Any) -> None:
    """Write a run, or one moment, as a binary glTF 2.0 file, which Blender and other 3D programs open.

    Parameters
    ----------
    result : Run or Equilibrium
        For several in one file, see `sorosim.export_gltf`.
    path : path-like
        Ends in .glb.
    t : float, optional
        One time [s]: a static file. Default: the whole motion, animated.
    fps : float
        States per second; between them positions go straight and rotations by the shortest way.
    **options
        Of `sorosim.view.viz.options.DrawingOptions`: tendons, contacts, loads, joints, gravity. Arrows are as long as
        in pictures, and as thick as they are long. `view` says from where several robots stand side by side.

    Raises
    ------
    InputError
        The run is empty or too long, the time is none of it, or an argument is not as above.
    FileError
        The file cannot be written.

    Notes
    -----
    Lengths are metres, and up is y, as glTF has it: the root node turns the robot's vertical there. The scale of arrows
    is the name of the node that holds them.
    """
    rate, group = FPS.argument("fps", fps), as_group(result)
    for name in options:
        if name in DrawingOptions.__dataclass_fields__ and name not in KNOWN:
            raise InputError("options", f"what a glTF file can hold: {', '.join(KNOWN)}", f"'{name}'")
    checked = group.check_options(options)
    if t is not None and np.ndim(t):
        raise InputError("t", "one time", describe(t), "leave it out for the whole motion")
    animated = t is None and group.timed and len(group.t) > 1
    if animated and (n := (group.t[-1] - group.t[0]) * rate) > MOST_FRAMES:
        raise InputError("fps", f"at most {MOST_FRAMES} states of the motion", f"{n:.2g}", "less fps")
    times = group.frame_times(rate, MOST_FRAMES) if animated else group.check_times(t)
    with written(path, GLTF) as draft:
        draft.write_bytes(_scene(group, checked, times, animated).file())


def _scene(group: MotionGroup, options: DrawingOptions, times: Array, animated: bool) -> _Scene:
    """Robots, what they may touch, and arrows."""
    scene = _Scene(", ".join(group.names) if group.several else group.robot.name, group.up, times, animated)
    visuals = visuals_of(group, options.view, COARSE, options.tendons and not group.several)
    robots = [visual.frames(times, options.forces) for visual in visuals]
    for visual, frames, name in zip(visuals, robots, group.names or ("",), strict=True):
        base = scene.node(0, name=name) if group.several else 0
        _Robot(scene, base, visual, frames)
    stage = Stage(visuals, [visual.fit() for visual in visuals], group.up)
    for obstacle in stage.obstacles if options.contacts else ():
        mesh = scene.mesh("obstacle", (obstacle.colour, obstacle.opacity), *obstacle[:3])
        scene.node(0, name="obstacle", mesh=mesh)
    scale, _ = arrow_scale(visuals, options.forces, stage.size)
    wrenches = [[frame.wrenches for frame in frames] for frames in robots]
    _add_arrows(scene, scale, arrow_tracks(scale.arrows, wrenches, len(times)))
    return scene


def _add_arrows(scene: _Scene, scale: ArrowScale, arrows: ArrowTracks) -> None:
    """Each arrow is a node that is moved, turned and scaled; where nothing acts its scale is zero."""
    if not arrows.tracks:
        return
    group = scene.node(0, name=scale.label)
    lengths = np.linalg.norm(arrows.vector, axis=-1)
    # a mesh one metre long for each colour and number of heads, thick as pictures have the longest
    width = min(scale.width / float(lengths.max()), 0.2)
    meshes: dict[tuple[str, int], int] = {}
    for k, track in enumerate(arrows.tracks):
        kind = track.kind, track.heads
        if kind not in meshes:
            unit = arrow_triangles(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), width, track.heads)
            meshes[kind] = scene.mesh(f"arrow {track.kind}", (colour_code(track.kind), 1.0), *unit)
        scales = np.repeat(lengths[:, k, None], 3, axis=1)
        tables = {"translation": arrows.start[:, k], "rotation": _pointing(arrows.vector[:, k]), "scale": scales}
        first = {path: _rounded(table[0]) for path, table in tables.items()}
        node = scene.node(group, name=f"{track.kind} {track.name}", mesh=meshes[kind], **first)
        scene.animate(node, tables, track.steady)


def _pointing(vectors: Array) -> Array:
    """Quaternions (n, 4) of shortest rotations from z to vectors (n, 3), without jumps of sign."""
    length = np.linalg.norm(vectors, axis=1)
    some = np.flatnonzero(length)
    # where there is no arrow it keeps the direction that it had, or will have
    rows = some[np.maximum(np.searchsorted(some, np.arange(len(vectors)), side="right") - 1, 0)]
    return without_flips(_shortest(np.array([0.0, 0.0, 1.0]), vectors[rows] / length[rows, None]))


def _shortest(a: Array, b: Array) -> Array:
    """Quaternions (n, 4) of shortest rotations from a unit vector (3,) to others (n, 3), to its opposite about x."""
    quaternion = np.column_stack([np.cross(a, b), 1.0 + b @ a])
    quaternion[quaternion[:, 3] < 1e-9] = [1.0, 0.0, 0.0, 0.0]
    return np.asarray(quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True))


class _Scene:
    """Nodes, meshes, skins, materials and one animation. The root turns the vertical to y."""

    def __init__(self, name: str, up: Array, times: Array, animated: bool) -> None:
        self.times, self.animated = times, animated
        upright = _shortest(up, np.array([[0.0, 1.0, 0.0]]))[0]
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = [{"name": name, "rotation": _rounded(upright)}]
        self.beside: list[int] = []  # nodes beside the root
        self.meshes: list[dict[str, Any]] = []
        self.skins: list[dict[str, Any]] = []
        self.materials: dict[tuple[str, float], int] = {}
        self.channels: list[tuple[int, str, Array, bool]] = []

    def node(self, parent: int | None, **node: Any) -> int:
        """Add a node; returns its number."""
        self.nodes.append(node)
        siblings = self.beside if parent is None else self.nodes[parent].setdefault("children", [])
        siblings.append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def add(self, values: NDArray[Any], kind: str, target: int | None = None, bounds: bool = False) -> int:
        """Store values (n,) or (n, m); returns the number of their accessor."""
        stored = np.ascontiguousarray(values, dtype=kind)
        self.data += b"\0" * (-len(self.data) % 4)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": stored.nbytes}
        if target is not None:
            view["target"] = target
        self.data += stored.tobytes()
        self.views.append(view)
        n = 1 if stored.ndim == 1 else stored.shape[1]
        accessor: dict[str, Any] = {"bufferView": len(self.views) - 1, "componentType": COMPONENT[kind]}
        accessor |= {"count": len(stored), "type": SHAPES[n]}
        if bounds:
            table = stored.reshape(len(stored), -1)
            accessor |= {"min": table.min(axis=0).tolist(), "max": table.max(axis=0).tolist()}
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def mesh(self, name: str, paint: tuple[str, float], points: Array, normals: Array, faces: NDArray[Any]) -> int:
        """Add a mesh of a colour and an opacity; returns its number."""
        add = self.add
        primitive = {
            "attributes": {"POSITION": add(points, "<f4", POINTS, True), "NORMAL": add(normals, "<f4", POINTS)},
            "indices": add(faces.ravel(), "<u4", INDICES),
            "material": self.materials.setdefault(paint, len(self.materials)),
        }
        self.meshes.append({"name": name, "primitives": [primitive]})
        return len(self.meshes) - 1

    def animate(self, node: int, tables: dict[str, Array], interpolated: bool = True) -> None:
        """Let a node follow tables (n, ...) over the times, those that change."""
        moving = {path: table for path, table in tables.items() if np.ptp(table, axis=0).any()}
        self.channels += [(node, path, table, interpolated) for path, table in moving.items()]

    def file(self) -> bytes:
        """The bytes of the file."""
        animation = self._animation() if self.animated and self.channels else None
        lists: dict[str, list[Any]] = {
            "nodes": self.nodes,
            "meshes": self.meshes,
            "skins": self.skins,
            "materials": [_material(*paint) for paint in self.materials],
            "animations": [animation] if animation else [],
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.data) + -len(self.data) % 4}] if self.data else [],
        }
        content: dict[str, Any] = {"asset": {"version": "2.0", "generator": f"sorosim {__version__}"}, "scene": 0}
        content["scenes"] = [{"name": self.nodes[0]["name"], "nodes": [0, *self.beside]}]
        content |= {name: values for name, values in lists.items() if values}  # glTF has no empty lists
        return _binary(content, bytes(self.data))

    def _animation(self) -> dict[str, Any]:
        when = self.add(self.times - self.times[0], "<f4", bounds=True)
        samplers, channels = [], []
        for k, (node, path, values, interpolated) in enumerate(self.channels):
            method = "LINEAR" if interpolated else "STEP"
            samplers.append({"input": when, "output": self.add(values, "<f4"), "interpolation": method})
            channels.append({"sampler": k, "target": {"node": node, "path": path}})
        return {"name": "motion", "channels": channels, "samplers": samplers}


class _Robot:
    """A robot along a motion, put into a scene below a base node.

    Bodies are children of the joint that moves them. What has a skin stands beside the root, since it goes by its
    joints alone.
    """

    def __init__(self, scene: _Scene, base: int, visual: RobotVisual, frames: Sequence[Frame]) -> None:
        self.scene, self.base, self.visual, self.geometry = scene, base, visual, visual.geometry
        g = np.stack([frame.g for frame in frames])
        self.position, self.rotation, self.first = g[..., :3, 3], quaternions(g), visual.geometry.shape(g[0])
        self.normals = self.geometry.local_normals(g[0])
        self.joints: dict[int, int] = {}  # station -> node
        for part in self.geometry.parts:
            self._add(part)

    def _joint(self, station: int) -> int:
        """The node of a station."""
        if station not in self.joints:
            link, s = self.geometry.places[station]
            tables = {"translation": self.position[:, station], "rotation": self.rotation[:, station]}
            first = {path: _rounded(table[0]) for path, table in tables.items()}
            self.joints[station] = self.scene.node(self.base, name=f"{link} {s:.4g}", **first)
            self.scene.animate(self.joints[station], tables)
        return self.joints[station]

    def _add(self, part: Part) -> None:
        used, index = np.unique(self.geometry.station[part.points], return_inverse=True)
        translucent = part.kind == ROD and self.geometry.tendons and not self.visual.tint
        paint = self.visual.tint or part_colour(part), ROD_OPACITY if translucent else 1.0
        at, faces = part.points, part.faces - part.points.start
        if len(used) == 1:
            mesh = self.scene.mesh(part.name, paint, self.geometry.local[at], self.normals[at], faces)
            self.scene.node(self._joint(int(used[0])), name=part.name, mesh=mesh)
            return
        mesh = self.scene.mesh(part.name, paint, self.first.points[at], self.first.normals[at], faces)
        if self.scene.animated:
            self.scene.node(None, name=part.name, mesh=mesh, skin=self._skin(part, mesh, used, index))
        else:
            self.scene.node(self.base, name=part.name, mesh=mesh)

    def _skin(self, part: Part, mesh: int, used: NDArray[Any], index: NDArray[Any]) -> int:
        """Bind each point of a mesh to the one of the stations `used` that `index` names."""
        add, attributes = self.scene.add, self.scene.meshes[mesh]["primitives"][0]["attributes"]
        attributes["JOINTS_0"] = add(np.outer(index, [1, 0, 0, 0]), "<u2", POINTS)
        attributes["WEIGHTS_0"] = add(np.tile([1.0, 0.0, 0.0, 0.0], (len(index), 1)), "<f4", POINTS)
        # matrices stand in the file column by column, their last rows exact
        inverse = np.linalg.inv(self.first.g[used])
        inverse[:, 3] = [0.0, 0.0, 0.0, 1.0]
        matrices = add(inverse.transpose(0, 2, 1).reshape(-1, 16), "<f4")
        joints = [self._joint(int(station)) for station in used]
        skin = {"name": part.name, "joints": joints, "skeleton": self.base, "inverseBindMatrices": matrices}
        self.scene.skins.append(skin)
        return len(self.scene.skins) - 1


def _rounded(values: Array) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=np.float32)]


def _material(colour: str, opacity: float) -> dict[str, Any]:
    # glTF has linear colours, codes are sRGB
    codes = np.array(list(bytes.fromhex(colour[1:7]))) / 255.0
    linear = np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)
    surface = {"baseColorFactor": [*map(float, linear.round(5)), opacity], "metallicFactor": 0.0}
    material: dict[str, Any] = {"name": colour, "pbrMetallicRoughness": surface | {"roughnessFactor": 0.7}}
    if opacity < 1.0:
        material["alphaMode"] = "BLEND"
    if colour == GLASS:  # visible from both sides
        material["doubleSided"] = True
    return material


def _binary(content: dict[str, Any], data: bytes) -> bytes:
    """Header and chunks of a .glb file."""
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    chunks = struct.pack("<II", len(text), JSON_CHUNK) + text
    if data:
        chunks += struct.pack("<II", len(data), BIN_CHUNK) + data
    return struct.pack("<III", MAGIC, 2, 12 + len(chunks)) + chunks
