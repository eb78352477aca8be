"""A motion as one page that any browser plays in 3D, from a file, without a server or a network.

The page holds the points of all surfaces, each in the frame of its station, and the poses of the stations over time;
`viewer.js` lets the graphics card put the points where the poses have them (WebGL2).
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.door import describe, positive
from sorosim.errors import InputError
from sorosim.viz.camera import level_axes, up_axis
from sorosim.viz.colours import StrainValues, colour_map, round_range, tension_columns
from sorosim.viz.drawn import CORD, RIGID, SOFT
from sorosim.viz.geometry import BODY, ROD, TENDON, Geometry, Part
from sorosim.viz.look import PLAIN, STRAINS, TENSION, UNITS, Look
from sorosim.viz.meshes import TRAIL_COLOURS, floor_of
from sorosim.viz.rig import Rig, Track, frame_times
from sorosim.viz.target import Motion, motion_of, written
from sorosim.viz.touching import CLEAR, GLASS, STONE, Obstacle, standing

Array = NDArray[np.float64]

PAGES = (".html", ".htm")
MOST_BYTES = 8_000_000  # of poses; in the page they take a third more
MOST_STATIONS = 65_536  # what two bytes can count
RAMP = 256  # colours
OBSTACLE = "obstacle"
KINDS = {"<f4": "f4", "<u4": "u4", "<u2": "u2", "|u1": "u1", "|i1": "i1"}


def export_html(
    result: Any, path: str | os.PathLike[str], *, fps: float = 30.0, colour: str | None = None, trails: bool = False,
    tips: Sequence[str] | None = None, title: str | None = None,
) -> None:  # fmt: skip
    """Write a run or an equilibrium as one page for browsers.

    The page plays, has a slider, and is turned, shifted and zoomed by mouse or fingers.

    Parameters
    ----------
    result : Run or Equilibrium
    path : path-like
        Ends in .html.
    fps : float
        States per second of the run; between them positions go straight and rotations by the shortest way. There are
        evenly fewer where poses would take more than 8 MB, so that a page has some 11 MB beside its meshes.
    colour, trails, tips, title
        As for `sorosim.viz.look.Look`.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    rate, motion = positive("fps", fps), motion_of(result)
    if trails and not motion.timed:
        raise InputError("trails", "a run", "an equilibrium")
    if not isinstance(trails, bool | np.bool_):
        raise InputError("trails", "True or False", describe(trails))
    look = Look().changed(motion.robot, {"colour": colour, "tips": tips, "title": title})
    with written(path, PAGES) as draft:
        draft.write_text(page(motion, rate, look, bool(trails)), encoding="utf-8")


def page(motion: Motion, fps: float, look: Look, trails: bool) -> str:
    """The text of the page."""
    files = resources.files("sorosim.viz")
    texts = [files.joinpath(f"viewer.{kind}").read_text(encoding="utf-8") for kind in ("html", "js")]
    content = describe_motion(motion, fps, look, trails)
    # no text of a robot can end the script
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {"TITLE": escape(content["title"]), "SCRIPT": texts[1], "MOTION": data}
    return re.sub("@(TITLE|SCRIPT|MOTION)@", lambda found: parts[found[1]], texts[0])


def describe_motion(motion: Motion, fps: float, look: Look, trails: bool) -> dict[str, Any]:
    """What `viewer.js` takes: numbers, and arrays as base64."""
    rig = Rig(motion.robot, np.asarray(motion.q[0], dtype=float))
    geometry, n = rig.geometry, len(rig.geometry.places) + 1  # one more: the world
    if n > MOST_STATIONS:
        raise InputError("run", f"a robot of fewer than {MOST_STATIONS} drawn sections", f"{n - 1}")
    track = rig.track(motion, frame_times(motion, fps, MOST_BYTES // (32 * n)))
    quantity = look.colour_of(motion.robot)
    values, tensions, ends = _values(geometry, motion, track, quantity)
    poses = np.zeros((len(track.t), n, 8))
    poses[:, :-1, :3], poses[:, :-1, 3], poses[:, :-1, 4:], poses[:, -1, 7] = track.position, values, track.turn, 1.0
    colours = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in TRAIL_COLOURS]
    tips = geometry.tip_stations(look.tips).tolist() if trails else []
    seen = rig.seen(track)
    solids = [*standing(motion.robot, seen)]
    held = np.concatenate([seen, *(solid.points for solid in solids if solid.held)])
    first = np.cumsum([geometry.n_points, *(len(solid.points) for solid in solids)])
    faces = [part.faces for part in geometry.parts] + [f.faces + k for f, k in zip(solids, first[:-1], strict=True)]
    station = [geometry.station, np.full(int(first[-1]) - geometry.n_points, n - 1)]
    # normals are four bytes each, as graphics cards like it
    normals = np.concatenate([rig.normal, *(solid.normals for solid in solids)])
    return {
        "title": motion.robot.name if look.title is None else look.title,
        "times": track.t.tolist(),
        "stations": n,
        "parts": _parts(geometry, solids),
        "tendons": tensions.shape[1],
        "colours": "" if ends is None else TENDON if quantity == TENSION else ROD,
        "quantity": "" if ends is None else f"{quantity.replace('_', ' ')} [{UNITS[quantity]}]",
        "range": [0.0, 0.0] if ends is None else list(ends),
        "trails": [{"station": at, "colour": colours[k % len(colours)]} for k, at in enumerate(tips)],
        **_room(up_axis(motion.robot.engine.gravity), seen, held),
        "local": _block(np.concatenate([rig.local, *(solid.points for solid in solids)]), "<f4"),
        "normal": _block(np.rint(127.0 * np.pad(normals, ((0, 0), (0, 1)))), "|i1"),
        "station": _block(np.concatenate(station), "<u2"),
        "faces": _block(np.concatenate([np.zeros((0, 3), dtype=int), *faces]), "<u4"),
        "poses": _block(poses, "<f4"),
        "tensions": _block(tensions, "<f4"),
        "ramp": _block(_ramp(quantity), "|u1"),
    }


def _block(values: NDArray[Any], kind: str) -> dict[str, str]:
    return {"kind": KINDS[kind], "base64": b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()}


def _parts(geometry: Geometry, solids: Sequence[Obstacle]) -> list[dict[str, Any]]:
    found, first, tendons = [], 0, 0
    for part in geometry.parts:
        entry: dict[str, Any] = {"kind": part.kind, "name": part.name, "first": first, "count": part.faces.size}
        entry["colour"] = _colour(part)
        if part.kind == TENDON:
            entry["tendon"], tendons = tendons, tendons + 1
        found.append(entry)
        first += part.faces.size
    for solid in solids:
        style = {"colour": GLASS, "opacity": CLEAR} if solid.clear else {"colour": STONE, "opacity": 1.0}
        found.append({"kind": OBSTACLE, "name": "", "first": first, "count": solid.faces.size, **style})
        first += solid.faces.size
    return found


def _colour(part: Part) -> str:
    return (part.colour or RIGID)[:7] if part.kind == BODY else CORD if part.kind == TENDON else SOFT


def _values(
    geometry: Geometry, motion: Motion, track: Track, quantity: str
) -> tuple[Array, Array, tuple[float, float] | None]:
    """Values (n, n_stations) of a strain, tensions (n, n_tendons), and the range of what colours show."""
    n, columns = len(track.t), tension_columns(geometry)
    values, ends = np.zeros((n, len(geometry.places))), None
    rows = zip(track.q, track.u, strict=True)
    tensions = np.array([motion.robot.engine.tensions(q, u)[columns] for q, u in rows]).reshape(n, -1)
    if quantity == TENSION and tensions.size:
        ends = round_range(min(0.0, float(tensions.min())), float(tensions.max()), False)[:2]
    elif quantity in STRAINS:
        strain = StrainValues(geometry, quantity)
        values = track.q @ strain.table.T
        ends = round_range(*strain.range(track.q), True)[:2]
    return values, tensions, ends


def _ramp(quantity: str) -> NDArray[np.uint8]:
    from matplotlib import colormaps

    if quantity == PLAIN:
        return np.zeros((1, 4), dtype=np.uint8)
    return np.asarray(colormaps[colour_map(quantity)](np.linspace(0.0, 1.0, RAMP), bytes=True), dtype=np.uint8)


def _room(up: Array, seen: Array, held: Array) -> dict[str, Any]:
    """The floor below points (n, 3) of the robot, and the ball around all points that the page must show."""
    frame = np.stack([*level_axes(up), up])
    floor = floor_of(seen, up)
    middle = 0.5 * (held.min(axis=0) + held.max(axis=0))
    corner = np.array([floor.low[0], floor.low[1], floor.height]) @ frame
    return {
        "frame": frame.tolist(), "middle": middle.tolist(),
        "radius": 1.05 * float(np.linalg.norm(held - middle, axis=1).max(initial=0.0)) or 1.0,
        "floor": {
            "height": floor.height, "step": floor.step, "corner": corner.tolist(),
            "lines": (floor.lines.reshape(-1, 3) @ frame).round(9).tolist(),
        },
    }  # fmt: skip
