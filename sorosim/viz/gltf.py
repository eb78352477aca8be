"""glTF 2.0 files: rigid bodies as moving nodes, rods and tendons as skins over joints along them.

A joint is a section. Every point belongs to one, so the skin is exact at the stored times and blends poses between.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim import __version__
from sorosim.door import describe, positive
from sorosim.errors import InputError
from sorosim.viz.camera import up_axis
from sorosim.viz.drawn import CORD, RIGID, SOFT
from sorosim.viz.geometry import BODY, TENDON, Part
from sorosim.viz.rig import Rig, Track, frame_times
from sorosim.viz.target import check_times, motion_of, written
from sorosim.viz.touching import CLEAR as PANE
from sorosim.viz.touching import GLASS, STONE, standing

Array = NDArray[np.float64]

GLTF = (".glb",)
MOST_FRAMES = 20_000
MAGIC, JSON_CHUNK, BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
POINTS, INDICES = 34962, 34963  # targets of buffer views
COMPONENT = {"<f4": 5126, "<u2": 5123, "<u4": 5125}
SHAPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
CLEAR = 0.45  # opacity of rods in which tendons are seen


def export_gltf(result: Any, path: str | os.PathLike[str], *, t: float | None = None, fps: float = 30.0) -> None:
    """Write a run, or one moment, as a binary glTF 2.0 file, which Blender and other 3D programs open.

    Parameters
    ----------
    result : Run or Equilibrium
    path : path-like
        Ends in .glb.
    t : float, optional
        One time [s]: a static file. Default: the whole motion, animated.
    fps : float
        States per second; between them positions go straight and rotations by the shortest way.

    Raises
    ------
    InputError
        The run is empty or too long, the time is none of it, or an argument is not as above.
    FileError
        The file cannot be written.

    Notes
    -----
    Lengths are metres, and up is y, as glTF has it: the root node turns the robot's vertical there.
    """
    rate, motion = positive("fps", fps), motion_of(result)
    if t is not None and np.ndim(t):
        raise InputError("t", "one time", describe(t), "leave it out for the whole motion")
    animated = t is None and motion.timed and len(motion.t) > 1
    if animated:
        n = (motion.t[-1] - motion.t[0]) * rate
        if n > MOST_FRAMES:
            raise InputError("fps", f"at most {MOST_FRAMES} states of the motion", f"{n:.2g}", "less fps")
        times = frame_times(motion, rate, MOST_FRAMES)
    else:
        times = check_times(motion, t)
    with written(path, GLTF) as draft:
        rig = Rig(motion.robot, motion.q[0])
        draft.write_bytes(_Robot(rig, rig.track(motion, times), animated).file())


class _File:
    """Collects buffers, and what of the JSON refers to them."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

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
        accessor: dict[str, Any] = {
            "bufferView": len(self.views) - 1, "componentType": COMPONENT[kind], "count": len(stored),
            "type": SHAPES[n],
        }  # fmt: skip
        if bounds:
            table = stored.reshape(len(stored), -1)
            accessor |= {"min": table.min(axis=0).tolist(), "max": table.max(axis=0).tolist()}
        self.accessors.append(accessor)
        return len(self.accessors) - 1


class _Robot:
    """A robot along a motion as nodes, meshes, skins and materials.

    Bodies are children of the joint that moves them. What has a skin stands beside the root, since it goes by its
    joints alone.
    """

    def __init__(self, rig: Rig, track: Track, animated: bool) -> None:
        robot = rig.geometry.robot
        self.rig, self.track, self.animated, self.store = rig, track, animated, _File()
        self.nodes: list[dict[str, Any]] = [{"name": robot.name, "rotation": _upright(up_axis(robot.engine.gravity))}]
        self.beside: list[int] = []  # nodes beside the root
        self.meshes: list[dict[str, Any]] = []
        self.skins: list[dict[str, Any]] = []
        self.materials: dict[tuple[str, float], int] = {}
        self.joints: dict[int, int] = {}  # station -> node
        self._first = rig.geometry.at(track.q[0])
        for part in rig.geometry.parts:
            self._add(part)
        for obstacle in standing(robot, rig.seen(track)):
            look = (GLASS, PANE) if obstacle.clear else (STONE, 1.0)
            self._node(0, name="obstacle", mesh=self._mesh("obstacle", look, *obstacle[:3]))

    def _node(self, parent: int | None, **node: Any) -> int:
        """Add a node; returns its number."""
        self.nodes.append(node)
        siblings = self.beside if parent is None else self.nodes[parent].setdefault("children", [])
        siblings.append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def _joint(self, station: int) -> int:
        """The node of a station."""
        if station not in self.joints:
            link, s = self.rig.geometry.places[station]
            place, turn = (_rounded(table[0, station]) for table in (self.track.position, self.track.turn))
            self.joints[station] = self._node(0, name=f"{link} {s:.4g}", translation=place, rotation=turn)
        return self.joints[station]

    def _add(self, part: Part) -> None:
        used, index = np.unique(self.rig.geometry.station[part.points], return_inverse=True)
        rigid = len(used) == 1
        if rigid:
            mesh = self._mesh_of(part, self.rig.local, self.rig.normal)
            self._node(self._joint(int(used[0])), name=part.name, mesh=mesh)
            return
        mesh = self._mesh_of(part, self._first.points, self._first.normals)
        if self.animated:
            self._node(None, name=part.name, mesh=mesh, skin=self._skin(part, mesh, used, index))
        else:
            self._node(0, name=part.name, mesh=mesh)

    def _mesh_of(self, part: Part, points: Array, normals: Array) -> int:
        look = _look(part, bool(self.rig.geometry.tendons))
        return self._mesh(part.name, look, points[part.points], normals[part.points], part.faces - part.points.start)

    def _mesh(self, name: str, look: tuple[str, float], points: Array, normals: Array, faces: NDArray[Any]) -> int:
        add = self.store.add
        primitive = {
            "attributes": {
                "POSITION": add(points, "<f4", POINTS, bounds=True),
                "NORMAL": add(normals, "<f4", POINTS),
            },
            "indices": add(faces.ravel(), "<u4", INDICES),
            "material": self.materials.setdefault(look, len(self.materials)),
        }
        self.meshes.append({"name": name, "primitives": [primitive]})
        return len(self.meshes) - 1

    def _skin(self, part: Part, mesh: int, used: NDArray[Any], index: NDArray[Any]) -> int:
        """Bind each point of a mesh to the one of the stations `used` that `index` names."""
        add, attributes = self.store.add, self.meshes[mesh]["primitives"][0]["attributes"]
        attributes["JOINTS_0"] = add(np.outer(index, [1, 0, 0, 0]), "<u2", POINTS)
        attributes["WEIGHTS_0"] = add(np.tile([1.0, 0.0, 0.0, 0.0], (len(index), 1)), "<f4", POINTS)
        # matrices stand in the file column by column, their last rows exact
        inverse = np.linalg.inv(self._first.g[used])
        inverse[:, 3] = [0.0, 0.0, 0.0, 1.0]
        matrices = add(inverse.transpose(0, 2, 1).reshape(-1, 16), "<f4")
        joints = [self._joint(int(station)) for station in used]
        self.skins.append({"name": part.name, "joints": joints, "skeleton": 0, "inverseBindMatrices": matrices})
        return len(self.skins) - 1

    def file(self) -> bytes:
        """The bytes of the file."""
        animation = _animation(self.store, self.track, self.joints) if self.animated else None
        lists: dict[str, list[Any]] = {
            "nodes": self.nodes,
            "meshes": self.meshes,
            "skins": self.skins,
            "materials": [_material(*look) for look in self.materials],
            "animations": [animation] if animation else [],
            "accessors": self.store.accessors,
            "bufferViews": self.store.views,
            "buffers": [{"byteLength": len(self.store.data) + -len(self.store.data) % 4}] if self.store.data else [],
        }
        content: dict[str, Any] = {"asset": {"version": "2.0", "generator": f"sorosim {__version__}"}, "scene": 0}
        content["scenes"] = [{"name": self.nodes[0]["name"], "nodes": [0, *self.beside]}]
        content |= {name: values for name, values in lists.items() if values}  # glTF has no empty lists
        return _binary(content, bytes(self.store.data))


def _animation(store: _File, track: Track, joints: dict[int, int]) -> dict[str, Any] | None:
    """Channels of all joints that move; None if none does."""
    tables = {"translation": track.position, "rotation": track.turn}
    places = [(node, path, table[:, at]) for at, node in joints.items() for path, table in tables.items()]
    moving = [(node, path, values) for node, path, values in places if np.ptp(values, axis=0).any()]
    if not moving:
        return None
    when = store.add(track.t - track.t[0], "<f4", bounds=True)
    return {
        "name": "motion",
        "channels": [
            {"sampler": k, "target": {"node": moving[k][0], "path": moving[k][1]}} for k in range(len(moving))
        ],
        "samplers": [
            {"input": when, "output": store.add(values, "<f4"), "interpolation": "LINEAR"} for _, _, values in moving
        ],
    }


def _upright(up: Array) -> list[float]:
    """Quaternion of the shortest rotation that turns a vertical to y."""
    x, y, z = up
    if y < -0.5:
        return [1.0, 0.0, 0.0, 0.0]
    quaternion = np.array([-z, 0.0, x, 1.0 + y])  # up x e_y, 1 + up . e_y
    return _rounded(quaternion / np.linalg.norm(quaternion))


def _rounded(values: Array) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=np.float32)]


def _look(part: Part, tendons: bool) -> tuple[str, float]:
    """Colour and opacity of a part."""
    if part.kind == BODY:
        return part.colour or RIGID, 1.0
    return (CORD, 1.0) if part.kind == TENDON else (SOFT, CLEAR if tendons else 1.0)


def _material(colour: str, opacity: float) -> dict[str, Any]:
    # glTF has linear colours, codes are sRGB
    codes = np.array(list(bytes.fromhex(colour[1:7]))) / 255.0
    linear = np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)
    surface = {"baseColorFactor": [*map(float, linear.round(5)), opacity], "metallicFactor": 0.0}
    material: dict[str, Any] = {"name": colour, "pbrMetallicRoughness": surface | {"roughnessFactor": 0.7}}
    if opacity < 1.0:
        material["alphaMode"] = "BLEND"
    if colour == GLASS:  # seen from either side
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
