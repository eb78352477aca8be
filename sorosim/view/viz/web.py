"""A motion as one page that any browser plays in 3D, from a file, without a server or a network.

The page holds the points of all surfaces, each in the frame of its station, and the poses of the stations over time;
`viewer.js` lets the graphics card put the points where the poses have them (WebGL2).
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.base.validation import flag, positive
from sorosim.view.viz.arrows import LEAST, ArrowTracks, Scale, SwitchedScales, arrow_shape, arrow_tracks, colour_code
from sorosim.view.viz.camera import LEAST_PIXELS, LEAST_WIDTH
from sorosim.view.viz.checks import FPS, PathLike, written
from sorosim.view.viz.colours import StrainField, colour_map, part_colour
from sorosim.view.viz.geometry import ROD, TENDON
from sorosim.view.viz.motion import MotionGroup, as_group
from sorosim.view.viz.options import (
    CONTACTS,
    FORCES,
    OCCLUSION_RADIUS,
    PLAIN,
    TENSION,
    TOGGLES,
    UNITS,
    DrawingOptions,
    available_colours,
)
from sorosim.view.viz.surfaces import Obstacle
from sorosim.view.viz.visuals import (
    COARSE,
    FINE,
    FRAME_LENGTH,
    PAGE_POINTS,
    Floor,
    Frame,
    RobotVisual,
    Stage,
    coarsened,
    ends_of,
    quaternions,
    visuals_of,
)

PAGES = (".html", ".htm")
MOST_BYTES = 8_000_000  # of poses, arrows and strains; in the page they take a third more
POSE_BYTES = 28  # position and quaternion of a station
MOST_PARTS = 200  # each takes a call to be drawn; of more than so many, neighbours that look alike are one
MOST_STATIONS = 65_536  # what two bytes can count
N_COLOURS = 256  # of a colour map
OBSTACLE = "obstacle"
MOST_WIDTH = 1e30  # of what is not a rod or a tendon [m]
VIEWER = ("viewer.html", "viewer_numbers.js", "viewer_playback.js", "viewer_shaders.js", "viewer_words.js", "viewer.js")
GROWTH = 2.0**0.5  # the most that a component of the growth of a section can be
STEPS = 65_535  # of a strain, from the least to the greatest that its colours show
KINDS = {"<f4": "f4", "<u4": "u4", "<u2": "u2", "|u1": "u1", "|i1": "i1"}


@public
def export_html(
    result: Any, path: PathLike, *, fps: float = 30.0, speed: float = 1.0, loop: bool = False, **options: Any
) -> None:
    """Write a run or an equilibrium as one page for browsers.

    The page plays, has a slider, and is turned, shifted and zoomed by mouse or fingers. What options say is how it
    opens: keys and buttons switch what is drawn, colours and views; its key h tells them.

    Parameters
    ----------
    result : Run or Equilibrium
        For several in one page, see `sorosim.export_html`.
    path : path-like
        Ends in .html.
    fps : float
        States per second of the run; between them positions go straight and rotations by the shortest way. There are
        evenly fewer where poses, arrows and strains would take more than 8 MB, so that a page has some 11 MB beside its
        meshes; rods then have fewer sections first, and the page says what it leaves out.
    speed : float
        Seconds of the run per second.
    loop : bool
        Whether it starts again at the end.
    **options
        Of `sorosim.view.viz.options.DrawingOptions`: view, colour, tendons, floor, axes, frames, trails, tips,
        contacts, loads, joints, gravity, follow, zoom, orbit, occlusion, title.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    FileError
        The file cannot be written.
    """
    Page(result, options, fps=fps, speed=speed, loop=loop).write(path)


class Page:
    """A page that is still to be written; arguments are checked, as `export_html` has them.

    Parameters
    ----------
    playing : bool
        Whether it plays as soon as it is opened.
    """

    def __init__(
        self, result: Any, options: Mapping[str, Any], *, fps: float, speed: float, loop: bool, playing: bool = False
    ) -> None:
        self.fps, self.group = FPS.argument("fps", fps), as_group(result)
        self._state = {"speed": positive("speed", speed), "loop": flag("loop", loop), "playing": playing}
        if "size" in options:
            hint = "a page is as large as the window of its browser; still and movie take a size"
            raise InputError("options", "what a page can show", "'size'", hint)
        self.options = self.group.check_options(options)

    def write(self, path: PathLike) -> None:
        """Write it."""
        with written(path, PAGES) as draft:
            draft.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """What its file holds."""
        return _page_text(self.group, describe_motion(self.group, self.fps, self.options) | self._state)


def _page_text(group: MotionGroup, content: Mapping[str, Any]) -> str:
    files = resources.files("sorosim.view.viz")
    frame, *scripts = (files.joinpath(name).read_text(encoding="utf-8") for name in VIEWER)
    # no text of a robot can end the script
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    title = content["title"] or ", ".join(group.names)
    parts = {"TITLE": escape(title), "SCRIPT": "\n".join(scripts), "MOTION": data}
    return re.sub("@(TITLE|SCRIPT|MOTION)@", lambda found: parts[found[1]], frame)


def describe_motion(
    group: MotionGroup, fps: float, options: DrawingOptions, resolution: tuple[int, int] | None = None, most: int = 0
) -> dict[str, Any]:
    """What `viewer.js` takes: numbers, and arrays as base64; at most so many states, or as many as there is room for.

    Rods are as smooth as in pictures, if there is room.
    """
    coarsest = coarsened([motion.robot for motion in group.motions], COARSE, PAGE_POINTS)
    if resolution is None:
        resolution = FINE if coarsest == COARSE else coarsest
    visuals = visuals_of(group, options.view, resolution, tendons=not group.several)
    n = sum(len(visual.geometry.places) for visual in visuals) + 1  # one more: the world
    if resolution == FINE and POSE_BYTES * n * (group.t[-1] - group.t[0]) * fps > MOST_BYTES:
        return describe_motion(group, fps, options, COARSE)
    if n > MOST_STATIONS:
        raise InputError("run", f"robots of fewer than {MOST_STATIONS} drawn sections", f"{n - 1}")
    stage = Stage(visuals, [visual.fit() for visual in visuals], group.up)
    wrenches = [one for visual in visuals for one in visual.all_wrenches(FORCES)]
    scales = SwitchedScales(wrenches, stage.size)
    times = group.frame_times(fps, most or MOST_BYTES // (POSE_BYTES * n))
    robots = [visual.frames(times, FORCES) for visual in visuals]
    arrows = arrow_tracks(scales.acting, [[frame.wrenches for frame in frames] for frames in robots], len(times))
    robot, first, asked = visuals[0], robots[0], len(group.frame_times(fps, 10**9))
    colours = _colours(robot, group.several)
    fields = [StrainField(robot.geometry, colour["name"]) for colour in colours if colour["kind"] == ROD]
    strained = robot.geometry.stations_of(ROD)
    fewer = MOST_BYTES // (POSE_BYTES * n + 24 * len(arrows.tracks) + 2 * len(fields) * len(strained))
    if len(times) > max(fewer, 2):
        return describe_motion(group, fps, options, resolution, max(fewer, 2))

    left_out = [f"{len(times)} of {asked} states"] if len(times) < asked else []
    if resolution not in (FINE, COARSE):
        left_out.append("{} sections a rod, {} sides".format(*resolution))
    strains = np.zeros((len(times), len(fields), len(strained)))
    ranges = (colour["range"] for colour in colours if colour["kind"] == ROD)
    for k, (field, (low, high)) in enumerate(zip(fields, ranges, strict=True)):
        values = np.stack([field.strains(frame.q) for frame in first])[:, strained]
        strains[:, k] = np.clip((values - low) / (high - low), 0.0, 1.0)
    scale = scales.of(options.forces)
    ends = np.zeros((0, 3)) if scale is None else ends_of(scale, [one.only(options.forces) for one in wrenches])
    obstacles = (one.points for one in stage.obstacles if one.framed and options.contacts)
    points = np.concatenate([*stage.extents, ends, *obstacles])
    if options.follow is not None:
        points = stage.relative(np.stack([robot.followed(q, options.follow) for q in robot.states]))
    followed = np.stack([robot.followed(frame.q, options.follow) for frame in first])
    return {
        **_labels(group, options, left_out),
        "times": times.tolist(),
        "stationCount": n,
        **_meshes(visuals, [frames[0] for frames in robots], stage.obstacles),
        "tendonCount": len(first[0].tensions),
        "colours": colours,
        "colour": next((c["name"] for c in colours if c["name"] == robot.quantity(options)), PLAIN),
        "colourMaps": {name: _block(_colour_map(name), "|u1") for name in {c["map"] for c in colours if c["map"]}},
        "strainStations": _block(strained, "<u2"),
        "strains": _block(np.rint(STEPS * strains), "<u2"),
        "switches": {name: bool(getattr(options, name)) for name in TOGGLES},
        "frames": {"length": FRAME_LENGTH * stage.size, "stations": _stations(visuals, [v.framed for v in visuals])},
        "trails": _trails(visuals, options) if group.timed else [],
        "arrows": _arrows(scales, arrows),
        **_surroundings(stage.floor, points, bool(options.orbit)),
        "followed": _block(followed, "<f4"),
        "occlusion": 0.0 if options.occlusion is False else OCCLUSION_RADIUS * stage.size,
        "leastWidth": [LEAST_WIDTH, LEAST_PIXELS],
        "poses": _block(_poses(robots), "<f4"),
        "tensions": _block(np.stack([frame.tensions for frame in first]), "<f4"),
    }


def _labels(group: MotionGroup, options: DrawingOptions, left_out: Sequence[str]) -> dict[str, Any]:
    """What is written beside the picture, and how it is looked at."""
    return {
        "title": options.title if options.title is not None else "" if group.several else group.robot.name,
        "detail": ", ".join(left_out),
        "legend": list(zip(group.names, group.tints, strict=True)) if group.several else [],
        "view": options.view,
        "orbit": options.orbit,
        "zoom": options.zoom,
        "near": options.follow is not None and options.zoom != 1.0,
    }


def _poses(robots: Sequence[Sequence[Frame]]) -> Array:
    """Positions and quaternions (times, stations + 1, 7) of all stations; the last one is the world."""
    g = np.concatenate([np.stack([frame.g for frame in frames]) for frames in robots], axis=1)
    poses = np.zeros((g.shape[0], g.shape[1] + 1, 7))
    poses[:, :-1, :3], poses[:, :-1, 3:], poses[:, -1, 6] = g[..., :3, 3], quaternions(g), 1.0
    return poses


def _colours(visual: RobotVisual, several: bool) -> list[dict[str, Any]]:
    """What colours can show, in the order of the key that goes through them."""
    found = []
    for name in (PLAIN,) if several else available_colours(visual.robot):
        bounds = visual.colour_range(name)
        if bounds is not None:
            kind, label = TENDON if name == TENSION else ROD, f"{name.replace('_', ' ')} [{UNITS[name]}]"
            found.append({"name": name, "kind": kind, "label": label, "range": bounds[:2], "map": colour_map(name)})
        elif name == PLAIN:
            found.append({"name": PLAIN, "kind": "", "label": "", "range": (0.0, 0.0), "map": ""})
    return found


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
    trails = [visual.trails(options) for visual in visuals]
    stations = _stations(visuals, [[at for at, _ in rows] for rows in trails])
    colours = [colour for rows in trails for _, colour in rows]
    return [{"station": at, "colour": colour} for at, colour in zip(stations, colours, strict=True)]


def _stations(visuals: Sequence[RobotVisual], chosen: Sequence[Iterable[int]]) -> list[int]:
    """Stations of each robot by their numbers among those of all."""
    first = np.cumsum([0, *(len(visual.geometry.places) for visual in visuals)])
    return [int(begin + at) for begin, some in zip(first[:-1], chosen, strict=True) for at in some]


def _arrows(scales: SwitchedScales, arrows: ArrowTracks) -> dict[str, Any]:
    """Forces and moments, the shapes of arrows with one head and with two, and the scales by what is shown."""
    shapes = []
    for shape in (arrow_shape(heads) for heads in (1, 2) if arrows.tracks):
        local = np.column_stack([shape.by_width, shape.by_length])
        tables = {"points": _block(local, "<f4"), "normals": _block(shape.normals, "<f4")}
        shapes.append(tables | {"faces": _block(shape.faces, "<u4"), "greatestWidth": shape.greatest_width})
    return {
        "scales": {
            " ".join(kinds): {
                "label": scale.label,
                "legend": scales.legend(kinds),
                "headWidth": scale.width,
                "heads": [
                    _scale(one, most) for one, most in zip((scale.force, scale.moment), scale.largest, strict=True)
                ],
            }
            for kinds, scale in scales.scales.items()
        },
        "tracks": [
            {
                "kind": t.kind,
                "colour": colour_code(t.kind),
                "heads": t.heads,
                "steady": t.steady,
                "ends": t.kind == CONTACTS,
            }
            for t in arrows.tracks
        ],
        "shapes": shapes,
        "startsAndVectors": _block(np.concatenate([arrows.start, arrows.vector], axis=-1), "<f4"),
    }


def _scale(scale: Scale | None, largest: float) -> dict[str, float] | None:
    """Metres per newton or newton metre, from which value on there are arrows, and where they are cut [m]."""
    if scale is None:
        return None
    cut = {"longest": scale.longest} if scale.peak else {}
    return {"metres": scale.length / scale.value, "least": LEAST * largest, **cut}


def _block(values: NDArray[Any], kind: str) -> dict[str, str]:
    return {"kind": KINDS[kind], "base64": b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()}


def _bytes(vectors: Array) -> dict[str, str]:
    """Vectors (n, 3) of at most 1, four bytes each, as graphics cards like it."""
    return _block(np.rint(127.0 * np.pad(vectors, ((0, 0), (0, 1)))), "|i1")


def _colour_map(name: str) -> NDArray[np.uint8]:
    from matplotlib import colormaps

    return np.asarray(colormaps[name](np.linspace(0.0, 1.0, N_COLOURS), bytes=True), dtype=np.uint8)


def _surroundings(floor: Floor, framed: Array, orbit: bool) -> dict[str, Any]:
    """The floor, and the box and the ball around all points that the page must show, from all sides where it turns."""
    middle = 0.5 * (framed.min(axis=0) + framed.max(axis=0))
    half = np.maximum(0.5 * np.ptp(framed, axis=0), 1e-3 * floor.size)
    if orbit:
        level = (framed - middle) @ floor.axes[:2].T
        half = np.where(floor.axes[2] != 0.0, half, np.linalg.norm(level, axis=1).max())
    corner = np.array([floor.low[0], floor.low[1], floor.height]) @ floor.axes
    lines = (floor.lines.reshape(-1, 3) @ floor.axes).round(9).tolist()
    return {
        "worldAxes": floor.axes.tolist(),
        "centre": middle.tolist(),
        "halfExtents": half.tolist(),
        "radius": 1.05 * float(np.linalg.norm(framed - middle, axis=1).max(initial=0.0)) or 1.0,
        "floor": {"height": floor.height, "step": floor.step, "corner": corner.tolist(), "lines": lines},
    }
