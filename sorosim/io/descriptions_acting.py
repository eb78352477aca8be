"""What the keys of actuators and loads mean, see `sorosim.io.descriptions`; and those of shapes."""

from __future__ import annotations

from sorosim.io.descriptions_contact import CONTACT, OF_CONTACT, Keys

SHAPE_KEYS: Keys = {
    "box": ("A box around the origin.", "{size: [10 cm, 5 cm, 2 cm]}"),
    "cylinder": ("A cylinder along z, its middle at the origin.", "{radius: 2 cm, length: 10 cm}"),
    "cone": ("A cone along z, half its height at the origin: base at -length/2, tip at +length/2.",
             "{radius: 2 cm, length: 10 cm}"),
    "sphere": ("A sphere around the origin.", "{radius: 2 cm}"),
    "ellipsoid": ("An ellipsoid around the origin.", "{radii: [5 cm, 3 cm, 2 cm]}"),
    "capsule": ("A cylinder along z with half a sphere on either end, its middle at the origin.",
                "{radius: 2 cm, length: 10 cm}"),
    "mesh": ("Triangles, of a file or given here; to have mass they must enclose a volume.", "{file: wedge.obj}"),
    "at": ("Pose of the shape in the frame of the link.", "{position: [0, 0, 1 cm]}"),
}  # fmt: skip
_RUN: Keys = {
    "rod": ("Name of the link that it runs through.", "arm"),
    "y": ("Place in the section. Expressions may use X, s, L, the radius r and the sizes of the section.", "0"),
    "z": ("As y.", "1 cm*cos(2*pi*s)"),
    "from": ("Where it begins, X/L; an end of a division.", "0"),
    "to": ("Where it ends, X/L; an end of a division.", "1"),
}
_PULLED: Keys = {
    "stiffness": ("Of the whole tendon. With it the input is the length by which it is wound up at its base, against "
                  "its length in the unstrained robot; its tension is unknown.", "20 kN/m"),
    "friction": ("Coefficient of friction along the way; the tension falls from the base as exp(-friction*angle).",
                 "0.1"),
    "pushes": ("Whether it carries negative tension, as a push rod; if not, it is slack then.", "true"),
}  # fmt: skip
_PATH: Keys = {"path": ("Rods from base to tip, each fixed to the one before.", "[{rod: arm, y: 0, z: 1 cm}]")}
_AREA: Keys = {"area": ("Cross-section of the chamber; an expression of the same variables as y.", "2 cm^2")}
_MOTOR: Keys = {
    "link": ("Link whose joint it drives.", "ball"),
    "along": ("Which coordinate of a joint of several: the last word of its name.", "rx"),
}
_ANY_TIME = "each entry a number, an expression of t, a table or a CSV file"
_END = "the name of a link (a rod at its tip), or {link, at}; without a link, in the world."

ACTING: dict[str, Keys] = {
    "ActuatorBlock": {
        "tendon": ("A cable through one rod or several; its input is its tension, positive in pull.",
                   "{rod: arm, y: 0, z: 1 cm}"),
        "chamber": ("A chamber along a way through rods; its input is the pressure in it.",
                    "{rod: arm, y: 0, z: 1 cm, area: 2 cm^2}"),
        "moment": ("Moments inside a rod; its input is a number that multiplies them.",
                   "{rod: arm, bending_y: (0.1 N*m)*(1 - s)}"),
        "joint": ("A motor in a joint; its input is a moment or a force on the link.", "{link: lid}"),
        "servo": ("A motor that holds a joint where its input says, an angle or a length.",
                  "{link: lid, stiffness: 5 N*m/rad, damping: 0.1 N*m*s/rad}"),
        "loop": ("A motor in the joint of a loop; its input is a moment or a force on frame a.",
                 "{loop: sleeve, along: angle}"),
    },
    "TendonBlock": {**_RUN, **_PULLED},
    "PathBlock": {**_PATH, **_PULLED},
    "ChamberBlock": {**_RUN, **_AREA},
    "ChamberPathBlock": {**_PATH, **_AREA},
    "RunBlock": _RUN,
    "MomentBlock": {
        "rod": ("Name of the link.", "arm"),
        "torsion": ("Moment that twists; an expression may use X, s, L, the radius r and the sizes of the section.",
                    "0.1 N*m"),
        "bending_y": ("Moment that bends about y.", "(0.1 N*m)*(1 - s)"),
        "bending_z": ("Moment that bends about z.", "(0.1 N*m)*sin(pi*s)"),
        "from": ("Where it begins, X/L; an end of a division.", "0"),
        "to": ("Where it ends, X/L; an end of a division.", "1"),
    },
    "MotorBlock": _MOTOR,
    "ServoBlock": {
        "link": ("Link whose joint it drives.", "lid"),
        "along": ("Which coordinate of a joint of several: the last word of its name; not of spherical, planar and "
                  "free ones.", "angle"),
        "stiffness": ("Moment or force per difference from the input, N*m/rad or N/m.", "5 N*m/rad"),
        "damping": ("Moment or force against the rate, N*m*s/rad or N*s/m.", "0.1 N*m*s/rad"),
        "limit": ("Largest moment or force; it is approached smoothly.", "2 N*m"),
    },
    "LoadBlock": {
        "wrench": ("Moment and force at one point.", "{link: arm, force: [0, 0, 1 N]}"),
        "line": ("Moment and force per length along a rod.", "{rod: arm, force: [0, 0, -2 N/m]}"),
        "spring": ("A spring with a damper between two points.", "{from: arm, to: ball, stiffness: 100 N/m}"),
        "fluid": ("A fluid around the robot: buoyancy, drag, added mass.",
                  "{density: 1000 kg/m^3, links: {arm: {}, knob: {}}}"),
        "contact": ("Contact with friction between surfaces.",
                    "{between: arm, and: {half_space: {}}, stiffness: 1e5 N/m^1.5}"),
    },
    **CONTACT,
    "WrenchBlock": {
        "link": ("Link that it acts on.", "arm"), "s": ("Place on a rod, 0 to 1 (the tip, the default).", "0.5"),
        "at": ("Pose of its point on the link, by one of its frames or by numbers; a list of poses is one after the "
               "other.", "{position: [0, 0, 1 cm]}"),
        "moment": (f"Moment; {_ANY_TIME}.", "[0, 0, 5 N*cm]"),
        "force": ("Force, as the moment.", "['2 N*smoothstep(t)', 0, {times: [0, 1 s], values: [0, 1 N]}]"),
        "frame": ("Axes: world (directions stay), body (they turn with the point), or line (the line of the force "
                  "stays where it is in the world).", "body"),
        "through": ("For frame line: a point of the world on the line of the force.", "[0, 0, 1 m]"),
    },
    "LineBlock": {
        "rod": ("Name of the link.", "arm"),
        "moment": ("Moment per length; each entry a number, an expression of X, s, L and t, a table or a CSV file of "
                   "time.", "[0, 0, 0.1 N*m/m]"),
        "force": ("Force per length, as the moment.", "[0, 0, (-2 N/m)*(1 - s)*sin(t)]"),
        "frame": ("Axes: world (directions stay) or body (they turn with the sections).", "body"),
        "from": ("Where it begins, X/L; an end of a division.", "0"),
        "to": ("Where it ends, X/L; an end of a division.", "1"),
    },
    "SpringBlock": {
        "from": (f"One end: {_END}", "arm"),
        "to": (f"The other end: {_END}", "{at: {position: [0, 0, 1 m]}}"),
        "stiffness": ("Force per stretch; a number, an expression of t, a table or a CSV file.", "100 N/m"),
        "damping": ("Force per rate of stretching, as the stiffness.", "2 N*s/m"),
        "rest": ("Length without force, as the stiffness.", "10 cm"),
    },
    "EndBlock": {
        "link": ("Name of a link, or world.", "arm"),
        "at": ("Pose on the link; a list of poses is one after the other.", "{position: [0, 0, 20 cm]}"),
    },
    "FluidBlock": {
        "density": ("Mass per volume.", "1000 kg/m^3"),
        "current": ("Velocity of the fluid; each entry a number, an expression of x, y, z and t, a table or a CSV file "
                    "of time.", "[0.2 m/s, 0, (0.1 m/s)*sin(t)]"),
        "height": ("Height of its surface along `up`; without it the fluid is everywhere.", "0"),
        "up": ("Direction in which heights are measured; against gravity where it is not given.", "[0, 0, 1]"),
        "links": ("What is in it, by the names of links; by default all links, whose bodies then have to have shapes.",
                  "{arm: {}, knob: {drag: 0.4}}"),
    },
    "ImmersedBlock": {
        "drag": ("Drag coefficients, of a rod [along, y, z], of a body along the axes of its shapes; or one for all.",
                 "[0.01, 1.1, 1.1]"),
        "lift": ("Of a rod, coefficient of the force across flow and rod.", "0.1"),
        "rotary_drag": ("Of a body: coefficients of the moments against its rotation.", "0.1"),
        "added_mass": ("Added mass, of a rod [along, y, z] in units of a cylinder of its width, of a body in units of "
                       "the fluid it displaces; or one for all.", "[0, 1, 1]"),
        "shape": ("Of a body: its shape in the fluid, where it is made of numbers or has another one.",
                  "{sphere: {radius: 2 cm}}"),
    },
    "WetShapeBlock": SHAPE_KEYS,
}  # fmt: skip

OF_ACTING = {
    "ActuatorBlock": "Actuators", "TendonBlock": "Tendons", "PathBlock": "Tendons through several rods",
    "RunBlock": "Ways through rods", "ChamberBlock": "Chambers", "ChamberPathBlock": "Chambers through several rods",
    "MomentBlock": "Moments inside rods", "MotorBlock": "Motors in joints", "ServoBlock": "Servos",
    "LoadBlock": "Loads", "WrenchBlock": "Point wrenches", "LineBlock": "Loads along rods", "SpringBlock": "Springs",
    "EndBlock": "Ends of springs", "FluidBlock": "Fluids", "ImmersedBlock": "Links in a fluid",
    "WetShapeBlock": "Shapes in a fluid", **OF_CONTACT,
}  # fmt: skip
