"""MJCF: what MuJoCo compiles of a file, with the places where its bodies and joints are written.

MuJoCo itself knows defaults, angles, inertia of geoms and the frames of meshes. Coordinates of joints are zero in the
reference pose of the file, as links of sorosim have it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import FileError, nearest
from sorosim.base.problems import Place, shown
from sorosim.base.validation import LARGEST
from sorosim.files.meshes import FORMATS
from sorosim.files.nodes import Mistakes, Node, refusal
from sorosim.files.rigid.compilation import check_size, compiled
from sorosim.files.rigid.document import Element, read_document, root_in_words
from sorosim.files.rigid.inertia import Inertia
from sorosim.files.rigid.keyframes import UNSET, starts_of
from sorosim.files.rigid.leftovers import Leftovers
from sorosim.files.rigid.meshes import is_inside
from sorosim.files.rigid.remarks import UNTOUCHED, Remarks
from sorosim.files.rigid.tree import (
    Mimic,
    RigidActuator,
    RigidJoint,
    RigidLink,
    RigidLoop,
    RigidTree,
    Start,
    Visual,
    colour_code,
    made_tree,
    unused,
)
from sorosim.mechanics.model.pose import WORLD, Rotation

MAX_FILES = 50
# elements that name files of shapes and pictures, and attributes in which they do
ASSETS = ("mesh", "hfield", "texture", "skin", "flexcomp", "flex")
FILES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
NAMED = ("body", "joint", "freejoint", "geom", "site", "mesh")  # elements whose names begin paths
DRAWN_GROUPS = 3  # groups of geoms that MuJoCo's viewer shows
# what stands in blocks of its own, by the group that it is left out with
BLOCKS = {"sensor": "sensors", "keyframe": "keyframes", "contact": "contacts",
          "tendon": "tendons", "deformable": "deformables"}  # fmt: skip
PULL = ("stiffness", "damping", "frictionloss", "armature", "limited")  # what makes a tendon pull by itself
# of newer versions of MuJoCo, by joint or coordinate: zero where springs and dampers are linear
NOT_LINEAR = ("jnt_stiffnesspoly", "jnt_springyield", "dof_dampingpoly")
KINDS = ("free", "spherical", "prismatic", "revolute")  # by mujoco.mjtJoint


def read_mjcf(
    path: FilePath,
    leftovers: Leftovers,
    remarks: Remarks,
    *,
    visual: bool = True,
    collision: bool = False,
    outside: bool = False,
    keyframe: Node | None = None,
) -> RigidTree:
    """Read a file; ``visual`` and ``collision`` False leave out what is drawn, and touches.

    ``outside`` lets it include files of other folders, ``keyframe`` is the name of the one at which the robot starts.

    Raises
    ------
    FileError
        It cannot be read, or MuJoCo does not compile it, or not within its limits.
    """
    files = _Files(path, outside, remarks)
    root = files.read(path)
    if root.tag != "mujoco":
        place = root.place
        raise FileError(
            str(path), f"expected MJCF, whose root is <mujoco>, got {root_in_words(root)}", place.line, place.column
        )
    for element in root.walk():  # which MuJoCo takes for none
        if element.tag == "inertial" and (mass := element.attributes.get("mass", "")).strip().startswith("-"):
            files.mistakes.note(element.place, "a mass of 0 or more", mass.strip())
    files.check_assets(root)
    check_size(root, files.mistakes)
    files.mistakes.raise_if_any(str(path))
    reader = _Reader(root, compiled(path, root), leftovers, remarks, keyframe is not None)
    tree = reader.tree(visual, collision)
    return tree if keyframe is None else replace(tree, start=reader.start(keyframe))


@dataclass
class _Files:
    """Reads a file with all that it includes, which takes the place of its ``include`` elements."""

    path: FilePath
    outside: bool
    remarks: Remarks

    def __post_init__(self) -> None:
        self.mistakes, self.count = Mistakes(), 0

    def read(self, path: FilePath) -> Element:
        self.count += 1
        if self.count > MAX_FILES:
            raise FileError(str(self.path), f"expected at most {MAX_FILES} files that include each other, got more")
        return self.expanded(read_document(path, "MJCF", NAMED, self.remarks))

    def expanded(self, element: Element) -> Element:
        element.children = [found for child in element.children for found in self.included(child)]
        return element

    def included(self, element: Element) -> list[Element]:
        if element.tag == "model" and element.attributes.get("file"):  # a whole model, of which bodies are attached
            self.included(Element("include", element.attributes, element.place))
        if element.tag != "include":
            return [self.expanded(element)]
        name, folder = element.attributes.get("file", ""), self.path.parent
        path = folder / name
        if not name or not os.path.isfile(path):
            hint = f"paths of included files begin in the folder of {self.path.name}"
            got = f"{shown(name)}, which does not exist" if name else "none"
            self.mistakes.note(element.place, "a file to include", got, hint)
        elif not (self.outside or is_inside(path, folder)):
            hint = "allow_outside: true in the `import` block takes it, if you trust the file"
            self.mistakes.note(element.place, "a file in the folder of the MJCF file", shown(name), hint)
        else:
            return self.read(path).children
        return []

    def check_assets(self, root: Element) -> None:
        """Note files of meshes, pictures and heights that are outside of the folder of the file."""
        compilers = [element.attributes for element in root.walk() if element.tag == "compiler"]
        options = {key: value for own in compilers for key, value in own.items()}
        for element in root.walk() if not self.outside else ():
            names = [element.attributes[key] for key in FILES if element.attributes.get(key)]
            if element.tag not in ASSETS or not names:
                continue
            kind = "texturedir" if element.tag == "texture" else "meshdir"
            folder = self.path.parent / options.get(kind, options.get("assetdir", ""))
            for name in names:
                own = FilePath(name).name if options.get("strippath") == "true" else name
                if not is_inside(folder / own, self.path.parent):
                    hint = "allow_outside: true in the `import` block takes it, if you trust the file"
                    self.mistakes.note(element.place, "a file in the folder of the MJCF file", shown(name), hint)


class _Reader:
    """Makes a tree of one model."""

    def __init__(self, root: Element, model: Any, leftovers: Leftovers, remarks: Remarks, keyed: bool) -> None:
        self.root, self.model, self.leftovers, self.remarks = root, model, leftovers, remarks
        self.keyed = keyed  # whether the robot starts at a keyframe
        written = [model.body(i).name for i in range(1, model.nbody)]
        # names of links and of joints that are taken: what is called nothing gets another one
        self.taken = {WORLD, *filter(None, written)}
        self.taken_joints = {model.joint(j).name for j in range(model.njnt)}
        self.names = [WORLD, *(name or unused(f"body_{i}", self.taken) for i, name in enumerate(written, 1))]
        self.joint_names: dict[int, str] = {}
        self.bodies = self.written_bodies()
        self.sites: list[RigidLink] = []
        self.joints: list[RigidJoint] = []
        self.loops: list[RigidLoop] = []
        self.actuators: list[RigidActuator] = []

    def written_bodies(self) -> list[Element]:
        """The element of each body, by name where some were made by others; else that of the block of all."""
        worlds = list(self.root.all("worldbody"))
        written = [element for world in worlds for element in world.walk() if element.tag == "body"]
        world = worlds[0] if worlds else self.root
        if len(written) == len(self.names) - 1:
            return [world, *written]
        named = {element.attributes.get("name", ""): element for element in written}
        return [world, *(named.get(name, world) for name in self.names[1:])]

    def tree(self, visual: bool, collision: bool) -> RigidTree:
        """The tree, with what has no place in it noted."""
        m = self.model
        bodies = [RigidLink(name, self.bodies[i], self.inertia(i)) for i, name in enumerate(self.names)]
        links = [bodies[0]]
        for i in range(1, m.nbody):
            links += [*self.connect(i), bodies[i]]
        surroundings = RigidLink(unused("surroundings", self.taken), self.bodies[0])
        for i in range(m.ngeom):
            link = bodies[m.geom_bodyid[i]] if m.geom_bodyid[i] else surroundings
            link.visuals.extend(self.drawn(i, link.element) if visual else ())
            link.collisions.extend(self.touching(i, link.element) if collision else ())
        if surroundings.visuals or surroundings.collisions:
            links.append(surroundings)
            self.fix(WORLD, surroundings, np.eye(4))
        for i in range(m.nsite):
            self.add_site(i)
        self.constrain()
        self.drive()
        self.leave_out()
        gravity = np.zeros(3) if m.opt.disableflags & self.flag("GRAVITY") else np.array(m.opt.gravity)
        return made_tree(
            [*links, *self.sites], self.joints, WORLD, gravity=gravity, loops=self.loops, actuators=self.actuators
        )

    @staticmethod
    def flag(name: str) -> int:
        """Bit of something that ``<flag>`` turns off; 0 where this version of MuJoCo does not have it."""
        import mujoco

        return int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0))

    def fix(self, parent: str, link: RigidLink, pose: Array) -> None:
        self.joints.append(RigidJoint("", "fixed", parent, link.name, link.element, pose))

    def inertia(self, i: int) -> Inertia | None:
        m = self.model
        if not (i and m.body_mass[i]):
            return None
        R = _pose(m.body_ipos[i], m.body_iquat[i])[:3, :3]
        inertia = R @ np.diag(m.body_inertia[i]) @ R.T
        return Inertia(float(m.body_mass[i]), np.array(m.body_ipos[i]), 0.5 * (inertia + inertia.T))

    def connect(self, i: int) -> Iterator[RigidLink]:
        """Joints between a body and its parent; links without mass between them, where there are several."""
        m, name, element = self.model, self.names[i], self.bodies[i]
        first, n = m.body_jntadr[i], m.body_jntnum[i]
        parent, pose = self.names[m.body_parentid[i]], _pose(m.body_pos[i], m.body_quat[i])
        written = [e for e in element.children if e.tag in ("joint", "freejoint")]
        if not n:
            self.joints.append(RigidJoint("", "fixed", parent, name, element, pose))
        if m.body_mocapid[i] >= 0:
            self.leftovers.add("actuators", f"mocap {name}", element.place)
        if m.body_gravcomp[i]:
            self.leftovers.add("gravity", name, element.place)
        for k in range(n):
            own = m.joint(first + k).name
            child = name if k == n - 1 else unused(f"{name}_{own or k + 1}", self.taken)
            at = written[k] if len(written) == n else element
            if child != name:
                yield RigidLink(child, at)
            self.joint_names[first + k] = own or unused(child, self.taken_joints)
            self.joints.append(self.joint(first + k, self.joint_names[first + k], parent, child, at, pose))
            parent, pose = child, np.eye(4)

    def joint(self, j: int, name: str, parent: str, child: str, element: Element, pose: Array) -> RigidJoint:
        """One joint, with what acts in it."""
        m, kind = self.model, KINDS[self.model.jnt_type[j]]
        dof, at = m.jnt_dofadr[j], m.jnt_qposadr[j]
        single, off = kind in ("prismatic", "revolute"), m.opt.disableflags
        acting: dict[str, Any] = {}
        # one value for all coordinates of a joint
        damping, friction, armature = (float(a[dof]) for a in (m.dof_damping, m.dof_frictionloss, m.dof_armature))
        stiffness = float(m.jnt_stiffness[j])
        if damping and not off & (self.flag("DAMPER") | self.flag("PASSIVE")):
            acting["damping"] = [damping] * 6 if kind == "free" else damping
        if friction and not off & self.flag("FRICTIONLOSS"):
            acting["friction"] = [friction] * 6 if kind == "free" else friction
        if stiffness and not off & (self.flag("SPRING") | self.flag("PASSIVE")):
            if kind == "free":
                self.leftovers.add("springs", name, element.place)
            else:
                acting["stiffness"] = stiffness
                rest = float(m.qpos_spring[at] - m.qpos0[at])
                acting |= {"rest": rest} if single and rest else {}
        if armature and single:
            acting["armature"] = armature
        elif armature:  # on rates of rotation vectors, which are no coordinates here
            self.leftovers.add("armature", name, element.place)
        if any(np.any(getattr(m, key)[j if key.startswith("jnt") else dof]) for key in NOT_LINEAR if hasattr(m, key)):
            self.leftovers.add("springs", name, element.place)
        limits = None
        if m.jnt_limited[j] and single:
            low, high = (m.jnt_range[j] - m.qpos0[at]).tolist()
            limits = low, high
        axis = np.array(m.jnt_axis[j]) if single else None
        through = np.array(m.jnt_pos[j]) if kind not in ("free", "prismatic") else np.zeros(3)
        return RigidJoint(
            name, kind, parent, child, element, pose, axis, through=through, acting=acting, limits=limits, word=kind
        )

    def add_site(self, i: int) -> None:
        """A site is a frame, under its name."""
        m, name = self.model, self.model.site(i).name
        if name:
            body = m.site_bodyid[i]
            link = RigidLink(unused(name if name not in self.taken else f"{name}_site", self.taken), self.bodies[body])
            self.sites.append(link)
            self.fix(self.names[body], link, _pose(m.site_pos[i], m.site_quat[i]))

    def drawn(self, i: int, element: Element) -> Iterator[Visual]:
        """A geom as a shape that is drawn; none of planes, height fields, and what MuJoCo does not draw."""
        m = self.model
        colour = m.mat_rgba[m.geom_matid[i]] if m.geom_matid[i] >= 0 else m.geom_rgba[i]
        if m.geom_group[i] < DRAWN_GROUPS and colour[3] != 0.0:
            yield from self.shape(i, colour_code(colour[:3].tolist()), element)

    def touching(self, i: int, element: Element) -> Iterator[Visual]:
        """A geom as a shape that touches; what is none of a link is remarked on."""
        import mujoco

        m = self.model
        if m.geom_contype[i] or m.geom_conaffinity[i]:
            found = list(self.shape(i, "", element))
            if not found:
                kind = mujoco.mjtGeom(m.geom_type[i]).name.removeprefix("mjGEOM_").lower()
                self.remarks.add(UNTOUCHED, f"a {kind}, {shown(m.geom(i).name or f'geom {i}')}", element.place)
            yield from found

    def shape(self, i: int, colour: str, element: Element) -> Iterator[Visual]:
        """A geom as a shape; none of planes and height fields."""
        import mujoco

        m, size, kind = self.model, self.model.geom_size[i].tolist(), mujoco.mjtGeom(self.model.geom_type[i])
        pose, shapes = _pose(m.geom_pos[i], m.geom_quat[i]), mujoco.mjtGeom
        blocks: dict[Any, Callable[[], dict[str, Any]]] = {
            shapes.mjGEOM_SPHERE: lambda: {"sphere": {"radius": size[0]}},
            shapes.mjGEOM_CAPSULE: lambda: {"capsule": {"radius": size[0], "length": 2.0 * size[1]}},
            shapes.mjGEOM_CYLINDER: lambda: {"cylinder": {"radius": size[0], "length": 2.0 * size[1]}},
            shapes.mjGEOM_ELLIPSOID: lambda: {"ellipsoid": {"radii": size}},
            shapes.mjGEOM_BOX: lambda: {"box": {"size": [2.0 * x for x in size]}},
            shapes.mjGEOM_MESH: lambda: self.mesh(int(m.geom_dataid[i])),
        }
        if kind not in blocks:
            return
        block, mesh = blocks[kind](), m.geom_dataid[i]
        if "file" in block.get("mesh", {}):  # MuJoCo moves meshes to their principal axes
            pose = pose @ np.linalg.inv(_pose(m.mesh_pos[mesh], m.mesh_quat[mesh]))
        yield Visual(block, pose, colour, element.place)

    def mesh(self, i: int) -> dict[str, Any]:
        """The block of a mesh: its file, or its triangles where these are not just the scaled ones of a file."""
        m, start, file = self.model, self.model.mesh_pathadr[i], ""
        if start >= 0:
            file = m.paths[start : m.paths.index(b"\0", start)].decode()
        name = m.mesh(i).name
        written = [
            e for e in self.root.walk() if e.tag == "mesh" and name in (e.attributes.get("name"), FilePath(file).stem)
        ]
        moved = any({"refpos", "refquat"} & set(element.attributes) for element in written)
        if not moved and FilePath(file).suffix.lower().removeprefix(".") in FORMATS:
            return {"mesh": {"file": file, "scale": m.mesh_scale[i].tolist()}}
        vertices, faces = slice(m.mesh_vertadr[i], None), slice(m.mesh_faceadr[i], None)
        return {
            "mesh": {
                "vertices": m.mesh_vert[vertices][: m.mesh_vertnum[i]].astype(float).tolist(),
                "faces": m.mesh_face[faces][: m.mesh_facenum[i]].tolist(),
            }
        }

    def constrain(self) -> None:
        """Equalities: of joints that follow others, of bodies that are connected; others cannot be had."""
        import mujoco

        m, by_name = self.model, {joint.name: joint for joint in self.joints}
        written = [e for block in self.root.all("equality") for e in block.children]
        closing = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD
        if m.opt.disableflags & self.flag("EQUALITY"):
            return
        for i in range(m.neq):
            if not m.eq_active0[i]:
                continue
            place = (written[i] if len(written) == m.neq else self.root).place
            kind = mujoco.mjtEq(m.eq_type[i])
            if (linear := self.linear(i)) is not None and self.follow(by_name, *linear):
                continue
            if (locked := self.locked(i)) is not None and self.lock(by_name[locked[0]], locked[1]):
                continue
            name = m.equality(i).name or kind.name.removeprefix("mjEQ_").lower()
            if kind in closing and "constraints" not in self.leftovers.without:
                self.loops.append(self.loop(i, name, place))
                continue
            self.leftovers.add("constraints", name, place)

    def linear(self, i: int) -> tuple[str, str, float, float] | None:
        """Joints q_1 = offset + ratio q_2 of an equality, offset and ratio; None of another one.

        It is one of two joints, or of a fixed tendon over two, whose length it gives.
        """
        import mujoco

        m, kind = self.model, mujoco.mjtEq(self.model.eq_type[i])
        first, second, data = int(m.eq_obj1id[i]), int(m.eq_obj2id[i]), m.eq_data[i, :5].tolist()
        if kind == mujoco.mjtEq.mjEQ_JOINT and second >= 0 and not any(data[2:]):
            return self.joint_names[first], self.joint_names[second], data[0], data[1]
        if kind == mujoco.mjtEq.mjEQ_TENDON and second < 0 and m.tendon_num[first] == 2:
            along = slice(m.tendon_adr[first], m.tendon_adr[first] + 2)
            (a, b), kinds = m.wrap_prm[along].tolist(), m.wrap_type[along]
            if (kinds == int(mujoco.mjtWrap.mjWRAP_JOINT)).all() and a and b:
                one, other = (self.joint_names[int(joint)] for joint in m.wrap_objid[along])
                return one, other, data[0] / a, -b / a
        return None

    def locked(self, i: int) -> tuple[str, float] | None:
        """The joint that an equality alone locks, or one of a fixed tendon over it, and where; None of another one."""
        import mujoco

        m, kind, value = self.model, mujoco.mjtEq(self.model.eq_type[i]), float(self.model.eq_data[i, 0])
        first, second = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        if kind == mujoco.mjtEq.mjEQ_JOINT and second < 0:
            return self.joint_names[first], value
        if kind == mujoco.mjtEq.mjEQ_TENDON and second < 0 and m.tendon_num[first] == 1:
            at = m.tendon_adr[first]
            if m.wrap_type[at] == int(mujoco.mjtWrap.mjWRAP_JOINT) and m.wrap_prm[at]:
                return self.joint_names[int(m.wrap_objid[at])], value / float(m.wrap_prm[at])
        return None

    def lock(self, joint: RigidJoint, value: float) -> bool:
        """Lock a joint; whether that may be: it follows none, and nothing else locks it."""
        if joint.mimic is not None or joint.locked_at is not None or "constraints" in self.leftovers.without:
            return False
        joint.locked_at = value
        return True

    @staticmethod
    def follow(joints: dict[str, RigidJoint], first: str, second: str, offset: float, ratio: float) -> bool:
        """Let a joint follow another one, or be followed by it where it has a leader; whether that may be."""
        a, b = joints.get(first), joints.get(second)
        if a is None or b is None:
            return False
        if a.mimic is None and a.locked_at is None:
            a.mimic = Mimic(second, ratio, offset)
        elif b.mimic is None and b.locked_at is None and ratio:
            b.mimic = Mimic(first, 1.0 / ratio, -offset / ratio)
        else:
            return False
        return True

    def loop(self, i: int, name: str, place: Place) -> RigidLoop:
        """An equality that connects two bodies at a point, or welds them; or sites on them."""
        import mujoco

        m, data = self.model, self.model.eq_data[i]
        first, second = m.eq_obj1id[i], m.eq_obj2id[i]
        kind = "spherical" if m.eq_type[i] == mujoco.mjtEq.mjEQ_CONNECT else "fixed"
        if m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
            a, b = ((m.site_bodyid[k], _pose(m.site_pos[k], m.site_quat[k])) for k in (first, second))
        elif kind == "spherical":
            points, unturned = ((first, data[:3]), (second, data[3:6])), np.array([1.0, 0.0, 0.0, 0.0])
            a, b = ((k, _pose(point, unturned)) for k, point in points)
        else:  # where the second stands in the first
            a, b = (second, np.eye(4)), (first, _pose(data[3:6], data[6:10]))
        return RigidLoop(name, kind, (self.names[a[0]], a[1]), (self.names[b[0]], b[1]), place)

    def drive(self) -> None:
        """Motors, position and velocity servos in hinges and slides; other actuators are left out."""
        m = self.model
        written = [e for block in self.root.all("actuator") for e in block.children]
        for i in range(m.nu):
            element = written[i] if len(written) == m.nu else self.root
            name = m.actuator(i).name or f"{element.tag}_{i + 1}"
            found = None if "actuators" in self.leftovers.without else self.actuator(i)
            if found is None:
                self.leftovers.add("actuators", m.actuator(i).name or element.tag, element.place)
            else:
                self.actuators.append(RigidActuator(name, *found, element.place))

    def actuator(self, i: int) -> tuple[str, str, dict[str, float]] | None:
        """Kind, joint and values of an actuator whose force is affine; None of what is none here.

        On a joint it puts gear (g u + b1 gear q + b2 gear qd): MuJoCo's length is gear times the coordinate.
        """
        import mujoco

        m, joint = self.model, int(self.model.actuator_trnid[i, 0])
        affine = m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE
        plain = affine or m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
        plain = plain and m.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED
        if not plain or m.actuator_dyntype[i] or m.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_JOINT:
            return None
        single = KINDS[m.jnt_type[joint]] in ("prismatic", "revolute")
        off = m.opt.disableflags & self.flag("ACTUATION") or m.opt.disableactuator >> int(m.actuator_group[i]) & 1
        held = m.actuator_ctrllimited[i] and not m.actuator_ctrlrange[i, 0] <= 0.0 <= m.actuator_ctrlrange[i, 1]
        if not single or off or held:
            return None
        gear, gain = float(m.actuator_gear[i, 0]), float(m.actuator_gainprm[i, 0])
        bias = m.actuator_biasprm[i, :3] if affine else np.zeros(3)
        low, high = m.actuator_forcerange[i] * abs(gear) if m.actuator_forcelimited[i] else (-np.inf, np.inf)
        if m.jnt_actfrclimited[joint]:  # of all that act in the joint
            if m.actuator_forcelimited[i] or (m.actuator_trnid[:, 0] == joint).sum() > 1:
                return None
            low, high = m.jnt_actfrcrange[joint]
        if bias[0] or low != -high or not (gear and gain):
            return None
        limit = {"limit": float(high)} if np.isfinite(high) else {}
        where, k, d = self.joint_names[joint], float(-bias[1] * gear * gear), float(-bias[2] * gear * gear)
        if not np.abs([k, d]).max() <= LARGEST:
            return None
        if not bias.any():
            return ("joint", where, {}) if not limit else None
        if np.isclose(bias[1], -gain, rtol=1e-12, atol=0.0) and k > 0.0 and d >= 0.0:
            return "servo", where, {"stiffness": k, **({"damping": d} if d else {}), **limit}
        if not bias[1] and np.isclose(bias[2], -gain, rtol=1e-12, atol=0.0) and d > 0.0:
            return "velocity", where, {"gain": d, **limit}
        return None

    def start(self, wanted: Node) -> Start:
        """Where a keyframe puts the joints; refuses a name that is none (FileError)."""
        m = self.model
        names = [m.key(k).name for k in range(m.nkey)]
        if wanted.value not in names:
            known = [name for name in names if name]
            hint = nearest(wanted.value, known) if known else "its keyframes have no names" if names else "it has none"
            raise refusal(wanted.place, "the name of a keyframe", shown(wanted.value), hint)
        k, by_name = names.index(wanted.value), {joint.name: joint for joint in self.joints}
        keys = [e for block in self.root.all("keyframe") for e in block.children]
        element = keys[k] if len(keys) == m.nkey else self.root
        for what, n in (("qpos", m.nq), ("qvel", m.nv)):
            given = len(element.attributes.get(what, "").split())
            if given not in (0, n):  # MuJoCo takes zeros for what is missing
                raise refusal(element.place, f"{n} numbers of {what}", f"{given}")
        for what in UNSET:
            if what in element.attributes:
                self.leftovers.add("keyframes", f"{what} of {wanted.value}", element.place)
        self.leftovers.hints.pop("keyframes", None)
        joints = {j: by_name[name] for j, name in self.joint_names.items()}
        return Start(starts_of(m, k, joints), element.place)

    def leave_out(self) -> None:
        """Note what there is beside bodies and joints."""
        m = self.model
        if names := [m.key(k).name for k in range(m.nkey) if m.key(k).name]:
            self.leftovers.hints["keyframes"] = f"keyframe: {names[0]} that the robot starts there"
        pulls = any(np.any(getattr(m, f"tendon_{key}", 0.0)) for key in PULL)
        for block in self.root.children:
            beside = block.tag in BLOCKS and (pulls or block.tag != "tendon")
            for element in block.children if beside and not (self.keyed and block.tag == "keyframe") else ():
                if element.tag not in ("exclude", "skin"):
                    name = element.attributes.get("name") or element.tag
                    self.leftovers.add(BLOCKS[block.tag], name, element.place)
        places = {tag: next(self.root.all(tag), self.root).place for tag in ("option", "extension")}
        if m.nflex and "deformables" not in self.leftovers.found:
            self.leftovers.add("deformables", "flex", self.bodies[0].place)
        if m.opt.density or m.opt.viscosity:
            self.leftovers.add("fluid", "density or viscosity", places["option"])
        if (m.body_plugin >= 0).any():
            self.leftovers.add("deformables", "a plugin of a body", places["extension"])


def _pose(position: Array, quaternion: Array) -> Array:
    """Pose (4, 4) of a position and a quaternion (w, x, y, z)."""
    g = np.eye(4)
    g[:3, 3] = position
    g[:3, :3] = Rotation(quaternion=tuple(quaternion.tolist())).R
    return g
