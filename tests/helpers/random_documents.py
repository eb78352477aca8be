"""Random robots as documents of the file format: every kind of part, each number legal, some of them odd.

`document(seed)` is a pure function of its seed. What is drawn scales with the robot (forces with the bending stiffness
of a rod, gaps with its length), so that most robots are ones that somebody might build.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers.kinds import BESIDE, CLOSING, COORDINATES, JOINT_KINDS, WITH_SPRINGS, WITHOUT_AXIS
from helpers.robots import BASES, random_axis
from sorosim.base.methods import METHODS
from sorosim.mechanics.model.basis import get_basis

T_END = 0.5  # of every motion [s]
MAX_STEPS = 20_000  # of every motion: undamped rods would take minutes
MOST_COORDINATES = 40
ODD = 0.01  # part of the sizes that are off by orders of magnitude
SAG = 20.0  # weight of a rod times its length squared over its bending stiffness, at most
STRAINS = ("bending", "bending_y", "bending_z", "torsion", "elongation", "shear", "shear_y", "shear_z")
# young [Pa], poisson, density [kg/m^3]
MATERIALS = {
    "gel": (2e4, 0.49, 1050), "silicone": (1e6, 0.5, 1000), "rubber": (8e6, 0.48, 1150), "foam": (1e5, 0.1, 60),
    "nylon": (2.5e9, 0.4, 1150), "carbon": (1.2e11, 0.3, 1600), "steel": (2.1e11, 0.3, 7850),
}  # fmt: skip


def short(x: float) -> float:
    """A number of four digits, as people write them."""
    return float(f"{x:.4g}")


@dataclass
class Draw:
    """A seeded generator of numbers as people write them, and the robot so far."""

    rng: np.random.Generator
    links: dict[str, dict[str, Any]] = field(default_factory=dict)
    joints: dict[str, str] = field(default_factory=dict)  # link -> kind of its joint
    widths: dict[str, float] = field(default_factory=dict)  # half of the thickness at the base of a link [m]
    lengths: dict[str, float] = field(default_factory=dict)  # of rods [m]
    insides: dict[str, float] = field(default_factory=dict)  # radius of a circle inside a rod's sections [m]
    forces: dict[str, float] = field(default_factory=dict)  # that bends a rod about a right angle, or weighs a body [N]
    strains: dict[str, list[str]] = field(default_factory=dict)  # of rods of one division
    budget: int = MOST_COORDINATES

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def between(self, low: float, high: float) -> float:
        return short(self.rng.uniform(low, high))

    def size(self, low: float, high: float) -> float:
        """A positive number from low to high, evenly in its logarithm; now and then far outside."""
        value = np.exp(self.rng.uniform(np.log(low), np.log(high)))
        if self.chance(ODD):
            value *= 10.0 ** self.rng.integers(-4, 5)
        return short(value)

    def signed(self, size: float) -> float:
        return short(size * self.rng.normal())

    def vector(self, size: float) -> list[float]:
        """Three numbers; often along one axis."""
        if self.chance(0.4):
            out = [0.0, 0.0, 0.0]
            out[int(self.rng.integers(3))] = self.signed(size)
            return out
        return [self.signed(size) for _ in range(3)]

    def axis(self) -> list[float]:
        if self.chance(0.6):
            return list(self.pick([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
        return [short(x) for x in random_axis(self.rng)]

    def parent(self) -> str:
        """A link for the next one to hang on, mostly the last one; "" is the world."""
        return self.pick([*self.links, list(self.links)[-1]]) if self.links and self.chance(0.9) else ""

    def rotation(self) -> dict[str, Any]:
        kind = self.pick(["axis", "rpy", "quaternion", "quarter"])
        if kind == "axis":
            return {"axis": self.axis(), "angle": self.between(-3.2, 3.2)}
        if kind == "rpy":
            return {"rpy": [self.between(-1.6, 1.6) for _ in range(3)]}
        if kind == "quaternion":
            return {"quaternion": [self.between(0.1, 1.0), *self.vector(1.0)]}
        return {"axis": self.axis(), "angle": self.pick(["90 deg", "-90 deg", "180 deg"])}

    def pose(self, reach: float) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self.chance(0.6):
            out["position"] = self.vector(reach)
        if self.chance(0.5):
            out["rotation"] = self.rotation()
        return out

    def place(self, link: str) -> dict[str, Any]:
        """A place on a link."""
        out = self.pose(self.widths[link])
        if link in self.lengths and self.chance(0.5):
            out["s"] = self.pick([0, 1, self.between(0.05, 0.95)])
        return out

    def signal(self, size: float) -> Any:
        """An input over time of some size."""
        a = self.signed(size)
        table = {"times": [0, 0.1, 0.3], "values": [0, a, self.signed(size)]}
        table["interpolation"] = self.pick(["linear", "pchip"])
        sine = f"{a}*sin({self.size(1, 60)}*t)"
        return self.pick([a, f"{a}*smoothstep(5*t)", sine, f"{a}*t", f"{a}*step(t - 0.2)", table])


def document(seed: int) -> dict[str, Any]:
    """Robot number `seed` as the tree that a YAML file of it has."""
    draw = Draw(np.random.default_rng(seed))
    materials = {name: _material(draw) for name in ("one", "two")}
    for i in range(int(draw.rng.integers(1, 6))):
        if draw.budget > 1 and draw.chance(0.6 if i else 0.8):
            _rod(draw, f"rod{i}", materials)
        else:
            _body(draw, f"body{i}")
        if draw.budget <= 0:
            break
    out: dict[str, Any] = {
        "sorosim": 1, "name": f"robot{seed}",
        "gravity": draw.pick([[0.0, 0.0, -9.81]] * 5 + [[0.0, 0.0, 0.0], [9.81, 0.0, 0.0], draw.vector(9.81)]),
        "materials": materials, "links": draw.links,
    }  # fmt: skip
    loops = _loops(draw) if draw.chance(0.35) else {}
    driven = _driven(draw) if draw.chance(0.2) else {}
    actuators, u = _actuators(draw, loops, driven)
    blocks = {"loops": loops, "actuators": actuators, "loads": _loads(draw), "initial": _initial(draw, driven, loops),
              "sensors": _sensors(draw, actuators)}  # fmt: skip
    out |= {key: block for key, block in blocks.items() if block}
    out["simulate"] = _simulate(draw, loops) | ({"u": u} if u else {}) | ({"driven": driven} if driven else {})
    still = {name: draw.signed(draw.forces.get("u:" + name, 1.0)) for name in u if draw.chance(0.7)}
    out["statics"] = ({"u": still} if still else {}) | ({"driven": dict.fromkeys(driven, 0.1)} if driven else {})
    return out


# -- parts


def _material(draw: Draw) -> dict[str, Any]:
    young, poisson, density = MATERIALS[draw.pick(list(MATERIALS))]
    young = short(young * draw.size(0.3, 3))
    out: dict[str, Any] = {"young": young, "density": short(density * draw.size(0.7, 1.4))}
    if draw.chance(0.1):
        out["shear"] = short(young * draw.size(0.1, 1))
    else:
        out["poisson"] = draw.pick([poisson, poisson, 0.0, 0.5, -0.3])
    if draw.chance(0.85):
        out["damping"] = short(young * draw.size(1e-5, 3e-2))
    if draw.chance(0.15):
        out["mass_damping"] = draw.size(0.01, 10)
    if draw.chance(0.15):
        out["stiffness_damping"] = draw.size(1e-5, 1e-2)
    return out


def _profile(draw: Draw, size: float) -> tuple[Any, float]:
    """A size along a rod: constant, tapered, by a formula or a table; and the least."""
    tip = short(size * draw.pick([0.05, 0.3, 0.5, 0.8, 1.3]))
    kind = draw.pick(["constant", "constant", "taper", "formula", "table"])
    if kind == "constant":
        return size, size
    if kind == "taper":
        value: Any = [size, tip]
    elif kind == "formula":
        value = f"{size} + ({tip} - {size})*s**2"
    else:
        value = {"table": {"s": [0, draw.between(0.2, 0.8), 1], "value": [size, size, tip],
                           "interpolation": draw.pick(["linear", "pchip"])}}  # fmt: skip
    return value, min(size, tip)


def _section(draw: Draw, a: float) -> tuple[dict[str, Any], float]:
    """A section, and the radius of a circle inside it all along."""
    kind = draw.pick(["circle", "circle", "hollow_circle", "rectangle", "ellipse", "properties"])
    if kind == "circle":
        radius, least = _profile(draw, a)
        sizes: dict[str, Any] = {"radius": radius}
    elif kind == "hollow_circle":
        least = a
        sizes = {"radius": a, "inner_radius": short(a * draw.pick([0.2, 0.7, 0.95]))}
    elif kind == "properties":
        least = a
        A, I = np.pi * a**2, np.pi * a**4 / 4  # noqa: E741
        sizes = {"area": short(A), "Iy": short(I), "Iz": short(I * draw.size(0.1, 1)),
                 "J": short(I)}  # fmt: skip
    else:
        (y, least_y), (z, least_z) = _profile(draw, 2 * a), _profile(draw, short(2 * a * draw.size(0.05, 1)))
        sizes, least = {"y": y, "z": z}, 0.5 * min(least_y, least_z)
    if draw.chance(0.15):
        sizes["shear_factor"] = draw.between(0.5, 1.0)
    return {kind: sizes}, least


def _strain(draw: Draw) -> dict[str, Any]:
    """Orders, and bases of some strains; bending or a part of it comes first."""
    out: dict[str, Any] = {}
    basis = draw.pick(BASES) if draw.chance(0.4) else "legendre"
    if basis != "legendre":
        out["basis"] = basis
    for name in [draw.pick(STRAINS[:3]), *draw.rng.permutation(STRAINS[3:])]:
        if out.keys() & {"shear", "shear_y", "shear_z"} and name.startswith("shear"):
            continue
        own = draw.pick(BASES) if draw.chance(0.1) else basis
        order = int(draw.rng.integers(0, 6 if name.startswith("bending") else 3))
        if own == "hermite" or own.endswith("elements"):
            order = max(order, 1)
        count = get_basis(own).count(order) * (2 if name in ("bending", "shear") else 1)
        if count <= draw.budget and (name.startswith("bending") or draw.chance(0.3)):
            out[str(name)] = order if own == basis else {"basis": own, "order": order}
            draw.budget -= count
    return out


def _rod(draw: Draw, name: str, materials: dict[str, Any]) -> None:
    divisions = []
    parent = draw.parent()
    a = draw.widths[parent] * draw.size(0.4, 1.1) if parent else draw.size(1e-3, 3e-2)
    a = short(a)
    draw.widths[name], draw.lengths[name], inside = a, 0.0, a
    joint = _hang(draw, name, parent)
    for k in range(2 if draw.chance(0.2) else 1):
        material = draw.pick(list(materials))
        young, density = materials[material]["young"], materials[material]["density"]
        # a longer one would hang down, whatever holds it
        longest = (SAG * young * a**2 / 4 / (9.81 * density)) ** (1 / 3) * (100 if draw.chance(ODD) else 1)
        length = short(min(a * draw.size(6, 120), longest))
        strain = _strain(draw)
        if not strain.keys() & set(STRAINS):  # nothing is left: a rigid piece
            strain = {}
        section, least = _section(draw, a)
        inside = min(inside, least)
        division: dict[str, Any] = {"length": length, "section": section, "material": material, "strain": strain}
        if draw.chance(0.2):
            bent = draw.pick([draw.signed(1 / length), f"{draw.signed(2 / length)}*s"])
            division["reference"] = {draw.pick(["torsion", "bending_y", "bending_z"]): bent}
        divisions.append(division)
        draw.lengths[name] += length
        if k == 0:
            draw.forces[name] = min(3.0 * young * np.pi * a**4 / 4 / length**2, draw.forces.get(parent, np.inf))
            draw.strains[name] = [key for key in strain if key in STRAINS]
    rod = divisions[0] if len(divisions) == 1 else {"divisions": divisions}
    draw.links[name], draw.insides[name] = joint | {"rod": rod}, inside
    if len(divisions) > 1:
        draw.strains[name] = []


def _body(draw: Draw, name: str) -> None:
    parent = draw.parent()
    a = draw.widths[parent] * draw.size(0.5, 3) if parent else draw.size(5e-3, 0.1)
    if draw.chance(0.08):  # a massless frame, mostly fixed
        draw.widths[name], draw.forces[name] = a, draw.forces.get(parent, 1.0)
        draw.links[name] = _hang(draw, name, parent, [*["fixed"] * 6, "revolute"])
        return
    density = draw.size(100, 8000)
    if parent:  # what carries it bears its weight
        a = min(a, (2 * draw.forces[parent] / (9.81 * density)) ** (1 / 3) / 2)
    a = short(a)
    draw.widths[name] = a
    joint = _hang(draw, name, parent)
    shapes = {
        "box": {"size": [a, draw.size(0.3 * a, 2 * a), draw.size(0.3 * a, 2 * a)]},
        "cylinder": {"radius": a, "length": draw.size(0.2 * a, 5 * a)},
        "cone": {"radius": a, "length": draw.size(a, 3 * a)},
        "sphere": {"radius": a},
        "ellipsoid": {"radii": [a, draw.size(0.3 * a, 2 * a), draw.size(0.3 * a, 2 * a)]},
        "capsule": {"radius": a, "length": draw.size(0.2 * a, 5 * a)},
        "superellipsoid": {"radii": [a, draw.size(0.3 * a, 2 * a), a], "roundness": [draw.size(0.05, 1.0), 1.0]},
    }
    draw.forces[name] = 10.0 * density * a**3
    if draw.chance(0.25):
        mass = short(density * a**3)
        moments = [short(mass * a**2 * x) for x in (0.2, 0.3, draw.pick([0.15, 0.3, 0.49]))]
        body: dict[str, Any] = {"mass": mass, "inertia": moments}
        if draw.chance(0.5):
            body["centre"] = draw.vector(a)
    else:
        kind = draw.pick(list(shapes))
        weight = {"density": density} if draw.chance(0.7) else {"mass": short(density * a**3)}
        body = {kind: shapes[kind], **weight}
        if draw.chance(0.3):
            body["at"] = draw.pose(a)
    draw.links[name] = joint | {"body": body}


def _hang(draw: Draw, name: str, parent: str, kinds: Sequence[str] = ()) -> dict[str, Any]:
    """Parent, pose and joint of a link."""
    out: dict[str, Any] = {}
    if parent:
        out["parent"] = parent
        at = draw.place(parent)
    else:
        at = draw.pose(0.2)
    if at:
        out["at"] = at
    kind = draw.pick(kinds or (["fixed"] * (6 if not parent else 3) + list(JOINT_KINDS)))
    if draw.links and kind == "free" and draw.chance(0.7):
        kind = "revolute"
    draw.joints[name] = kind
    draw.budget -= len(COORDINATES[kind])
    joint = _joint(draw, kind, draw.widths[name])
    if joint != "fixed":
        out["joint"] = joint
    return out


def _joint(draw: Draw, kind: str, a: float, loop: bool = False) -> Any:
    """A joint with springs, dampers, friction and end stops in some."""
    dimensions = [dimension for _, dimension in COORDINATES[kind]]
    options: dict[str, Any] = {} if kind in WITHOUT_AXIS else {"axis": draw.axis()}
    scale = {"angle": 1.0, "length": a}

    def values(size: float) -> Any:
        numbers = [short(draw.size(0.1 * size, 10 * size) / scale[d]) for d in dimensions]
        return numbers if len(numbers) > 1 else numbers[0]

    if dimensions and (not loop or kind in WITH_SPRINGS):
        if draw.chance(0.35):
            options["stiffness"] = values(0.3)
            if draw.chance(0.4):
                rest = [short(0.5 * scale[d] * draw.rng.normal()) for d in dimensions]
                options["rest"] = rest if len(rest) > 1 else rest[0]
        if draw.chance(0.4):
            options["damping"] = values(0.003)
    if dimensions and not loop:
        if draw.chance(0.12):
            options["friction"] = values(0.02)
        if draw.chance(0.12):
            stops = []
            for d in dimensions:
                low, high = (short(draw.size(0.1, 2) * scale[d]) for _ in range(2))
                stops.append({"low": -low, "high": high, "stiffness": draw.size(10, 1e4)})
            options["limits"] = stops if len(stops) > 1 else stops[0]
    if kind == "helical":
        options["pitch"] = draw.signed(0.3 * a)
    if kind in ("free", "planar") and not loop and draw.chance(0.3):
        options["coordinates"] = "screw"
    if kind in BESIDE and not loop and draw.chance(0.2):
        options["through"] = draw.vector(a)
    if not options:
        return kind
    return {kind: options}


def _loops(draw: Draw) -> dict[str, Any]:
    """One or two loops, closed as built but for one in ten."""
    out: dict[str, Any] = {}
    for link in draw.links.values():  # a straight rod that keeps its length is singular between two ends
        for piece in [link["rod"], *link["rod"].get("divisions", [])] if "rod" in link and draw.chance(0.8) else []:
            if piece.get("strain"):
                piece["strain"].setdefault("elongation", 1)
    moved = [name for name in draw.links if "rod" in draw.links[name] or draw.joints[name] != "fixed"]
    for i in range(2 if draw.chance(0.2) else 1):
        if not moved:
            break
        a = draw.pick(moved)
        others = ["world", *(name for name in draw.links if name != a)]
        to: dict[str, Any] = {"at": {"as_built": True}}
        b = draw.pick(others)
        if b != "world":
            to["link"] = b
        if draw.chance(0.1):
            to["at"] = draw.pose(0.05)
        at = draw.place(a)
        origin = {"link": a, **({"at": at} if at else {})}
        kind = draw.pick(["spherical", "revolute", *CLOSING])
        out[f"loop{i}"] = {"joint": _joint(draw, kind, draw.widths[a], loop=True), "from": origin, "to": to}
    return out


def _driven(draw: Draw) -> dict[str, Any]:
    """Motions of a joint of one coordinate."""
    names = [name for name, kind in draw.joints.items() if len(COORDINATES[kind]) == 1]
    if not names:
        return {}
    name = draw.pick(names)
    size = draw.widths[name] if COORDINATES[draw.joints[name]][0][1] == "length" else 0.5
    a = draw.signed(size)
    return {name: draw.pick([a, f"{a}*smoothstep(4*t)", f"{a}*sin({draw.size(1, 20)}*t)", f"{a}*t"])}


def _actuators(draw: Draw, loops: dict[str, Any], driven: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Actuators, and inputs of a size that moves what they drive."""
    out: dict[str, Any] = {}
    u: dict[str, Any] = {}

    def add(name: str, actuator: dict[str, Any], size: float, positive: bool = False) -> None:
        out[name] = actuator
        size = short(size * draw.size(0.03, 1.0))
        draw.forces["u:" + name] = size
        if draw.chance(0.85):
            u[name] = draw.signal(size)

    for name, force in list(draw.forces.items()):
        a, L = draw.widths[name], draw.lengths.get(name, 0.0)
        if L and draw.chance(0.4):
            a = draw.insides[name]
            y, z = draw.between(-0.4, 0.4) * a, draw.between(0.05, 0.3) * a
            way: dict[str, Any] = {"rod": name, "y": short(y), "z": short(z)}
            if draw.chance(0.2):
                way["y"] = f"{z:.4g}*cos(4*s)"
            tension = force * L / a
            kind = draw.pick(["tendon", "tendon", "wound", "chamber", "moment"])
            if kind == "tendon":
                extra = draw.pick([{}, {}, {"friction": draw.between(0.01, 0.5)}, {"pushes": True}])
                add(f"{name}_tendon", {"tendon": way | extra}, tension)
            elif kind == "wound":
                add(f"{name}_tendon", {"tendon": way | {"stiffness": draw.size(100, 1e5)}}, 0.1 * L)
            elif kind == "chamber":
                area = short(0.05 * a**2)
                add(f"{name}_chamber", {"chamber": way | {"area": area}}, tension / area)
            else:
                moment = {draw.pick(["torsion", "bending_y", "bending_z"]): draw.pick(["1", "1 - s", "sin(pi*s)"])}
                add(f"{name}_moment", {"moment": {"rod": name, **moment}}, force * L)
        kind = draw.joints[name]
        if name not in driven and COORDINATES[kind] and draw.chance(0.3):
            along, dimension = draw.pick(COORDINATES[kind])
            where = {"link": name, **({"along": along} if along else {})}
            if kind not in ("spherical", "planar", "free") and draw.chance(0.5):
                servo = {**where, "stiffness": draw.size(0.1, 100), "damping": draw.size(1e-3, 1)}
                if draw.chance(0.3):
                    servo["limit"] = draw.size(0.1, 10)
                add(f"{name}_servo", {"servo": servo}, 1.0 if dimension == "angle" else a)
            else:
                add(f"{name}_motor", {"joint": where}, 3 * force * (a if dimension == "angle" else 1.0))
    for name, loop in loops.items():
        kind = next(iter(loop["joint"])) if isinstance(loop["joint"], dict) else loop["joint"]
        if kind in WITH_SPRINGS and draw.chance(0.4):
            along = {"along": draw.pick(["angle", "slide"])} if kind == "cylindrical" else {}
            add(f"{name}_motor", {"loop": {"loop": name, **along}}, 0.1)
    return out, u


def _loads(draw: Draw) -> dict[str, Any]:
    out: dict[str, Any] = {}
    names = list(draw.links)
    for i in range(int(draw.rng.integers(0, 4))):
        name = draw.pick(names)
        force = draw.forces[name] * draw.size(0.03, 2)
        kind = draw.pick(["wrench", "wrench", "line", "spring", "spring", "fluid", "contact", "contact"])
        if kind == "wrench":
            at: dict[str, Any] = {"s": draw.between(0, 1)} if name in draw.lengths and draw.chance(0.5) else {}
            wrench = {"link": name, **at, "frame": draw.pick(["world", "body", "line"])}
            wrench |= {"through": draw.vector(0.3)} if wrench["frame"] == "line" else {}
            wrench["force"] = [draw.signal(force) if draw.chance(0.3) else x for x in draw.vector(force)]
            if draw.chance(0.3) and wrench["frame"] != "line":
                wrench["moment"] = draw.vector(force * draw.widths[name])
            out[f"load{i}"] = {"wrench": wrench}
        elif kind == "line" and name in draw.lengths:
            per = short(force / draw.lengths[name])
            entries = [0, f"{draw.signed(per)}*(1 - s)*sin(10*t)", draw.signed(per)]
            out[f"load{i}"] = {"line": {"rod": name, "force": entries, "frame": draw.pick(["world", "body"])}}
        elif kind == "spring":
            ends: list[Any] = [{"link": name, "at": draw.place(name)}]
            other = draw.pick([*names, "world"])
            ends.append({"at": {"position": draw.vector(0.3)}} if other in (name, "world") else other)
            stiffness = short(force / draw.size(0.01, 0.3))
            spring = {"from": ends[0], "to": ends[1], "stiffness": stiffness}
            spring |= {"damping": short(0.01 * stiffness)} if draw.chance(0.5) else {}
            spring |= {"rest": draw.size(0.01, 0.3)} if draw.chance(0.7) else {}
            out[f"load{i}"] = {"spring": spring}
        elif kind == "fluid" and not any("fluid" in load for load in out.values()):
            # links that displace some of it: rods, and bodies of shapes
            wet = [n for n in names if n in draw.lengths or "inertia" not in draw.links[n].get("body", {"inertia": 0})]
            if wet:
                fluid: dict[str, Any] = {"density": draw.pick([1.2, 1000.0, 1000.0, 13500.0])}
                drags = [{}, {"drag": draw.between(0, 2)}, {"drag": 1.0, "added_mass": draw.between(0, 1)}]
                fluid["links"] = {n: dict(draw.pick(drags)) for n in wet}
                if fluid["density"] > 1e4:
                    fluid["drag"] = "speed"
                elif all("drag" in link for link in fluid["links"].values()):
                    fluid |= {"drag": "stokes", "viscosity": 0.5}
                if draw.chance(0.4):
                    fluid["current"] = [draw.signed(0.5), 0, f"{draw.signed(0.3)}*sin({draw.size(1, 30)}*t)"]
                if draw.chance(0.3):
                    fluid |= {"height": draw.signed(0.2), "up": [0, 0, 1]}
                out[f"load{i}"] = {"fluid": fluid}
        elif kind == "contact":
            contact = _contact(draw, name, force)
            if contact:
                out[f"load{i}"] = {"contact": contact}
    return out


def _contact(draw: Draw, name: str, force: float) -> dict[str, Any]:
    shapes = {"box", "cylinder", "sphere", "capsule", "ellipsoid", "superellipsoid"}
    solid = [n for n in draw.links if n in draw.lengths or set(draw.links[n].get("body", {})) & shapes]
    round_ = [n for n in solid if n in draw.lengths or set(draw.links[n]["body"]) & {"sphere", "capsule"}]
    if name not in solid:
        return {}
    a = draw.widths[name]
    exponent = draw.pick([1.5, 1.5, 1.0, 2.0])
    # the force that acts presses by a twentieth of the thickness
    stiffness = max(force, 1e-3) * draw.size(0.3, 30) / (0.05 * a) ** exponent
    options: dict[str, Any] = {"stiffness": short(stiffness)}
    if exponent != 1.5:
        options["exponent"] = exponent
    restitution = {"restitution": draw.between(0.1, 1.0), "impact_speed": 0.5}
    options |= draw.pick([{}, {"damping": draw.size(0.1, 3)}, restitution])
    if draw.chance(0.5):
        options["friction"] = draw.between(0.05, 1.2)
        options["slip_speed"] = draw.size(1e-4, 1e-2)
    if draw.chance(0.2):
        options["onset"] = short(0.01 * a)
    if len(round_) > 1 and draw.chance(0.35):
        return {"among": round_, **options}
    if name in round_:
        obstacle = draw.pick([
            {"half_space": {}}, {"half_space": {}}, {"plane": {}}, {"pole": {"radius": draw.size(0.01, 0.1)}},
            {"pipe": {"radius": draw.size(0.05, 0.5)}}, {"bowl": {"radius": draw.size(0.2, 2.0)}},
            {"sphere": {"radius": draw.size(0.02, 0.2)}}, {"box": {"size": [0.3, 0.3, 0.1]}},
        ])  # fmt: skip
    else:
        obstacle = {"half_space": {}}
    inside = obstacle.keys() & {"pipe", "bowl"}
    at = {"position": [0, 0, 0 if inside else draw.signed(0.05) - draw.size(0.05, 0.5)]}
    return {"between": name, "and": {**obstacle, "at": at}, **options}


def _initial(draw: Draw, driven: dict[str, Any], loops: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if loops and draw.chance(0.8):  # they are closed where all coordinates are zero
        return out
    for name, kind in draw.joints.items():
        if name in driven or not draw.chance(0.2):
            continue
        if kind in ("spherical", "free"):
            out[name] = {"rotation": draw.rotation()}
            if kind == "free":
                out[name] |= {"position": draw.vector(0.1), "velocity": draw.vector(1.0)}
        elif kind in ("revolute", "helical", "prismatic"):
            size = draw.widths[name] if kind == "prismatic" else 1.0
            out[f"{name}.{kind}"] = {"value": draw.signed(size), "rate": draw.signed(2 * size)}
    for name, strains in draw.strains.items():
        if "bending_y" in strains and draw.chance(0.2):
            out[f"{name}.bending_y[0]"] = draw.signed(1.0 / draw.lengths[name])
    return out


def _sensors(draw: Draw, actuators: dict[str, Any]) -> dict[str, Any]:
    if not draw.chance(0.2):
        return {}
    name = draw.pick(list(draw.links))
    out = {"one": {draw.pick(["pose", "twist", "acceleration", "imu"]): {"link": name}}}
    tendons = [name for name, actuator in actuators.items() if "tendon" in actuator]
    if tendons:
        out["two"] = {"tendon": tendons[0]}
    return out


def _simulate(draw: Draw, loops: dict[str, Any]) -> dict[str, Any]:
    method = draw.pick(["bdf", "generalized-alpha", *METHODS])
    out: dict[str, Any] = {"t_end": T_END, "max_steps": MAX_STEPS, "method": method}
    if draw.chance(0.2):
        out["rtol"] = draw.pick([1e-2, 1e-4, 1e-6])
    if draw.chance(0.1):
        out["atol"] = draw.pick([1e-4, 1e-9])
    if draw.chance(0.2):
        out["dt_out"] = draw.pick([0.5, 0.1, 0.003, 0.0007])
    if draw.chance(0.1):
        out["checkpoint"] = draw.pick([0.1, 0.037])
    if draw.chance(0.15):
        out["q0"] = "equilibrium"
    elif loops:
        out["q0"] = "assembled"
    if out["method"] == "generalized-alpha":
        out |= draw.pick([{}, {"spectral_radius": draw.pick([0.0, 0.5, 1.0])}, {"step": 1e-3}])
    return out
