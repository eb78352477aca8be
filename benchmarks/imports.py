"""Robots in the files of installed packages: whether they load, and move as in the programs that they are for.

Mass matrix, gravity and inverse dynamics at random states are compared with Pinocchio for URDF, MuJoCo for MJCF and
Drake for SDF; so is one second of motion. What a file has beside that is left out, as the messages of sorosim propose.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

import sorosim
from benchmarks.context import Array, Setting
from benchmarks.import_motions import FOLLOWS, Flow, Motion, motion
from sorosim.base.errors import SorosimError, SorosimWarning
from sorosim.files.rigid.mjcf import NOT_LINEAR

# packages, and folders in them
PACKAGES = {
    "example-robot-data": ("cmeel.prefix/share/example-robot-data/robots",),
    "gymnasium": ("gymnasium/envs/mujoco/assets",),
    "gymnasium-robotics": ("gymnasium_robotics/envs/assets",),
    "dm-control": ("dm_control/suite", "dm_control/locomotion", "dm_control/third_party"),
    "robosuite": ("robosuite/models/assets",),
    "mujoco": ("mujoco/testdata",),
    "pybullet": ("pybullet_data",),
    "drake": ("pydrake/share/drake",),
}
ENDINGS = (".urdf", ".sdf", ".xml")
ROOTS = {"robot": "URDF", "mujoco": "MJCF", "sdf": "SDF"}
PROGRAMS = {"URDF": "Pinocchio", "MJCF": "MuJoCo", "SDF": "Drake"}
N_STATES, AGREES = 3, 1e-8
# moves as in the other program, or otherwise; is not compared; only sorosim refuses it, or the other program too; there
# is nothing in it that could move or stand, as in files for others to include
RESULTS = ("agrees", "stands", "differs", "loads", "refused", "by both", "empty")
TRIES = 9


class Row(NamedTuple):
    """One file."""

    file: str
    result: str  # one of RESULTS
    coordinates: int | None
    off: tuple[float, ...]  # of mass matrix, gravity, inverse dynamics: largest difference by largest entry
    options: str
    words: str  # why it is refused or not compared; what it warns of
    language: str = ""  # of ROOTS, where it loads
    motion: Motion | None = None  # None: nothing moves, or nothing is compared


class State(NamedTuple):
    """Coordinates, rates and accelerations of a robot."""

    q: Array
    qd: Array
    qdd: Array


Terms = tuple[Array, Array, Array]  # mass matrix, gravity, inverse dynamics


class Peer(NamedTuple):
    """A robot in the program that its file is for; coordinates, rates and forces are in the order of those here."""

    terms: Callable[[State], Terms]
    flow: Flow


class NotComparedError(Exception):
    """Why there is nothing to compare with."""


def study(at: Setting) -> None:
    """Robots in the files of installed packages, and their motion, beside Pinocchio, MuJoCo and Drake; some minutes."""
    rows: list[Row] = []
    for package, folders in PACKAGES.items():
        try:
            where = distribution(package)
        except PackageNotFoundError:
            at.say(f"{package}: not installed")
            continue
        at.say(f"{package} {where.version}")
        for path in islice(files(Path(str(where.locate_file(one))) for one in folders), at.size(None, 2)):
            rows.append(compared(path))
            at.say(text(rows[-1]))
    at.say(summary(rows))


def files(folders: Iterator[Path]) -> Iterator[Path]:
    """Robots' files in folders; no file in XML that is another thing."""
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS):
            start = path.read_bytes()[:20_000]
            if path.suffix != ".xml" or re.search(rb"<(robot|mujoco|sdf)\b", start):
                yield path


def text(row: Row) -> str:
    """A row as a line."""
    off = " ".join(f"{x:.0e}" for x in row.off)
    count = "" if row.coordinates is None else str(row.coordinates)
    moved = "" if row.motion is None or row.motion.off is None else f"{row.motion.off:.0e}"
    unmoved = "" if row.motion is None or row.motion.off is not None else f"motion: {row.motion.words}"
    rest = "; ".join(filter(None, (unmoved, row.options, row.words)))
    return f"{row.file:58.58}  {row.result:8}{count:>4}  {off:20}  {moved:5}  {rest}".rstrip()


def summary(rows: list[Row]) -> str:
    """Counts of all results, then those of motions, a line for each program."""
    counts = {result: sum(row.result == result for row in rows) for result in RESULTS}
    agree = [row for row in rows if row.result == "agrees"]
    worst = max((max(row.off) for row in agree), default=0.0)
    lines = [
        f"{len(rows)} files: {counts['agrees']} agree with their program to {worst:.0e}, {counts['stands']} have no "
        "coordinates there, either; "
        f"{counts['differs']} differ, {counts['loads']} load and are not compared, {counts['refused']} are refused, "
        f"{counts['by both']} by their program too, {counts['empty']} hold no robot"
    ]
    for name, program in PROGRAMS.items():
        motions = [row.motion for row in rows if row.motion is not None and row.language == name]
        offs = [one.off for one in motions if one.off is not None]
        follow = [off for off in offs if off < FOLLOWS]
        if motions:
            lines.append(
                f"one second of motion: {len(follow)} as in {program} to {max(follow, default=0.0):.0e}, "
                f"{len(offs) - len(follow)} otherwise, {len(motions) - len(offs)} not compared"
            )
    return "\n".join(lines)


def compared(path: Path) -> Row:
    """A file, loaded and compared."""
    name = "/".join(path.parts[-2:])
    settings: dict[str, Any] = {"import.mimic": "free"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SorosimWarning)
        try:
            robot = loaded(path, settings)
        except SorosimError as error:
            result = "empty" if "at least one" in str(error) else "by both" if refused_elsewhere(path) else "refused"
            return Row(name, result, None, (), shown(settings), first_line(error, path))
    words = "; ".join(dict.fromkeys(remark(str(one.message), path) for one in caught))
    try:
        peer = PEERS[language(path)](path, robot, settings)
    except NotComparedError as why:
        words = "; ".join(filter(None, (f"not compared: {why}", words)))
        return Row(name, "loads", robot.ndof, (), shown(settings), words)
    rng = np.random.default_rng(5)
    off = np.zeros(3)
    for _ in range(N_STATES if robot.ndof else 0):
        state = State(rng.uniform(-1.0, 1.0, robot.ndof), *rng.normal(size=(2, robot.ndof)))
        for name_of in ("free", "spherical"):  # of which the peers have other coordinates: as they are at zero
            state.q[[i for i, c in enumerate(robot.coordinate_names) if f".{name_of}." in c]] = 0.0
        theirs = peer.terms(state)
        rest = np.zeros(robot.ndof)
        ours = (
            robot.mass_matrix(state.q),
            robot.inverse_dynamics(state.q, rest, qdd=rest),
            robot.inverse_dynamics(state.q, state.qd, qdd=state.qdd),
        )
        # gravity may be nothing but rounding
        scale = [np.abs(theirs[0]).max(), max(np.abs(theirs[1]).max(), 1e-3 * np.abs(theirs[2]).max()),
                 np.abs(theirs[2]).max()]  # fmt: skip
        off = np.maximum(off, [np.abs(a - b).max() / s for a, b, s in zip(ours, theirs, scale, strict=True)])
    result = "differs" if off.max() >= AGREES else "agrees" if robot.ndof else "stands"
    moves = motion(robot, peer.flow, rng) if robot.ndof else None
    return Row(name, result, robot.ndof, tuple(off.tolist()), shown(settings), words, language(path), moves)


def loaded(path: Path, settings: dict[str, Any]) -> Any:
    """The robot of a file, with what its messages propose; that is added to the settings."""
    for _ in range(TRIES):
        try:
            return sorosim.load(path, set=settings)
        except SorosimError as error:
            meant = re.findall(r"without: \[(\w+)\]", str(error))
            before = settings.get("import.without", [])
            if meant and not set(meant) <= set(before):
                settings["import.without"] = [*before, *dict.fromkeys(one for one in meant if one not in before)]
            elif "allow_outside: true" in str(error) and "import.allow_outside" not in settings:
                settings["import.allow_outside"] = True
            elif "inertia: accept" in str(error) and "import.inertia" not in settings:
                settings["import.inertia"] = "accept"
            else:
                raise
    raise AssertionError("each try adds something, of which there is less")


def refused_elsewhere(path: Path) -> bool:
    """Whether the program that a file is for refuses it too."""
    try:
        MODELS[language(path)](path)
    except NotComparedError as why:
        return "refuses" in str(why)
    except ElementTree.ParseError:
        return True
    return False


def shown(settings: dict[str, Any]) -> str:
    """Settings as they stand in a file, without those of all."""
    own = {key.removeprefix("import."): value for key, value in settings.items() if key != "import.mimic"}
    return ", ".join(f"{key}: {str(value).replace(chr(39), '')}" for key, value in own.items())


def first_line(error: SorosimError, path: Path) -> str:
    """The first line of an error, without its folder; how many there are."""
    lines = str(error).replace(f"{path.parent}/", "").splitlines()
    return lines[0] + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")


def remark(message: str, path: Path) -> str:
    """What a warning is about."""
    return message.removeprefix(f"{path}: ").replace(f"{path.parent}/", "")[:100]


def language(path: Path) -> str:
    """What a file is written in."""
    return {".urdf": "URDF", ".sdf": "SDF"}.get(path.suffix) or ROOTS[ElementTree.parse(path).getroot().tag]


def clean(name: str) -> str:
    """A name as links have it here."""
    return re.sub(r"[^\w-]", "_", name)


# -- those that are compared with --------------------------------------------------------------------------------------


def pinocchio_model(path: Path) -> Any:
    """Pinocchio's model of a URDF file."""
    try:
        import pinocchio as pin  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise NotComparedError("Pinocchio is not installed") from None
    try:
        return pin.buildModelFromUrdf(str(path))
    except ValueError:
        raise NotComparedError("Pinocchio refuses it") from None


def pinocchio_of(path: Path, robot: Any, _: dict[str, Any]) -> Peer:
    """A URDF file in Pinocchio, on a fixed base."""
    model = pinocchio_model(path)
    import pinocchio as pin

    data = model.createData()
    text = path.read_text(encoding="utf-8", errors="replace").lstrip()
    above = {
        clean(child.attrib["link"]): joint.attrib["name"]
        for joint in ElementTree.fromstring(text.encode()).iter("joint")
        if (child := joint.find("child")) is not None
    }
    joints = []
    for coordinate in robot.coordinate_names:
        link = coordinate.partition(".")[0].removesuffix("_link" if coordinate.startswith("world_link.") else "")
        joint = model.joints[model.getJointId(above[link])]
        if joint.nv != 1:
            raise NotComparedError("joints of several coordinates")
        joints.append(joint)
    if len(joints) != model.nv:
        raise NotComparedError(f"{model.nv} coordinates in Pinocchio")
    order = [joint.idx_v for joint in joints]

    def configuration(values: Array) -> Array:
        q: Array = pin.neutral(model)
        for joint, value in zip(joints, values, strict=True):
            q[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(value), np.sin(value)] if joint.nq == 2 else value
        return q

    def terms(state: State) -> Terms:
        q, v, a = configuration(state.q), np.zeros(model.nv), np.zeros(model.nv)
        v[order], a[order] = state.qd, state.qdd
        M = np.triu(pin.crba(model, data, q))
        M = M + np.triu(M, 1).T
        gravity = pin.computeGeneralizedGravity(model, data, q).copy()
        return M[np.ix_(order, order)], gravity[order], pin.rnea(model, data, q, v, a)[order]

    def rate(x: Array) -> Array:
        values, qd = x[: model.nv], x[model.nv :]
        v = np.zeros(model.nv)
        v[order] = qd
        qdd = pin.aba(model, data, configuration(values), v, -model.damping * v)  # which leaves dampers to its callers
        return np.concatenate([qd, qdd[order]])

    return Peer(terms, Flow(lambda q, qd: np.concatenate([q, qd]), rate, lambda x: x[: model.nv]))


def mujoco_model(path: Path) -> Any:
    """MuJoCo's model of an MJCF file."""
    try:
        import mujoco
    except ImportError:
        raise NotComparedError("MuJoCo is not installed") from None
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        raise NotComparedError("MuJoCo refuses it") from None


def mujoco_of(path: Path, robot: Any, settings: dict[str, Any]) -> Peer:
    """An MJCF file in MuJoCo; terms with free and ball joints at their reference."""
    m = mujoco_model(path)
    import mujoco

    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    leave_out(m, settings.get("import.without", []))
    order = np.full(m.nv, -1)  # ours by theirs
    names = list(robot.coordinate_names)
    for j in range(m.njnt):
        kind, body = ("free", "spherical", "prismatic", "revolute")[m.jnt_type[j]], m.jnt_bodyid[j]
        k, link = j - m.body_jntadr[body], m.body(body).name or f"body_{body}"
        link = link if k == m.body_jntnum[body] - 1 else f"{link}_{m.joint(j).name or k + 1}"
        own = [i for i, name in enumerate(names)
               if name.startswith((f"{clean(link)}.{kind}", f"{clean(link)}_{kind}.{kind}"))]  # fmt: skip
        dof = m.jnt_dofadr[j]
        n = {"free": 6, "spherical": 3}.get(kind, 1)
        if len(own) != n:
            raise NotComparedError(f"no coordinates of {link}")
        order[dof : dof + n] = own
    if m.nv != robot.ndof:
        raise NotComparedError(f"{m.nv} coordinates in MuJoCo")

    joints = list(zip(m.jnt_type.tolist(), m.jnt_dofadr.tolist(), m.jnt_qposadr.tolist(), strict=True))
    rates, turned = np.eye(m.nv), {}  # of theirs by ours, in their order; references of free joints
    for kind, dof, at in joints:
        if kind == 0:  # ours are in the frame of its reference
            turned[at] = quaternion(m.qpos0[at + 3 : at + 7])
            rates[dof : dof + 3, dof : dof + 3] = turned[at].as_matrix()

    def positions(q: Array) -> Array:
        qpos: Array = m.qpos0.copy()
        for kind, dof, at in joints:
            if kind >= 2:
                qpos[at] += q[order[dof]]
        return qpos

    def terms(state: State) -> Terms:
        qd, qdd = state.qd[order], state.qdd[order]
        d = mujoco.MjData(m)
        d.qpos[:] = positions(state.q)
        mujoco.mj_forward(m, d)
        gravity = rates.T @ d.qfrc_bias
        M = np.zeros((m.nv, m.nv))
        if hasattr(d, "qM"):
            mujoco.mj_fullM(m, M, d.qM)
        else:  # from version 4 on
            mujoco.mj_fullM(m, d, M)
        d.qvel[:] = rates @ qd
        mujoco.mj_forward(m, d)
        M = rates.T @ M @ rates
        tau = M @ qdd + rates.T @ d.qfrc_bias
        back = np.argsort(order)
        return M[np.ix_(back, back)], gravity[back], tau[back]

    d = mujoco.MjData(m)

    def rate(x: Array) -> Array:
        d.qpos[:], d.qvel[:] = x[: m.nq], x[m.nq :]
        mujoco.mj_forwardSkip(m, d, mujoco.mjtStage.mjSTAGE_NONE, True)
        out = np.concatenate([np.zeros(m.nq), d.qacc])
        for kind, dof, at in joints:
            n, turns = (3, kind == 0) if kind == 0 else (1, False) if kind >= 2 else (0, True)
            out[at : at + n] = d.qvel[dof : dof + n]
            if turns:
                turning = np.concatenate([[0.0], 0.5 * d.qvel[dof + n : dof + n + 3]])
                mujoco.mju_mulQuat(out[at + n : at + n + 4], x[at + n : at + n + 4], turning)
        return out

    def coordinates(x: Array) -> Array:
        out = np.zeros(m.nv)
        for kind, dof, at in joints:
            if kind >= 2:
                out[order[dof]] = x[at] - m.qpos0[at]
            elif kind == 1:
                out[order[dof : dof + 3]] = quaternion(x[at : at + 4]).as_rotvec()
            else:
                back = turned[at].inv()
                out[order[dof : dof + 3]] = back.apply(x[at : at + 3] - m.qpos0[at : at + 3])
                out[order[dof + 3 : dof + 6]] = (back * quaternion(x[at + 3 : at + 7])).as_rotvec()
        return out

    return Peer(terms, Flow(lambda q, qd: np.concatenate([positions(q), rates @ qd[order]]), rate, coordinates))


def leave_out(m: Any, without: list[str]) -> None:
    """Take out of MuJoCo's model what `without` leaves out here."""
    several = np.isin(m.jnt_type, (0, 1))
    gone: dict[str, Any] = {}
    if "armature" in without:
        gone["dof_armature"] = several[m.dof_jntid]
    if "springs" in without:
        gone |= {"jnt_stiffness": m.jnt_type == 0, **dict.fromkeys(NOT_LINEAR, slice(None))}
    if "tendons" in without:
        own = "armature", "stiffness", "damping", "stiffnesspoly", "dampingpoly"
        gone |= {f"tendon_{key}": slice(None) for key in own}
    if "gravity" in without:
        gone["body_gravcomp"] = slice(None)
    if "fluid" in without:
        m.opt.density = m.opt.viscosity = 0.0
    for key, where in gone.items():
        if hasattr(m, key):  # of newer versions, some
            getattr(m, key)[where] = 0.0


def quaternion(wxyz: Array) -> Rotation:
    """A rotation as MuJoCo and Drake write it."""
    return Rotation.from_quat(wxyz[[1, 2, 3, 0]])


def drake_model(path: Path) -> Any:
    """Drake's model of an SDF file."""
    try:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
    except ImportError:
        raise NotComparedError("Drake is not installed") from None
    logging.getLogger("drake").setLevel(logging.ERROR)  # it warns of elements that it leaves out
    plant = MultibodyPlant(0.0)
    try:
        Parser(plant).AddModels(str(path))
        plant.Finalize()
    except RuntimeError:
        raise NotComparedError("Drake refuses it") from None
    return plant


def drake_of(path: Path, robot: Any, _: dict[str, Any]) -> Peer:
    """An SDF file in Drake; terms with free bodies where the file says."""
    plant = drake_model(path)
    names = [name.partition(".")[0] for name in robot.coordinate_names]
    rates, order = np.zeros((plant.num_velocities(), robot.ndof)), {}
    floating: list[tuple[Any, list[int]]] = []
    context = plant.CreateDefaultContext()
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if not joint.num_velocities():
            continue
        child, start = clean(joint.child_body().name()), joint.velocity_start()
        own = [i for i, name in enumerate(names) if name == child or name.endswith(f"__{child}")]
        if len(own) != joint.num_velocities() or len(own) not in (1, 6):
            raise NotComparedError(f"joint {joint.name()} of {joint.num_velocities()} coordinates")
        if len(own) == 6:
            floating.append((joint.child_body(), own))
            R = plant.EvalBodyPoseInWorld(context, joint.child_body()).rotation().matrix()
            rates[start : start + 3, own[3:]], rates[start + 3 : start + 6, own[:3]] = R, R
        else:
            rates[start, own[0]] = 1.0
            order[joint.position_start()] = own[0]
    if plant.num_velocities() != robot.ndof:
        raise NotComparedError(f"{plant.num_velocities()} coordinates in Drake")

    references = [(body, own, plant.EvalBodyPoseInWorld(context, body)) for body, own in floating]

    def positions(q: Array) -> Array:
        out: Array = plant.GetPositions(plant.CreateDefaultContext()).copy()
        for at, own in order.items():
            out[at] = q[own]
        return out

    def terms(state: State) -> Terms:
        plant.SetPositions(context, positions(state.q))
        plant.SetVelocities(context, np.zeros(plant.num_velocities()))
        M, gravity = plant.CalcMassMatrix(context), -plant.CalcGravityGeneralizedForces(context)
        plant.SetVelocities(context, rates @ state.qd)
        tau = M @ rates @ state.qdd + plant.CalcBiasTerm(context) + gravity
        return rates.T @ M @ rates, rates.T @ gravity, rates.T @ tau

    def rate(x: Array) -> Array:
        plant.SetPositionsAndVelocities(context, x)
        return np.asarray(plant.EvalTimeDerivatives(context).CopyToVector())

    def coordinates(x: Array) -> Array:
        out = np.zeros(robot.ndof)
        plant.SetPositionsAndVelocities(context, x)
        for at, own in order.items():
            out[own] = x[at]
        for body, where, start in references:
            g = start.inverse() @ plant.EvalBodyPoseInWorld(context, body)
            out[where] = [*g.translation(), *Rotation.from_matrix(g.rotation().matrix()).as_rotvec()]
        return out

    return Peer(terms, Flow(lambda q, qd: np.concatenate([positions(q), rates @ qd]), rate, coordinates))


MODELS: dict[str, Callable[[Path], Any]] = {"URDF": pinocchio_model, "MJCF": mujoco_model, "SDF": drake_model}
PEERS: dict[str, Callable[[Path, Any, dict[str, Any]], Peer]] = {
    "URDF": pinocchio_of, "MJCF": mujoco_of, "SDF": drake_of,
}  # fmt: skip
