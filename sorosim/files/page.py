"""The page of the documentation about the file format, made of the declarations of its parts.

``python -m sorosim.files.page docs/file_format.md`` writes it.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from sorosim.base.declare import Declared, Key, Writer
from sorosim.base.declare.base import Described
from sorosim.base.declare.composite import Inline, described, summary
from sorosim.base.methods import Option
from sorosim.base.registry import ACTUATORS, JOINTS, LOADS, SECTIONS, SENSORS
from sorosim.files.robot_file import RobotFile
from sorosim.files.schema import ABOUT, unit_of
from sorosim.files.yaml_writer import inline

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
couplings:
  belt: {link: elbow, leader: lid}
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

HEAD = f"""\
<!-- written by `python -m sorosim.files.page docs/file_format.md`; do not edit -->
# The file format

{ABOUT}

A robot that shows most blocks:

```yaml
{BASE}```

Each block has a table of its keys: what they mean, their unit in SI, the default, and an example as it stands after the
colon. What a robot says can be changed where it is loaded:
`sorosim.load("example.yaml", set={{"links.arm.rod.length": "40 cm"}})`.

"""


def parts() -> list[type[Declared]]:
    """All kinds of parts that a file may have, each after the one that it first stands in."""
    found: dict[type[Declared], None] = {}

    def define(cls: type[Declared]) -> dict[str, Any]:
        if cls not in found:
            found[cls] = None
            described(cls, define)
        return {}

    define(RobotFile)
    return [cls for cls in found if cls.key_names()]


def keys_of(cls: type[Declared]) -> dict[str, Described]:
    """Meaning, example, JSON Schema and declaration of each key of a part."""
    return described(cls, lambda other: {})


def page() -> str:
    """What `sorosim.files.format_page` returns."""
    first, *others = map(_section, parts())
    return HEAD + "\n".join([first, *map(_family, FAMILIES), *others])


FAMILIES = {"Joints": JOINTS, "Sections": SECTIONS, "Actuators": ACTUATORS, "Loads": LOADS, "Sensors": SENSORS}


def _family(title: str) -> str:
    """The kinds of one sort of part, each a key of its own."""
    lines = [f"## {title}", "", "| key | meaning | example |", "|---|---|---|"]
    for name, kind in FAMILIES[title].declared().items():
        lines.append(f"| `{name}` | {summary(kind).replace('|', '/')} | `{{{name}: {kind.example()}}}` |")
    return "\n".join([*lines, ""])


def _section(cls: type[Declared]) -> str:
    about = summary(cls).replace("``", "`")
    where = f" Its key is `{cls.kind}`." if cls.kind else ""
    lines = [f"## {cls.title or cls.__name__}", "", f"{about}{where}", ""]
    lines += ["| key | meaning | unit | default | example |", "|---|---|---|---|---|"]
    for name, own in keys_of(cls).items():
        meaning, shown = own.doc.replace("|", r"\|"), f"`{own.example}`" if own.example else ""
        lines.append(f"| `{name}` | {meaning} | {unit_of(own.schema)} | {default_of(cls, name)} | {shown} |")
    return "\n".join([*lines, ""])


def default_of(cls: type[Declared], name: str) -> str:
    """What holds where a file does not have a key: its default as code, or in words."""
    key = keys_of(cls)[name].key
    if instead := _instead(cls, name):
        return f"or {instead}"
    if key.without:
        return key.without
    if isinstance(key.type, Inline):
        return "none" if key.type.optional else "one shape"
    if key.required:
        return "required"
    written = key.fallback if isinstance(key, Option) else _written(key)
    return "none" if written in NOTHING_WRITTEN else f"`{written if isinstance(written, str) else inline(written)}`"


# what no key has to say: no text, no entries, no bound
NOTHING_WRITTEN: tuple[Any, ...] = (None, "", [], math.inf, -math.inf)


def _written(key: Key) -> Any:
    """The default of a key as the data of a file."""
    empty = key.default is None or (isinstance(key.default, str | float) and key.default in NOTHING_WRITTEN)
    return None if empty else key.type.write(key.default, Writer())


def _instead(cls: type[Declared], name: str) -> str:
    """The keys that may stand in the place of one."""
    for group in cls.alternatives:
        members = [(one,) if isinstance(one, str) else one for one in group]
        if any(name in member for member in members):
            others = (" and ".join(f"`{one}`" for one in member) for member in members if name not in member)
            return ", ".join(others)
    return ""


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
