"""Meshes: files of triangles, and how they get into the text of a description."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path as FilePath
from typing import Any
from xml.etree import ElementTree

import numpy as np

from sorosim.base.errors import FileError, ModelError
from sorosim.base.files_read import note_file
from sorosim.base.problems import listed, shown
from sorosim.mechanics.model.body import Assembly, Solid
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.mesh import Mesh

FORMATS = ("stl", "obj", "ply", "off", "glb", "dae")
MATERIALS = ("library_images", "library_effects", "library_materials", "bind_material")  # of Collada
MAX_BYTES = 50_000_000
MAX_EMBEDDED = 2000  # triangles in the text of a description, all its meshes together


def read_mesh(path: str | os.PathLike[str], scale: float | Sequence[float] = 1.0) -> Mesh:
    """Read a mesh from a file: STL, OBJ, PLY, OFF, GLB or, where pycollada is installed, Collada (DAE).

    Vertices at the same place become one, and triangles without area go.

    Parameters
    ----------
    path : path
    scale : float or three floats
        Length of the file's unit [m]: 1e-3 for a file in mm; for each axis, where they differ. Negative ones mirror.

    Raises
    ------
    FileError
        It cannot be read, is too large, or holds no triangles.
    """
    try:
        return mesh_of(path, scale)
    except ModelError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise FileError(str(path), f"expected {error.expected}, got {error.got}{hint}") from None


def mesh_of(path: str | os.PathLike[str], scale: float | Sequence[float] = 1.0) -> Mesh:
    """As `read_mesh`; its errors are ModelErrors without an object."""
    suffix = FilePath(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        endings = listed([f".{known}" for known in FORMATS])
        raise ModelError("", f"a mesh that ends in {endings}", shown(FilePath(path).name))
    try:
        note_file(path)
        with open(path, "rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        got = f"one that cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ModelError("", "a mesh file", got) from None
    if len(content) > MAX_BYTES:
        hint = "a tenth of its triangles will do: simplify it in a mesh program"
        raise ModelError("", f"a mesh file of at most {MAX_BYTES // 10**6} MB", "a larger one", hint)
    vertices, faces = _triangles(content, suffix)
    places, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)  # -0 is 0
    faces = index.reshape(-1)[faces]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    if not len(faces) or not np.isfinite(places).all():
        raise ModelError("", "a mesh", "coordinates that are not finite" if len(faces) else "a file without triangles")
    checksum = hashlib.sha256(content).hexdigest()
    factors = np.broadcast_to(np.array(scale, dtype=float), 3)
    if factors.prod() < 0.0:  # a mirror turns faces inside out
        faces = faces[:, ::-1]
    kept = scale if isinstance(scale, int | float) else tuple(scale)
    return Mesh(factors * places + 0.0, faces, file=os.path.abspath(path), scale=kept, checksum=checksum)


def _triangles(content: bytes, suffix: str) -> tuple[Any, Any]:
    """Vertices (n, 3) and faces (m, 3) of a file's content."""
    import trimesh

    if suffix == "dae" and find_spec("collada") is None:
        hint = "install it, pip install 'sorosim[urdf]', or turn the file into another format"
        raise ModelError("", "the package pycollada, which reads .dae", "none", hint)
    if suffix == "dae" and zipfile.is_zipfile(BytesIO(content)):  # which its reader would unpack to any size
        raise ModelError("", "a mesh in DAE", "a zip archive", "unpack it, and name the .dae file that is in it")
    if suffix == "dae" and b"<!DOCTYPE" in content.replace(b"\0", b""):  # it could define entities without end
        raise ModelError("", "a mesh without a document type", "a DOCTYPE", "leave it out")
    try:
        # materials and textures are not looked for: the content alone is read
        if suffix == "dae":
            content = _without_materials(content)
        mesh = trimesh.load_mesh(BytesIO(content), file_type=suffix, process=False)
        vertices, faces = np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.int64)
        return _unit(mesh) * vertices.reshape(-1, 3), faces.reshape(-1, 3)
    except Exception as error:  # readers of formats raise whatever they stumble over
        what = re.sub(r"""['"].*['"]""", "...", " ".join(str(error).split()))[:100] or type(error).__name__  # no quotes
        raise ModelError("", f"a mesh in {suffix.upper()}", f"a file that is none: {what}") from None


def _without_materials(content: bytes) -> bytes:
    """A Collada file without its colours and textures: its reader leaves out triangles whose material is not there."""
    root = ElementTree.fromstring(content)
    for element in root.iter():
        for child in [child for child in element if child.tag.rpartition("}")[2] in MATERIALS]:
            element.remove(child)
    return ElementTree.tostring(root)


def _unit(mesh: Any) -> float:
    """Length of a mesh's unit [m]: Collada files say it, as '0.0254 * meters'; others do not, and 1 is theirs."""
    unit = str((mesh.metadata or {}).get("units") or "")
    return float(unit.partition(" * ")[0]) if unit.endswith(" * meters") else 1.0


def mesh_block(mesh: Mesh, embed: bool) -> dict[str, Any]:
    """A mesh as a file writes it: its triangles, or where it was read from."""
    if embed or not mesh.file:
        return {"vertices": mesh.vertices.tolist(), "faces": mesh.faces.tolist()}
    scale = list(mesh.scale) if isinstance(mesh.scale, tuple) else mesh.scale
    return {"file": mesh.file, **({} if scale == 1.0 else {"scale": scale})}


def checksums(links: Sequence[Link]) -> dict[str, str]:
    """Checksums of mesh files by their paths; none where the text of the robot holds all meshes.

    What a text keeps of a large mesh is the path only: a result needs to know that the file is still the same.
    """
    meshes = list(_meshes_of(links))
    if sum(len(mesh.faces) for mesh in meshes) <= MAX_EMBEDDED:
        return {}
    return {mesh.file: mesh.checksum for mesh in meshes if mesh.file and mesh.checksum}


def check_unchanged(links: Sequence[Link], known: Mapping[str, str], file: str) -> None:
    """Refuse links whose mesh files have changed since their checksums were kept.

    Raises
    ------
    FileError
        `file` is what they were kept in.
    """
    for mesh in _meshes_of(links):
        if mesh.file and mesh.checksum != known.get(mesh.file, mesh.checksum):
            what = f"expected the mesh {mesh.file} as it was when this result was made, got a file that has changed"
            raise FileError(file, f"{what} since; bring the old one back, or make the result again")


def _meshes_of(links: Sequence[Link]) -> Iterator[Mesh]:
    for link in links:
        shapes = [visual.shape for visual in link.visual or ()] + [touching.shape for touching in link.collision or ()]
        bodies: list[Any] = [link.body]
        while bodies:
            part = bodies.pop()
            bodies += part.parts if isinstance(part, Assembly) else ()
            shapes += [part.shape] if isinstance(part, Solid) else []
        yield from (shape for shape in shapes if isinstance(shape, Mesh))
