"""Options of drawings, which pictures, films, pages and files share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sorosim.base.errors import InputError
from sorosim.base.units.quantity import amount
from sorosim.base.validation import describe, flag, positive
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.camera import check_view
from sorosim.view.viz.checks import check_name

PLAIN, TENSION = "plain", "tension"
CENTRE_OF_MASS = "centre of mass"
STRAINS = ("torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z")
UNITS = {TENSION: "N"} | {name: "rad/m" if k < 3 else "-" for k, name in enumerate(STRAINS)}

OCCLUSION_RADIUS = 0.08  # within which things darken others, relative to the size of the robot


@dataclass(frozen=True)
class DrawingOptions:
    """Options of drawings: what is drawn beside the links, in which colours, and from where.

    Parameters
    ----------
    view : {"iso", "front", "side", "top", "x", "y", "z"}
        Where the camera stands: in front (it looks along x), at the side (along y) or above; x, y and z are the view
        along that axis of the world.
    colour : str, optional
        What colours show: "tension" (of the tendons), "torsion", "bending_y", "bending_z", "elongation", "shear_y" or
        "shear_z" (strain of the rods less that at q = 0), or "plain". Default: the tension where there are tendons.
    tendons, floor, axes : bool
        Whether they are drawn: tendons, the floor and its grid, the axes of the world.
    frames : bool
        Frames of the links and of sections along the rods (x red, y green, z blue).
    trails : bool
        Paths that the tips have taken so far.
    tips : sequence of str, optional
        Links whose tips (of rods) or frames leave trails. Default: those that carry no other.
    contacts : bool
        What the robot may touch, and the forces of contacts as arrows.
    loads : bool
        Loads as arrows: forces with one head, moments with two. All arrows have one scale over the motion, which the
        picture states.
    joints : bool
        Wrenches of loops, and what motors and driven coordinates do to their links, as arrows.
    gravity : bool
        The weight as an arrow at the centre of mass.
    follow : str, optional
        Name of a link that the camera follows, or "centre of mass".
    zoom : float
        How many times as large as fits everything is drawn. With `follow`, what is followed is then in the middle.
    orbit : float or str
        Angle by which the camera goes round what it sees in each second of the motion, counter-clockwise from above
        [rad/s], such as "20 deg/s".
    occlusion : bool, optional
        Whether what is near to something else is darker there (ambient occlusion). Without a graphics card a picture
        takes some five times as long. Default: in stills and pages, with a graphics card also in films.
    title : str, optional
        Default: the robot's name.
    """

    view: str = "iso"
    colour: str | None = None
    tendons: bool = True
    floor: bool = True
    axes: bool = True
    frames: bool = False
    trails: bool = False
    tips: Sequence[str] | None = None
    contacts: bool = True
    loads: bool = False
    joints: bool = False
    gravity: bool = False
    follow: str | None = None
    zoom: float = 1.0
    orbit: float = 0.0
    occlusion: bool | None = None
    title: str | None = None

    def changed(self, robot: Robot, options: Mapping[str, Any], links: Sequence[str] | None = None) -> DrawingOptions:
        """The same but for some options, refusing what this robot cannot show.

        Trails may be left by some `links`; default: by those of the robot.

        Raises
        ------
        InputError
            An option or its value is unknown, or the robot has nothing to show by it.
        """
        names = [field.name for field in fields(self)]
        for name, value in options.items():
            check_name("options", name, names, "the name of an option")
            if name in TOGGLES or (name == "occlusion" and value is not None):
                flag(name, value)
        orbit = amount("orbit", options.get("orbit", self.orbit), "angular speed")
        zoom = positive("zoom", options.get("zoom", self.zoom))
        new = DrawingOptions(**(asdict(self) | dict(options) | {"orbit": orbit, "zoom": zoom}))
        check_view(new.view)
        if new.colour is not None:
            _check_colour(robot, new.colour)
        own = [link.name for link in robot.links]
        if options.get("tips") is not None:
            _check_tips(own if links is None else links, new.tips)
        if new.follow is not None:
            expected = f"the name of a link, or '{CENTRE_OF_MASS}'"
            check_name("follow", new.follow, [CENTRE_OF_MASS, *own], expected)
            if new.follow == CENTRE_OF_MASS and not robot.engine.gravitational_inertia[:, 3, 3].sum() > 0.0:
                raise InputError("follow", "the name of a link", f"'{new.follow}'", "this robot has no mass")
        if new.title is not None and not isinstance(new.title, str):
            raise InputError("title", "a text", describe(new.title))
        return new

    def colour_of(self, robot: Robot) -> str:
        """The quantity that colours show, also by default."""
        if self.colour is not None:
            return self.colour
        return TENSION if has_tendons(robot) else PLAIN

    def tips_of(self, robot: Robot) -> list[str] | None:
        """Those of the tips that are links of a robot; None where none were asked for."""
        return None if self.tips is None else [link.name for link in robot.links if link.name in self.tips]

    @property
    def forces(self) -> tuple[str, ...]:
        """Kinds of wrenches that are drawn, see `sorosim.view.viz.wrenches`."""
        return tuple(name for name in FORCES if getattr(self, name))


LOADS, GRAVITY, JOINTS, CONTACTS = FORCES = ("loads", "gravity", "joints", "contacts")
TOGGLES = ("tendons", "floor", "axes", "frames", "trails", *FORCES)


def has_tendons(robot: Robot) -> bool:
    """Whether there is a tendon."""
    return any(isinstance(actuator, Tendon) for actuator in robot.description.actuators.values())


def available_colours(robot: Robot) -> tuple[str, ...]:
    """What colours can show of a robot: plain, the tension if there are tendons, the strains that may vary."""
    pieces = (piece for layout in robot.engine.layout.links.values() for piece in layout.pieces)
    rows = {int(row) for piece in pieces for row in piece.division.strain.rows}
    strains = [name for k, name in enumerate(STRAINS) if k in rows]
    return (*((TENSION,) if has_tendons(robot) else ()), *strains, PLAIN)


def _check_tips(names: Sequence[str], tips: Any) -> None:
    if isinstance(tips, str) or not isinstance(tips, Sequence) or not tips:
        raise InputError("tips", "names of links", describe(tips))
    for name in tips:
        check_name("tips", name, names, "names of links")


def _check_colour(robot: Robot, colour: Any) -> None:
    check_name("colour", colour, (PLAIN, *UNITS), "what colours show")
    if colour == TENSION and not has_tendons(robot):
        raise InputError("colour", "a strain or plain", f"'{colour}'", "this robot has no tendons")
    if colour in STRAINS and not any(link.rod for link in robot.links):
        raise InputError("colour", "plain", f"'{colour}'", "this robot has no rods")
