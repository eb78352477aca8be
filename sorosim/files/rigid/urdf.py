"""URDF: values by yourdfpy after every element was checked."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path as FilePath
from typing import Any
from xml.etree import ElementTree

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import FileError
from sorosim.files.nodes import Mistakes
from sorosim.files.rigid.document import Element, read_document, root_in_words
from sorosim.files.rigid.grammar import URDF, checked
from sorosim.files.rigid.inertia import Inertia, moved, rounding
from sorosim.files.rigid.remarks import WRITTEN, Remarks
from sorosim.files.rigid.tree import (
    Edge,
    Mimic,
    RigidJoint,
    RigidLink,
    RigidTree,
    Visual,
    colour_code,
    made_tree,
    named,
    only_root,
    roots_of,
)
from sorosim.mechanics.model.link import WORLD

KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "floating": "free", "planar": "planar",
    "fixed": "fixed",
}  # fmt: skip


def read_urdf(
    path: FilePath, mistakes: Mistakes, remarks: Remarks, *, visual: bool = True, collision: bool = False
) -> RigidTree:
    """Read a file; ``visual`` False leaves out what is drawn, ``collision`` False what touches.

    Raises
    ------
    FileError
        It cannot be read, or holds mistakes: each on a line of its own, with line and column.
    """
    root, found = read_document(path, "URDF", remarks=remarks), Mistakes()
    if root.tag != "robot":
        place = root.place
        raise FileError(
            str(path), f"expected URDF, whose root is <robot>, got {root_in_words(root)}", place.line, place.column
        )
    left_out = (*(() if visual else ("visual", "material")), *(() if collision else ("collision",)))
    right = checked(root, URDF, found, remarks, left_out)
    found.raise_if_any(str(path))
    links, joints = named(root.all("link"), "link", found), named(root.all("joint"), "joint", found)
    edges = {name: _edge(joint) for name, joint in joints.items()}
    if WORLD not in links and any(edge.parent == WORLD for edge in edges.values()):
        place = next(edge.parent_place for edge in edges.values() if edge.parent == WORLD)
        remarks.add(WRITTEN, "the parent 'world', which is no link, is the world itself", place)
        links[WORLD] = Element("link", {"name": WORLD}, root.place)
        ElementTree.SubElement(right, "link", {"name": WORLD})
    tops, _ = roots_of(root, links, edges, found)
    only_root(tops, links, found)
    found.raise_if_any(str(path))
    right.set("name", root.attributes.get("name") or "robot")
    read = _values(path, right)
    colours = {m.name: m.color.rgba for m in _materials(read) if m.name and m.color is not None}
    return made_tree(
        (_link(link, links[link.name], colours) for link in read.links),
        [_joint(joint, joints[joint.name], mistakes) for joint in read.joints],
        tops[0],
    )


def _values(path: FilePath, right: ElementTree.Element) -> Any:
    """What yourdfpy reads in a document that is right."""
    try:
        from yourdfpy import URDF as Reader
    except ImportError:
        message = "expected the package yourdfpy, which reads URDF, got none; install it: pip install 'sorosim[urdf]'"
        raise FileError(str(path), message) from None
    whole = BytesIO(ElementTree.tostring(right, encoding="utf-8"))
    return Reader.load(whole, build_scene_graph=False, load_meshes=False).robot


def _materials(read: Any) -> Iterator[Any]:
    """Materials of a whole file; a link may define one that others name."""
    for link in read.links:
        yield from (visual.material for visual in link.visuals if visual.material is not None)
    yield from read.materials


def _edge(joint: Element) -> Edge:
    parent, child = joint.first("parent"), joint.first("child")
    assert parent is not None  # checked, as the child
    assert child is not None
    return Edge(joint, parent.attributes["link"], child.attributes["link"], parent.place, child.place)


def _origin(read: Any) -> Array:
    return np.eye(4) if read.origin is None else read.origin


def _link(read: Any, element: Element, colours: dict[str, Any]) -> RigidLink:
    own, inertia = read.inertial, None
    if own is not None and not (own.mass == 0.0 and not own.inertia.any()):
        at = _origin(own)
        rounded = rounding(*_written(element), float(own.mass), at[:3, 3])
        inertia = moved(Inertia(float(own.mass), np.zeros(3), own.inertia, rounded), at)
    visuals = [  # none were read where they are left out
        Visual(_shape(visual.geometry), _origin(visual), _colour(visual.material, colours), at.place)
        for visual, at in zip(read.visuals, element.all("visual"), strict=False)
    ]
    collisions = [
        Visual(_shape(one.geometry), _origin(one), "", at.place)
        for one, at in zip(read.collisions, element.all("collision"), strict=False)
    ]
    return RigidLink(read.name, element, inertia, visuals, collisions)


def _written(element: Element) -> tuple[list[str], list[str]]:
    """Moments and products of inertia of a link as they are written."""
    own = element.first("inertial")
    assert own is not None  # checked, as what is in it
    given = own.first("inertia").attributes  # type: ignore[union-attr]
    return [given[key] for key in ("ixx", "iyy", "izz")], [given[key] for key in ("ixy", "ixz", "iyz")]


def _shape(geometry: Any) -> dict[str, Any]:
    if geometry.box is not None:
        return {"box": {"size": geometry.box.size.tolist()}}
    if geometry.cylinder is not None:
        return {"cylinder": {"radius": geometry.cylinder.radius, "length": geometry.cylinder.length}}
    if geometry.sphere is not None:
        return {"sphere": {"radius": geometry.sphere.radius}}
    mesh = geometry.mesh
    return {
        "mesh": {
            "file": mesh.filename,
            "scale": [1.0] * 3 if mesh.scale is None else np.broadcast_to(mesh.scale, 3).tolist(),
        }
    }


def _colour(material: Any, colours: dict[str, Any]) -> str:
    if material is None:
        return ""
    rgba = colours.get(material.name) if material.color is None else material.color.rgba
    return "" if rgba is None else colour_code(rgba[:3].tolist())


def _joint(read: Any, element: Element, mistakes: Mistakes) -> RigidJoint:
    acting = {}
    for key in ("damping", "friction"):
        value = float(getattr(read.dynamics, key, None) or 0.0)
        if value and read.type in ("floating", "planar"):
            hint = "its coordinates differ in dimension: leave it out here"
            mistakes.note(element.place_of("dynamics"), f"no {key} in a {read.type} joint", f"{value:g}", hint)
        elif value:
            acting[key] = value
    limits = None
    if read.limit is not None and read.type in ("revolute", "prismatic"):
        limits = (read.limit.lower or 0.0, read.limit.upper or 0.0)  # 0 where one is left out, by the format
    mimic = None
    if (m := read.mimic) is not None:
        mimic = Mimic(m.joint, 1.0 if m.multiplier is None else m.multiplier, m.offset or 0.0)
    return RigidJoint(
        read.name, KINDS[read.type], read.parent, read.child, element, _origin(read), read.axis,
        acting=acting, limits=limits, mimic=mimic, word=read.type,
    )  # fmt: skip
