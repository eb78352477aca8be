"""What elements of URDF and SDF look like: every mistake is noted where it is written, and what is right goes on.

`yourdfpy`, which reads the values of URDF, repairs what it can and fails at the rest without a line: a moment of
inertia that is missing is 1 to it. So it is given a document that holds nothing but what is checked here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from xml.etree import ElementTree

from sorosim.base.errors import nearest
from sorosim.base.problems import listed, shown
from sorosim.files.nodes import Mistakes
from sorosim.files.rigid.document import Element
from sorosim.files.rigid.remarks import UNDRAWN, WRITTEN, Remarks

TEXT = 0  # a value that is a text; others are that many numbers
# names like one of a language that they are a misspelling of it
LIKE = 0.75


@dataclass(frozen=True)
class Rule:
    """Attributes and children that an element must have, and others that it may have; what is in neither is left out.

    Values of attributes are how many numbers they hold; so is ``text``, what is between the tags of the element.
    ``numbers``: these are numbers, as many as their reader says. ``closed``: any other attribute is a mistake.
    ``one_of``: exactly one of its children is.
    """

    must: dict[str, int] = field(default_factory=dict)
    may: dict[str, int] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    closed: bool = False
    text: int | None = None
    one_of: tuple[str, ...] = ()
    numbers: bool = False

    @property
    def known(self) -> tuple[str, ...]:
        """Tags of children that it may have."""
        return *self.needs, *self.takes, *self.several, *self.one_of


@dataclass(frozen=True)
class Grammar:
    """A language: the rules of its elements by their tags, and the types of its joints.

    ``foreign`` are names of other programs, and such as are left out, though they look like one of these.
    """

    name: str
    rules: dict[str, Rule]
    joint_types: tuple[str, ...]
    foreign: tuple[str, ...]


_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
URDF = Grammar("URDF", {
    "robot": Rule(may={"name": TEXT}, several=("material", "link", "joint")),
    "link": Rule({"name": TEXT}, takes=("inertial",), several=("visual", "collision")),
    "inertial": Rule(needs=("mass", "inertia"), takes=("origin",)),
    "mass": Rule({"value": 1}),
    "inertia": Rule(dict.fromkeys(_MOMENTS, 1)),
    # another way to write a rotation would be lost
    "origin": Rule(may={"xyz": 3, "rpy": 3}, closed=True),
    "visual": Rule(needs=("geometry",), takes=("origin", "material")),
    "collision": Rule(needs=("geometry",), takes=("origin",)),
    "geometry": Rule(one_of=("box", "cylinder", "sphere", "mesh")),
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
}, ("revolute", "continuous", "prismatic", "fixed", "floating", "planar"),
    ("collision", "transmission", "gazebo", "safety_controller", "calibration", "effort", "velocity", "texture"),
)  # fmt: skip

_AXIS = Rule(needs=("xyz",), takes=("limit", "dynamics", "mimic", "use_parent_model_frame"))
SDF = Grammar("SDF", {
    "sdf": Rule({"version": TEXT}, several=("model", "world")),
    "world": Rule(takes=("gravity",), several=("model",)),
    "model": Rule({"name": TEXT}, {"canonical_link": TEXT, "placement_frame": TEXT}, takes=("static", "pose"),
                  several=("link", "joint", "frame", "model")),
    "frame": Rule({"name": TEXT}, {"attached_to": TEXT}, takes=("pose",)),
    "link": Rule({"name": TEXT}, takes=("inertial", "pose"), several=("visual", "collision")),
    "inertial": Rule(takes=("mass", "inertia", "pose")),
    "inertia": Rule(takes=_MOMENTS),
    "visual": Rule(needs=("geometry",), takes=("pose", "material")),
    "collision": Rule(needs=("geometry",), takes=("pose",)),
    "geometry": Rule(one_of=("box", "cylinder", "sphere", "capsule", "ellipsoid", "cone", "mesh", "plane", "empty",
                             "heightmap", "image", "polyline")),
    "box": Rule(needs=("size",)), "sphere": Rule(needs=("radius",)), "ellipsoid": Rule(needs=("radii",)),
    **dict.fromkeys(("cylinder", "capsule", "cone"), Rule(needs=("radius", "length"))),
    "mesh": Rule(needs=("uri",), takes=("scale",)),
    **dict.fromkeys(("plane", "empty", "heightmap", "image", "polyline"), Rule()),
    "material": Rule(takes=("diffuse",)),
    "joint": Rule({"name": TEXT, "type": TEXT}, needs=("parent", "child"),
                  takes=("pose", "axis", "axis2", "gearbox_ratio", "gearbox_reference_body", "screw_thread_pitch",
                         "thread_pitch")),
    "axis": _AXIS, "axis2": _AXIS,
    "xyz": Rule(may={"expressed_in": TEXT}, text=3),
    "limit": Rule(takes=("lower", "upper")),
    "dynamics": Rule(takes=("damping", "friction", "spring_stiffness", "spring_reference")),
    "mimic": Rule({"joint": TEXT}, {"axis": TEXT}, takes=("multiplier", "offset", "reference")),
    "pose": Rule(may={"relative_to": TEXT, "frame": TEXT, "degrees": TEXT, "rotation_format": TEXT}, closed=True,
                 numbers=True),
    "diffuse": Rule(numbers=True),
    "gravity": Rule(text=3), "size": Rule(text=3), "radii": Rule(text=3),
    "scale": Rule(text=3),
    **dict.fromkeys((*_MOMENTS, "mass", "radius", "length", "damping", "friction", "spring_stiffness",
                     "spring_reference", "multiplier", "offset", "reference", "screw_thread_pitch",
                     "thread_pitch", "gearbox_ratio"), Rule(text=1)),
    **dict.fromkeys(("lower", "upper", "uri", "parent", "child", "gearbox_reference_body", "static",
                     "use_parent_model_frame"),
                    Rule(text=TEXT)),
}, ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2", "screw", "gearbox"),
    ("collision", "effort", "velocity", "ambient", "include", "sensor", "enable_wind", "physics", "stiffness"),
)  # fmt: skip


def checked(
    element: Element, grammar: Grammar, mistakes: Mistakes, remarks: Remarks, left_out: tuple[str, ...] = ()
) -> ElementTree.Element:
    """An element with what it may have, and nothing else; mistakes are noted, commas between numbers remarked on.

    Parameters
    ----------
    left_out : tuple of str
        Tags that are not looked at.
    """
    rule = grammar.rules[element.tag]
    _part_by_spaces(element, rule, remarks)
    out = ElementTree.Element(element.tag, _attributes(element, rule, grammar, mistakes))
    meant = _misspelt_tags(element, rule, grammar, mistakes, left_out)
    for tag in (*rule.needs, *rule.takes):
        found = list(element.all(tag))
        if not found and tag in rule.needs and tag not in meant:
            mistakes.note(element.place, f"an element <{tag}> in it", "none")
        if len(found) > 1 and all(_content(one) == _content(found[0]) for one in found[1:]):
            remarks.add(WRITTEN, f"a second <{tag}> that says the same", found[1].place)
            element.children = [child for child in element.children if child.tag != tag or child is found[0]]
        elif len(found) > 1:
            mistakes.note(found[1].place, f"one <{tag}>", "a second one")
    if rule.one_of and len([child for child in element.children if child.tag in rule.one_of]) != 1:
        got = ", ".join(f"<{child.tag}>" for child in element.children) or "nothing"
        mistakes.note(element.place, f"one of {listed([f'<{shape}>' for shape in rule.one_of])}", got)
    if element.tag == "joint":
        _check_type(element, grammar.joint_types, mistakes)
    if rule.text is not None:
        _check_value(element.text, f"<{element.tag}>", rule.text, element, mistakes)
    for child in [child for child in element.children if child.tag in rule.known and child.tag not in left_out]:
        noted = Mistakes() if child.tag == "visual" else mistakes
        inner = checked(child, grammar, noted, remarks, left_out)
        if noted is mistakes or not noted:
            out.append(inner)
        else:  # a picture that cannot be drawn refuses no robot
            element.children.remove(child)
            problem = noted[0].problem
            remarks.add(UNDRAWN, f"expected {problem.expected}, got {problem.got}", noted[0].place)
    return out


def _content(element: Element) -> object:
    """What an element says, without its place."""
    attributes = {name: value.split() for name, value in element.attributes.items()}
    return element.tag, attributes, element.text.split(), [_content(child) for child in element.children]


def _part_by_spaces(element: Element, rule: Rule, remarks: Remarks) -> None:
    """Put spaces for commas where these stand between all numbers of an element."""
    several = [name for name, count in {**rule.must, **rule.may}.items() if count > 1 and name in element.attributes]
    for name in several:
        if (text := _with_spaces(given := element.attributes[name])) != given:
            element.attributes[name] = text
            remarks.add(WRITTEN, f"commas between numbers, {name}={shown(given)}", element.place)
    if (rule.numbers or (rule.text or 0) > 1) and (text := _with_spaces(element.text)) != element.text:
        remarks.add(WRITTEN, f"commas between numbers, {shown(element.text.strip())}", element.place)
        element.text = text


def _with_spaces(text: str) -> str:
    words = re.split(r"\s*,\s*", text.strip())
    return " ".join(words) if len(words) > 1 and all(map(_NUMBER.fullmatch, words)) else text


def _misspelt_tags(
    element: Element, rule: Rule, grammar: Grammar, mistakes: Mistakes, left_out: tuple[str, ...]
) -> list[str]:
    """Tags that its children stand for but misspell."""
    known = () if rule.one_of else tuple(tag for tag in rule.known if tag not in left_out)
    found = [(child, meant) for child in element.children if (meant := _misspelt(child.tag, known, grammar))]
    for child, meant in found:
        mistakes.note(child.place, f"an element of {grammar.name}, perhaps <{meant}>", f"<{child.tag}>")
    return [meant for _, meant in found]


def _attributes(element: Element, rule: Rule, grammar: Grammar, mistakes: Mistakes) -> dict[str, str]:
    given, found, known = element.attributes, {}, (*rule.must, *rule.may)
    misspelt = {name: meant for name in given if (meant := _misspelt(name, known, grammar))}
    for name, count in {**rule.must, **rule.may}.items():
        if name not in given or (count == TEXT and not given[name].strip()):
            if name in rule.must and name not in misspelt.values():
                mistakes.note(element.place, f"the attribute '{name}' of <{element.tag}>", "none")
            continue
        found[name] = given[name]
        if count:
            _check_value(given[name], name, count, element, mistakes)
    for name in given:
        if name not in known and rule.closed:
            mistakes.note(element.place, f"no attributes but {listed(known)}", shown(name))
        elif name in misspelt:
            mistakes.note(element.place, f"attributes of {grammar.name}, perhaps '{misspelt[name]}'", shown(name))
    return found


def _check_value(value: str, name: str, count: int, element: Element, mistakes: Mistakes) -> None:
    if count == TEXT and not value.strip():
        mistakes.note(element.place, f"a text in {name}", "none")
    elif count and not are_numbers(value, count):
        what = "a finite number" if count == 1 else f"{count} finite numbers with spaces between"
        mistakes.note(element.place, f"{what} {'in' if name[0] == '<' else 'as'} {name}", shown(value))


def _misspelt(name: str, known: tuple[str, ...], grammar: Grammar) -> str:
    """What a name that nothing here has may stand for; other programs have names of their own, which are left out."""
    if name in known or name in grammar.foreign or ":" in name:  # a namespace is another program's
        return ""
    return next(iter(get_close_matches(name.lower(), known, n=1, cutoff=LIKE)), "")


# not what Python's float takes beyond that: 1_0, digits of other scripts
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def are_numbers(text: str, count: int) -> bool:
    """Whether a text is so many finite numbers."""
    words = text.split()
    return len(words) == count and all(_NUMBER.fullmatch(word) and math.isfinite(float(word)) for word in words)


def _check_type(joint: Element, types: tuple[str, ...], mistakes: Mistakes) -> None:
    given = joint.attributes.get("type", "")
    if given.strip() and given not in types:
        mistakes.note(joint.place, f"a joint that is {listed(types)}", shown(given), nearest(given, types))
