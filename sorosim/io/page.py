"""The page of the documentation about the file format, made of the models that check files.

``python -m sorosim.io.page docs/file_format.md`` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from sorosim.io.descriptions import BLOCKS, TITLES
from sorosim.io.schema_bodies import SHAPES
from sorosim.io.schema_contact import OBSTACLES
from sorosim.io.schema_json import ABOUT, data, schema, unit_of
from sorosim.io.yaml_reader import read_text
from sorosim.io.yaml_writer import inline
from sorosim.sensors.kinds import KINDS

BASE = """\
sorosim: 1
name: example
materials:
  rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}
prefabs:
  stub: {parameters: {size: 1 cm}, links: {tip: {at: {position: [$size, 0, 0]}}}}
links:
  arm:
    rod: {length: 50 cm, section: {circle: {radius: [3 cm, 1.5 cm]}}, material: rubber, strain: {bending: 3}}
  lid:
    parent: arm
    joint: {revolute: {axis: [0, 0, 1]}}
    body: {mass: 200 g, inertia: [1e-4, 1e-4, 1e-4]}
    frames: {top: {position: [0, 0, 2 cm]}}
  knob:
    parent: lid
    body: {sphere: {radius: 1 cm}, density: 2700 kg/m^3}
  ball:
    parent: lid
    joint: free
    body: {mass: 50 g, inertia: [1e-5, 1e-5, 1e-5]}
    frames: {hook: {position: [0, 0, 1 cm]}}
  plug:
    parent: lid
    joint: {cylindrical: {axis: [0, 0, 1]}}
    body: {mass: 20 g, inertia: [1e-5, 1e-5, 1e-5]}
  elbow:
    parent: lid
    dh: {modified: [43 cm, 0, 15 cm, 0]}
    joint: revolute
    body: {mass: 100 g, inertia: [1e-5, 1e-5, 1e-5]}
parts:
  left: {prefab: stub, parent: arm}
loops:
  sleeve: {joint: {cylindrical: {axis: [0, 0, 1]}}, from: ball, to: {link: arm, at: {as_built: true}}}
  pin: {joint: spherical, from: {link: knob}, to: {link: ball, at: {frame: hook}}}
actuators:
  cable: {tendon: {rod: arm, y: 0, z: 5 mm}}
loads:
  push: {wrench: {link: arm, force: [0, 0, 1 N]}}
  rope: {spring: {from: {link: arm}, to: {link: ball}, stiffness: 20 N/m}}
  water: {fluid: {density: 1000 kg/m^3, links: {arm: {}, knob: {}}}}
  bump: {contact: {between: arm, and: {half_space: {}, at: {position: [0, 0, -1 m]}}, stiffness: 1e5}}
sensors:
  tip: {imu: {link: arm}, rate: 200 Hz}
simulate: {t_end: 1 s}
"""

FILES = {  # that the examples speak of
    "common.yaml": "materials: {wood: {young: 10 GPa, poisson: 0.3, density: 600 kg/m^3}}\n",
    "pull.csv": "0,0\n1,5\n",
    "arm.urdf": """\
<robot name="arm">
  <link name="base"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/> <child link="upper_arm"/>
    <axis xyz="0 1 0"/> <limit lower="-2" upper="2" effort="50" velocity="3"/>
  </joint>
  <link name="upper_arm">
    <inertial>
      <origin xyz="0 0 0.2"/> <mass value="2"/>
      <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/>
    </inertial>
    <visual> <origin xyz="0 0 0.2"/> <geometry> <cylinder radius="0.04" length="0.4"/> </geometry> </visual>
  </link>
</robot>
""",
    "wedge.obj": "v 0 0 0\nv 3 0 0\nv 0 3 0\nv 0 0 2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
}


class Context(NamedTuple):
    """Where in `BASE` a block is shown, inside which keys, and what it must have."""

    path: str
    around: tuple[str, ...] = ()
    minimal: str = "{}"


CONTEXTS = {
    "ImportBlock": Context("import", (), "{urdf: arm.urdf}"),
    "StopsBlock": Context("import", ("limits",)),
    "PrefabBlock": Context("prefabs.stub", (), "{links: {tip: {}}}"),
    "PartBlock": Context("parts.left", (), "{prefab: stub, parent: arm}"),
    "MaterialBlock": Context("materials.rubber", (), "{young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}"),
    "LinkBlock": Context("links.lid", (), "{parent: arm, body: {mass: 200 g, inertia: [1e-4, 1e-4, 1e-4]}}"),
    "PoseBlock": Context("links.lid.at"),
    "FrameBlock": Context("links.lid.frames.top"),
    "RotationBlock": Context("links.lid.at.rotation"),
    "DHBlock": Context("links.elbow.dh"),
    "MovingJoint": Context("links.lid.joint"),
    "RevoluteBlock": Context("links.lid.joint", ("revolute",), "{axis: [0, 0, 1]}"),
    "PrismaticBlock": Context("links.lid.joint", ("prismatic",), "{axis: [0, 0, 1]}"),
    "HelicalBlock": Context("links.lid.joint", ("helical",), "{axis: [0, 0, 1], pitch: 5 mm/rev}"),
    "CylindricalBlock": Context("links.lid.joint", ("cylindrical",), "{axis: [0, 0, 1]}"),
    "UniversalBlock": Context("links.lid.joint", ("universal",), "{axis: [1, 0, 0]}"),
    "PlanarBlock": Context("links.lid.joint", ("planar",), "{axis: [0, 0, 1]}"),
    "SphericalBlock": Context("links.lid.joint", ("spherical",)),
    "FreeBlock": Context("links.lid.joint", ("free",)),
    "LimitBlock": Context("links.lid.joint.revolute.limits", (), "{high: 90 deg, stiffness: 100 N*m/rad}"),
    "LoopBlock": Context("loops.pin", (), "{joint: spherical, from: knob, to: ball}"),
    "FromBlock": Context("loops.pin.from", (), "{link: knob}"),
    "ToBlock": Context("loops.pin.to"),
    "BuiltBlock": Context("loops.sleeve.to.at"),
    "SolidBlock": Context("links.knob.body", (), "{sphere: {radius: 1 cm}, density: 2700 kg/m^3}"),
    "BodyBlock": Context("links.lid.body", (), "{mass: 200 g, inertia: [1e-4, 1e-4, 1e-4]}"),
    "VisualBlock": Context("links.knob.visual", (), "{sphere: {radius: 1 cm}}"),
    "BoxBlock": Context("links.knob.visual", ("box",)),
    "RoundBlock": Context("links.knob.visual", ("cylinder",), "{radius: 2 cm, length: 10 cm}"),
    "SphereBlock": Context("links.knob.visual", ("sphere",)),
    "EllipsoidBlock": Context("links.knob.visual", ("ellipsoid",)),
    "MeshFileBlock": Context("links.knob.visual", ("mesh",), "{file: wedge.obj}"),
    "MeshBlock": Context(
        "links.knob.visual",
        ("mesh",),
        "{vertices: [[0, 0, 0], [1 cm, 0, 0], [0, 1 cm, 0], [0, 0, 1 cm]], faces: [[0, 2, 1], [0, 1, 3]]}",
    ),
    "PieceBlock": Context(
        "links.arm.rod",
        (),
        "{length: 50 cm, section: {circle: {radius: 3 cm}}, material: rubber, strain: {bending: 3}}",
    ),
    "DivisionsBlock": Context("links.arm.rod"),
    "SectionBlock": Context("links.arm.rod.section"),
    "CircleBlock": Context("links.arm.rod.section", ("circle",), "{radius: 3 cm}"),
    "HollowCircleBlock": Context("links.arm.rod.section", ("hollow_circle",), "{radius: 3 cm, inner_radius: 2 cm}"),
    "SidesBlock": Context("links.arm.rod.section", ("rectangle",), "{y: 3 cm, z: 1 cm}"),
    "PropertiesBlock": Context(
        "links.arm.rod.section", ("properties",), "{area: 2 cm^2, Iy: 1 cm^4, Iz: 1 cm^4, J: 2 cm^4}"
    ),
    "TableBox": Context("links.arm.rod.section.circle.radius"),
    "TableBlock": Context(
        "links.arm.rod.section.circle.radius", ("table",), "{s: [0, 0.5, 1], value: [3 cm, 2 cm, 1 cm]}"
    ),
    "StrainBlock": Context("links.arm.rod.strain", (), "{bending: 3}"),
    "OrderBlock": Context("links.arm.rod.strain.bending", (), "{basis: legendre, order: 3}"),
    "ReferenceBlock": Context("links.arm.rod.reference"),
    "ActuatorBlock": Context("actuators.cable"),
    "MotorBlock": Context("actuators.cable", ("joint",), "{link: ball, along: rx}"),
    "LoopMotorBlock": Context("actuators.cable", ("loop",), "{loop: sleeve, along: angle}"),
    "TendonBlock": Context("actuators.cable.tendon", (), "{rod: arm, y: 0, z: 5 mm}"),
    "PathBlock": Context("actuators.cable.tendon", (), "{path: [{rod: arm, y: 0, z: 1 cm}]}"),
    "RunBlock": Context("actuators.cable.tendon", (), "{rod: arm, y: 0, z: 5 mm}"),
    "ChamberBlock": Context("actuators.cable", ("chamber",), "{rod: arm, y: 0, z: 5 mm, area: 2 cm^2}"),
    "ChamberPathBlock": Context("actuators.cable", ("chamber",), "{path: [{rod: arm, y: 0, z: 1 cm}], area: 2 cm^2}"),
    "MomentBlock": Context("actuators.cable", ("moment",), "{rod: arm, torsion: 0.1 N*m}"),
    "ServoBlock": Context("actuators.cable", ("servo",), "{link: lid, stiffness: 5 N*m/rad}"),
    "LoadBlock": Context("loads.push"),
    "WrenchBlock": Context("loads.push.wrench", (), "{link: arm, force: [0, 0, 1 N]}"),
    "LineBlock": Context("loads.push", ("line",), "{rod: arm, force: [0, 0, -2 N/m]}"),
    "SpringBlock": Context("loads.push", ("spring",), "{from: arm, to: ball, stiffness: 100 N/m}"),
    "EndBlock": Context("loads.rope.spring.from", (), "{link: arm}"),
    "FluidBlock": Context("loads.water.fluid", (), "{density: 1000 kg/m^3, links: {arm: {}}}"),
    "ImmersedBlock": Context("loads.water.fluid.links.knob"),
    "WetShapeBlock": Context("loads.water.fluid.links.knob.shape", (), "{sphere: {radius: 1 cm}}"),
    "ContactBlock": Context("loads.bump.contact", (), "{among: [arm, knob], stiffness: 1e5}"),
    "SurfaceBlock": Context("loads.bump.contact.between", (), "{link: ball}"),
    "FlatBlock": Context("loads.bump.contact.and", ("half_space",)),
    "PoleBlock": Context("loads.bump.contact.and", ("pole",), "{radius: 5 cm}"),
    "PipeBlock": Context("loads.bump.contact.and", ("pipe",), "{radius: 15 cm}"),
    "HeightFieldBlock": Context(
        "loads.bump.contact.and",
        ("height_field",),
        "{heights: [[0, 0, 0, 0], [0, 1 cm, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], size: [1 m, 1 m]}",
    ),
    "SensorBlock": Context("sensors.tip", (), "{imu: {link: arm}}"),
    "GaugeBlock": Context("sensors.tip", ("strain",), "{link: arm}"),
    "MountBlock": Context("sensors.tip", ("imu",), "{link: arm}"),
    "StartBlock": Context("initial.lid.revolute"),
    "MovingPoseBlock": Context("initial.ball"),
    "SimulateBlock": Context("simulate", (), "{t_end: 1 s}"),
    "StaticsBlock": Context("statics"),
    "SignalTable": Context("simulate.u.cable", (), "{times: [0, 1 s, 2 s], values: [0, 5, 0]}"),
    "SignalFile": Context("simulate.u.cable", (), "{csv: pull.csv}"),
}

# keys that take the place of others, or need one more
_INSTEAD = {
    ("MaterialBlock", "shear"): "poisson", ("LinkBlock", "rod"): "body", ("PropertiesBlock", "torsion"): "J",
    ("StrainBlock", "bending_y"): "bending", ("StrainBlock", "bending_z"): "bending", ("SolidBlock", "mass"): "density",
    **{("SensorBlock", kind): "imu" for kind in KINDS},
    **{(block, shape): "sphere" for block in ("SolidBlock", "VisualBlock", "WetShapeBlock") for shape in SHAPES},
    ("ContactBlock", "between"): "among", ("ContactBlock", "and"): "among",
    **{("SurfaceBlock", obstacle): "link" for obstacle in OBSTACLES},
}  # fmt: skip
_WITH: dict[tuple[str, str], dict[str, Any]] = {
    ("ImportBlock", "at"): {"parent": "lid"},
    ("LinkBlock", "dh"): {"joint": "revolute"},
    ("RotationBlock", "axis"): {"angle": "90 deg"},
    ("RotationBlock", "angle"): {"axis": [0, 0, 1]},
    ("WrenchBlock", "through"): {"frame": "line"},
    ("ServoBlock", "along"): {"link": "plug"},
    ("MountBlock", "frame"): {"link": "lid"},
    ("ContactBlock", "between"): {"and": {"half_space": {}}},
    ("ContactBlock", "and"): {"between": "arm"},
    ("ContactBlock", "restitution"): {"impact_speed": "0.5 m/s"},
    ("ContactBlock", "impact_speed"): {"restitution": 0.8},
    ("SurfaceBlock", "radius"): {"link": "arm"},
    ("SurfaceBlock", "pieces"): {"link": "arm"},
    ("SurfaceBlock", "at"): {"sphere": {"radius": "2 cm"}},
}

_AROUND = {"StopsBlock": {"urdf": "arm.urdf"}}  # keys beside the block itself

_ELSEWHERE = {
    ("PoseBlock", "frame"): "links.knob.at",
    ("BuiltBlock", "frame"): "loops.pin.to.at",
    ("ImmersedBlock", "lift"): "loads.water.fluid.links.arm",
    **{("SurfaceBlock", obstacle): "loads.bump.contact.and" for obstacle in OBSTACLES},
}  # not at the path of their context

HEAD = f"""\
<!-- written by `python -m sorosim.io.page docs/file_format.md`; do not edit -->
# The file format

{ABOUT}

A robot that shows most blocks:

```yaml
{BASE}```

The examples below are changes of this robot. Saved as `example.yaml`, it takes each of them:
`sorosim.load("example.yaml", set={{"links.arm.rod.length": "40 cm"}})`. They are written as lists of paths and values.

"""


def example(block: str, key: str) -> tuple[str, Any]:
    """Path in `BASE` and value of the example of a key."""
    value = data(BLOCKS[block][key][1])
    if block == "RobotFile":
        there = read_text(BASE, "").data.get(key)
        return key, {**there, **value} if isinstance(there, dict) else value
    context = CONTEXTS[block]
    left = {name: entry for name, entry in data(context.minimal).items() if name != _INSTEAD.get((block, key))}
    out: dict[str, Any] = {**left, **_WITH.get((block, key), {}), key: value}
    for name in reversed(context.around):
        out = {**_AROUND.get(block, {}), name: out}
    return _ELSEWHERE.get((block, key), context.path), out


def page() -> str:
    """What `sorosim.io.format_page` returns."""
    whole = schema()
    sections = [_section("RobotFile", whole)]
    sections += [_section(name, whole["$defs"][name]) for name in CONTEXTS]
    return HEAD + "\n".join(sections)


def _section(name: str, block: dict[str, Any]) -> str:
    required = [] if name == "RobotFile" else block.get("required", [])
    required = ["sorosim"] if name == "RobotFile" else required
    where = (
        "" if name == "RobotFile" else f"For instance at `{'.'.join((CONTEXTS[name].path, *CONTEXTS[name].around))}`.\n"
    )
    lines = [f"## {TITLES[name]}", "", where, "| key | meaning | unit | default |", "|---|---|---|---|"]
    examples = []
    for key, entry in block["properties"].items():
        default = "required" if key in required else _default(entry)
        lines.append(f"| `{key}` | {BLOCKS[name][key][0].replace('|', '/')} | {unit_of(entry)} | {default} |")
        path, value = example(name, key)
        examples.append(f"- {path}: {inline(value)}")
    return "\n".join([*lines, "", "```yaml", *examples, "```", ""])


def _default(entry: dict[str, Any]) -> str:
    value = entry.get("default")
    return "" if value in (None, {}) else f"`{inline(list(value) if isinstance(value, tuple) else value)}`"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
