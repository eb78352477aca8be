"""SDF, versions 1.4 to 1.11: one model, with the models inside of it.

Every pose is relative to some frame: that of its model, a link, a joint, or a named frame. A link that hangs on nothing
floats; one without an inertial has the 1 kg and 1 kg m^2 that the format gives it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import FileError, nearest
from sorosim.base.problems import listed, shown
from sorosim.files.nodes import Mistakes
from sorosim.files.rigid.document import Element, read_document, root_in_words
from sorosim.files.rigid.grammar import SDF, are_numbers, checked
from sorosim.files.rigid.inertia import Inertia, moved, rounding
from sorosim.files.rigid.leftovers import Leftovers
from sorosim.files.rigid.remarks import UNDRAWN, UNTOUCHED, WRITTEN, Remarks
from sorosim.files.rigid.tree import (
    Edge,
    Mimic,
    RigidJoint,
    RigidLink,
    RigidLoop,
    RigidTree,
    Visual,
    colour_code,
    made_tree,
    roots_of,
)
from sorosim.mechanics.lie import inverse
from sorosim.mechanics.model.pose import WORLD, Rotation

NAMED = ("model", "link", "joint", "frame")  # elements whose names begin paths
KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "ball": "spherical",
    "universal": "universal", "revolute2": "universal", "screw": "helical",
}  # fmt: skip
AXES = {"fixed": (), "spherical": (), "universal": ("axis", "axis2")}  # of kinds that have not one axis
MODEL = "__model__"
GEARBOX = "gearbox"
PARALLEL = 1e-6  # 1 less the cosine between axes that are one
TAGS = ("xx", "yy", "zz", "xy", "xz", "yz")  # of entries of an inertia
ROUNDING = 1e-15  # [m], and in rotations: of products that should be zero
SIZED = ("box", "cylinder", "sphere", "capsule", "ellipsoid", "cone")  # shapes that links have
UNLIMITED = 1e16  # the format's own way to say that there is no limit
LEFT_OUT = {"plugin": "plugins", "sensor": "sensors", "gripper": "contacts", "fluid_added_mass": "fluid"}


def read_sdf(
    path: FilePath, leftovers: Leftovers, remarks: Remarks, *, visual: bool = True, collision: bool = False
) -> RigidTree:
    """Read a file; ``visual`` False leaves out what is drawn, ``collision`` False what touches.

    Raises
    ------
    FileError
        It cannot be read, or holds mistakes: each on a line of its own, with line and column.
    """
    root, mistakes = read_document(path, "SDF", NAMED, remarks), Mistakes()
    taken = {"visual": visual, "collision": collision}
    if root.tag != "sdf":
        place = root.place
        raise FileError(
            str(path), f"expected SDF, whose root is <sdf>, got {root_in_words(root)}", place.line, place.column
        )
    checked(root, SDF, mistakes, remarks, tuple(tag for tag, is_taken in taken.items() if not is_taken))
    for element in root.walk():
        if element.tag == "include":
            hint = "write the model with all that it includes into one file: gz sdf -p model.sdf > whole.sdf"
            mistakes.note(element.place, "a model in one piece", "<include>", hint)
    version = root.attributes.get("version", "")
    if not re.fullmatch(r"1\.([4-9]|1[01])", version.strip()) and "version" in root.attributes:
        mistakes.note(root.place, "SDF of version 1.4 to 1.11", shown(version), "gz sdf -p model.sdf writes newer ones")
    worlds = list(root.all("world"))
    models = [*root.all("model"), *(model for world in worlds for model in world.all("model"))]
    if len(models) > 1:
        got = listed([shown(model.attributes.get("name", "")) for model in models[:5]]).replace(" or ", " and ")
        hint = "put each into a file of its own, and import them by name"
        mistakes.note(models[1].place, "one <model>", f"{len(models)}: {got}", hint)
    elif not models:
        mistakes.note(root.place, "one <model>", "none")
    mistakes.raise_if_any(str(path))
    gravity = next((_numbers(element) for world in worlds for element in world.all("gravity")), None)
    old = version.strip() == "1.4"  # axes in the frame of the model
    tree = _Reader(models[0], leftovers, mistakes, remarks, taken, old).tree(
        None if gravity is None else np.array(gravity)
    )
    mistakes.raise_if_any(str(path))
    assert tree is not None  # else there are mistakes
    return tree


class _Reader:
    """Makes the tree of a model. Names are whole ones, ``gripper::finger`` in the model ``gripper`` inside of it."""

    def __init__(
        self,
        model: Element,
        leftovers: Leftovers,
        mistakes: Mistakes,
        remarks: Remarks,
        taken: dict[str, bool],
        old: bool,
    ) -> None:
        self.model, self.leftovers, self.mistakes, self.remarks = model, leftovers, mistakes, remarks
        self.taken, self.old = taken, old
        self.frames: dict[str, Element] = {MODEL: model}  # all that poses are relative to
        self.scope: dict[str, str] = {MODEL: ""}  # of each: the prefix of names in the model where it stands
        self.poses: dict[str, Array] = {MODEL: np.eye(4), WORLD: inverse(self.raw(model))}
        self.enter(model, "")

    def enter(self, model: Element, prefix: str) -> None:
        """Note the names in a model."""
        if model.attributes.get("placement_frame"):
            hint = "write the pose of the model's own frame"
            self.mistakes.note(model.place, "a model that is placed by its own frame", "placement_frame", hint)
        for element in model.children:
            if element.tag in NAMED and element.attributes["name"] == WORLD:
                self.world(element)
                continue
            if element.tag in NAMED:
                name = prefix + element.attributes["name"]
                if name in self.frames:
                    first = f"the first is at line {self.frames[name].place.line}"
                    self.mistakes.note(
                        element.place, f"names of {element.tag}s that differ", f"{shown(name)} twice", first
                    )
                self.frames.setdefault(name, element)
                self.scope.setdefault(name, prefix)
            if element.tag == "model":
                self.enter(element, f"{name}::")
        self.leave_out(model, prefix)

    def world(self, element: Element) -> None:
        """A link called so, without a body, is the world itself, which joints and poses call so."""
        bare = element.tag == "link" and not {"inertial", "visual", "collision"} & {e.tag for e in element.children}
        if bare and np.array_equal(self.raw(element), np.eye(4)):
            self.remarks.add(WRITTEN, "a link 'world', which is the world itself", element.place)
            return
        hint = "SDF calls the world itself so: rename it, and what names it"
        self.mistakes.note(element.place, f"another name of a {element.tag}", "'world'", hint)

    def leave_out(self, model: Element, prefix: str) -> None:
        """Note what a model has that links have not."""
        for element in model.children:
            own = prefix + element.attributes.get("name", "")
            for found in element.walk() if element.tag != "model" else ():
                if found.tag in LEFT_OUT:
                    self.leftovers.add(LEFT_OUT[found.tag], found.attributes.get("name", own), found.place)
            if element.tag != "link":
                continue
            decay, gravity = element.first("velocity_decay"), element.first("gravity")
            if decay is not None and any(set(part.text.strip()) - set("0.") for part in decay.children):
                self.leftovers.add("fluid", f"velocity_decay of {own}", decay.place)
            if gravity is not None and not _is_true(gravity):
                self.leftovers.add("gravity", own, gravity.place)
            if (kinematic := element.first("kinematic")) is not None and _is_true(kinematic):
                self.leftovers.add("constraints", f"kinematic {own}", kinematic.place)

    def of(self, tag: str) -> dict[str, Element]:
        """All links, joints or frames by name."""
        return {name: element for name, element in self.frames.items() if element.tag == tag}

    # -- frames --------------------------------------------------------------------------------------------------------

    def known(self, name: str, scope: str, element: Element, what: str) -> str:
        """The whole name of a frame that something names; that of the model where there is none, which is noted."""
        whole = scope + name
        whole = whole.removesuffix(f"::{MODEL}") if whole != MODEL else whole
        if whole in self.frames or (name == WORLD and what == "link"):
            return WORLD if name == WORLD else whole
        names = [known.removeprefix(scope) for known in self.frames if known.startswith(scope) and known != MODEL]
        self.mistakes.note(element.place, f"the name of a {what}", shown(name), nearest(name, names))
        return scope.removesuffix("::") or MODEL

    def own_model(self, name: str) -> str:
        """The frame of the model that something stands in."""
        return self.scope[name].removesuffix("::") or MODEL

    def attached(self, name: str) -> str:
        """The frame or link that a frame, a joint or a model moves with; a link itself."""
        element, scope = self.frames[name], self.scope[name]
        if element.tag == "joint":
            child = element.first("child")
            assert child is not None  # checked
            return self.known(child.text.strip(), scope, child, "link")
        if element.tag == "frame" and (given := element.attributes.get("attached_to")):
            return self.known(given, scope, element, "frame")
        if element.tag == "model":
            inner = "" if name == MODEL else f"{name}::"
            if given := element.attributes.get("canonical_link"):
                return self.known(given, inner, element, "link")
            inside = (own for own, e in self.frames.items() if e.tag == "link" and own.startswith(inner))
            return next(inside, name)
        return name if element.tag == "link" else self.own_model(name)

    def carrier(self, name: str) -> str:
        """The link that a frame moves with."""
        way = {name: None}  # a set in order
        while name != WORLD and self.frames[name].tag != "link":
            name = self.attached(name)
            if name in way:
                place = self.frames[next(iter(way))].place
                self.mistakes.note(place, "a frame on a link", f"frames in a ring: {', '.join(way)}")
                return WORLD
            way[name] = None
        return name

    def base(self, name: str) -> str:
        """The frame that the pose of another one is written in."""
        element = self.frames[name]
        written = element.first("pose")
        if written is not None and (given := written.attributes.get("relative_to")):
            return self.known(given, self.scope[name], written, "frame")
        return self.attached(name) if element.tag in ("joint", "frame") else self.own_model(name)

    def pose(self, name: str) -> Array:
        """Pose (4, 4) of a frame in that of the outermost model, all coordinates at zero."""
        way: dict[str, str] = {}  # frames and what their poses are written in, towards one that is known
        at = name
        while at not in self.poses:
            if at in way:
                got = f"{shown(at)} in a ring of them"
                self.mistakes.note(self.frames[at].place, "poses relative to other frames", got)
                return np.eye(4)
            way[at] = self.base(at)
            at = way[at]
        for at, base in reversed(way.items()):
            self.poses[at] = self.poses[base] @ self.raw(self.frames[at])
        return self.poses[name]

    def raw(self, element: Element) -> Array:
        """The pose (4, 4) that is written in an element."""
        g, written = np.eye(4), element.first("pose")
        if written is None or not written.text.strip():
            return g
        of = written.attributes
        if of.get("frame"):
            hint = "write relative_to, as SDF does since 1.7"
            self.mistakes.note(written.place, "no attribute 'frame' of a pose", shown(of["frame"]), hint)
        quaternion = of.get("rotation_format") == "quat_xyzw"
        if not are_numbers(written.text, 7 if quaternion else 6):
            what = "x y z qx qy qz qw" if quaternion else "x y z roll pitch yaw"
            self.mistakes.note(written.place, f"the finite numbers {what} in <pose>", shown(written.text.strip()))
            return g
        numbers = [float(word) for word in written.text.split()]
        g[:3, 3] = numbers[:3]
        if quaternion:
            if not any(numbers[3:]):
                self.mistakes.note(written.place, "a quaternion of some length", "0 0 0 0")
                return g
            g[:3, :3] = Rotation(quaternion=(numbers[6], *numbers[3:6])).R
        else:
            unit = math.pi / 180.0 if of.get("degrees", "").strip() in ("true", "1") else 1.0
            g[:3, :3] = Rotation(rpy=tuple(unit * angle for angle in numbers[3:])).R
        return g

    def placed(self, element: Element, link: Element) -> Array:
        """Pose (4, 4) in its link of what stands in one: it may be written relative to another frame."""
        written = element.first("pose")
        if written is None or not (given := written.attributes.get("relative_to")):
            return self.raw(element)
        name = next(own for own, one in self.frames.items() if one is link)
        return np.asarray(self.between(name, self.known(given, self.scope[name], written, "frame")) @ self.raw(element))

    # -- links and joints ----------------------------------------------------------------------------------------------

    def tree(self, gravity: Array | None) -> RigidTree | None:
        """The tree; None where mistakes were noted."""
        links, joints, gearboxes = self.of("link"), self.of("joint"), dict[str, Element]()
        for name in [name for name, joint in joints.items() if joint.attributes["type"] == GEARBOX]:
            gearboxes[name] = joints.pop(name)
        edges = {name: edge for name, joint in joints.items() if (edge := self.edge(name, joint)) is not None}
        closing = {name: self.may_close(joint) for name, joint in joints.items()}
        on_world = any(edge.parent == WORLD for edge in edges.values())
        tops, rings = roots_of(
            self.model, {WORLD: self.model, **links} if on_world else links, edges, self.mistakes, closing
        )
        if self.mistakes:
            return None
        made = [
            RigidLink(name, link, self.inertia(link), *(list(self.shapes(link, tag)) for tag in self.taken))
            for name, link in links.items()
        ]
        every = {name: self.joint(name, joint, edges[name]) for name, joint in joints.items()}
        loops = [self.loop(every.pop(name)) for name in rings]
        for name, gearbox in gearboxes.items():
            self.couple(name, gearbox, every)
        all_joints = list(every.values())
        for name, frame in self.of("frame").items():
            carrier = self.carrier(name)
            made.append(RigidLink(name, frame))
            all_joints.append(RigidJoint(name, "fixed", carrier, name, frame, self.between(carrier, name)))
        static = self.model.first("static")
        held = static is not None and _is_true(static)
        if not on_world and len(tops) == 1:
            pose = self.between(WORLD, tops[0])
            return made_tree(made, all_joints, tops[0], pose=pose, floats=not held, gravity=gravity, loops=loops)
        for name in tops:  # of several, each on its own
            if name != WORLD:
                kind = "fixed" if held else "free"
                pose = self.between(WORLD, name)
                all_joints.append(RigidJoint(f"{name}_{kind}", kind, WORLD, name, links[name], pose))
        return made_tree([RigidLink(WORLD, self.model), *made], all_joints, WORLD, gravity=gravity, loops=loops)

    def between(self, parent: str, child: str) -> Array:
        """Pose (4, 4) of a frame in another one."""
        g = np.asarray(inverse(self.pose(parent)) @ self.pose(child))
        g[:3, 3][np.abs(g[:3, 3]) < ROUNDING] = 0.0
        if np.abs(g[:3, :3] - np.eye(3)).max() < ROUNDING:
            g[:3, :3] = np.eye(3)
        return g

    def edge(self, name: str, joint: Element) -> Edge | None:
        """The links that a joint connects; None where it names no links, which is noted."""
        n, ends = len(self.mistakes), []
        for tag in ("parent", "child"):
            end = joint.first(tag)
            assert end is not None  # checked
            whole = self.known(end.text.strip(), self.scope[name], end, "link")
            if tag == "child" and whole == WORLD:
                self.mistakes.note(end.place, "the name of a link", "'world'", "exchange the parent and the child")
            ends.append((self.carrier(whole), end.place))
        (parent, parent_place), (child, child_place) = ends
        return Edge(joint, parent, child, parent_place, child_place) if len(self.mistakes) == n else None

    def joint(self, name: str, element: Element, edge: Edge) -> RigidJoint:
        """One joint; its frame stands in that of the child, as its axes and the point that they pass."""
        word = element.attributes["type"]
        kind = KINDS[word]
        own = self.between(edge.child, name)
        tags = AXES.get(kind, ("axis",))
        axes = [axis for tag in tags if (axis := element.first(tag)) is not None]
        if len(axes) < len(tags):
            self.mistakes.note(element.place, f"an element <{tags[len(axes)]}> in it", "none")
            axes = []
        acting: dict[str, Any] = {}
        for axis in element.children:  # a ball joint has none, but may write what acts in it so
            if axis.tag in ("axis", "axis2") and axis not in axes and kind == "spherical":
                own_acting = _acting(axis)
                acting |= {"damping": own_acting.pop("damping")} if "damping" in own_acting else {}
                if own_acting:
                    self.leftovers.add("springs", name, axis.place)
        directions = [self.direction(name, axis, own, edge.child) for axis in axes]
        each = [_acting(axis) for axis in axes]
        for key in dict.fromkeys(key for one in each for key in one):
            values = [one.get(key, 0.0) for one in each]
            acting[key] = values if len(values) > 1 else values[0]
        joint = RigidJoint(
            name, kind, edge.parent, edge.child, element, self.between(edge.parent, edge.child),
            through=own[:3, 3] if kind not in ("fixed", "prismatic") else np.zeros(3), acting=acting, word=word,
        )  # fmt: skip
        if directions:
            joint.axis, joint.second_axis = directions[0], directions[1] if len(directions) > 1 else None
        if word in ("revolute", "prismatic") and axes:
            joint.limits = self.limits(axes[0])
        if len(axes) == 1 and (mimic := axes[0].first("mimic")) is not None:
            factor, offset = _number(mimic, "multiplier", 1.0), _number(mimic, "offset", 0.0)
            leader = self.known(mimic.attributes["joint"], self.scope[name], mimic, "joint")
            joint.mimic = Mimic(leader, factor, offset - factor * _number(mimic, "reference", 0.0))
        if word == "screw":
            joint.pitch = self.pitch(element)
        return joint

    @staticmethod
    def may_close(joint: Element) -> bool:
        """Whether a joint may close a ring; what loops have not, as friction and limits, stands in the tree."""
        kind, axes = KINDS[joint.attributes["type"]], [e for e in joint.children if e.tag in ("axis", "axis2")]
        if kind == "universal" or (kind == "spherical" and any(_acting(axis) for axis in axes)):
            return False
        return not any("friction" in _acting(axis) or axis.first("mimic") or axis.first("limit") for axis in axes)

    def loop(self, joint: RigidJoint) -> RigidLoop:
        """A joint above a link that has one already."""
        own = self.between(joint.child, joint.name)
        axis = None if joint.axis is None else own[:3, :3].T @ joint.axis
        ends = (joint.child, own), (joint.parent, self.between(joint.parent, joint.name))
        kept = () if joint.kind == "spherical" else ("damping", "stiffness", "rest")
        if set(joint.acting) - set(kept):
            self.leftovers.add("springs", joint.name, joint.element.place)
            joint.acting = {key: value for key, value in joint.acting.items() if key in kept}
        if joint.mimic is not None:
            hint = "let the joint that leads follow this one"
            self.mistakes.note(joint.element.place_of("mimic"), "no mimic in a joint that closes a ring", "one", hint)
        if joint.kind == "universal":
            hint = "let another joint close it"
            self.mistakes.note(joint.element.place, "a joint that can close a ring", f"a {joint.word} one", hint)
        return RigidLoop(
            joint.name, joint.kind, *ends, joint.element.place, axis, joint.pitch, joint.acting, joint.limits
        )

    def couple(self, name: str, gearbox: Element, joints: dict[str, RigidJoint]) -> None:
        """Let one revolute joint follow another: angles of two links on a reference body, theta_2 = -ratio theta_1."""
        ends: list[tuple[RigidJoint, float]] = []
        body = gearbox.first("gearbox_reference_body")
        if body is None:
            self.mistakes.note(gearbox.place, "an element <gearbox_reference_body> in it", "none")
            return
        on = self.carrier(self.known(body.text.strip(), self.scope[name], body, "link"))
        for tag, direction in (("parent", "axis"), ("child", "axis2")):
            end, axis = gearbox.first(tag), gearbox.first(direction)
            assert end is not None  # checked
            link = self.carrier(self.known(end.text.strip(), self.scope[name], end, "link"))
            found = [j for j in joints.values() if {j.parent, j.child} == {on, link} and j.kind == "revolute"]
            if axis is None or len(found) != 1:
                what = f"a revolute joint between {shown(on)} and {shown(link)}, and its <{direction}>"
                self.mistakes.note(end.place, what, "none" if axis is not None else f"no <{direction}>")
                return
            wanted, joint_axis = self.direction(name, axis, self.between(link, name), link), found[0].axis
            assert joint_axis is not None  # of a revolute one
            along = float(wanted @ self.between(link, found[0].child)[:3, :3] @ joint_axis)
            size = float(np.linalg.norm(wanted) * np.linalg.norm(joint_axis))
            if not abs(along) > (1.0 - PARALLEL) * size > 0.0:
                self.mistakes.note(axis.place, f"the axis of the joint {shown(found[0].name)}", "another one")
                return
            ends.append((found[0], math.copysign(1.0, along if found[0].child == link else -along)))
        (leader, first), (follower, second) = ends
        if follower.mimic is not None:
            self.mistakes.note(gearbox.place, f"one leader of the joint {shown(follower.name)}", "a second one")
            return
        follower.mimic = Mimic(leader.name, -_number(gearbox, "gearbox_ratio", 1.0) * first * second, 0.0)

    def pitch(self, joint: Element) -> float:
        """Pitch of a screw [m/rad], from metres per turn, or the older radians per metre with the other sign."""
        turns, radians = joint.first("screw_thread_pitch"), joint.first("thread_pitch")
        new = None if turns is None else _number(joint, "screw_thread_pitch", 0.0) / (2.0 * math.pi)
        if radians is None:
            if new is None:
                self.mistakes.note(joint.place, "an element <screw_thread_pitch> in it, m per turn", "none")
            return new or 0.0
        given = _number(joint, "thread_pitch", 0.0)
        if given == 0.0:
            self.mistakes.note(radians.place, "a number other than 0, rad per m", "0")
            return 0.0
        if new is not None and not math.isclose(-1.0 / given, new, rel_tol=1e-3):
            expected = f"the pitch of <screw_thread_pitch>, {-1.0 / new:g} rad per m" if new else "no second pitch"
            self.mistakes.note(radians.place, expected, f"{given:g}", "leave it out")
        return -1.0 / given if new is None else new

    def direction(self, name: str, axis: Element, own: Array, child: str) -> Array:
        """An axis in the frame of the child."""
        xyz, old = axis.first("xyz"), axis.first("use_parent_model_frame")
        assert xyz is not None  # checked
        frame = own
        if given := xyz.attributes.get("expressed_in"):
            frame = self.between(child, self.known(given, self.scope[name], xyz, "frame"))
        elif self.old or (old is not None and _is_true(old)):
            frame = self.between(child, self.own_model(name))
        return np.array(frame[:3, :3] @ _numbers(xyz))

    def limits(self, axis: Element) -> tuple[float, float] | None:
        limit, ends = axis.first("limit"), []
        for tag, side in (("lower", -math.inf), ("upper", math.inf)):
            element = limit.first(tag) if limit is not None else None
            text = element.text.strip().lower() if element is not None else ""
            if element is not None and not re.fullmatch(r"[-+]?inf", text) and not are_numbers(text, 1):
                self.mistakes.note(element.place, f"a number in <{tag}>", shown(element.text.strip()))
                text = ""
            end = float(text or side)
            ends.append(end if abs(end) < UNLIMITED else math.copysign(math.inf, end))
        return None if all(map(math.isinf, ends)) else (ends[0], ends[1])

    def inertia(self, link: Element) -> Inertia | None:
        inertial = link.first("inertial")
        if inertial is None:
            return Inertia(1.0, np.zeros(3), np.eye(3))
        if inertial.attributes.get("auto", "").strip() in ("true", "1") or inertial.first("density") is not None:
            hint = "gz sdf -p --expand-auto-inertials model.sdf > whole.sdf writes them out"
            self.mistakes.note(inertial.place, "mass and moments of inertia in numbers", "automatic ones", hint)
        moments = inertial.first("inertia")
        xx, yy, zz, xy, xz, yz = (_number(moments, f"i{tag}", float(tag[0] == tag[1])) for tag in TAGS)
        mass, at = _number(inertial, "mass", 1.0), self.placed(inertial, link)
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if not (mass or matrix.any()):
            return None
        texts = {child.tag: child.text for child in moments.children} if moments is not None else {}
        written = [texts.get(f"i{tag}", "1" if tag[0] == tag[1] else "0") for tag in TAGS]
        return moved(Inertia(mass, np.zeros(3), matrix, rounding(written[:3], written[3:], mass, at[:3, 3])), at)

    # -- what is drawn, and what touches -------------------------------------------------------------------------------

    def shapes(self, link: Element, tag: str) -> Iterator[Visual]:
        """Shapes of a link, by ``visual`` or ``collision``; a picture that cannot be drawn refuses no robot."""
        for one in link.all(tag) if self.taken[tag] else ():
            outer, self.mistakes = self.mistakes, Mistakes()
            shape = self.shape(one, link, tag)
            noted, self.mistakes = self.mistakes, outer
            # not what is wrong with the frames that its pose is relative to
            inside = {element.place for element in one.walk()} if tag == "visual" else set()
            undrawn = [mistake for mistake in noted if mistake.place in inside]
            self.mistakes += [mistake for mistake in noted if mistake.place not in inside]
            if undrawn:
                problem = undrawn[0].problem
                self.remarks.add(UNDRAWN, f"expected {problem.expected}, got {problem.got}", undrawn[0].place)
            elif shape is not None:
                yield shape

    def shape(self, visual: Element, link: Element, tag: str) -> Visual | None:
        """One of them; None of planes and the like."""
        geometry, material = visual.first("geometry"), visual.first("material")
        assert geometry is not None  # checked
        shape = next(child for child in geometry.children if child.tag in SDF.rules["geometry"].one_of)
        block = _block(shape)
        if not block and tag == "collision":
            self.remarks.add(UNTOUCHED, f"a {shape.tag}", visual.place)
        if not block:
            return None
        diffuse = material.first("diffuse") if material is not None else None
        colour = ""
        if diffuse is not None and not (are_numbers(diffuse.text, 4) or are_numbers(diffuse.text, 3)):
            self.mistakes.note(diffuse.place, "red, green, blue and alpha in <diffuse>", shown(diffuse.text.strip()))
        elif diffuse is not None:
            colour = colour_code(_numbers(diffuse)[:3])
        return Visual(block, self.placed(visual, link), colour, visual.place)


def _block(shape: Element) -> dict[str, Any]:
    """The block of a shape; none of planes and the like, which are not drawn."""
    if shape.tag == "mesh":
        uri, scale = shape.first("uri"), shape.first("scale")
        assert uri is not None  # checked
        return {"mesh": {"file": uri.text.strip(), "scale": [1.0] * 3 if scale is None else _numbers(scale)}}
    if shape.tag not in SIZED:
        return {}
    several = {tag: _numbers(own) for tag in ("size", "radii") if (own := shape.first(tag)) is not None}
    single = {tag: _number(shape, tag, 0.0) for tag in ("radius", "length") if shape.first(tag) is not None}
    return {shape.tag: {**several, **single}}


def _acting(axis: Element) -> dict[str, float]:
    """What acts along an axis, where it is not zero."""
    keys = {"damping": "damping", "friction": "friction", "stiffness": "spring_stiffness", "rest": "spring_reference"}
    found = {key: _number(axis.first("dynamics"), tag, 0.0) for key, tag in keys.items()}
    return {key: value for key, value in found.items() if value}


def _numbers(element: Element) -> list[float]:
    return [float(word) for word in element.text.split()]


def _number(element: Element | None, tag: str, default: float) -> float:
    """The number in a child of an element."""
    child = element.first(tag) if element is not None else None
    return float(default if child is None else child.text)


def _is_true(element: Element) -> bool:
    return element.text.strip() in ("true", "1")
