"""A motion as one page that any browser plays in 3D, from a file, without a server or a network.

The page holds the points of all surfaces, each in the frame of its station, and the poses of the stations over time;
`viewer.js` lets the graphics card put the points where the poses have them (WebGL2).
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.view.viz.arrows import ArrowScale, ArrowTracks, arrow_shape, arrow_tracks, colour_code
from sorosim.view.viz.camera import LEAST_PIXELS, LEAST_WIDTH, level_view
from sorosim.view.viz.checks import FPS, PathLike, written
from sorosim.view.viz.colours import StrainField, colour_map, part_colour
from sorosim.view.viz.geometry import ROD, TENDON
from sorosim.view.viz.motion import MotionGroup, as_group
from sorosim.view.viz.options import OCCLUSION_RADIUS, PLAIN, STRAINS, TENSION, UNITS, DrawingOptions
from sorosim.view.viz.surfaces import Obstacle
from sorosim.view.viz.visuals import (
    COARSE,
    FINE,
    WINDOW_POINTS,
    Floor,
    Frame,
    RobotVisual,
    Stage,
    arrow_scale,
    coarsened,
    quaternions,
    visuals_of,
)

PAGES = (".html", ".htm")
MOST_BYTES = 8_000_000  # of poses; in the page they take a third more
MOST_PARTS = 200  # each takes a call to be drawn; of more than so many, neighbours that look alike are one
MOST_STATIONS = 65_536  # what two bytes can count
N_COLOURS = 256  # of a colour map
OBSTACLE = "obstacle"
MOST_WIDTH = 1e30  # of what is not a rod or a tendon [m]
VIEWER = ("viewer.html", "viewer_numbers.js", "viewer_shaders.js", "viewer.js")
GROWTH = 2.0**0.5  # the most that a component of the growth of a section can be
NOT_IN_PAGES = ("floor", "axes", "frames", "orbit")  # options of pictures
KINDS = {"<f4": "f4", "<u4": "u4", "<u2": "u2", "|u1": "u1", "|i1": "i1"}


@public
def export_html(result: Any, path: PathLike, *, fps: float = 30.0, **options: Any) -> None:
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
        evenly fewer where poses and arrows would take more than 8 MB, so that a page has some 11 MB beside its meshes;
        rods then have fewer sections first, and the page says what it leaves out.
    **options
        Of `sorosim.view.viz.options.DrawingOptions`: view, colour, tendons, trails, tips, contacts, loads, joints,
        gravity, follow, zoom, occlusion, title.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    rate, group = FPS.argument("fps", fps), as_group(result)
    for name in options:
        if name in NOT_IN_PAGES:
            raise InputError("options", "what a page can show", f"'{name}'", "pictures, films and windows know it")
    checked = group.check_options(options)
    with written(path, PAGES) as draft:
        draft.write_text(page(group, rate, checked), encoding="utf-8")


def page(group: MotionGroup, fps: float, options: DrawingOptions) -> str:
    """The text of the page."""
    files = resources.files("sorosim.view.viz")
    frame, *scripts = (files.joinpath(name).read_text(encoding="utf-8") for name in VIEWER)
    content = describe_motion(group, fps, options)
    # no text of a robot can end the script
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    title = content["title"] or ", ".join(group.names)
    parts = {"TITLE": escape(title), "SCRIPT": "\n".join(scripts), "MOTION": data}
    return re.sub("@(TITLE|SCRIPT|MOTION)@", lambda found: parts[found[1]], frame)


def describe_motion(
    group: MotionGroup, fps: float, options: DrawingOptions, resolution: tuple[int, int] | None = None
) -> dict[str, Any]:
    """What `viewer.js` takes: numbers, and arrays as base64. Rods are as smooth as in pictures, if there is room."""
    coarsest = coarsened([motion.robot for motion in group.motions], COARSE, WINDOW_POINTS)
    if resolution is None:
        resolution = FINE if coarsest == COARSE else coarsest
    visuals = visuals_of(group, options.view, resolution, options.tendons and not group.several)
    n = sum(len(visual.geometry.places) for visual in visuals) + 1  # one more: the world
    if resolution == FINE and 32 * n * (group.t[-1] - group.t[0]) * fps > MOST_BYTES:
        return describe_motion(group, fps, options, COARSE)
    if n > MOST_STATIONS:
        raise InputError("run", f"robots of fewer than {MOST_STATIONS} drawn sections", f"{n - 1}")
    stage = Stage(visuals, [visual.fit() for visual in visuals], group.up)
    scale, ends = arrow_scale(visuals, options.forces, stage.size)
    times = group.frame_times(fps, MOST_BYTES // (32 * n))
    robots = [visual.frames(times, options.forces) for visual in visuals]
    arrows = arrow_tracks(scale, [[frame.wrenches for frame in frames] for frames in robots], len(times))
    fewer = MOST_BYTES // (32 * n + 24 * len(arrows.tracks))
    if len(times) > max(fewer, 2):
        return describe_motion(group, (fewer - 1) / (times[-1] - times[0]), options, resolution)

    robot, first, asked = visuals[0], robots[0], len(group.frame_times(fps, 10**9))
    left_out = [f"{len(times)} of {asked} states"] if len(times) < asked else []
    if resolution not in (FINE, COARSE):
        left_out.append("{} sections a rod, {} sides".format(*resolution))
    quantity = robot.quantity(options)
    bounds = robot.colour_range(quantity)
    g = np.concatenate([np.stack([frame.g for frame in frames]) for frames in robots], axis=1)
    poses = np.zeros((len(times), n, 8))
    poses[:, :-1, :3], poses[:, :-1, 4:], poses[:, -1, 7] = g[..., :3, 3], quaternions(g), 1.0
    if quantity in STRAINS:
        poses[:, : len(robot.geometry.places), 3] = [StrainField(robot.geometry, quantity).strains(f.q) for f in first]
    obstacles = stage.obstacles if options.contacts else []
    framed = np.concatenate([*stage.extents, ends, *(one.points for one in obstacles if one.framed)])
    if options.follow is not None:
        framed = stage.relative(np.stack([robot.followed(q, options.follow) for q in robot.states]))
    followed = np.stack([robot.followed(frame.q, options.follow) for frame in first])
    return {
        "title": options.title if options.title is not None else "" if group.several else group.robot.name,
        "detail": ", ".join(left_out),
        "view": level_view(options.view, group.up),
        "times": times.tolist(),
        "stationCount": n,
        **_meshes(visuals, [frames[0] for frames in robots], obstacles),
        "tendonCount": len(first[0].tensions),
        "colouredKind": "" if bounds is None else TENDON if quantity == TENSION else ROD,
        "quantity": "" if bounds is None else f"{quantity.replace('_', ' ')} [{UNITS[quantity]}]",
        "colourRange": [0.0, 0.0] if bounds is None else list(bounds[:2]),
        "trails": _trails(visuals, options),
        "legend": [*(zip(group.names, group.tints, strict=True) if group.several else ()), *scale.kinds],
        "arrows": _arrows(scale, arrows),
        **_surroundings(stage.floor, framed),
        "zoom": options.zoom,
        "near": options.follow is not None and options.zoom != 1.0,
        "followed": _block(followed, "<f4"),
        "occlusion": 0.0 if options.occlusion is False else OCCLUSION_RADIUS * stage.size,
        "leastWidth": [LEAST_WIDTH, LEAST_PIXELS],
        "poses": _block(poses, "<f4"),
        "tensions": _block(np.stack([frame.tensions for frame in first]), "<f4"),
        "colourMap": _block(_colour_map(quantity), "|u1"),
    }


def _meshes(visuals: Sequence[RobotVisual], first: Sequence[Frame], obstacles: Sequence[Obstacle]) -> dict[str, Any]:
    """Parts, and their triangles and points, each in the frame of its station; obstacles are in the world's.

    Normals are those of the first frame: where a rod bends they incline a little.
    """
    pieces: list[tuple[NDArray[Any], ...]] = []  # points, normals, stations, growth, half-widths
    faces: list[NDArray[Any]] = [np.zeros((0, 3), dtype=int)]
    parts: list[dict[str, Any]] = []
    n_points = station = corner = 0
    for visual, frame in zip(visuals, first, strict=True):
        geometry = visual.geometry
        for part in geometry.parts:
            tendons = {"tendonIndex": sum(p["kind"] == TENDON for p in parts)} if part.kind == TENDON else {}
            colour = visual.tint or part_colour(part)
            parts.append(
                {"kind": part.kind, "name": part.name, "colour": colour, "indexCount": part.faces.size, **tendons}
            )
            faces.append(part.faces + n_points)
        thin = geometry.growth, np.minimum(geometry.half_width, MOST_WIDTH)
        pieces.append((geometry.local, geometry.local_normals(frame.g), geometry.station + station, *thin))
        n_points, station = n_points + geometry.n_points, station + len(geometry.places)
    for obstacle in obstacles:
        style = {"colour": obstacle.colour, "opacity": obstacle.opacity}
        parts.append({"kind": OBSTACLE, "name": "", "indexCount": obstacle.faces.size, **style})
        faces.append(obstacle.faces + n_points)
        count = len(obstacle.points)
        thick = np.zeros((count, 3)), np.full(count, MOST_WIDTH)
        pieces.append((obstacle.points, obstacle.normals, np.full(count, station), *thick))
        n_points += count
    if len(parts) > MOST_PARTS:
        parts = _merged(parts)
    for entry in parts:
        entry["firstIndex"], corner = corner, corner + entry["indexCount"]
    local, normal, at, growth, half_width = (np.concatenate(tables) for tables in zip(*pieces, strict=True))
    return {
        "parts": parts,
        "localPoints": _block(local, "<f4"),
        "localNormals": _bytes(normal),
        "growth": _bytes(growth / GROWTH),
        "halfWidths": _block(half_width, "<f4"),
        "pointStations": _block(at, "<u2"),
        "faces": _block(np.concatenate(faces), "<u4"),
    }


def _merged(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts, of which neighbours that are drawn alike are one."""
    merged: list[dict[str, Any]] = []
    for part in parts:
        alike = {**part, "name": "", "indexCount": 0}
        if merged and part["kind"] != TENDON and {**merged[-1], "name": "", "indexCount": 0} == alike:
            merged[-1]["indexCount"] += part["indexCount"]
        else:
            merged.append(dict(part))
    return merged


def _trails(visuals: Sequence[RobotVisual], options: DrawingOptions) -> list[dict[str, Any]]:
    """The stations of tips that leave trails, and the colours of those."""
    trails, first = [], 0
    for visual in visuals:
        trails += [{"station": first + at, "colour": colour} for at, colour in visual.trails(options)]
        first += len(visual.geometry.places)
    return trails


def _arrows(scale: ArrowScale, arrows: ArrowTracks) -> dict[str, Any]:
    """Arrows, and the shapes of those with one head and with two."""
    shapes = []
    for shape in (arrow_shape(heads) for heads in (1, 2) if arrows.tracks):
        local = np.column_stack([shape.by_width, shape.by_length])
        tables = {"points": _block(local, "<f4"), "normals": _block(shape.normals, "<f4")}
        shapes.append(tables | {"faces": _block(shape.faces, "<u4"), "greatestWidth": shape.greatest_width})
    return {
        "scaleLabel": scale.label,
        "headWidth": scale.width,
        "tracks": [{"colour": colour_code(t.kind), "heads": t.heads, "steady": t.steady} for t in arrows.tracks],
        "shapes": shapes,
        "startsAndVectors": _block(np.concatenate([arrows.start, arrows.vector], axis=-1), "<f4"),
    }


def _block(values: NDArray[Any], kind: str) -> dict[str, str]:
    return {"kind": KINDS[kind], "base64": b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()}


def _bytes(vectors: Array) -> dict[str, str]:
    """Vectors (n, 3) of at most 1, four bytes each, as graphics cards like it."""
    return _block(np.rint(127.0 * np.pad(vectors, ((0, 0), (0, 1)))), "|i1")


def _colour_map(quantity: str) -> NDArray[np.uint8]:
    from matplotlib import colormaps

    if quantity == PLAIN:
        return np.zeros((1, 4), dtype=np.uint8)
    return np.asarray(colormaps[colour_map(quantity)](np.linspace(0.0, 1.0, N_COLOURS), bytes=True), dtype=np.uint8)


def _surroundings(floor: Floor, framed: Array) -> dict[str, Any]:
    """The floor, and the box and the ball around all points that the page must show."""
    middle = 0.5 * (framed.min(axis=0) + framed.max(axis=0))
    corner = np.array([floor.low[0], floor.low[1], floor.height]) @ floor.axes
    lines = (floor.lines.reshape(-1, 3) @ floor.axes).round(9).tolist()
    return {
        "worldAxes": floor.axes.tolist(),
        "centre": middle.tolist(),
        "halfExtents": np.maximum(0.5 * np.ptp(framed, axis=0), 1e-3 * floor.size).tolist(),
        "radius": 1.05 * float(np.linalg.norm(framed - middle, axis=1).max(initial=0.0)) or 1.0,
        "floor": {"height": floor.height, "step": floor.step, "corner": corner.tolist(), "lines": lines},
    }
