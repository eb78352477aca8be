"""A URDF file as a tree of links: read by yourdfpy after every element was checked, with the place of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path as FilePath
from typing import Any
from xml.etree import ElementTree

from sorosim.errors import FileError, nearest
from sorosim.io.nodes import Mistakes
from sorosim.io.urdf.document import Element, read_document
from sorosim.io.urdf.grammar import checked
from sorosim.problems import Place, listed, shown

MAX_LINKS = 5000


@dataclass(frozen=True)
class UrdfRobot:
    """A tree of links.

    Parameters
    ----------
    links : dict
        Links by name, as yourdfpy has them; in the order of the file.
    joint_of : dict
        The joint above each link, by the name of the link; the root has none.
    root : str
    colours : dict
        Red, green, blue, alpha of materials by name.
    elements : dict
        Where links and joints are written: by ("link", name) and ("joint", name).
    """

    links: dict[str, Any]
    joint_of: dict[str, Any]
    root: str
    colours: dict[str, Any]
    elements: dict[tuple[str, str], Element]

    def place(self, tag: str, name: str, *inside: str) -> Place:
        """Where a link, a joint or an element inside of it is written."""
        element = self.elements[tag, name]
        for part in inside:
            element = element.first(part) or element
        return element.place

    def written(self, tag: str, name: str, inside: str) -> Iterator[Element]:
        """Elements of a tag inside of a link or a joint."""
        return self.elements[tag, name].all(inside)

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Links on each link, in the order of the file."""
        found: dict[str, list[str]] = {name: [] for name in self.links}
        for name in self.links:
            if name in self.joint_of:
                found[self.joint_of[name].parent].append(name)
        return found


def read_urdf(path: FilePath, *, visual: bool = True) -> UrdfRobot:
    """Read a file; ``visual`` False leaves out what is drawn.

    Raises
    ------
    FileError
        It cannot be read, or holds mistakes: each on a line of its own, with line and column.
    """
    root, mistakes = read_document(path), Mistakes()
    if root.tag != "robot":
        raise FileError(str(path), f"expected URDF, whose root is <robot>, got <{root.tag}>", *_position(root))
    right = checked(root, mistakes, () if visual else ("visual", "material"))
    mistakes.raise_if_any(str(path))
    links, joints = _named(root, "link", mistakes), _named(root, "joint", mistakes)
    above = _tree(root, links, joints, mistakes)
    mistakes.raise_if_any(str(path))
    right.set("name", root.attributes.get("name") or "robot")
    read = _values(path, right)
    top = next(name for name in links if name not in above)
    elements = {("link", name): e for name, e in links.items()} | {("joint", name): e for name, e in joints.items()}
    return UrdfRobot(
        {link.name: link for link in read.links},
        {joint.child: joint for joint in read.joints},
        top,
        {m.name: m.color.rgba for m in _materials(read) if m.name and m.color is not None},
        elements,
    )


def _values(path: FilePath, right: ElementTree.Element) -> Any:
    """What yourdfpy reads in a document that is right."""
    try:
        from yourdfpy import URDF
    except ImportError:
        message = "expected the package yourdfpy, which reads URDF, got none; install it: pip install 'sorosim[urdf]'"
        raise FileError(str(path), message) from None
    whole = BytesIO(ElementTree.tostring(right, encoding="utf-8"))
    return URDF.load(whole, build_scene_graph=False, load_meshes=False).robot


def _materials(read: Any) -> Iterator[Any]:
    """Materials of a whole file; a link may define one that others name."""
    for link in read.links:
        yield from (visual.material for visual in link.visuals if visual.material is not None)
    yield from read.materials


def _named(root: Element, tag: str, mistakes: Mistakes) -> dict[str, Element]:
    """Links or joints by name; names that are there twice are noted."""
    found: dict[str, Element] = {}
    for element in root.all(tag):
        name = element.attributes["name"]
        if name in found:
            first = f"the first is at line {found[name].place.line}"
            mistakes.note(element.place, f"names of {tag}s that differ", f"{shown(name)} twice", first)
        found.setdefault(name, element)
    return found


def _tree(
    root: Element, links: dict[str, Element], joints: dict[str, Element], mistakes: Mistakes
) -> dict[str, tuple[str, str]]:
    """Joint and parent above each link; what is no tree is noted."""
    above: dict[str, tuple[str, str]] = {}
    if len(links) > MAX_LINKS:
        mistakes.note(root.place, f"at most {MAX_LINKS} links", f"{len(links)}")
        return above
    if not links:
        mistakes.note(root.place, "at least one <link>", "none")
    for name, joint in joints.items():
        ends = {}
        for tag in ("parent", "child"):
            end = joint.first(tag)
            assert end is not None  # checked
            ends[tag] = end.attributes["link"]
            if ends[tag] not in links:
                mistakes.note(end.place, "the name of a link", shown(ends[tag]), nearest(ends[tag], links))
        child = ends["child"]
        if child in above:
            got = f"{shown(child)} below the joints {above[child][0]} and {name}"
            hint = "cut the ring at one joint here, and close it again by one of `loops` in the robot's file"
            mistakes.note(joint.place, "links with one joint above each", got, hint)
        above.setdefault(child, (name, ends["parent"]))
    if mistakes:
        return above
    tops = [name for name in links if name not in above]
    if len(tops) > 1:
        got = f"{len(tops)}: {listed([shown(top) for top in tops[:5]]).replace(' or ', ' and ')}"
        mistakes.note(links[tops[1]].place, "one link without a joint above it", got, "connect them by fixed joints")
    rooted: set[str] = set()  # links with a way up to the root
    for name in links:
        way, top = [name], name
        while top in above and top not in rooted and len(way) <= len(links):
            top = above[top][1]
            way.append(top)
        if len(way) > len(links):
            got = f"{shown(name)} in a ring of joints, or on one"
            mistakes.note(links[name].place, "links with a way up to the root", got)
            break
        rooted.update(way)
    return above


def _position(element: Element) -> tuple[int, int]:
    return element.place.line, element.place.column
