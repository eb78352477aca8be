"""Robots for tests: the manipulator of the paper, and random trees with everything in them."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.kinds import CLOSING, COORDINATES, JOINT_KINDS, WITH_SPRINGS, WITHOUT_AXIS
from sorosim.base.signals.expressions import Expression, parse
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.loop_force import LoopForce
from sorosim.mechanics.actuation.route import PLACE_VARIABLES, RouteSegment
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.constraints.coupling import Coupling
from sorosim.mechanics.constraints.loop import Anchor, Loop
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model import basis as bases
from sorosim.mechanics.model.basis import ReferenceStrain, Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Formula, Linear, Profile, Table
from sorosim.mechanics.model.quadrature import minimum_n_gauss
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, Ellipse, HollowCircle, Properties, Rectangle, Section
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]

BASES = tuple(bases.BASES.declared())
SECTIONS = ("circle", "hollow_circle", "rectangle", "ellipse", "properties")


def formula(text: str, *sizes: str) -> Expression:
    """An expression of X, s, L and of the given sizes of a section."""
    return parse(text, (*PLACE_VARIABLES, *sizes))


# -- the manipulator of the paper


def cable_manipulator(
    orders: Sequence[int | None] = (4, 4, 2, 2), n_gauss: int | None = 5, *, damping: float = 1e4
) -> Robot:
    """A clamped tapered rod along +x with five cables; orders of torsion, bending, elongation and shear."""
    torsion, bending, elongation, shear = orders
    silicone = Material(1e6, poisson=0.5, density=1000.0, damping=damping)
    varying = Strain(torsion=torsion, bending=bending, elongation=elongation, shear=shear)
    arm = Rod((Division(0.5, Circle((0.03, 0.015)), silicone, varying, quadrature=n_gauss),))
    routes = {
        "cable1": ("0", "r"),
        "cable2": ("-sqrt(3)/2*r", "-r/2"),
        "cable3": ("sqrt(3)/2*r", "-r/2"),
        "cable4": ("0.015*sin(4*pi*X/L)", "0.015*cos(4*pi*X/L)"),
        "cable5": ("0.015*sin(4*pi*X/L)", "-0.015*cos(4*pi*X/L)"),
    }
    cables = {
        name: Tendon((RouteSegment("arm", y=formula(y, "r"), z=formula(z, "r")),)) for name, (y, z) in routes.items()
    }
    return Robot(Description("cable manipulator", (Link("arm", arm),), actuators=cables))


# -- random parts


def random_pose(rng: np.random.Generator, reach: float = 0.2) -> Array:
    """A pose with any orientation and a position of the size of `reach` [m]."""
    w = rng.normal(size=3)
    return exp_se3(np.concatenate([rng.uniform(0.0, 3.0) * w / np.linalg.norm(w), reach * rng.normal(size=3)]))


def random_axis(rng: np.random.Generator) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in rng.normal(size=3))
    return x, y, z


def random_profile(rng: np.random.Generator, size: float, kinks: bool) -> Profile | float:
    """A size along a rod, near `size`: constant, tapered, by a formula, or by a table with a kink."""
    tip = float(rng.uniform(0.4, 1.0))
    kind = rng.choice(["constant", "linear", "formula", *(["table", "pchip"] if kinks else [])])
    if kind == "constant":
        return size
    if kind == "linear":
        return Linear(size, tip * size)
    if kind == "formula":
        return Formula(formula(f"{size!r} * (1 - {1 - tip!r} * sin(1.2*s)**2) + 0.01*X*{size!r}"))
    middle = float(rng.uniform(0.3, 0.7))
    values = (size, float(rng.uniform(0.5, 1.0)) * size, tip * size)
    return Table((0.0, middle, 1.0), values, "linear" if kind == "table" else "pchip")


def random_section(rng: np.random.Generator, kind: str, kinks: bool) -> Section:
    """A section of some 2 cm."""
    options = {
        "shear_factor": (float(rng.uniform(0.8, 1.0)), float(rng.uniform(0.8, 1.0))),
        "torsion": str(rng.choice(["saint-venant", "polar"])),
    }
    a, b = float(rng.uniform(0.015, 0.03)), float(rng.uniform(0.015, 0.03))
    if kind == "circle":
        return Circle(random_profile(rng, a, kinks), **options)
    if kind == "hollow_circle":
        return HollowCircle(random_profile(rng, a, kinks), float(rng.uniform(0.1, 0.35)) * a, **options)
    if kind == "rectangle":
        return Rectangle(random_profile(rng, 2 * a, kinks), random_profile(rng, 2 * b, kinks), **options)
    if kind == "ellipse":
        return Ellipse(random_profile(rng, 2 * a, kinks), random_profile(rng, 2 * b, kinks), **options)
    area, Iy, Iz = a * b, a * b**3 / 12, b * a**3 / 12
    J = None if options["torsion"] == "polar" else 0.8 * (Iy + Iz)
    return Properties(random_profile(rng, area, kinks), Iy, random_profile(rng, Iz, kinks), J, **options)


def random_strain(rng: np.random.Generator, basis: str, budget: int) -> Strain:
    """A basis with about half of the strains free and at most `budget` coordinates; bending comes first."""
    chosen: dict[str, tuple[str, int]] = {}
    names = ["bending_y", "bending_z", *rng.permutation(["torsion", "elongation", "shear_y", "shear_z"])]
    for i, name in enumerate(names):
        family = basis if i == 0 or rng.random() < 0.7 else str(rng.choice(BASES))
        order = int(rng.integers(1, 3)) if family != "fourier" and i < 3 else 1
        count = bases.get_basis(family).count(order)
        if count <= budget and (i == 0 or rng.random() < 0.55):
            chosen[str(name)] = (family, order)
            budget -= count
    return Strain(**chosen)


def random_reference(rng: np.random.Generator) -> ReferenceStrain:
    """A straight, a curved, or a curved and twisted rest shape."""
    kind = rng.choice(["straight", "arc", "formula"])
    if kind == "straight":
        return ReferenceStrain()
    k = [float(v) for v in rng.normal(size=6)]
    if kind == "arc":
        return ReferenceStrain(k[0], k[1], k[2], 1.0 + 0.05 * np.tanh(k[3]), 0.05 * k[4], 0.05 * k[5])
    bent = formula(f"{k[1]!r} * cos(2*s) + {k[2]!r} * X")
    sheared = formula(f"{0.05 * k[4]!r} * sin(pi*X/L)")
    return ReferenceStrain(formula(f"{k[0]!r} * s"), bent, k[2], formula("1 + 0.05*s**2"), 0.02, sheared)


def random_material(rng: np.random.Generator, mass_damping: bool) -> Material:
    return Material(
        float(10 ** rng.uniform(5.0, 6.5)),
        poisson=float(rng.uniform(0.2, 0.5)),
        density=float(rng.uniform(800.0, 2000.0)),
        damping=float(rng.choice([0.0, 1e3, 1e4])),
        mass_damping=float(rng.uniform(0.1, 2.0)) if mass_damping else 0.0,
        stiffness_damping=float(rng.choice([0.0, 1e-3])),
    )


def random_rod(
    rng: np.random.Generator, budget: int, *, basis: str = "", section: str = "", mass_damping: bool = False
) -> Rod:
    """One or two divisions with at most `budget` coordinates; the first has the named basis and section."""
    divisions = []
    for _ in range(1 + int(rng.random() < 0.35)):
        basis, section = basis or str(rng.choice(BASES)), section or str(rng.choice(SECTIONS))
        varying = random_strain(rng, basis, budget)
        # kinks of sizes and of the basis multiply the panels: not both
        profile = random_section(rng, section, not varying.breakpoints)
        # as few Gauss points as give a regular stiffness and a little more, or what is the default
        few = minimum_n_gauss(varying) + int(rng.integers(1, 3))
        n_gauss = few if varying.breakpoints or rng.random() < 0.7 else None
        divisions.append(
            Division(float(rng.uniform(0.15, 0.5)), profile, random_material(rng, mass_damping), varying,
                     reference=random_reference(rng), quadrature=n_gauss)
        )  # fmt: skip
        budget -= varying.count
        basis = section = ""
    return Rod(tuple(divisions))


def random_body(rng: np.random.Generator) -> RigidBody:
    """A rigid body of some 10 cm and 0.5 kg, its centre of mass off the frame."""
    mass = float(rng.uniform(0.1, 1.0))
    a, b, c = (float(v) for v in rng.uniform(0.03, 0.15, size=3) ** 2)
    R = random_pose(rng)[:3, :3]
    inertia = mass * R @ np.diag([b + c, a + c, a + b]) @ R.T
    centre = tuple(float(v) for v in 0.05 * rng.normal(size=3))
    i, j = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    return RigidBody(mass, centre=centre, inertia=tuple(float(v) for v in inertia[i, j]))


def random_joint(rng: np.random.Generator, kinds: Sequence[str], *, bare: bool = False) -> Joint:
    """A joint with oblique axes; unless bare, some have springs with rest values, dampers, and slow friction."""
    kind = str(rng.choice(kinds))
    if kind == "fixed":
        return Joint()
    n = len(COORDINATES[kind])

    def values(size: float) -> tuple[float, ...]:
        return tuple(float(v) for v in size * rng.uniform(0.5, 1.5, size=n))

    options: dict[str, Any] = {}
    if not bare and rng.random() < 0.6:
        options |= {"stiffness": values(2.0), "damping": values(0.05), "rest": values(0.5)}
    if not bare and rng.random() < 0.5:
        options |= {"friction": values(0.2), "creep": values(8.0)}
    if kind == "helical":
        options["pitch"] = float(0.05 * rng.normal())
    if kind == "universal":
        options["second_axis"] = random_axis(rng)
    if kind in ("free", "planar"):
        options["coordinates"] = str(rng.choice(["position", "screw"]))
    axis = random_axis(rng)
    return Joint(kind, **({} if kind in WITHOUT_AXIS else {"axis": axis}), **options)


def random_route(rng: np.random.Generator, rod: Rod) -> tuple[float | Expression, float | Expression]:
    """Position y, z of a tendon in the sections of a rod: constant, straight, helical, or along the surface."""
    kinds = ["constant", "straight", "helix"]
    if all(isinstance(d.section, Circle | HollowCircle) for d in rod.divisions):
        kinds.append("surface")
    kind, a = rng.choice(kinds), float(rng.uniform(0.005, 0.02))
    if kind == "constant":
        return a, float(0.01 * rng.normal())
    if kind == "straight":
        return formula(f"{a!r} * (1 - 0.5*s)"), formula(f"{a!r} * (X/L - 0.3)")
    if kind == "helix":
        return formula(f"{a!r} * sin(4*pi*X/L)"), formula(f"{a!r} * cos(4*pi*X/L)")
    return formula("0.8*r", "r"), formula("-0.3*r", "r")


# -- random trees


def varied_tree(seed: int, **options: bool) -> Robot:
    """Random tree number `seed`, with up to 40 coordinates; ten in a row have all bases, five all sections."""
    rng = np.random.default_rng(seed)
    max_dof = (14, 22, 30, 40)[seed % 4]
    given = {"basis": BASES[seed % len(BASES)], "section": SECTIONS[seed % len(SECTIONS)]}
    return random_tree(rng, 2 + seed % 5, max_dof=max_dof, **given, **options)


def random_tree(
    rng: np.random.Generator,
    n_links: int = 5,
    *,
    max_dof: int = 40,
    loads: bool = True,
    tendons: bool = True,
    damping: bool = True,
    basis: str = "",
    section: str = "",
) -> Robot:
    """A tree of rods and rigid links in random order and place.

    Rods have random bases, sections, rest shapes, divisions and locked strains; rigid links hang on joints of all kinds
    with oblique axes, springs, dampers and friction, some over a massless frame with a joint of its own. Children stand
    at tips, in the middle and at the base of rods, all in oblique poses. Point wrenches in world and body axes, tendons
    through one rod or through two that are fixed to each other, motors in joints, damping proportional to mass.

    Parameters
    ----------
    n_links : int
        Besides frames and fixed extensions.
    max_dof : int
        Coordinates are given out until there are about as many.
    loads, tendons, damping : bool
        Whether there are point wrenches, tendons, and damping proportional to mass (in every other tree).
    basis, section : str
        What the first rod must have; random if empty.
    """
    links: list[Link] = []
    braked = damping and rng.random() < 0.5
    budget = max_dof
    for i in range(n_links):
        # a chain with side branches: most links hang on the link before
        at = len(links) - 1 if rng.random() < 0.7 else int(rng.integers(max(len(links), 1)))
        parent = links[at] if links and rng.random() < 0.9 else None
        if parent is not None and parent.body is None:
            parent = None
        where = {"parent": parent.name if parent else WORLD, "at": random_pose(rng, 0.05)}
        if parent is not None and parent.rod:
            where["s"] = float(rng.choice([1.0, 1.0, 0.0, rng.uniform(0.05, 0.95)]))
        twice: set[str] = set()
        if rng.random() < 0.25:
            links.append(
                Link(f"frame{i}", None, joint=random_joint(rng, ["revolute", "prismatic", "universal"]), **where)
            )
            where = {"parent": f"frame{i}", "at": random_pose(rng, 0.05)}
            budget -= links[-1].joint.n
            twice = {"spherical", "free"}  # with all rotations in one joint those of a massless frame have no inertia
        if i == 0 or rng.random() < 0.6:
            share = min(budget, max(4, budget // 2 if i < n_links - 1 else budget))
            rod = random_rod(rng, share, basis=basis, section=section, mass_damping=braked)
            kinds = {"fixed", "revolute", "helical", "spherical", "free", "cylindrical"} - twice
            joint = random_joint(rng, sorted(kinds))
            links.append(Link(f"rod{i}", rod, joint=joint, **where))
            basis = section = ""
            budget -= sum(d.strain.count for d in rod.divisions) + joint.n
            if rng.random() < 0.3 and budget > 6:
                more = random_rod(rng, min(budget, 8), mass_damping=braked)
                links.append(Link(f"rod{i}b", more, parent=f"rod{i}"))
                budget -= sum(d.strain.count for d in more.divisions)
        else:
            joint = random_joint(rng, [*sorted(set(JOINT_KINDS) - twice), "planar"])
            links.append(Link(f"body{i}", random_body(rng), joint=joint, **where))
            budget -= joint.n
        if budget < 4:
            break
    gravity = tuple(float(v) for v in 9.81 * np.array(random_axis(rng)))
    pulled: dict[str, Tendon | JointForce] = {}
    if tendons:
        pulled = {**_random_tendons(rng, links), **_random_motors(rng, links)}
    forces = _random_loads(rng, links) if loads else {}
    return Robot(Description("random tree", tuple(links), gravity=gravity, actuators=pulled, loads=forces))


def rigid_tree(
    rng: np.random.Generator,
    n_links: int,
    *,
    kinds: Sequence[str] = JOINT_KINDS,
    along: float = 0.7,
    branching: int = 0,
) -> Robot:
    """A tree of rigid links, their oblique joints of all kinds in turn, with a motor for every coordinate in order.

    Parameters
    ----------
    along : float
        How often a link hangs on the link before, 1 is a chain; otherwise on any of them, or on the world.
    branching : int
        If not zero, the tree is regular: so many links hang on each, and one on the world.
    """
    links: list[Link] = []
    order = rng.permutation(list(kinds))
    for i in range(n_links):
        joint = random_joint(rng, [order[i % len(order)]], bare=True)
        if joint.kind == "universal" and rng.random() < 0.5:  # a perpendicular cross
            joint = replace(joint, second_axis=tuple(np.cross(joint.axis, random_axis(rng))))
        names = [WORLD, *(link.name for link in links)]
        parent = names[-1] if rng.random() < along else str(rng.choice(names))
        if branching:
            parent = f"link{(i - 1) // branching}" if i else WORLD
        links.append(Link(f"link{i}", random_body(rng), joint=joint, parent=parent, at=random_pose(rng)))
    gravity = tuple(float(v) for v in 9.81 * np.array(random_axis(rng)))
    motors = {
        f"{link.name}.{name}": JointForce(link.name, name) for link in links for name, _ in COORDINATES[link.joint.kind]
    }
    return Robot(Description("rigid tree", tuple(links), gravity=gravity, actuators=motors))


def with_fixed_axes(robot: Robot) -> Robot:
    """The robot, with the screw as coordinates of its free and planar joints if any force along them turns with them.

    Such forces have derivatives by the rotation of their joint, which linear systems along the tree do not know.
    """
    if not robot.engine.turns_forces:
        return robot
    links = tuple(
        replace(link, joint=replace(link.joint, coordinates="screw")) if link.joint.kind in ("free", "planar") else link
        for link in robot.links
    )
    return Robot(replace(robot.description, links=links))


def _random_tendons(rng: np.random.Generator, links: list[Link]) -> dict[str, Tendon]:
    tendons: dict[str, Tendon] = {}
    for link in links:
        if link.rod is None:
            continue
        y, z = random_route(rng, link.rod)
        before = next((other for other in links if other.name == link.name[:-1]), None)
        if before is not None and before.rod is not None:
            # through both: the rod before, and this one that is fixed to its tip
            start = before.rod.starts[-1] / before.rod.length
            first = RouteSegment(before.name, y=0.01, z=formula("0.01*s"), start=start)
            tendons[f"through_{link.name}"] = Tendon((first, RouteSegment(link.name, y=y, z=z)), pushes=True)
        else:
            tendons[f"along_{link.name}"] = Tendon((RouteSegment(link.name, y=y, z=z),), pushes=True)
            if len(link.rod.divisions) > 1:
                end = link.rod.starts[1] / link.rod.length
                tendons[f"part_of_{link.name}"] = Tendon(
                    (RouteSegment(link.name, y=-0.01, z=0.005, end=end),), pushes=True
                )
    return tendons


def _random_motors(rng: np.random.Generator, links: list[Link]) -> dict[str, JointForce]:
    """Motors in about a third of all directions of joints."""
    return {
        f"motor_{link.name}_{name}": JointForce(link.name, name)
        for link in links
        for name, _ in COORDINATES[link.joint.kind]
        if rng.random() < 0.35
    }


def with_random_loops(rng: np.random.Generator, robot: Robot, n: int = 3, kinds: Sequence[str] = CLOSING) -> Robot:
    """The robot with n loops more, of the given kinds in turn, in oblique poses, as they are: open.

    Between links, or a link and the world; springs, dampers and motors in every other one that may have them.
    """
    links = [link for link in robot.links if robot.engine.layout.links[link.name].n]
    loops: dict[str, Loop] = {}
    motors: dict[str, LoopForce] = {}
    for i in range(n):
        kind = kinds[i % len(kinds)]
        axis, lawful = random_axis(rng), kind in WITH_SPRINGS
        joint = Joint(
            kind, **({} if kind in WITHOUT_AXIS else {"axis": axis}), **({"pitch": 0.05} if kind == "helical" else {})
        )
        if lawful and rng.random() < 0.5:
            springs = {"stiffness": 3.0, "damping": 0.4, "rest": 0.2}
            values = {name: tuple(float(v) for v in size * rng.random(joint.n)) for name, size in springs.items()}
            joint = replace(joint, **values)
            for name, _ in COORDINATES[kind]:
                if rng.random() < 0.7:
                    motors[f"motor_of_loop{i}_{name}"] = LoopForce(f"loop{i}", name)
        a, b = rng.choice(len(links), 2, replace=len(links) == 1)
        anchors = [
            Anchor(links[k].name, s=float(rng.choice([1.0, 0.0, rng.uniform(0.1, 0.9)])), at=random_pose(rng, 0.05))
            for k in (a, b)
        ]
        if a == b or rng.random() < 0.25:
            anchors[1] = Anchor(at=random_pose(rng, 0.3))
        if rng.random() < 0.2:
            anchors = anchors[::-1]
        loops[f"loop{i}"] = Loop(joint, *anchors)
    actuators = {**robot.description.actuators, **motors}
    return Robot(replace(robot.description, loops=loops, actuators=actuators))


def with_armature(rng: np.random.Generator, robot: Robot) -> Robot:
    """The robot with rotors on every other of the coordinates of joints that have an axis each."""

    def armed(joint: Joint) -> Joint:
        if not joint.n or not all(stage.commutes for stage in joint.stages):
            return joint
        values = 10.0 ** rng.uniform(-5.0, -2.0, joint.n) * (rng.random(joint.n) < 0.5)
        return replace(joint, armature=tuple(float(value) for value in values))

    links = tuple(replace(link, joint=armed(link.joint)) for link in robot.description.links)
    return Robot(replace(robot.description, links=links))


def with_couplings(rng: np.random.Generator, robot: Robot, n: int = 3) -> Robot:
    """The robot with couplings, also in a chain, between coordinates of joints that have an axis each."""
    ends = [
        (link.name, name if len(link.joint.directions) > 1 else "")
        for link in robot.description.links
        for i, (name, _) in enumerate(link.joint.directions)
        if link.joint.stages[link.joint.stage_of(i)].commutes and not link.joint.changes_length
    ]
    order = rng.permutation(len(ends))
    couplings = {}
    for k, (b, a) in enumerate(itertools.pairwise(order[: n + 1])):
        (link, along), (leader, leader_along) = ends[a], ends[b]
        numbers = {"ratio": float(rng.normal() + 1.5), "offset": 0.1 * float(rng.normal())}
        couplings[f"gear{k}"] = Coupling(link, leader, along=along, leader_along=leader_along, **numbers)
    return Robot(replace(robot.description, couplings=couplings))


def closed_at_zero(robot: Robot) -> Robot:
    """The robot with ends of loops moved onto each other, at zero coordinates."""
    q = np.zeros(robot.ndof)

    def end(anchor: Anchor) -> Array:
        return np.eye(4) if anchor.link == "world" else robot.pose(q, anchor.link, s=anchor.s)

    loops = {
        name: replace(loop, b=replace(loop.b, at=np.linalg.inv(end(loop.b)) @ end(loop.a) @ loop.a.at))
        for name, loop in robot.description.loops.items()
    }
    return Robot(replace(robot.description, loops=loops))


def _random_loads(rng: np.random.Generator, links: list[Link]) -> dict[str, Wrench]:
    loads: dict[str, Wrench] = {}
    bodies = [link for link in links if link.body is not None]
    for frame in ("world", "body"):
        link = bodies[int(rng.integers(len(bodies)))]
        s = float(rng.choice([0.0, 1.0, rng.uniform(0.05, 0.95)]))
        values = rng.normal(size=6) * np.repeat([0.05, 0.5], 3)
        loads[f"fixed_in_{frame}"] = Wrench(
            link.name,
            s,
            moment=(tuple(float(v) for v in values))[:3],
            force=(tuple(float(v) for v in values))[3:],
            frame=frame,
        )
    return loads


def arrays_of(robot: Robot) -> list[Array]:
    """All numbers of a robot's engine that come from its description."""

    def flat(parts: tuple[Any, ...]) -> list[Array]:
        return [array for part in parts for array in (flat(part) if isinstance(part, tuple) else [part])]

    engine = robot.engine
    return flat(
        (engine.tree, engine.elastic, engine.rod_actuators, engine.loading.packed.laws, engine.gravity, engine.loops)
    )


def moderate(robot: Robot) -> Array:
    """A size (ndof,) for each coordinate at which a robot is deformed by much but not wildly."""
    sizes = {"angle": 1.0, "length": 0.1, "number": 0.1}
    layout = robot.engine.layout
    return np.array([
        0.5 if "torsion" in name or "bending" in name else sizes[dimension]
        for name, dimension in zip(layout.coordinate_names, layout.dimensions, strict=True)
    ])  # fmt: skip


def random_state(rng: np.random.Generator, robot: Robot) -> tuple[Array, Array, Array, Array]:
    """q, qd, qdd of moderate size, and inputs u of some newtons and newton metres."""
    scale, n = moderate(robot), robot.ndof
    q, qd, qdd = (factor * scale * rng.normal(size=n) for factor in (1.0, 2.0, 10.0))
    return q, qd, qdd, rng.uniform(0.5, 5.0, size=len(robot.actuator_names))


# 25 cm of nitinol with nine discs and four tendons, one of them wound around it
TENDON_ROD = """
sorosim: 1
name: tendon rod
gravity: [0, 0, 0]
materials:
  nitinol: {young: 40 GPa, shear: 15 GPa, density: 6450 kg/m^3}
links:
  arm:
    rod:
      length: 25 cm
      section: {circle: {radius: 0.6 mm}}
      material: nitinol
      strain: {torsion: ORDER, bending: ORDER}
      discs: {count: 9, radius: 11 mm, thickness: 1 mm}
actuators:
  helix: {tendon: {rod: arm, y: (10 mm)*cos(2*pi*s), z: (10 mm)*sin(2*pi*s)}}
  left: {tendon: {rod: arm, y: -10 mm, z: 0}}
  down: {tendon: {rod: arm, y: 0, z: -10 mm}}
  right: {tendon: {rod: arm, y: 10 mm, z: 0}}
"""
