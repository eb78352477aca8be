"""What the keys of the file format mean, with an example for each: for the JSON Schema and the page of the docs.

``BLOCKS[block][key]`` is the meaning and the example, as a file writes it after the colon.
"""

from __future__ import annotations

from sorosim.io.descriptions_acting import ACTING, OF_ACTING, SHAPE_KEYS
from sorosim.io.descriptions_contact import Keys
from sorosim.io.descriptions_sensors import SENSORS
from sorosim.model.joint import COORDINATES
from sorosim.solvers.registry import METHODS

_THROUGH = ("A point on the axis in the joint's frame, where it does not pass through its origin.", "[0, 2 cm, 0]")
_AXIS = ("Direction of the axis in the joint's frame, of any length.", "[0, 0, 1]")
_AXIS_OR_ROW = (f"{_AXIS[0]} Required, but beside a row of dh, which has one.", _AXIS[1])
_SIZE = "A number, [base, tip] for a straight taper, an expression of X, s and L, or a table."
_SIDE = "Full length of the section along its"
_INTERPOLATION = "How values between the given ones are found."

_SHAPE: Keys = {
    "shear_factor": ("Factor of the shear stiffness G A; two for y and z.", "0.9"),
    "torsion": ("Torsion constant: of the warping section, or simply the polar moment.", "polar"),
}
_ORDER = "Order of its basis, or {basis, order}; a strain that is left out is locked."

# what acts on the coordinates of joints: meaning, and an example for an angle and for a length
_ACTING = {
    "stiffness": ("Stiffness of a spring in the joint.", "2 N*m/rad", "100 N/m"),
    "damping": ("Damping of a damper in the joint, which acts on the relative motion.", "0.1 N*m*s/rad", "2 N*s/m"),
    "rest": ("Coordinate at which the spring is relaxed.", "10 deg", "1 cm"),
    "friction": ("Coulomb friction; coordinates of one dimension share it.", "0.1 N*m", "0.5 N"),
    "creep": ("Rate at which friction has come to 71 % of its size; 0.01 rad/s and 1 mm/s where it is not given.",
              "0.01 rad/s", "1 mm/s"),
    "limits": ("End stops: beyond them a spring pushes back.", "{low: -90 deg, high: 90 deg, stiffness: 100 N*m/rad}",
               "{low: -1 cm, high: 5 cm, stiffness: 10 kN/m}"),
}  # fmt: skip


def _acting(kind: str) -> Keys:
    """What acts on the coordinates of a kind of joint."""
    names, dimensions = zip(*COORDINATES[kind], strict=True)
    each = f" A list with an entry for each coordinate ({', '.join(names)})"
    found: Keys = {}
    for key, (meaning, angle, length) in _ACTING.items():
        examples = [angle if dimension == "angle" else length for dimension in dimensions]
        one_for_all = len(set(dimensions)) == 1 and key != "limits"
        if len(names) > 1:
            meaning += f"{each}{', or a number for all' if one_for_all else ', null: none' if key == 'limits' else ''}."
            if key == "limits":
                examples[:-1] = ["null"] * (len(names) - 1)
        found[key] = (meaning, examples[0] if len(names) == 1 or one_for_all else f"[{', '.join(examples)}]")
    return found


BLOCKS: dict[str, Keys] = {
    **ACTING,
    "RobotFile": {
        "sorosim": ("Version of the file format.", "1"),
        "name": ("Name of the robot; without it, that of the file.", "soft hand"),
        "include": ("Other files whose blocks are brought into this one; paths relative to this file.",
                    "[common.yaml]"),
        "import": ("Rigid robots from URDF, whose links become links of this file: one, or several by name. Links of "
                   "import `a` begin with `a_`.", "{urdf: arm.urdf}"),
        "parameters": ("Values by name; $name stands for them in any value.", "{length: 10 cm, n: 3}"),
        "gravity": ("Acceleration of gravity in the axes of the world.", "[0, 0, -9.81]"),
        "materials": ("Materials by name.", "{steel: {young: 210 GPa, poisson: 0.3, density: 7850 kg/m^3}}"),
        "prefabs": ("Reusable sub-trees by name.", "{stub: {links: {tip: {}}}}"),
        "links": ("Links by name: each is a joint and the body that it moves.", "{base: {}}"),
        "parts": ("What is made of prefabs: links, loops, actuators, loads and sensors of part `a` begin with `a_`.",
                  "{left: {prefab: stub}}"),
        "loops": ("Joints that close chains of links, by name.", "{hook: {joint: spherical, from: ball, to: knob}}"),
        "actuators": ("Actuators by name, in the order of the inputs u.",
                      "{cable: {tendon: {rod: arm, y: 0, z: 1 cm}}}"),
        "loads": ("Loads by name.", "{push: {wrench: {link: arm, force: [0, 0, 1 N]}}}"),
        "sensors": ("Sensors by name; what they give is in the readings of a run.",
                    "{tip: {imu: {link: arm}, rate: 200 Hz}}"),
        "initial": ("Where the robot starts: coordinates by name, poses of joints by link. What is not named is zero, "
                    "and rests.", "{'arm.bending_y[0]': 0.1, ball: {rotation: {axis: [0, 0, 1], angle: 30 deg}}}"),
        "simulate": ("Default arguments of simulate.", "{t_end: 10 s}"),
        "statics": ("Default arguments of statics.", "{u: {cable: 3 N}}"),
    },
    "ImportBlock": {
        "urdf": ("Path of a URDF file, relative to this file.", "arm.urdf"),
        "parent": ("What its root hangs on: a link or world.", "lid"),
        "at": ("Where on it: a pose, a place s on a rod, a named frame; as for links.", "{frame: top}"),
        "joint": ("How its root moves there.", "free"),
        "limits": ("Stiffness of the end stops that its limits become. Without it they are left out: URDF says where "
                   "limits are, not how stiff.", "{revolute: 500 N*m/rad}"),
        "mimic": ("What becomes of joints that follow others: free, with a coordinate of their own, or fixed where "
                  "their leader is at zero. Without it they are refused.", "fixed"),
        "visual": ("Whether what is drawn is read: true or false.", "false"),
        "package_dirs": ("Folders in which package:// looks for packages first, relative to this file; then it looks "
                         "in all above the URDF file.", "[meshes]"),
        "allow_outside": ("Whether meshes may be outside the folder of the URDF file, or the package that it is in: "
                          "true or false.", "true"),
    },
    "StopsBlock": {
        "revolute": ("Of revolute joints, those that turn without limits excepted.", "500 N*m/rad"),
        "prismatic": ("Of prismatic joints.", "50 kN/m"),
    },
    "PrefabBlock": {
        "parameters": ("Parameters with their defaults; one without a default has to be given by each part.",
                       "{size: 1 cm, mass: 10 g}"),
        "links": ("As the links of a file; those on the world hang on the parent of the part.",
                  "{proximal: {}, distal: {parent: proximal}}"),
        "parts": ("Parts of other prefabs.", "{}"),
        "loops": ("As the loops of a file; ends on the world are on the parent of the part.", "{}"),
        "actuators": ("As the actuators of a file.", "{}"),
        "loads": ("As the loads of a file.", "{}"),
        "sensors": ("As the sensors of a file.", "{}"),
    },
    "PartBlock": {
        "prefab": ("What it is made of.", "stub"),
        "parent": ("Link that it hangs on.", "arm"),
        "at": ("Pose on its parent, before the poses of its own links.", "{position: [0, 0, 1 cm]}"),
        "repeat": ("Makes so many parts; their names end in 1, 2, ..., which is $i in all their values.", "3"),
        "chain": ("Link of the prefab that the next one of repeated parts hangs on; parent and at are of the first.",
                  "tip"),
        "with": ("Values of the prefab's parameters.", "{size: 2 cm}"),
    },
    "MaterialBlock": {
        "young": ("Young's modulus.", "1 MPa"),
        "poisson": ("Poisson's ratio; the shear modulus follows from it.", "0.5"),
        "shear": ("Shear modulus, instead of Poisson's ratio.", "300 kPa"),
        "density": ("Mass per volume.", "1000 kg/m^3"),
        "damping": ("Viscosity.", "10 kPa*s"),
        "mass_damping": ("Damping in proportion to the mass.", "0.1 1/s"),
        "stiffness_damping": ("Damping in proportion to the stiffness.", "1 ms"),
    },
    "LinkBlock": {
        "joint": ("How it moves on its parent.", "{revolute: {axis: [0, 0, 1]}}"),
        "parent": ("Name of the parent link, or world.", "world"),
        "at": ("Pose of the joint on the parent; a list of poses is one after the other.", "{position: [1 cm, 0, 0]}"),
        "dh": ("Instead of `at` and of the axis of a revolute or prismatic joint: a row of a Denavit-Hartenberg table.",
               "{modified: [43 cm, 0, 15 cm, 0]}"),
        "rod": ("The link is a soft rod, from the joint along x.",
                "{length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}"),
        "body": ("The link is a rigid body: a shape, or numbers; a list of them are its parts. Without rod and body it "
                 "is a massless frame.", "{mass: 200 g, inertia: [1e-4, 1e-4, 1e-4]}"),
        "visual": ("What is drawn instead of the shapes of the body: a shape or a list of them; of an empty list, "
                   "nothing. Not on a rod.", "[{sphere: {radius: 3 cm}, colour: orange}]"),
        "frames": ("Frames in that of the body, by names of your choice, for other links to hang on. Not on a rod.",
                   "{socket: {position: [0, 0, 1 cm]}}"),
    },
    "PoseBlock": {
        "position": ("Origin in the parent's frame.", "[1 cm, 0, 0]"),
        "rotation": ("Rotation from the parent's axes.", "{rpy: [0, 0, 90 deg]}"),
        "s": ("Place on a parent rod, 0 at its base, 1 at its tip (the default).", "0.5"),
        "frame": ("Name of one of the parent's frames; position and rotation are seen from it.", "top"),
    },
    "FrameBlock": {
        "position": ("Origin in the frame of the link.", "[0, 0, 1 cm]"),
        "rotation": ("Rotation from the axes of the link.", "{axis: [1, 0, 0], angle: 90 deg}"),
    },
    "RotationBlock": {
        "axis": ("Direction to turn about, with angle.", "[0, 0, 1]"),
        "angle": ("Angle to turn by, with axis.", "90 deg"),
        "rpy": ("Roll about x, then pitch about y, then yaw about z, all axes of the parent, as in URDF.",
                "[0, 0, 90 deg]"),
        "quaternion": ("[w, x, y, z] of any length.", "[1, 0, 0, 1]"),
        "matrix": ("Rotation matrix by rows.", "[[0, -1, 0], [1, 0, 0], [0, 0, 1]]"),
    },
    "DHBlock": {
        "modified": ("[a, alpha, d, theta]: Rx(alpha) Tx(a) Tz(d) Rz(theta), as Craig writes it. The joint is on z of "
                     "the link's own frame; theta, of a prismatic joint d, is the value at coordinate zero.",
                     "[43 cm, -90 deg, 15 cm, 0]"),
        "standard": ("[a, alpha, d, theta]: Rz(theta) Tz(d) Tx(a) Rx(alpha). The joint is on z of the parent's frame; "
                     "that of the link is at the end of the row.", "[43 cm, 0, 15 cm, 90 deg]"),
    },
    "MovingJoint": {
        "revolute": ("Turns about an axis.", "{axis: [0, 0, 1]}"),
        "prismatic": ("Slides along an axis.", "{axis: [1, 0, 0]}"),
        "helical": ("Turns about an axis and advances along it.", "{axis: [0, 0, 1], pitch: 5 mm/rev}"),
        "cylindrical": ("Turns about an axis and slides along it: angle, slide.", "{axis: [0, 0, 1]}"),
        "universal": ("Turns about an axis, then about a second one that turns with it: first, second.",
                      "{axis: [1, 0, 0], second_axis: [0, 1, 0]}"),
        "planar": ("Turns about the normal of a plane and moves in the plane: angle, tx, ty.", "{axis: [0, 0, 1]}"),
        "spherical": ("Turns about its origin: rx, ry, rz. Where nothing acts in it, the word spherical is enough.",
                      "{damping: 0.1 N*m*s/rad}"),
        "free": ("Moves in any way: rx, ry, rz, tx, ty, tz. Where nothing acts in it, the word free is enough.",
                 "{damping: [0.1, 0.1, 0.1, 2 N*s/m, 2 N*s/m, 2 N*s/m]}"),
    },
    "RevoluteBlock": {"axis": _AXIS_OR_ROW, "through": _THROUGH, **_acting("revolute")},
    "PrismaticBlock": {"axis": _AXIS_OR_ROW, **_acting("prismatic")},
    "HelicalBlock": {"axis": _AXIS, "through": _THROUGH, **_acting("helical"),
                     "pitch": ("Advance per angle.", "5 mm/rev")},
    "CylindricalBlock": {"axis": _AXIS, **_acting("cylindrical")},
    "UniversalBlock": {
        "axis": ("Direction of the first axis in the joint's frame, of any length.", "[1, 0, 0]"),
        **_acting("universal"),
        "second_axis": ("Direction of the second axis in the frame that the first one moves; y where it is not given, "
                        "or x if the first one is y.", "[0, 1, 0]"),
    },
    "PlanarBlock": {"axis": ("Normal of the plane, of any length.", "[0, 0, 1]"), **_acting("planar")},
    "SphericalBlock": _acting("spherical"),
    "FreeBlock": _acting("free"),
    "LoopBlock": {
        "joint": ("How one end may move on the other: as the joint of a link, but not universal and not free, without "
                  "friction and limits. Springs and dampers in revolute, prismatic, helical and cylindrical ones only.",
                  "{revolute: {axis: [0, 0, 1], stiffness: 2 N*m/rad}}"),
        "from": ("The end that moves, frame a: the name of a link, its tip or its body frame, or {link, at}.", "knob"),
        "to": ("The end that it moves on, frame b, the frame of the joint: as `from`.",
               "{link: arm, at: {as_built: true}}"),
    },
    "FromBlock": {
        "link": ("Name of a link, or world.", "knob"),
        "at": ("Pose on the link; a list of poses is one after the other.", "{position: [1 cm, 0, 0]}"),
    },
    "ToBlock": {
        "link": ("Name of a link, or world.", "arm"),
        "at": ("Pose on the link; a list of poses is one after the other.", "{position: [0, 0, 20 cm]}"),
    },
    "BuiltBlock": {
        "position": ("Origin in the frame of the link.", "[1 cm, 0, 0]"),
        "rotation": ("Rotation from the axes of the link.", "{rpy: [0, 0, 90 deg]}"),
        "s": ("Place on a rod, 0 at its base, 1 at its tip (the default).", "0.5"),
        "frame": ("Name of one of the link's frames; position and rotation are seen from it.", "hook"),
        "as_built": ("Instead of position and rotation: where frame a is when all coordinates are zero.", "true"),
    },
    "LimitBlock": {
        "low": ("Lower end, an angle or a length; without it there is none.", "-90 deg"),
        "high": ("Upper end; without it there is none.", "90 deg"),
        "stiffness": ("Stiffness of the ends, N*m/rad or N/m.", "200 N*m/rad"),
    },
    "BodyBlock": {
        "mass": ("Mass.", "200 g"),
        "centre": ("Centre of mass in the frame of the link.", "[0, 0, 1 cm]"),
        "inertia": ("Moments of inertia about the centre of mass: Ixx, Iyy, Izz, and Ixy, Ixz, Iyz of the matrix if "
                    "they are not zero.", "[1e-4, 1e-4, 1e-4]"),
        "at": ("Pose, in the frame of the link, of the frame that centre and inertia are in.",
               "{position: [0, 0, 1 cm]}"),
    },
    "SolidBlock": {
        **SHAPE_KEYS,
        "density": ("Mass per volume; or give the mass.", "2700 kg/m^3"),
        "mass": ("Mass, instead of the density.", "200 g"),
    },
    "VisualBlock": {
        **SHAPE_KEYS,
        "colour": ("black, grey, white, red, orange, yellow, green, blue, purple, brown, or a code in quotes.",
                   "'#e58a2e'"),
    },
    "BoxBlock": {"size": ("Lengths of the edges along x, y and z.", "[10 cm, 5 cm, 2 cm]")},
    "RoundBlock": {
        "radius": ("Radius; of a cone, that of its base.", "2 cm"),
        "length": ("Length along z; of a capsule, that of the cylinder between the half spheres.", "10 cm"),
    },
    "SphereBlock": {"radius": ("Radius.", "2 cm")},
    "EllipsoidBlock": {"radii": ("Half axes along x, y and z.", "[5 cm, 3 cm, 2 cm]")},
    "MeshFileBlock": {
        "file": ("Path of a file, STL, OBJ, PLY, OFF, GLB or DAE; relative to the file that it is written in.",
                 "wedge.obj"),
        "scale": ("Length of the unit of that file; [x, y, z] of each axis, negative ones mirror.", "1 mm"),
    },
    "MeshBlock": {
        "vertices": ("Points.", "[[0, 0, 0], [3 cm, 0, 0], [0, 3 cm, 0], [0, 0, 2 cm]]"),
        "faces": ("Triangles: three numbers of vertices each, from 0 on, counter-clockwise seen from outside.",
                  "[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]"),
    },
    "PieceBlock": {
        "length": ("Length.", "50 cm"),
        "section": ("Cross-section, in the y-z plane.", "{circle: {radius: [3 cm, 1.5 cm]}}"),
        "material": ("Name of its material.", "rubber"),
        "strain": ("What may deform, and how.", "{bending: 3}"),
        "reference": ("Strain of the unloaded rod, for one that is curved or twisted.", "{bending_y: 2 1/m}"),
        "quadrature": ("Gauss points (between the kinks of basis and section); by default as many as needed.", "6"),
    },
    "DivisionsBlock": {
        "divisions": ("Pieces one after the other, each with the keys of a rod.",
                      "[{length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}]"),
    },
    "SectionBlock": {
        "circle": ("A solid circle.", "{radius: 3 cm}"),
        "hollow_circle": ("A tube.", "{radius: 3 cm, inner_radius: 2 cm}"),
        "rectangle": ("A solid rectangle.", "{y: 3 cm, z: 1 cm}"),
        "ellipse": ("A solid ellipse.", "{y: 3 cm, z: 1 cm}"),
        "properties": ("Any section, by its integrals.", "{area: 2 cm^2, Iy: 1 cm^4, Iz: 1 cm^4, J: 2 cm^4}"),
    },
    "CircleBlock": {"radius": (f"Radius. {_SIZE}", "[3 cm, 1.5 cm]"), **_SHAPE},
    "HollowCircleBlock": {
        "radius": (f"Outer radius. {_SIZE}", "3 cm"), "inner_radius": (f"Radius of the hole. {_SIZE}", "2 cm - 1 cm*s"),
        **_SHAPE,
    },
    "SidesBlock": {"y": (f"{_SIDE} y axis. {_SIZE}", "3 cm"), "z": (f"{_SIDE} z axis. {_SIZE}", "1 cm"), **_SHAPE},
    "PropertiesBlock": {
        "area": (f"Area. {_SIZE}", "2 cm^2"), "Iy": ("Second moment about the y axis.", "1 cm^4"),
        "Iz": ("Second moment about the z axis.", "1 cm^4"),
        "J": ("Torsion constant; left out with torsion polar.", "2 cm^4"),
        "polar": ("Polar moment of the mass; Iy + Iz if it is not given.", "2 cm^4"), **_SHAPE,
    },
    "TableBox": {"table": ("Values at places along the rod.", "{s: [0, 0.5, 1], value: [3 cm, 2 cm, 2 cm]}")},
    "TableBlock": {
        "s": ("Places X/L, increasing from 0 to 1.", "[0, 0.5, 1]"),
        "value": ("The size at each place.", "[3 cm, 2 cm, 2 cm]"),
        "interpolation": (_INTERPOLATION, "pchip"),
    },
    "StrainBlock": {
        "basis": ("Basis of all strains that do not name their own: legendre, chebyshev, monomial, fourier, gaussian, "
                  "inverse_multiquadric, hermite, linear_elements, quadratic_elements, cubic_elements, or one of a "
                  "plug-in.", "chebyshev"),
        "torsion": (f"Twist about x. {_ORDER}", "1"),
        "bending": (f"Bending about y and about z. {_ORDER}", "3"),
        "bending_y": (f"Bending about y alone. {_ORDER}", "3"), "bending_z": (f"Bending about z alone. {_ORDER}", "3"),
        "elongation": (f"Elongation along x. {_ORDER}", "1"),
        "shear": (f"Shear along y and along z. {_ORDER}", "0"),
        "shear_y": (f"Shear along y alone. {_ORDER}", "0"), "shear_z": (f"Shear along z alone. {_ORDER}", "0"),
    },
    "OrderBlock": {
        "basis": ("Name of the basis.", "hermite"),
        "order": ("Order, or number of elements or harmonics.", "2"),
    },
    "ReferenceBlock": {
        "torsion": ("Twist per length.", "1 1/m"), "bending_y": ("Curvature about y.", "2 1/m"),
        "bending_z": ("Curvature about z.", "2*s"), "elongation": ("Stretch, 1: none.", "1.1"),
        "shear_y": ("Shear along y.", "0.01"), "shear_z": ("Shear along z.", "0.01"),
    },
    "LoopMotorBlock": {
        "loop": ("Loop whose joint it drives: a revolute, prismatic, helical or cylindrical one.", "sleeve"),
        "along": ("Which coordinate of a cylindrical one: angle or slide.", "slide"),
    },
    **SENSORS,
    "SimulateBlock": {
        "t_end": ("End of the simulation; it begins at 0.", "10 s"), "dt_out": ("Interval of the results.", "10 ms"),
        "u": ("Inputs by the names of actuators: a number, an expression of t, a table or a CSV file.",
              "{cable: 5 N*sin(2*t)}"),
        "driven": ("Motions, as u: by the names of links whose joint has one coordinate, or of coordinates. They must "
                   "not jump, nor must their rates.", "{lid: 30 deg*t, ball.free.rx: 0.1*sin(t)}"),
        "q0": ("Start: coordinates, or one of the words equilibrium and assembled, which means the initial block with "
               "its loops closed.", "equilibrium"),
        "checkpoint": ("The integrator starts anew every so often; sorosim resume then repeats the very bits.", "1 s"),
        "method": (f"Integrator: {', '.join(METHODS[:-1])} or {METHODS[-1]}.", "bdf"),
        "rtol": ("Relative tolerance.", "1e-4"), "atol": ("Absolute tolerance.", "1e-7"),
        "closing_time": ("Time constant with which methods bdf, radau, lsoda and cvode close loops again.", "5 ms"),
        "step": ("Fixed step of methods newmark and generalized-alpha, which is chosen by the tolerances without it.",
                 "1 ms"),
        "spectral_radius": ("What the generalized-alpha method leaves of too stiff motions after a step, 0 to 1.",
                            "0.5"),
        "projection": ("Whether newmark and generalized-alpha move rates onto those that keep loops closed: true or "
                       "false.", "true"),
        "max_steps": ("Most steps of the integrator. Without it the run ends where it stalls.", "1e6"),
        "max_wall_time": ("Most time on the clock; without it there is no limit.", "1 h"),
    },
    "StartBlock": {
        "value": ("Value of the coordinate, zero where it is not given.", "10 deg"),
        "rate": ("Its rate, rad/s or m/s, zero where it is not given.", "2 rad/s"),
    },
    "MovingPoseBlock": {
        "position": ("Origin of the frame that the joint moves, in the frame of the joint on the parent.",
                     "[1 cm, 0, 2 cm]"),
        "rotation": ("Rotation between the two.", "{axis: [0, 0, 1], angle: 30 deg}"),
        "velocity": ("Velocity of the origin, in the axes of the frame on the parent.", "[0, 0, 1 m/s]"),
        "angular_velocity": ("Angular velocity, in the same axes.", "[0, 90 deg/s, 0]"),
    },
    "StaticsBlock": {
        "u": ("Inputs by the names of actuators.", "{cable: 3 N}"),
        "driven": ("Coordinates that are held, by name or by the link whose joint has one.", "{lid: 30 deg}"),
    },
    "SignalTable": {
        "times": ("Increasing times.", "[0, 1 s, 2 s]"), "values": ("Value at each time.", "[0, 5, 0]"),
        "interpolation": (_INTERPOLATION, "cubic"),
    },
    "SignalFile": {
        "csv": ("Path of a CSV file, relative to the robot's file; its first column is time [s].", "pull.csv"),
        "column": ("Name or number of the column; needed if there are more than two.", "1"),
        "interpolation": (_INTERPOLATION, "linear"),
    },
}  # fmt: skip

TITLES = {
    "ImportBlock": "Robots from URDF", "StopsBlock": "Limits from URDF",
    "RobotFile": "The file", "PrefabBlock": "Prefabs", "PartBlock": "Parts", "MaterialBlock": "Materials",
    "LinkBlock": "Links", "PoseBlock": "Poses", "RotationBlock": "Rotations",
    "DHBlock": "Rows of Denavit-Hartenberg tables", "MovingJoint": "Joints",
    "RevoluteBlock": "Revolute joints", "PrismaticBlock": "Prismatic joints", "HelicalBlock": "Helical joints",
    "CylindricalBlock": "Cylindrical joints", "UniversalBlock": "Universal joints", "PlanarBlock": "Planar joints",
    "SphericalBlock": "Spherical joints", "FreeBlock": "Free joints", "LimitBlock": "End stops",
    "LoopBlock": "Loops", "FromBlock": "Where a loop begins", "ToBlock": "Where a loop ends",
    "BuiltBlock": "Poses as built", "FrameBlock": "Frames, and poses of shapes", "SolidBlock": "Rigid bodies by shapes",
    "BodyBlock": "Rigid bodies by numbers", "VisualBlock": "What is drawn of a link", "BoxBlock": "Boxes",
    "RoundBlock": "Cylinders, cones and capsules", "SphereBlock": "Spheres", "EllipsoidBlock": "Ellipsoids",
    "MeshFileBlock": "Meshes from files", "MeshBlock": "Meshes by triangles",
    "PieceBlock": "Rods", "DivisionsBlock": "Rods of several pieces",
    "SectionBlock": "Sections", "CircleBlock": "Circles", "HollowCircleBlock": "Tubes",
    "SidesBlock": "Rectangles and ellipses", "PropertiesBlock": "Sections by their integrals",
    "TableBox": "Sizes by tables", "TableBlock": "Tables of sizes", "StrainBlock": "Strains",
    "OrderBlock": "Strains with a basis of their own", "ReferenceBlock": "Reference strains",
    "LoopMotorBlock": "Motors in loops", "SensorBlock": "Sensors", "GaugeBlock": "Strain sensors",
    "MountBlock": "Frames of sensors", "SimulateBlock": "Simulation", "StaticsBlock": "Statics",
    "StartBlock": "Initial coordinates", "MovingPoseBlock": "Initial poses",
    "SignalTable": "Signals by tables", "SignalFile": "Signals from CSV files",
    **OF_ACTING,
}  # fmt: skip
