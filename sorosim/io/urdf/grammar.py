"""What elements of URDF look like: every mistake is noted where it is written, and what is right goes on.

`yourdfpy`, which reads the values, repairs what it can and fails at the rest without a line: a moment of inertia that
is missing is 1 to it. So it is given a document that holds nothing but what is checked here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from xml.etree import ElementTree

from sorosim.errors import nearest
from sorosim.io.nodes import Mistakes
from sorosim.io.urdf.document import Element
from sorosim.problems import listed, shown

TEXT = 0  # an attribute that is a text; others are that many numbers
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SHAPES = ("box", "cylinder", "sphere", "mesh")
# names of other programs, and so like one of these that they are a misspelling of it
FOREIGN = ("collision", "transmission", "gazebo", "safety_controller", "calibration", "effort", "velocity", "texture")
LIKE = 0.75


@dataclass(frozen=True)
class Rule:
    """Attributes and children that an element must have, and others that it may have; what is in neither is left out.

    Values of attributes are how many numbers they hold. ``closed``: any other attribute is a mistake.
    """

    must: dict[str, int] = field(default_factory=dict)
    may: dict[str, int] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    closed: bool = False


_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
RULES = {
    "robot": Rule(may={"name": TEXT}, several=("material", "link", "joint")),
    "link": Rule({"name": TEXT}, takes=("inertial",), several=("visual",)),
    "inertial": Rule(needs=("mass", "inertia"), takes=("origin",)),
    "mass": Rule({"value": 1}),
    "inertia": Rule(dict.fromkeys(_MOMENTS, 1)),
    # another way to write a rotation would be lost
    "origin": Rule(may={"xyz": 3, "rpy": 3}, closed=True),
    "visual": Rule(needs=("geometry",), takes=("origin", "material")),
    "geometry": Rule(takes=SHAPES),
    "box": Rule({"size": 3}),
    "cylinder": Rule({"radius": 1, "length": 1}),
    "sphere": Rule({"radius": 1}),
    "mesh": Rule({"filename": TEXT}, {"scale": 3}),
    "material": Rule(may={"name": TEXT}, takes=("color",)),
    "color": Rule({"rgba": 4}),
    "joint": Rule({"name": TEXT, "type": TEXT}, needs=("parent", "child"),
                  takes=("origin", "axis", "limit", "dynamics", "mimic")),
    "parent": Rule({"link": TEXT}), "child": Rule({"link": TEXT}),
    "axis": Rule({"xyz": 3}),
    "limit": Rule(may={"lower": 1, "upper": 1}),
    "dynamics": Rule(may={"damping": 1, "friction": 1}),
    "mimic": Rule({"joint": TEXT}, {"multiplier": 1, "offset": 1}),
}  # fmt: skip


def checked(element: Element, mistakes: Mistakes, left_out: tuple[str, ...] = ()) -> ElementTree.Element:
    """An element with what it may have, and nothing else; mistakes are noted.

    Parameters
    ----------
    left_out : tuple of str
        Tags that are not looked at.
    """
    rule = RULES[element.tag]
    out = ElementTree.Element(element.tag, _attributes(element, rule, mistakes))
    known = tuple(tag for tag in (*rule.needs, *rule.takes, *rule.several) if tag not in left_out)
    meant = _misspelt_tags(element, rule, mistakes)
    for tag in (*rule.needs, *rule.takes):
        found = list(element.all(tag))
        if not found and tag in rule.needs and tag not in meant:
            mistakes.note(element.place, f"an element <{tag}> in it", "none")
        if len(found) > 1:
            mistakes.note(found[1].place, f"one <{tag}>", "a second one")
    if element.tag == "geometry" and len([child for child in element.children if child.tag in SHAPES]) != 1:
        got = ", ".join(f"<{child.tag}>" for child in element.children) or "nothing"
        mistakes.note(element.place, f"one of {listed([f'<{shape}>' for shape in SHAPES])}", got)
    if element.tag == "joint":
        _check_type(element, mistakes)
    out.extend(checked(child, mistakes, left_out) for child in element.children if child.tag in known)
    return out


def _misspelt_tags(element: Element, rule: Rule, mistakes: Mistakes) -> list[str]:
    """Tags that its children stand for but misspell."""
    known = () if element.tag == "geometry" else (*rule.needs, *rule.takes, *rule.several)
    found = [(child, meant) for child in element.children if (meant := _misspelt(child.tag, known))]
    for child, meant in found:
        mistakes.note(child.place, f"an element of URDF, perhaps <{meant}>", f"<{child.tag}>")
    return [meant for _, meant in found]


def _attributes(element: Element, rule: Rule, mistakes: Mistakes) -> dict[str, str]:
    given, found, known = element.attributes, {}, (*rule.must, *rule.may)
    misspelt = {name: meant for name in given if (meant := _misspelt(name, known))}
    for name, count in {**rule.must, **rule.may}.items():
        if name not in given or (count == TEXT and not given[name].strip()):
            if name in rule.must and name not in misspelt.values():
                mistakes.note(element.place, f"the attribute '{name}' of <{element.tag}>", "none")
            continue
        found[name] = given[name]
        if count and not _are_numbers(given[name], count):
            what = "a finite number" if count == 1 else f"{count} finite numbers with spaces between"
            mistakes.note(element.place, f"{what} as {name}", shown(given[name]))
    for name in given:
        if name not in found and rule.closed:
            mistakes.note(element.place, f"no attributes but {listed(known)}", shown(name))
        elif name in misspelt:
            mistakes.note(element.place, f"attributes of URDF, perhaps '{misspelt[name]}'", shown(name))
    return found


def _misspelt(name: str, known: tuple[str, ...]) -> str:
    """What a name that nothing here has may stand for; other programs have names of their own, which are left out."""
    if name in known or name in FOREIGN or ":" in name:  # a namespace is another program's
        return ""
    return next(iter(get_close_matches(name.lower(), known, n=1, cutoff=LIKE)), "")


# not what Python's float takes beyond that: 1_0, digits of other scripts
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def _are_numbers(text: str, count: int) -> bool:
    words = text.split()
    return len(words) == count and all(_NUMBER.fullmatch(word) and math.isfinite(float(word)) for word in words)


def _check_type(joint: Element, mistakes: Mistakes) -> None:
    given = joint.attributes.get("type", "")
    if given.strip() and given not in JOINT_TYPES:
        mistakes.note(joint.place, f"a joint that is {listed(JOINT_TYPES)}", shown(given), nearest(given, JOINT_TYPES))
