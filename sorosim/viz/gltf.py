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
        draft.write_bytes(_file(rig, rig.track(motion, times), animated))


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


def _file(rig: Rig, track: Track, animated: bool) -> bytes:
    """The bytes of the file."""
    geometry, store, robot = rig.geometry, _File(), rig.geometry.robot
    root: dict[str, Any] = {"name": robot.name, "rotation": _upright(up_axis(robot.engine.gravity))}
    nodes, scene, meshes, skins = [root], [0], list[dict[str, Any]](), list[dict[str, Any]]()
    materials, by_look = list[dict[str, Any]](), dict[tuple[str, float], int]()
    joints: dict[int, int] = {}  # station -> node

    def joint(station: int) -> int:
        if station not in joints:
            link, s = geometry.places[station]
            nodes.append({
                "name": f"{link} {s:.4g}", "translation": _rounded(track.position[0, station]),
                "rotation": _rounded(track.turn[0, station]),
            })  # fmt: skip
            joints[station] = len(nodes) - 1
            root.setdefault("children", []).append(joints[station])
        return joints[station]

    def material(part: Part) -> int:
        look = _look(part, bool(geometry.tendons))
        if look not in by_look:
            by_look[look] = len(materials)
            materials.append(_material(*look))
        return by_look[look]

    first = geometry.at(track.q[0])
    for part in geometry.parts:
        points, stations = part.points, geometry.station[part.points]
        used, index = np.unique(stations, return_inverse=True)
        fixed = len(used) == 1  # all of it moves with one frame
        shown, normals = (rig.local, rig.normal) if fixed else (first.points, first.normals)
        attributes = {
            "POSITION": store.add(shown[points], "<f4", POINTS, bounds=True),
            "NORMAL": store.add(normals[points], "<f4", POINTS),
        }
        mesh = {"attributes": attributes, "material": material(part)}
        mesh["indices"] = store.add((part.faces - points.start).ravel(), "<u4", INDICES)
        meshes.append({"name": part.name, "primitives": [mesh]})
        node: dict[str, Any] = {"name": part.name, "mesh": len(meshes) - 1}
        nodes.append(node)
        me = len(nodes) - 1
        if fixed:
            nodes[joint(int(used[0]))].setdefault("children", []).append(me)
        elif not animated:
            root.setdefault("children", []).append(me)
        else:
            weights = np.zeros((len(index), 4))
            weights[:, 0] = 1.0
            attributes["JOINTS_0"] = store.add(np.outer(index, [1, 0, 0, 0]), "<u2", POINTS)
            attributes["WEIGHTS_0"] = store.add(weights, "<f4", POINTS)
            # the matrices stand in the file column by column
            inverse = np.linalg.inv(first.g[used]).transpose(0, 2, 1).reshape(-1, 16)
            inverse[:, 3:15:4], inverse[:, 15] = 0.0, 1.0
            skins.append({
                "name": part.name, "joints": [joint(int(station)) for station in used], "skeleton": 0,
                "inverseBindMatrices": store.add(inverse, "<f4"),
            })  # fmt: skip
            node["skin"] = len(skins) - 1
            scene.append(me)  # what has a skin goes by its joints alone

    content: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"sorosim {__version__}"}, "scene": 0,
        "scenes": [{"name": robot.name, "nodes": scene}], "nodes": nodes,
    }  # fmt: skip
    if animated and joints:
        content["animations"] = [_animation(store, track, joints)]
    lists = {"meshes": meshes, "materials": materials, "skins": skins, "accessors": store.accessors}
    lists["bufferViews"] = store.views
    content |= {name: values for name, values in lists.items() if values}  # glTF has no empty lists
    if store.data:
        content["buffers"] = [{"byteLength": len(store.data) + -len(store.data) % 4}]
    return _binary(content, bytes(store.data))


def _animation(store: _File, track: Track, joints: dict[int, int]) -> dict[str, Any]:
    """Channels of all joints that move."""
    when = store.add(track.t - track.t[0], "<f4", bounds=True)
    channels, samplers = list[dict[str, Any]](), list[dict[str, Any]]()
    for station, node in joints.items():
        for name, table in (("translation", track.position), ("rotation", track.turn)):
            values = table[:, station]
            if np.ptp(values, axis=0).max() == 0.0:
                continue
            samplers.append({"input": when, "output": store.add(values, "<f4"), "interpolation": "LINEAR"})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": name}})
    return {"name": "motion", "channels": channels, "samplers": samplers}


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
    return material | ({"alphaMode": "BLEND"} if opacity < 1.0 else {})


def _binary(content: dict[str, Any], data: bytes) -> bytes:
    """Header and chunks of a .glb file."""
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    chunks = struct.pack("<II", len(text), JSON_CHUNK) + text
    if data:
        chunks += struct.pack("<II", len(data), BIN_CHUNK) + data
    return struct.pack("<III", MAGIC, 2, 12 + len(chunks)) + chunks
