"""Contacts of a file, and back to its data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from typing import Any

from sorosim.io.bodies import BodyBuilder
from sorosim.io.body_writer import BodyWriter, pose_block
from sorosim.io.schema_bodies import MeshFileBlock
from sorosim.io.schema_contact import OBSTACLES, TOUCHABLE, ContactBlock, SurfaceBlock
from sorosim.loads.contact import Contact, Surface
from sorosim.loads.contact_law import ContactLaw
from sorosim.model.link import WORLD
from sorosim.model.mesh import Mesh
from sorosim.model.obstacle import Bowl, HalfSpace, HeightField, Obstacle, Pipe, Plane, Pole
from sorosim.model.shape import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sorosim.problems import Collector, Path

_KINDS: dict[str, Any] = {
    kind.kind: kind
    for kind in (Box, Cylinder, Sphere, Capsule, Ellipsoid, HalfSpace, Plane, Pole, Pipe, Bowl, HeightField)
}
_LAW = {key.name: key.default for key in fields(ContactLaw) if key.name != "stiffness"}


@dataclass
class ContactBuilder:
    """Builds contacts.

    Parameters
    ----------
    todo : Collector
    bodies : BodyBuilder
        Reads meshes and poses.
    names : collection of str
        Of all links of the file.
    """

    todo: Collector
    bodies: BodyBuilder
    names: Collection[str]

    def contact(self, path: Path, block: ContactBlock) -> Contact | None:
        """A contact, None if something is wrong."""
        n_problems = len(self.todo.problems)
        first = "among" if block.among is not None else "between"
        a = self.surfaces((*path, first), block.among if block.among is not None else block.between)
        b = None if block.others is None else self.surfaces((*path, "and"), block.others)
        stiffness, exponent = block.stiffness
        if exponent is not None and abs(exponent - block.exponent) > 1e-12:
            expected = f"a unit for exponent {block.exponent:g}, N/m^{block.exponent:g}"
            self.todo.add((*path, "stiffness"), expected, f"N/m^{exponent:g}", "or change the exponent")
        given: Any = {name: getattr(block, name) for name in _LAW}
        law = self.todo.attempt(path, lambda: ContactLaw(stiffness, **given))
        for i, pair in enumerate(block.apart):
            if len(pair) != 2:
                self.todo.add((*path, "apart", i), "a pair of names of links", f"{len(pair)} names")
            for j, name in enumerate(pair):
                self.todo.known((*path, "apart", i, j), "the name of a link", name, self.names)
        if law is None or len(self.todo.problems) > n_problems:
            return None
        apart: Any = tuple((x, y) for x, y in block.apart)
        return self.todo.attempt(path, lambda: Contact(a, b, law=law, rods=block.rods, apart=apart))

    def surfaces(self, path: Path, given: Any) -> list[Surface]:
        """Surfaces; what is wrong is left out."""
        if not isinstance(given, list):
            found = [self.surface(path, given)]
        else:
            found = [self.surface((*path, i), one) for i, one in enumerate(given)]
            if not given:
                self.todo.add(path, "one surface or several", "an empty list")
        return [surface for surface in found if surface is not None]

    def surface(self, path: Path, given: str | SurfaceBlock) -> Surface | None:
        """A surface."""
        if isinstance(given, str):
            if given not in self.names and (given in TOUCHABLE or given == WORLD):
                kind = "half_space" if given == WORLD else given
                hint = f"a shape in the world is written {{{kind}: {{...}}}}, its sizes inside"
                self.todo.add(path, "the name of a link, or a shape", f"'{given}'", hint)
                return None
            known = self.todo.known(path, "the name of a link", given, self.names)
            return self.todo.attempt(path, lambda: Surface(given)) if known else None
        if given.link != WORLD and not self.todo.known((*path, "link"), "the name of a link", given.link, self.names):
            return None
        shape, at = None, self.bodies.pose((*path, "at"), given.at)
        if given.kind:
            shape = self.shape(path, given)
            if shape is None:
                return None
        if at is None:
            return None
        options: Any = {"at": at, "radius": given.radius, "pieces": given.pieces}
        return self.todo.attempt(path, lambda: Surface(given.link, shape, **options))

    def shape(self, path: Path, block: SurfaceBlock) -> Any:
        """The shape of a surface."""
        given: Any = getattr(block, block.kind)
        if isinstance(given, MeshFileBlock):
            return self.bodies.mesh_file((*path, block.kind), given)
        make = Mesh if block.kind == "mesh" else _KINDS[block.kind]
        sizes = given.model_dump()
        return self.todo.attempt((*path, block.kind), lambda: make(**sizes))


def contact_block(contact: Contact, bodies: BodyWriter) -> dict[str, Any]:
    """A contact as the data of a file."""
    law = contact.law
    out: dict[str, Any] = {}
    if contact.others is None:
        out["among"] = [_surface(surface, bodies) for surface in contact.between]
    else:
        out["between"] = [_surface(surface, bodies) for surface in contact.between]
        out["and"] = [_surface(surface, bodies) for surface in contact.others]
    out["stiffness"] = law.stiffness
    for name, default in _LAW.items():
        if getattr(law, name) != default:
            out[name] = getattr(law, name)
    out["rods"] = contact.rods
    if contact.apart:
        out["apart"] = [list(pair) for pair in contact.apart]
    return out


def _surface(surface: Surface, bodies: BodyWriter) -> str | dict[str, Any]:
    out: dict[str, Any] = {"link": surface.link} if surface.link != WORLD else {}
    for name in ("radius", "pieces"):
        if getattr(surface, name) is not None:
            out[name] = getattr(surface, name)
    if isinstance(surface.shape, Obstacle):
        out[surface.shape.kind] = _obstacle(surface.shape)
    elif surface.shape is not None:
        out |= bodies.placed_shape(surface.shape, surface.at)
    pose = pose_block(surface.at)
    if pose:
        out["at"] = pose
    return surface.link if set(out) == {"link"} else out


def _obstacle(shape: Any) -> dict[str, Any]:
    assert shape.kind in OBSTACLES
    if isinstance(shape, HeightField):
        return {"heights": shape.heights.tolist(), "size": list(shape.size)}
    return {name: value for name, value in asdict(shape).items() if value is not None}
