"""From a tree of rigid links to links of a file.

Links that are fixed to each other move as one: the uppermost carries the mass and the shapes of all of them and has
the others as frames, under their names. What is made are nodes at the places where the imported file says it, so
whatever is found wrong with them later, as an inertia that no body has, points there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import Place, shown
from sorosim.base.validation import LARGEST
from sorosim.files.meshes import mesh_of
from sorosim.files.nodes import MAX_VALUES, Mistakes, Node
from sorosim.files.parameters import escaped
from sorosim.files.rigid.inertia import NEGLIGIBLE, Inertia, excess, moved, nearest_possible, total
from sorosim.files.rigid.meshes import mesh_file
from sorosim.files.rigid.remarks import CONVEX, FOLLOWING, MENDED, RENAMED, UNDRAWN, UNDRIVEN, UNTOUCHED, Remarks
from sorosim.files.rigid.tree import RigidJoint, RigidLoop, RigidTree, Start
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.joints.base import sliding, turning
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.pose import pose_data

FIXED, FREE, COUPLED = "fixed", "free", "coupled"
DIFFERENT = 1e-3  # rad or m, by which a joint may start elsewhere than where it follows to without a remark
STILL = {"parent": WORLD, "joint": FIXED}  # where a robot is mounted so that its base does not move


@dataclass(frozen=True)
class Options:
    """How a robot is imported; values of the ``import`` block as nodes, where they end in links."""

    language: str
    prefix: str = ""
    mount: dict[str, Node] = field(default_factory=dict)  # parent, at and joint of the root
    stops: dict[str, Node] = field(default_factory=dict)  # stiffness of end stops by kind of joint
    mimic: str = COUPLED
    inertia: str = "check"
    package_dirs: tuple[FilePath, ...] = ()
    allow_outside: bool = False


@dataclass
class Imported:
    """Links of a robot that was imported.

    Parameters
    ----------
    links : dict of str to Node
        By their names in the file.
    loops : dict of str to Node
        Joints that close chains.
    actuators : dict of str to Node
        Motors in joints.
    couplings : dict of str to Node
        Of joints that follow others, by the names of these joints.
    starts : dict of str to (str, Node)
        Where joints start, by their links: the key in the block ``initial``, and what it says.
    frames : dict of str to str
        Links that are frames of others: the link that carries each.
    bare : dict of str to Place
        Links that move and have no mass, nor has anything imported on them.
    gravity : Node, optional
        Acceleration of gravity, where a robot's file says it.
    meshes : dict
        Meshes that were read, by file and scale.
    """

    links: dict[str, Node] = field(default_factory=dict)
    loops: dict[str, Node] = field(default_factory=dict)
    couplings: dict[str, Node] = field(default_factory=dict)
    actuators: dict[str, Node] = field(default_factory=dict)
    starts: dict[str, tuple[str, Node]] = field(default_factory=dict)
    frames: dict[str, str] = field(default_factory=dict)
    bare: dict[str, Place] = field(default_factory=dict)
    gravity: Node | None = None
    meshes: dict[tuple[str, Any], Mesh] = field(default_factory=dict)


def imported(robot: RigidTree, file: FilePath, options: Options, mistakes: Mistakes, remarks: Remarks) -> Imported:
    """The links of a robot; what cannot be one is noted, what is not as the file says it is remarked on."""
    return _Importer(robot, file, options, mistakes, remarks).all()


class _Importer:
    """Makes the links of one robot. Names are those of its file until they are written into nodes."""

    def __init__(
        self, robot: RigidTree, file: FilePath, options: Options, mistakes: Mistakes, remarks: Remarks
    ) -> None:
        self.robot, self.file, self.options, self.mistakes, self.remarks = robot, file, options, mistakes, remarks
        self.room = MAX_VALUES // 2  # for numbers of meshes
        self.meshes: dict[tuple[str, Any], Mesh] = {}
        self.unread: dict[tuple[str, Any], str] = {}  # mesh files that cannot be drawn, and why
        self.joints = {joint.name: joint for joint in robot.joint_of.values()}
        self.names = self.known_names()
        self.tops = self.top_links()
        self.carrier: dict[str, tuple[str, Array]] = {}  # of each link: what it moves with, and its pose there
        for top in self.tops:
            self.carry(top)

    def known_names(self) -> dict[str, str]:
        """Names of links in the file: only letters, digits, _ and -."""
        found: dict[str, str] = {}
        for name in self.robot.links:
            own, link = self.known_as(name), self.robot.links[name]
            has_body = link.inertia is not None or link.visuals or link.collisions
            if own == WORLD and (name != self.robot.root or has_body):
                own = f"{WORLD}_link"
                self.remarks.add(RENAMED, f"the link 'world' is '{own}'", link.element.place)
            if own in found.values():
                hint = "signs that a name here cannot have become _"
                self.mistakes.note(
                    self.robot.links[name].element.place, "names of links that differ", f"{shown(own)} twice", hint
                )
            found[name] = own
        return found

    def known_as(self, name: str) -> str:
        """A name as it may stand in the file."""
        own = self.options.prefix + re.sub(r"[^\w-]", "_", name)
        return own if re.match(r"\w", own) else f"_{own}"

    def top_links(self) -> list[str]:
        """Links that hang on the parent of the robot: the root, or if that is the world itself, its children."""
        root, robot = self.robot.root, self.robot
        if self.names[root] != WORLD:
            return [root]
        return robot.children[root]

    def carry(self, top: str) -> None:
        """Find what each link moves with, from the top down."""
        waiting = [(top, top, np.eye(4))]
        while waiting:
            name, carrier, g = waiting.pop()
            self.carrier[name] = carrier, g
            for child in self.robot.children[name]:
                locked = self.locked_pose(self.robot.joint_of[child])
                waiting.append((child, child, np.eye(4)) if locked is None else (child, carrier, g @ locked))

    def locked_pose(self, joint: RigidJoint) -> Array | None:
        """Pose (4, 4) of a link that does not move on its parent; None of one that moves."""
        if joint.kind == FIXED:
            return joint.pose
        if not self.is_locked(joint):
            return None
        size = 0.0 if joint.axis is None else float(np.linalg.norm(joint.axis))
        if joint.kind not in ("revolute", "prismatic") or size == 0.0:
            what = "a joint that mimics, and so has one coordinate and an axis"
            self.mistakes.note(joint.element.place, what, f"a {joint.word} one" if size else "no axis")
            return joint.pose
        assert joint.axis is not None  # its size is not zero
        axis = joint.axis / size
        twist = turning(axis, joint.through) if joint.kind == "revolute" else sliding(axis)
        return np.asarray(joint.pose @ exp_se3(self.mimicked(joint) * twist))

    def chain(self, joint: RigidJoint) -> list[RigidJoint]:
        """A joint, the one that it follows, and so on, up to one that follows none, is fixed, or whose leader is none.

        A leader that is in the chain already is none. What is locked follows none.
        """
        chain, seen = [joint], {joint.name}
        while (mimic := chain[-1].mimic) is not None and (len(chain) == 1 or chain[-1].kind != FIXED):
            if mimic.leader in seen or mimic.leader not in self.joints:
                break
            chain.append(self.joints[mimic.leader])
            seen.add(mimic.leader)
        return chain

    def is_locked(self, joint: RigidJoint) -> bool:
        """Whether a joint does not move: it is locked, or follows, and all that do are to be, or its leader is."""
        if joint.locked_at is not None:
            return True
        if joint.mimic is None or self.options.mimic != COUPLED:
            return joint.mimic is not None and self.options.mimic == FIXED
        chain = self.chain(joint)
        return any(one.kind == FIXED or one.locked_at is not None for one in chain[1:]) or any(
            one.mimic is not None and one.mimic.multiplier == 0.0 for one in chain
        )

    def mimicked(self, joint: RigidJoint) -> float:
        """Value of a joint where the one that leads all it mimics is at zero, or where it is locked."""
        chain = self.chain(joint)
        last = chain[-1]
        value = last.locked_at or 0.0
        if last.mimic is not None and not (len(chain) > 1 and last.kind == FIXED):
            leader = last.mimic.leader
            hint = "joints that mimic each other in a ring" if leader in self.joints else nearest(leader, self.joints)
            hint = f"{hint}; mimic: free gives it coordinates of its own".removeprefix("; ")
            self.mistakes.note(last.element.place_of("mimic"), "the name of another joint", shown(leader), hint)
        for one in reversed(chain[:-1]):
            assert one.mimic is not None  # all but the last follow
            value = one.mimic.multiplier * value + one.mimic.offset
        return float(value)

    def all(self) -> Imported:
        """All links that stand for themselves, in the order of the file."""
        groups: dict[str, list[str]] = {}
        for name in self.robot.links:  # in the order of the file
            if name in self.carrier:
                groups.setdefault(self.carrier[name][0], []).append(name)
        out = Imported(meshes=self.meshes)
        light = self.without_mass(groups)
        for carrier, group in groups.items():
            out.links[self.names[carrier]] = self.link(carrier, group)
            out.frames |= {self.names[name]: self.names[carrier] for name in group if name != carrier}
            if carrier in light and carrier not in self.tops:
                out.bare[self.names[carrier]] = self.robot.links[carrier].element.place
        for loop in self.robot.loops:
            out.loops[self.new_name(loop.name, out.loops)] = self.loop(loop)
        out.actuators = self.actuators()
        if self.options.mimic == COUPLED:
            out.couplings = self.couplings(out.loops)
        if self.robot.start is not None:
            out.starts = dict(self.starts(self.robot.start))
        if self.robot.gravity is not None:
            out.gravity = _node(self.robot.gravity.tolist(), self.robot.links[self.robot.root].element.place)
        return out

    def loop(self, loop: RigidLoop) -> Node:
        """A joint that closes a chain."""
        if loop.limits is not None and loop.kind in self.options.stops:
            hint = "joints that close rings have none: leave them out, or cut the ring at another joint"
            self.mistakes.note(loop.place, "no end stops in a joint that closes a ring", "limits", hint)
        own = {"axis": None if loop.axis is None else loop.axis.tolist(), "pitch": loop.pitch or None, **loop.acting}
        own = {key: value for key, value in own.items() if value is not None}
        joint, place = _node({loop.kind: own} if own else loop.kind, loop.place), loop.place
        return Node({"joint": joint, "from": self.end(*loop.moved, place), "to": self.end(*loop.fixed, place)}, place)

    def end(self, link: str, pose: Array, place: Place) -> Node:
        """A frame on a link, on what carries that."""
        mount, before = self.options.mount, []
        if link in self.carrier:
            carrier, g = self.carrier[link]
            on, pose = _node(self.names[carrier], place), g @ pose
        else:  # the world of the file
            on = mount.get("parent", _node(WORLD, place))
            before = mount["at"].items if "at" in mount else []
        at = pose_data(pose)
        poses = [*before, *([_node(at, place)] if at else [])]
        entries = {"link": on, **({"at": poses[0] if len(poses) == 1 else Node(poses, place)} if poses else {})}
        return Node(entries, place)

    def actuators(self) -> dict[str, Node]:
        """Motors in the joints that move."""
        out: dict[str, Node] = {}
        for one in self.robot.actuators:
            joint = self.joints[one.joint]
            if self.locked_pose(joint) is not None:
                self.remarks.add(UNDRIVEN, f"{shown(one.name)}, whose joint is locked", one.place)
            else:
                block = {one.kind: {"link": self.names[joint.child], **one.values}}
                out[self.new_name(one.name, out)] = _node(block, one.place)
        return out

    def starts(self, start: Start) -> Iterator[tuple[str, tuple[str, Node]]]:
        """Where joints start that follow none; of one that does, what it would be elsewhere is remarked on."""
        values = {name: block.get("value", 0.0) for name, block in start.joints.items()}
        for name, block in start.joints.items():
            joint = self.joints[name]
            if not self.is_locked(joint) and (joint.mimic is None or self.options.mimic == FREE):
                link = self.names[joint.child]
                key = link if "value" not in block else f"{link}.{joint.kind}"
                yield link, (key, _node(block, start.place))
                continue
            now = self.mimicked(joint)
            if joint.mimic is not None and not self.is_locked(joint):
                now = joint.mimic.multiplier * values.get(joint.mimic.leader, 0.0) + joint.mimic.offset
            if abs(values[name] - now) > DIFFERENT:
                self.remarks.add(FOLLOWING, f"{shown(name)} at {now:.6g}, not {values[name]:.6g}", start.place)

    def new_name(self, name: str, *taken: Collection[str]) -> str:
        """A name as it may stand in the file, and that nothing else has."""
        own = self.known_as(name)
        numbered = itertools.chain([own], (f"{own}_{n}" for n in itertools.count(2)))
        return next(one for one in numbered if not any(one in names for names in taken))

    def couplings(self, loops: Collection[str]) -> dict[str, Node]:
        """Joints that follow others; what cannot be coupled is noted."""
        out: dict[str, Node] = {}
        for joint in self.joints.values():
            if joint.mimic is None or joint.kind == FIXED or self.is_locked(joint):
                continue
            n, place = len(self.mistakes), joint.element.place_of("mimic")
            self.mimicked(joint)
            if len(self.mistakes) > n:
                continue
            for one in (joint, self.joints[joint.mimic.leader]):
                if one.kind not in ("revolute", "prismatic", "helical"):
                    hint = "mimic: free gives it coordinates of its own, mimic: fixed holds it"
                    what = "joints that follow and lead with one coordinate"
                    self.mistakes.note(place, what, f"{shown(one.name)}, a {one.word} one", hint)
            ends = {"link": joint.child, "leader": self.joints[joint.mimic.leader].child}
            numbers = {"ratio": joint.mimic.multiplier, "offset": joint.mimic.offset}
            block = {key: self.names[link] for key, link in ends.items()} | numbers
            out[self.new_name(joint.name, out, loops)] = _node(block, place)
        return out

    def without_mass(self, groups: dict[str, list[str]]) -> set[str]:
        """Links that have no mass, nor has anything on them."""
        heavy: set[str] = set()
        for name, link in self.robot.links.items():
            if link.inertia is not None and link.inertia.mass > 0.0:
                while name in self.carrier and self.carrier[name][0] not in heavy:
                    name = self.carrier[name][0]
                    heavy.add(name)
                    name = self.robot.joint_of[name].parent if name in self.robot.joint_of else ""
        return set(groups) - heavy

    # -- one link ------------------------------------------------------------------------------------------------------

    def link(self, name: str, group: list[str]) -> Node:
        """A link with all that is fixed to it."""
        place = self.robot.links[name].element.place
        entries: dict[str, Node] = self.mounted(name) if name in self.tops else self.jointed(name)
        body = self.body(name, group)
        if body is not None:
            entries["body"] = body
        shapes = [shape for part in group for shape in self.visuals(part)]
        if shapes:
            entries["visual"] = Node(shapes, shapes[0].place, place)
        touching = [shape for part in group for shape in self.collisions(part)]
        if touching:
            entries["collision"] = Node(touching, touching[0].place, place)
        frames = {
            self.names[part]: _node(pose_data(self.carrier[part][1]), self.robot.links[part].element.place)
            for part in group
            if part != name
        }
        if frames:
            entries["frames"] = Node(frames, place, place)
        return Node(entries, place, place)

    def mounted(self, name: str) -> dict[str, Node]:
        """Joint and place of a link at the top."""
        mount, place = dict(self.options.mount), self.robot.links[name].element.place
        if name == self.robot.root:
            at = pose_data(self.robot.pose)
            if self.robot.floats and not mount:
                mount["joint"] = Node("free", place, place)
            if at and "at" not in mount and "parent" not in mount:
                mount["at"] = _node(at, self.robot.links[name].element.place_of("origin"))
            return mount
        # the root is the world of the file: the joints below it are those of the top
        own = self.jointed(name, top=True)
        if "joint" in mount and mount["joint"].value != FIXED and ("joint" in own or len(self.tops) > 1):
            got = "a robot that has joints there already, on its link 'world'"
            self.mistakes.note(mount["joint"].key or mount["joint"].place, "no joint to move it by", got)
        if "at" in mount and "at" in own:
            own["at"] = Node([*mount["at"].items, own["at"]], mount["at"].place, mount["at"].key)
        return {**mount, **own}

    def jointed(self, name: str, top: bool = False) -> dict[str, Node]:
        """Parent, pose and joint of a link below another."""
        joint = self.robot.joint_of[name]
        place = joint.element.place
        out: dict[str, Node] = {}
        locked = self.locked_pose(joint) if top else None
        at = pose_data(joint.pose if locked is None else locked)
        if not top:
            carrier = self.carrier[joint.parent][0]
            out["parent"] = Node(self.names[carrier], joint.element.place_of("parent"), place)
            if joint.parent != carrier:
                at["frame"] = self.names[joint.parent]
        if at:
            out["at"] = _node(at, joint.element.place_of("origin"))
        if locked is None:
            out["joint"] = self.joint(joint, place)
        return out

    def joint(self, joint: RigidJoint, place: Place) -> Node:
        """A joint that moves: its axes, what acts in it, and its end stops."""
        element, entries = joint.element, dict[str, Node]()
        geometry = {"axis": joint.axis, "second_axis": joint.second_axis, "through": joint.through}
        for key, value in geometry.items():
            if value is not None and joint.kind not in ("free", "spherical") and (key != "through" or value.any()):
                where = element.place_of("axis2" if key == "second_axis" else "axis")
                entries[key] = _node(value.tolist(), where)
        if joint.pitch:
            entries["pitch"] = _node(joint.pitch, element.place_of("axis"))
        entries |= {key: _node(value, element.place_of("dynamics")) for key, value in joint.acting.items()}
        stiffness = self.options.stops.get(joint.kind)
        if joint.limits is not None and stiffness is not None:
            where = element.place_of("limit")
            ends = dict(zip(("low", "high"), joint.limits, strict=True))
            stop = _node({key: end for key, end in ends.items() if np.isfinite(end)}, where).value
            entries["limits"] = Node({**stop, "stiffness": stiffness}, where, where)
        return (
            Node({joint.kind: Node(entries, place, place)}, place, place) if entries else Node(joint.kind, place, place)
        )

    def body(self, name: str, group: list[str]) -> Node | None:
        """Mass, centre and inertia of all links that move as one."""
        parts = {
            part: moved(own, self.carrier[part][1])
            for part in group
            if (own := self.robot.links[part].inertia) is not None
        }
        huge = [part for part, own in parts.items() if not np.abs([own.mass, *own.inertia.flat]).max() <= LARGEST]
        for part in huge:
            place = self.robot.links[part].element.place_of("inertial")
            self.mistakes.note(place, f"mass and moments below {LARGEST:g}", "larger ones")
        parts = {part: own for part, own in parts.items() if part not in huge}
        negative = [part for part, own in parts.items() if own.mass < 0.0]
        for part in negative:
            place = self.robot.links[part].element.place_of("inertial", "mass")
            self.mistakes.note(place, "a mass of 0 or more", f"{parts[part].mass:g}")
        if not parts or negative:
            return None
        first = self.robot.links[name if name in parts else next(iter(parts))].element
        if not any(own.mass for own in parts.values()):
            if self.stands(name):
                return None
            first = self.robot.links[next(iter(parts))].element
            hint = "leave <inertial> out of a link without mass"
            if name in self.tops:
                hint = "joint: fixed in the `import` block has it stand in the world, where it needs none"
            self.mistakes.note(first.place_of("inertial", "mass"), "a mass to its inertia", "0", hint)
            return None
        whole = total(list(parts.values()))
        if over := excess(whole.inertia):
            parts = {part: self.possible(part, own) for part, own in parts.items()}
            whole = total(list(parts.values()))
        accepted = over and excess(whole.inertia)
        xx, xy, xz, _, yy, yz, _, _, zz = whole.inertia.ravel().tolist()
        moments = [xx, yy, zz, xy, xz, yz] if any((xy, xz, yz)) else [xx, yy, zz]
        entries = {
            "mass": _node(whole.mass, first.place_of("inertial", "mass")),
            **({"centre": _node(whole.centre.tolist(), first.place_of("inertial", "origin"))}
               if whole.centre.any() else {}),
            "inertia": _node(moments, first.place_of("inertial", "inertia")),
            **({"physical": _node(False, first.place_of("inertial", "inertia"))} if accepted else {}),
        }  # fmt: skip
        place = first.place_of("inertial")
        return Node(entries, place, place)

    def stands(self, name: str) -> bool:
        """Whether a link is fixed to the world."""
        mount, robot = self.options.mount, self.robot
        if name not in self.tops or any(mount[key].value != still for key, still in STILL.items() if key in mount):
            return False
        if name == robot.root:
            return not robot.floats or bool(mount)
        return self.locked_pose(robot.joint_of[name]) is not None

    def possible(self, name: str, own: Inertia) -> Inertia:
        """Mass properties that a body may have, as the option says; what is refused is noted."""
        over = excess(own.inertia)
        moments = np.linalg.eigvalsh(own.inertia)
        positive = moments[0] >= -NEGLIGIBLE * moments[2]
        if not over or (self.options.inertia == "accept" and positive):
            return own
        place = self.robot.links[name].element.place_of("inertial", "inertia")
        mended = own._replace(inertia=nearest_possible(own.inertia))
        if self.options.inertia == "mend" or over <= own.rounding:
            change = np.abs(mended.inertia - own.inertia).max()
            most = f", {change / np.abs(moments).max():.2g} of the largest" if moments.any() else ""
            now = _listed(np.linalg.eigvalsh(mended.inertia))
            why = "" if self.options.inertia == "mend" else " within the rounding of its digits,"
            what = f"principal moments {_listed(moments)} became {now},{why} changed by up to {change:.2g} kg m^2{most}"
            self.remarks.add(MENDED, what, place)
            return mended
        try:
            RigidBody(1.0, inertia=(*np.diag(own.inertia).tolist(), *own.inertia[[0, 0, 1], [1, 2, 2]].tolist()))
        except ModelError as error:
            hint = "inertia: mend in the `import` block takes the nearest that a body has"
            hint += ", inertia: accept the numbers as they are" if positive else ""
            self.mistakes.note(place, error.expected, error.got, hint)
        return mended

    # -- what is drawn -------------------------------------------------------------------------------------------------

    def visuals(self, name: str) -> Iterator[Node]:
        """Shapes of a link, in the frame of what carries it; what cannot be drawn is remarked on."""
        for visual in self.robot.links[name].visuals:
            mesh = visual.shape.get("mesh", {})
            shape = self.mesh(mesh, visual.place) if "file" in mesh else self.solid(visual.shape, visual.place)
            if shape is None:
                continue
            at = pose_data(self.carrier[name][1] @ visual.pose)
            block = {**shape, **({"at": at} if at else {}), **({"colour": visual.colour} if visual.colour else {})}
            yield _node(block, visual.place)

    def collisions(self, name: str) -> Iterator[Node]:
        """Shapes of a link that touch, in the frame of what carries it; of meshes their convex hulls."""
        for own in self.robot.links[name].collisions:
            shape = self.hull(own.shape["mesh"], own.place) if "mesh" in own.shape else own.shape
            if shape is None:
                continue
            at = pose_data(self.carrier[name][1] @ own.pose)
            yield _node({**shape, **({"at": at} if at else {})}, own.place)

    def hull(self, mesh: dict[str, Any], place: Place) -> dict[str, Any] | None:
        """The block of the convex hull of a mesh, by its corners; None of one that has none, or cannot be read."""
        name = shown(mesh.get("file", "of its own numbers"))
        if "file" not in mesh:
            found = Mesh(np.array(mesh["vertices"]), np.array(mesh["faces"]))
        elif (key := self.file_of(mesh, place, UNTOUCHED)) is not None:
            found = self.meshes[key]
        else:
            return None
        try:
            hull, inside = found.convex_hull()
        except ModelError as error:
            self.remarks.add(UNTOUCHED, f"a mesh, {name}, {error.got}", place)
            return None
        corners = f"a mesh, {name}, by {len(hull.vertices)} corners of its convex hull"
        self.remarks.add(CONVEX, f"{corners}, up to {1e3 * inside:.2g} mm inside it", place)
        return {"mesh": {"vertices": hull.vertices.tolist(), "faces": hull.faces.tolist()}}

    def solid(self, shape: dict[str, Any], place: Place) -> dict[str, Any] | None:
        """The block of a shape by its sizes; None where one of them is none."""
        ((kind, sizes),) = shape.items()
        if kind == "mesh":
            values = 4 * sum(map(len, sizes.values()))  # each row is one too
            if values > self.room:
                self.remarks.add(UNDRAWN, f"a mesh of {len(sizes['faces'])} triangles, too large for a text", place)
                return None
            self.room -= values
            return shape
        numbers = np.hstack([np.ravel(size) for size in sizes.values()])
        if numbers.min() > 0.0 and numbers.max() <= LARGEST:
            return shape
        self.remarks.add(UNDRAWN, f"a {kind} of {', '.join(f'{x:g}' for x in numbers)} m", place)
        return None

    def mesh(self, mesh: dict[str, Any], place: Place) -> dict[str, Any] | None:
        """The block of a mesh; None of one that cannot be drawn."""
        if (key := self.file_of(mesh, place, UNDRAWN)) is None:
            return None
        path, scale = key
        return {"mesh": {"file": escaped(path), **({} if scale == 1.0 else {"scale": np.array(scale).tolist()})}}

    def file_of(self, mesh: dict[str, Any], place: Place, remark: str) -> tuple[str, Any] | None:
        """Path and scale of a mesh that was read; None, with a remark, of one that cannot be."""
        name, scale = mesh["file"], mesh["scale"]
        one = len(set(scale)) == 1 and scale[0] > 0.0  # a mirror has three
        file = mesh_file(name, self.file, self.options.package_dirs)
        if file is None:
            why = "not found; package_dirs: [...] says where packages are"
        elif not (file.inside or self.options.allow_outside):
            why = (f"outside the folder and the package of the {self.options.language} file; allow_outside: true takes "
                   "it, if you trust the file")  # fmt: skip
        else:
            key = str(file.path), scale[0] if one else tuple(scale)
            if not (why := self.read_mesh(*key)):
                return key
        self.remarks.add(remark, f"{shown(name)}, {why}", place)
        return None

    def read_mesh(self, file: str, scale: float | tuple[float, ...]) -> str:
        """Read a mesh, once; "", or why it cannot be drawn."""
        key = file, scale
        if key not in self.meshes and key not in self.unread:
            try:
                if not np.all(scale):
                    raise ModelError("", "a scale other than 0", "0")
                self.meshes[key] = mesh_of(file, scale)
            except ModelError as error:
                hint = f"; {error.hint}" if error.hint else ""
                self.unread[key] = f"expected {error.expected}, got {error.got}{hint}"
        return self.unread.get(key, "")


def _listed(numbers: ArrayLike) -> str:
    return ", ".join(f"{x:.6g}" for x in np.ravel(numbers))


def _node(value: Any, place: Place) -> Node:
    """Nodes of plain data that is all written at one place."""
    if isinstance(value, dict):
        return Node({key: _node(entry, place) for key, entry in value.items()}, place, place)
    if isinstance(value, list):
        return Node([_node(entry, place) for entry in value], place, place)
    return Node(value, place, place)
