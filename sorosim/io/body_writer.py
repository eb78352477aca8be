"""Rigid bodies, and what is drawn of links, back to the data of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sorosim.errors import ModelError
from sorosim.io.meshes import MAX_EMBEDDED, mesh_block
from sorosim.model.body import Assembly, RigidBody, Solid
from sorosim.model.mesh import Mesh
from sorosim.model.shape import Array, Shape
from sorosim.model.visual import Visual

MAX_WRITTEN = 10_000  # triangles; more would make too large a file


def pose_block(g: Array) -> dict[str, Any]:
    """A pose (4, 4), without what is zero."""
    out: dict[str, Any] = {}
    if g[:3, 3].any():
        out["position"] = g[:3, 3].tolist()
    if not np.array_equal(g[:3, :3], np.eye(3)):
        out["rotation"] = {"matrix": g[:3, :3].tolist()}
    return out


class BodyWriter:
    """Writes the bodies of one robot; small meshes of them go into the text, as `with_meshes` puts them there.

    So do larger ones that are from no file, as far as a text can hold them.
    """

    def __init__(self) -> None:
        self._left, self._written = MAX_EMBEDDED, 0

    def body(self, body: RigidBody) -> Any:
        """A rigid body: one part, or a list of them."""
        if not isinstance(body, Assembly):
            return _numbers(body)
        parts = [self._solid(part) if isinstance(part, Solid) else self.body(part) for part in body.parts]
        return parts[0] if len(parts) == 1 else parts

    def visuals(self, visuals: Sequence[Visual]) -> list[Any]:
        """What is drawn of a link."""
        return [{**self._shape(v.shape), **_at(v.at), **({"colour": v.colour} if v.colour else {})} for v in visuals]

    def placed_shape(self, shape: Shape, at: Array) -> dict[str, Any]:
        """A shape and its pose."""
        return {**self._shape(shape), **_at(at)}

    def _solid(self, solid: Solid) -> dict[str, Any]:
        amount = {"density": solid.density} if solid.mass is None else {"mass": solid.mass}
        return {**self._shape(solid.shape), **amount, **_at(solid.at)}

    def _shape(self, shape: Shape) -> dict[str, Any]:
        if isinstance(shape, Mesh):
            return {shape.kind: self._mesh(shape)}
        sizes = asdict(shape)  # type: ignore[call-overload]  # all others are dataclasses of their sizes
        return {shape.kind: {name: list(size) if isinstance(size, tuple) else size for name, size in sizes.items()}}

    def _mesh(self, mesh: Mesh) -> dict[str, Any]:
        n = len(mesh.faces)
        fits = n <= self._left
        self._left -= n if fits else 0
        self._written += n if fits or not mesh.file else 0
        if self._written > MAX_WRITTEN:
            hint = "write it to a file and read it with sorosim.io.meshes.read_mesh"
            raise ModelError("mesh", f"at most {MAX_WRITTEN} triangles that are from no file", "more", hint)
        return mesh_block(mesh, fits)


def _numbers(body: RigidBody) -> dict[str, Any]:
    inertia = body.inertia if any(body.inertia[3:]) else body.inertia[:3]
    return {"mass": body.mass, "centre": list(body.centre), "inertia": list(inertia)}


def _at(g: Array) -> dict[str, Any]:
    pose = pose_block(g)
    return {"at": pose} if pose else {}
