"""Rigid bodies of a file, and what is drawn of links: from the schema's blocks to the model."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from sorosim.io.meshes import mesh_of
from sorosim.io.pose import Array, pose_matrix
from sorosim.io.schema_bodies import BodyBlock, FrameBlock, MeshFileBlock, ShapedBlock, SolidBlock, VisualBlock
from sorosim.model.body import Assembly, RigidBody, Solid
from sorosim.model.mesh import Mesh
from sorosim.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Shape, Sphere
from sorosim.model.visual import Visual
from sorosim.problems import Collector, Path, shown

_SHAPES: dict[str, Callable[..., Shape]] = {
    kind.kind: kind for kind in (Box, Cylinder, Cone, Sphere, Ellipsoid, Capsule)
}


@dataclass
class BodyBuilder:
    """Builds rigid bodies and visuals.

    Parameters
    ----------
    todo : Collector
    folder_of : callable
        Folder where a relative path that is written at a place of the file begins; None where there is none.
    """

    todo: Collector
    folder_of: Callable[[Path], FilePath | None]
    read: dict[Path, Mesh] = field(default_factory=dict)  # meshes from files, by the places of their blocks
    _files: dict[tuple[str, float | tuple[float, ...]], Mesh] = field(default_factory=dict)

    def body(self, path: Path, block: SolidBlock | BodyBlock | list[SolidBlock | BodyBlock]) -> RigidBody | None:
        """A rigid body, None if something is wrong."""
        if isinstance(block, BodyBlock):
            return self.numbers(path, block)
        if not isinstance(block, list):
            solid = self.solid(path, block)
            return None if solid is None else Assembly((solid,))
        if not block:
            self.todo.add(path, "one part or several", "an empty list")
        parts = [
            self.numbers((*path, i), part) if isinstance(part, BodyBlock) else self.solid((*path, i), part)
            for i, part in enumerate(block)
        ]
        right = tuple(part for part in parts if part is not None)
        return self.todo.attempt(path, lambda: Assembly(right)) if right and len(right) == len(parts) else None

    def numbers(self, path: Path, block: BodyBlock) -> RigidBody | None:
        """A body, or a part of one, by numbers."""
        given = block.model_dump(exclude={"at"})
        body = self.todo.attempt(path, lambda: RigidBody(**given))
        at = self.pose((*path, "at"), block.at)
        if body is None or at is None or block.at is None:
            return body
        return self.todo.attempt(path, lambda: body.moved(at))

    def solid(self, path: Path, block: SolidBlock) -> Solid | None:
        """A part with a shape."""
        shape, at = self.shape(path, block), self.pose((*path, "at"), block.at)
        if shape is None or at is None:
            return None
        return self.todo.attempt(path, lambda: Solid(shape, density=block.density, mass=block.mass, at=at))

    def visuals(self, path: Path, block: VisualBlock | list[VisualBlock] | None) -> tuple[Visual, ...] | None:
        """What is drawn of a link; None if nothing is said, what is wrong is left out."""
        if block is None:
            return None
        if isinstance(block, list):
            found = [self.visual((*path, i), part) for i, part in enumerate(block)]
        else:
            found = [self.visual(path, block)]
        return tuple(visual for visual in found if visual is not None)

    def visual(self, path: Path, block: VisualBlock) -> Visual | None:
        """One shape that is drawn."""
        shape, at = self.shape(path, block), self.pose((*path, "at"), block.at)
        if shape is None or at is None:
            return None
        return self.todo.attempt(path, lambda: Visual(shape, at=at, colour=block.colour or ""))

    def shape(self, path: Path, block: ShapedBlock) -> Shape | None:
        """A shape."""
        kind: str = block.kind
        given: Any = getattr(block, kind)
        if isinstance(given, MeshFileBlock):
            return self.mesh_file((*path, kind), given)
        sizes = given.model_dump()
        make = Mesh if kind == "mesh" else _SHAPES[kind]
        return self.todo.attempt(path, lambda: make(**sizes))

    def wet_shape(self, path: Path, block: ShapedBlock) -> tuple[Shape, Array] | None:
        """The shape of a body in a fluid, and its pose."""
        shape, at = self.shape(path, block), self.pose((*path, "at"), block.at)
        return None if shape is None or at is None else (shape, at)

    def mesh_file(self, path: Path, block: MeshFileBlock) -> Mesh | None:
        """A mesh from a file; a file that several links name is read once."""
        folder = self.folder_of((*path, "file"))
        if folder is None and not os.path.isabs(block.file):
            hint = "load the robot from its own file"
            self.todo.add((*path, "file"), "a mesh", f"{shown(block.file)}, which is not kept here", hint)
            return None
        file = (folder or FilePath()) / block.file
        if not os.path.isfile(file):  # False for impossible names too
            hint = "relative paths begin in the folder of the file that they are written in"
            self.todo.add((*path, "file"), "a mesh file", f"{shown(block.file)}, which does not exist", hint)
            return None
        key = str(file), block.scale
        mesh = self._files.get(key) or self.todo.attempt((*path, "file"), lambda: mesh_of(file, block.scale))
        if mesh is not None:
            self._files[key] = self.read[path] = mesh
        return mesh

    def frames(self, path: Path, blocks: dict[str, FrameBlock]) -> dict[str, Array]:
        """Named frames; what is wrong is left out."""
        made = {name: self.pose((*path, name), block) for name, block in blocks.items()}
        return {name: pose for name, pose in made.items() if pose is not None}

    def pose(self, path: Path, block: FrameBlock | None) -> Array | None:
        """A pose, None if it is wrong; where none is given, the identity."""
        return np.eye(4) if block is None else self.todo.attempt((*path, "rotation"), lambda: pose_matrix(block))
