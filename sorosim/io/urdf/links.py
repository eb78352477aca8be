"""From URDF to links of a file.

Links that are fixed to each other move as one: the uppermost carries the mass and the shapes of all of them and has
the others as frames, under their names. What is made are nodes at the places where URDF says it, so whatever is found
wrong with them later, as an inertia that no body has, points there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from sorosim.arrays import Array
from sorosim.errors import nearest
from sorosim.io.nodes import Mistakes, Node
from sorosim.io.parameters import escaped
from sorosim.io.urdf.inertia import Inertia, inertia_of, total
from sorosim.io.urdf.meshes import mesh_file
from sorosim.io.urdf.robot import UrdfRobot
from sorosim.lie import exp_se3
from sorosim.model.link import WORLD
from sorosim.model.pose import pose_data
from sorosim.problems import Place, shown

KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "floating": "free", "planar": "planar",
}  # fmt: skip
FREE, FIXED = "free", "fixed"  # what may become of a joint that mimics another one


@dataclass(frozen=True)
class Options:
    """How a robot is imported; values of the ``import`` block as nodes, where they end in links."""

    prefix: str = ""
    mount: dict[str, Node] = field(default_factory=dict)  # parent, at and joint of the root
    stops: dict[str, Node] = field(default_factory=dict)  # stiffness of end stops by kind of joint
    mimic: str = ""
    package_dirs: tuple[FilePath, ...] = ()
    allow_outside: bool = False


@dataclass
class Imported:
    """Links of a robot that was imported.

    Parameters
    ----------
    links : dict of str to Node
        By their names in the file.
    frames : dict of str to str
        Links that are frames of others: the link that carries each.
    bare : dict of str to Place
        Links that move and have no mass, nor has anything of URDF on them.
    """

    links: dict[str, Node] = field(default_factory=dict)
    frames: dict[str, str] = field(default_factory=dict)
    bare: dict[str, Place] = field(default_factory=dict)


def imported(robot: UrdfRobot, file: FilePath, options: Options, mistakes: Mistakes) -> Imported:
    """The links of a robot; what cannot be one is noted."""
    return _Importer(robot, file, options, mistakes).all()


class _Importer:
    """Makes the links of one robot. Names are those of URDF until they are written into nodes."""

    def __init__(self, robot: UrdfRobot, file: FilePath, options: Options, mistakes: Mistakes) -> None:
        self.robot, self.file, self.options, self.mistakes = robot, file, options, mistakes
        self.names = self.known_names()
        self.tops = self.top_links()
        self.carrier: dict[str, tuple[str, Array]] = {}  # of each link: what it moves with, and its pose there
        for top in self.tops:
            self.carry(top)

    def known_names(self) -> dict[str, str]:
        """Names of links in the file: only letters, digits, _ and -."""
        found: dict[str, str] = {}
        for name in self.robot.links:
            own = self.options.prefix + re.sub(r"[^\w-]", "_", name)
            own = own if re.match(r"\w", own) else f"_{own}"
            if own in found.values():
                hint = "signs that a name here cannot have become _"
                self.mistakes.note(self.place("link", name), "names of links that differ", f"{shown(own)} twice", hint)
            found[name] = own
        return found

    def top_links(self) -> list[str]:
        """Links that hang on the parent of the robot: the root, or if that is the world itself, its children."""
        root, robot = self.robot.root, self.robot
        if self.names[root] != WORLD:
            return [root]
        if robot.links[root].inertial is not None or robot.links[root].visuals:
            hint = f"import it under a name: {{left: {{urdf: {self.file.name}}}}}"
            self.mistakes.note(self.place("link", root), "another name of a link with a body", "'world'", hint)
        return robot.children[root]

    def carry(self, top: str) -> None:
        """Find what each link moves with, from the top down."""
        waiting = [(top, top, np.eye(4))]
        while waiting:
            name, carrier, g = waiting.pop()
            self.carrier[name] = carrier, g
            for child in self.robot.children[name]:
                held = self.held(self.robot.joint_of[child])
                waiting.append((child, child, np.eye(4)) if held is None else (child, carrier, g @ held))

    def held(self, joint: Any) -> Array | None:
        """Pose (4, 4) of a link that does not move on its parent; None of one that moves."""
        origin = _origin(joint)
        if joint.type == "fixed":
            return origin
        if joint.mimic is None or self.options.mimic != FIXED:
            return None
        size = float(np.linalg.norm(joint.axis))
        if KINDS[joint.type] not in ("revolute", "prismatic") or size == 0.0:
            what = "a joint that mimics, and so has one coordinate and an axis"
            self.mistakes.note(self.place("joint", joint.name), what, f"a {joint.type} one" if size else "no axis")
            return origin
        return origin @ _moved(KINDS[joint.type], joint.axis / size, self.mimicked(joint, ()))

    def mimicked(self, joint: Any, followers: tuple[str, ...]) -> float:
        """Value of a joint where the one that leads all it mimics is at zero."""
        if joint.mimic is None:
            return 0.0
        leaders = {other.name: other for other in self.robot.joint_of.values()}
        leader, place = joint.mimic.joint, self.place("joint", joint.name, "mimic")
        if leader not in leaders or leader in (joint.name, *followers):
            hint = nearest(leader, leaders) if leader not in leaders else "joints that mimic each other in a ring"
            self.mistakes.note(place, "the name of another joint", shown(leader), hint)
            return 0.0
        before = self.mimicked(leaders[leader], (*followers, joint.name))
        factor = 1.0 if joint.mimic.multiplier is None else joint.mimic.multiplier
        return float(factor * before + (joint.mimic.offset or 0.0))

    def all(self) -> Imported:
        """All links that stand for themselves, in the order of the file."""
        for joint in self.robot.joint_of.values():
            if joint.mimic is not None and not self.options.mimic:
                hint = "mimic: free gives it a coordinate of its own, mimic: fixed holds it where its leader is at zero"
                got = f"{shown(joint.name)}, which mimics {shown(joint.mimic.joint)}"
                place = self.place("joint", joint.name, "mimic")
                self.mistakes.note(place, "joints that move on their own", got, hint)
        groups: dict[str, list[str]] = {}
        for name in self.robot.links:  # in the order of the file
            if name in self.carrier:
                groups.setdefault(self.carrier[name][0], []).append(name)
        out = Imported()
        light = self.without_mass(groups)
        for carrier, group in groups.items():
            out.links[self.names[carrier]] = self.link(carrier, group)
            out.frames |= {self.names[name]: self.names[carrier] for name in group if name != carrier}
            if carrier in light and carrier not in self.tops:
                out.bare[self.names[carrier]] = self.place("link", carrier)
        return out

    def without_mass(self, groups: dict[str, list[str]]) -> set[str]:
        """Links that have no mass, nor has anything on them."""
        heavy: set[str] = set()
        for name, link in self.robot.links.items():
            if link.inertial is not None and link.inertial.mass > 0.0:
                while name in self.carrier and self.carrier[name][0] not in heavy:
                    name = self.carrier[name][0]
                    heavy.add(name)
                    name = self.robot.joint_of[name].parent if name in self.robot.joint_of else ""
        return set(groups) - heavy

    # -- one link ------------------------------------------------------------------------------------------------------

    def link(self, name: str, group: list[str]) -> Node:
        """A link with all that is fixed to it."""
        place = self.place("link", name)
        entries: dict[str, Node] = self.mounted(name) if name in self.tops else self.jointed(name)
        body = self.body(name, group)
        if body is not None:
            entries["body"] = body
        shapes = [shape for part in group for shape in self.visuals(part)]
        if shapes:
            entries["visual"] = Node(shapes, shapes[0].place, place)
        frames = {
            self.names[part]: _node(pose_data(self.carrier[part][1]), self.place("link", part))
            for part in group
            if part != name
        }
        if frames:
            entries["frames"] = Node(frames, place, place)
        return Node(entries, place, place)

    def mounted(self, name: str) -> dict[str, Node]:
        """Joint and place of a link at the top."""
        mount = dict(self.options.mount)
        if name == self.robot.root:
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
        place = self.place("joint", joint.name)
        out: dict[str, Node] = {}
        held = self.held(joint) if top else None
        at = pose_data(_origin(joint) if held is None else held)
        if not top:
            carrier = self.carrier[joint.parent][0]
            out["parent"] = Node(self.names[carrier], self.place("joint", joint.name, "parent"), place)
            if joint.parent != carrier:
                at["frame"] = self.names[joint.parent]
        if at:
            out["at"] = _node(at, self.place("joint", joint.name, "origin"))
        if held is None:
            out["joint"] = self.joint(joint, place)
        return out

    def joint(self, joint: Any, place: Place) -> Node:
        """A joint that moves."""
        kind, entries = KINDS[joint.type], self.acting(joint)
        if kind != "free":
            entries = {"axis": _node(joint.axis.tolist(), self.place("joint", joint.name, "axis")), **entries}
        return Node({kind: Node(entries, place, place)}, place, place) if entries else Node(kind, place, place)

    def acting(self, joint: Any) -> dict[str, Node]:
        """Damping, friction and end stops of a joint."""
        out, where = {}, self.place("joint", joint.name, "dynamics")
        for key in ("damping", "friction"):
            value = float(getattr(joint.dynamics, key, None) or 0.0)
            if value and KINDS[joint.type] in ("free", "planar"):
                hint = "its coordinates differ in dimension: leave it out here"
                self.mistakes.note(where, f"no {key} in a {joint.type} joint", f"{value:g}", hint)
            elif value:
                out[key] = _node(value, where)
        limit, stiffness = joint.limit, self.options.stops.get(joint.type)
        if limit is not None and stiffness is not None:
            where = self.place("joint", joint.name, "limit")
            ends = {"low": limit.lower or 0.0, "high": limit.upper or 0.0}  # 0 where one is left out, by the format
            out["limits"] = Node({**_node(ends, where).value, "stiffness": stiffness}, where, where)
        return out

    def body(self, name: str, group: list[str]) -> Node | None:
        """Mass, centre and inertia of all links that move as one."""
        parts: list[tuple[str, Inertia]] = []
        for part in group:
            own = inertia_of(self.robot.links[part].inertial, self.carrier[part][1])
            if own is not None:
                parts.append((part, own))
                if own.mass < 0.0:
                    place = self.place("link", part, "inertial", "mass")
                    self.mistakes.note(place, "a mass of 0 or more", f"{own.mass:g}")
        if not parts:
            return None
        if any(own.mass < 0.0 for _, own in parts):
            return None
        if not any(own.mass for _, own in parts):
            place = self.place("link", parts[0][0], "inertial", "mass")
            self.mistakes.note(place, "a mass to its inertia", "0", "leave <inertial> out of a link without mass")
            return None
        first = name if name in dict(parts) else parts[0][0]
        whole = total([own for _, own in parts])
        xx, xy, xz, _, yy, yz, _, _, zz = whole.inertia.ravel().tolist()
        moments = [xx, yy, zz, xy, xz, yz] if any((xy, xz, yz)) else [xx, yy, zz]
        entries = {
            "mass": _node(whole.mass, self.place("link", first, "inertial", "mass")),
            **({"centre": _node(whole.centre.tolist(), self.place("link", first, "inertial", "origin"))}
               if whole.centre.any() else {}),
            "inertia": _node(moments, self.place("link", first, "inertial", "inertia")),
        }  # fmt: skip
        place = self.place("link", first, "inertial")
        return Node(entries, place, place)

    # -- what is drawn -------------------------------------------------------------------------------------------------

    def visuals(self, name: str) -> Iterator[Node]:
        """Shapes of a link, in the frame of what carries it."""
        # none were read where they are left out
        for visual, element in zip(
            self.robot.links[name].visuals, self.robot.written("link", name, "visual"), strict=False
        ):
            shape = self.shape(visual.geometry, element.place)
            if shape is None:
                continue
            at = pose_data(self.carrier[name][1] @ (np.eye(4) if visual.origin is None else visual.origin))
            colour = self.colour(visual.material)
            block = {**shape, **({"at": at} if at else {}), **({"colour": colour} if colour else {})}
            yield _node(block, element.place)

    def shape(self, geometry: Any, place: Place) -> dict[str, Any] | None:
        """The block of a shape; None of a mesh that is not found, which is noted."""
        if geometry.box is not None:
            return {"box": {"size": geometry.box.size.tolist()}}
        if geometry.cylinder is not None:
            return {"cylinder": {"radius": geometry.cylinder.radius, "length": geometry.cylinder.length}}
        if geometry.sphere is not None:
            return {"sphere": {"radius": geometry.sphere.radius}}
        mesh = geometry.mesh
        file = mesh_file(mesh.filename, self.file, self.options.package_dirs)
        if file is None:
            hint = "package_dirs: [...] says where packages are, visual: false leaves out what is drawn"
            self.mistakes.note(place, "a mesh file", f"{shown(mesh.filename)}, which is not found", hint)
            return None
        if not (file.inside or self.options.allow_outside):
            hint = "allow_outside: true in the `import` block takes it, if you trust the file"
            self.mistakes.note(
                place, "a mesh file in the folder or the package of the URDF file", shown(mesh.filename), hint
            )
            return None
        scale = [1.0] if mesh.scale is None else np.broadcast_to(mesh.scale, 3).tolist()
        one = len(set(scale)) == 1
        factor = {} if one and scale[0] == 1.0 else {"scale": scale[0] if one else scale}
        return {"mesh": {"file": escaped(str(file.path)), **factor}}

    def colour(self, material: Any) -> str:
        """Code of a colour; "" where none is given."""
        if material is None:
            return ""
        rgba = self.robot.colours.get(material.name) if material.color is None else material.color.rgba
        if rgba is None:
            return ""
        return "#" + "".join(f"{round(255 * min(max(x, 0.0), 1.0)):02x}" for x in rgba[:3].tolist())

    def place(self, tag: str, name: str, *inside: str) -> Place:
        """Where something is written."""
        return self.robot.place(tag, name, *inside)


def _origin(joint: Any) -> Array:
    return np.eye(4) if joint.origin is None else joint.origin


def _moved(kind: str, axis: Array, value: float) -> Array:
    """Motion (4, 4) of a revolute or prismatic joint by a value."""
    twist = np.concatenate([axis, np.zeros(3)] if kind == "revolute" else [np.zeros(3), axis])
    return np.asarray(exp_se3(value * twist))


def _node(value: Any, place: Place) -> Node:
    """Nodes of plain data that is all written at one place."""
    if isinstance(value, dict):
        return Node({key: _node(entry, place) for key, entry in value.items()}, place, place)
    if isinstance(value, list):
        return Node([_node(entry, place) for entry in value], place, place)
    return Node(value, place, place)
