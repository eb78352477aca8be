"""A motion as one page that any browser plays in 3D, from a file, without a server or a network.

The page holds the points of all surfaces, each in the frame of its station, and the poses of the stations over time;
`viewer.js` lets the graphics card put the points where the poses have them (WebGL2).
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import InputError
from sorosim.robot import Robot
from sorosim.validation import positive
from sorosim.viz.arrow_track import ArrowTrack, arrow_track
from sorosim.viz.arrows import arrow_shape
from sorosim.viz.camera import largest, level_axes, level_view
from sorosim.viz.colours import StrainValues, colour_map, round_range, tension_columns
from sorosim.viz.drawn import CORD, RIGID, SOFT
from sorosim.viz.geometry import BODY, ROD, TENDON, Geometry, Part
from sorosim.viz.look import PLAIN, STRAINS, TENSION, UNITS, Look
from sorosim.viz.meshes import TRAIL_COLOURS, floor_of
from sorosim.viz.rig import Rig, Track, frame_times
from sorosim.viz.target import Motion, written
from sorosim.viz.together import Together, together
from sorosim.viz.touching import CLEAR, GLASS, STONE, Obstacle, standing

Array = NDArray[np.float64]

PAGES = (".html", ".htm")
MOST_BYTES = 8_000_000  # of poses; in the page they take a third more
MOST_STATIONS = 65_536  # what two bytes can count
RAMP = 256  # colours
OBSTACLE = "obstacle"
VIEWER = ("viewer.html", "viewer_numbers.js", "viewer_shaders.js", "viewer.js")
OF_PICTURES = ("floor", "axes", "frames", "follow", "orbit")  # what pages do not know
KINDS = {"<f4": "f4", "<u4": "u4", "<u2": "u2", "|u1": "u1", "|i1": "i1"}


def export_html(result: Any, path: str | os.PathLike[str], *, fps: float = 30.0, **look: Any) -> None:
    """Write a run or an equilibrium as one page for browsers.

    The page plays, has a slider, and is turned, shifted and zoomed by mouse or fingers.

    Parameters
    ----------
    result : Run or Equilibrium
        For several in one page, see `sorosim.export_html`.
    path : path-like
        Ends in .html.
    fps : float
        States per second of the run; between them positions go straight and rotations by the shortest way. There are
        evenly fewer where poses and arrows would take more than 8 MB, so that a page has some 11 MB beside its meshes.
    **look
        As for `sorosim.viz.look.Look`: view, colour, tendons, trails, tips, contacts, loads, joints, gravity, title.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    rate, shown = positive("fps", fps), together(result)
    for name in look:
        if name in OF_PICTURES:
            raise InputError("options", "what a page can show", f"'{name}'", "pictures, films and windows know it")
    known = shown.check_look(look)
    with written(path, PAGES) as draft:
        draft.write_text(page(shown, rate, known), encoding="utf-8")


def page(shown: Together, fps: float, look: Look) -> str:
    """The text of the page."""
    files = resources.files("sorosim.viz")
    frame, *scripts = (files.joinpath(name).read_text(encoding="utf-8") for name in VIEWER)
    content = describe_motion(shown, fps, look)
    # no text of a robot can end the script
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    title = content["title"] or ", ".join(shown.names)
    parts = {"TITLE": escape(title), "SCRIPT": "\n".join(scripts), "MOTION": data}
    return re.sub("@(TITLE|SCRIPT|MOTION)@", lambda found: parts[found[1]], frame)


class _Drawn(NamedTuple):
    """A robot of the page, its world displaced where several stand side by side."""

    rig: Rig
    track: Track
    seen: Array  # (n, 3) points that it has along its motion
    tint: str  # "": the usual colours
    solids: list[Obstacle]


def describe_motion(shown: Together, fps: float, look: Look) -> dict[str, Any]:
    """What `viewer.js` takes: numbers, and arrays as base64."""
    tendons = look.tendons and not shown.several
    rigs = [Rig(motion.robot, np.asarray(motion.q[0], dtype=float), tendons) for motion in shown.motions]
    n = sum(len(rig.geometry.places) for rig in rigs) + 1  # one more: the world
    if n > MOST_STATIONS:
        raise InputError("run", f"robots of fewer than {MOST_STATIONS} drawn sections", f"{n - 1}")
    times = frame_times(shown, fps, MOST_BYTES // (32 * n))
    offsets = shown.offsets(look.view)
    drawn = [_drawn(*each, times, look) for each in zip(rigs, shown.motions, offsets, shown.tints, strict=True)]
    seen = np.concatenate([one.seen for one in drawn])
    solids = [solid for one in drawn for solid in one.solids]
    arrows = arrow_track(shown, look, times, offsets, largest([one.seen for one in drawn]))
    held = [seen, *(solid.points for solid in solids if solid.held)]
    held += [end.reshape(-1, 3) for end in (arrows.start, arrows.start + arrows.vector)]
    fewer = MOST_BYTES // (32 * n + 24 * len(arrows.slots))
    if len(times) > max(fewer, 2):
        return describe_motion(shown, (fewer - 1) / (times[-1] - times[0]), look)

    robot, geometry = shown.robot, rigs[0].geometry
    quantity = PLAIN if shown.several else look.colour_of(robot)
    values, tensions, ends = _values(geometry, robot, drawn[0].track, quantity)
    poses = np.zeros((len(times), n, 8))
    poses[:, :-1, :3] = np.concatenate([one.track.position for one in drawn], axis=1)
    poses[:, :-1, 4:] = np.concatenate([one.track.turn for one in drawn], axis=1)
    poses[:, : values.shape[1], 3], poses[:, -1, 7] = values, 1.0
    return {
        "title": look.title if look.title is not None else "" if shown.several else robot.name,
        "view": level_view(look.view, shown.up),
        "times": times.tolist(),
        "stations": n,
        **_meshes(drawn),
        "tendons": tensions.shape[1],
        "colours": "" if ends is None else TENDON if quantity == TENSION else ROD,
        "quantity": "" if ends is None else f"{quantity.replace('_', ' ')} [{UNITS[quantity]}]",
        "range": [0.0, 0.0] if ends is None else list(ends),
        "trails": list(_trails(drawn, look)) if look.trails else [],
        "legend": [*(zip(shown.names, shown.tints, strict=True) if shown.several else ()), *arrows.kinds],
        "arrows": _arrows(arrows),
        **_room(shown.up, seen, np.concatenate(held)),
        "poses": _block(poses, "<f4"),
        "tensions": _block(tensions, "<f4"),
        "ramp": _block(_ramp(quantity), "|u1"),
    }


def _drawn(rig: Rig, motion: Motion, offset: Array, tint: str, times: Array, look: Look) -> _Drawn:
    track = rig.track(motion, times)
    seen = rig.seen(track)
    standing_ = standing(motion.robot, seen) if look.contacts else ()
    solids = [solid._replace(points=solid.points + offset) for solid in standing_]
    return _Drawn(rig, track._replace(position=track.position + offset), seen + offset, tint, solids)


def _meshes(drawn: Sequence[_Drawn]) -> dict[str, Any]:
    """Parts, and their triangles and points, each in the frame of its station; what stands is in the world's."""
    world = sum(len(one.rig.geometry.places) for one in drawn)
    solids = [solid for one in drawn for solid in one.solids]
    pieces: list[tuple[Array, Array, NDArray[Any]]] = []  # points, normals, stations
    faces: list[NDArray[Any]] = [np.zeros((0, 3), dtype=int)]
    parts: list[dict[str, Any]] = []
    n_points = station = corner = 0
    for one in drawn:
        geometry = one.rig.geometry
        for part in geometry.parts:
            tendons = {"tendon": sum(p["kind"] == TENDON for p in parts)} if part.kind == TENDON else {}
            colour = one.tint or _colour(part)
            parts.append({"kind": part.kind, "name": part.name, "colour": colour, "count": part.faces.size, **tendons})
            faces.append(part.faces + n_points)
        pieces.append((one.rig.local, one.rig.normal, geometry.station + station))
        n_points, station = n_points + geometry.n_points, station + len(geometry.places)
    for solid in solids:
        style = {"colour": GLASS, "opacity": CLEAR} if solid.clear else {"colour": STONE, "opacity": 1.0}
        parts.append({"kind": OBSTACLE, "name": "", "count": solid.faces.size, **style})
        faces.append(solid.faces + n_points)
        pieces.append((solid.points, solid.normals, np.full(len(solid.points), world)))
        n_points += len(solid.points)
    for entry in parts:
        entry["first"], corner = corner, corner + entry["count"]
    local, normal, at = (np.concatenate(tables) for tables in zip(*pieces, strict=True))
    return {
        "parts": parts,
        "local": _block(local, "<f4"),
        # four bytes each, as graphics cards like it
        "normal": _block(np.rint(127.0 * np.pad(normal, ((0, 0), (0, 1)))), "|i1"),
        "station": _block(at, "<u2"),
        "faces": _block(np.concatenate(faces), "<u4"),
    }


def _trails(drawn: Sequence[_Drawn], look: Look) -> Iterator[dict[str, Any]]:
    """The stations of tips that leave trails, and the colours of those."""
    colours, first = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in TRAIL_COLOURS], 0
    for one in drawn:
        for k, at in enumerate(one.rig.geometry.tip_stations(look.tips_of(one.rig.geometry.robot))):
            yield {"station": first + int(at), "colour": one.tint or colours[k % len(colours)]}
        first += len(one.rig.geometry.places)


def _arrows(track: ArrowTrack) -> dict[str, Any]:
    """Arrows, and the shapes of those with one head and with two."""
    shapes = []
    for heads in (1, 2):
        shape = arrow_shape(heads)
        local = np.column_stack([shape.by_width, shape.by_length])
        shapes.append(
            {
                "local": _block(local, "<f4"),
                "normal": _block(shape.normals, "<f4"),
                "faces": _block(shape.faces, "<u4"),
                "room": shape.room,
            }
        )
    slots = [{"colour": slot.colour, "heads": slot.heads, "steady": slot.steady} for slot in track.slots]
    values = np.concatenate([track.start, track.vector], axis=-1)
    return {
        "words": track.legend, "width": track.width, "slots": slots, "shapes": shapes if slots else [],
        "values": _block(values, "<f4"),
    }  # fmt: skip


def _block(values: NDArray[Any], kind: str) -> dict[str, str]:
    return {"kind": KINDS[kind], "base64": b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()}


def _colour(part: Part) -> str:
    return (part.colour or RIGID)[:7] if part.kind == BODY else CORD if part.kind == TENDON else SOFT


def _values(
    geometry: Geometry, robot: Robot, track: Track, quantity: str
) -> tuple[Array, Array, tuple[float, float] | None]:
    """Values (n, n_stations) of a strain, tensions (n, n_tendons), and the range of what colours show."""
    n, columns = len(track.t), tension_columns(geometry)
    values, ends = np.zeros((n, len(geometry.places))), None
    rows = zip(track.q, track.u, strict=True)
    tensions = np.array([robot.engine.tensions(q, u)[columns] for q, u in rows]).reshape(n, -1)
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
        "half": np.maximum(0.5 * np.ptp(held, axis=0), 1e-3 * floor.size).tolist(),
        "radius": 1.05 * float(np.linalg.norm(held - middle, axis=1).max(initial=0.0)) or 1.0,
        "floor": {
            "height": floor.height, "step": floor.step, "corner": corner.tolist(),
            "lines": (floor.lines.reshape(-1, 3) @ frame).round(9).tolist(),
        },
    }  # fmt: skip
