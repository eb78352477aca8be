"""`import`: rigid robots from URDF, MJCF and SDF become links of this file.

They are links like all others, so that overrides reach into them, and soft links, actuators and sensors stand on them.
A robot that is imported under a name has it before the names of its links, as parts do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from sorosim.base.declare import At, Scope
from sorosim.base.errors import FileError
from sorosim.base.problems import Place, listed, shown
from sorosim.files.nodes import Mistake, Mistakes, Node, mapping, plain, refusal
from sorosim.files.rigid.document import read_document, root_in_words
from sorosim.files.rigid.leftovers import Leftovers
from sorosim.files.rigid.links import COUPLED, Imported, Options, imported
from sorosim.files.rigid.mjcf import read_mjcf
from sorosim.files.rigid.remarks import Remarks
from sorosim.files.rigid.sdf import read_sdf
from sorosim.files.rigid.urdf import read_urdf
from sorosim.files.robot_file import Imports, is_one
from sorosim.mechanics.model.description import PARTS

MOUNT = ("parent", "at", "joint")  # keys that the root gets as they are
KEY = "import"
NAMING = ("link", "leader", "between", "and")  # keys that name a link
ROOTS = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}  # key of ``import`` by the root element of a file


@dataclass
class Importer:
    """Brings robots of other formats into files."""

    mistakes: Mistakes = field(default_factory=Mistakes)
    found: Imported = field(default_factory=Imported)
    gravities: list[Node] = field(default_factory=list)
    starts: dict[str, tuple[str, Node]] = field(default_factory=dict)  # by link: the key of `initial`, and what it says

    def blocks(self, given: Node, folder: FilePath | None) -> dict[str, dict[str, Node]]:
        """Links, loops, couplings and actuators of all robots of an ``import`` block.

        Parameters
        ----------
        given : Node
        folder : Path, optional
            Where relative paths begin; without it there are no other files.
        """
        data, places = plain(Node({KEY: given}, given.place))
        Imports().read(data[KEY], At(scope := Scope(data, is_file=True), (KEY,), data))
        wrong = scope.problems
        self.mistakes += [Mistake(places.place(p.path, p.at_key), p) for p in wrong]
        if wrong:
            return {}
        out: dict[str, dict[str, Node]] = {"links": {}, "loops": {}, "couplings": {}, "actuators": {}}
        for name, block in {"": given}.items() if is_one(data[KEY]) else given.entries.items():
            made = self.robot(name, block, folder)
            for kind, known in out.items():
                new: dict[str, Node] = getattr(made, kind)
                for one, node in new.items():
                    if one in known:
                        self.mistakes.note(node.place, f"names of {kind} that differ", f"{shown(one)} twice",
                                           "import the robots under other names")  # fmt: skip
                known |= new
            self.found.frames |= made.frames
            self.found.bare |= made.bare
            self.found.meshes |= made.meshes
            self.starts |= made.starts
            self.gravities += [] if made.gravity is None else [made.gravity]
        return out

    def gravity(self) -> Node | None:
        """The gravity that the files of robots say, if any does; several must say the same."""
        for own in self.gravities[1:]:
            first, second = plain(self.gravities[0])[0], plain(own)[0]
            if first != second:
                hint = "write `gravity` into the file that imports them"
                expected = f"the gravity of {self.gravities[0].place.file}, {shown(first)}"
                self.mistakes.note(own.place, expected, shown(second), hint)
        return next(iter(self.gravities), None)

    def initial(self, own: Node | None) -> Node | None:
        """The block `initial` of a file, with where imported robots start; its own words on a link come first."""
        if not self.starts or (own is not None and not isinstance(own.value, dict)):
            return own
        entries = {} if own is None else own.entries
        spoken = {str(name).partition(".")[0] for name in entries}
        made = dict(start for link, start in self.starts.items() if link not in spoken)
        return mapping({**made, **entries}, [own, *made.values()])

    def robot(self, name: str, block: Node, folder: FilePath | None) -> Imported:
        """The links of one robot; none if it is wrong."""
        entries = block.entries
        key = next(key for key in ROOTS.values() if key in entries)
        file, language = entries[key], key.upper()
        if folder is None:
            raise refusal(file.place, "a description in one piece", "an import", "other files are not kept here")
        path = folder / file.value
        if not os.path.isfile(path):  # False for impossible names too
            hint = "relative paths begin in the folder of the file that imports"
            self.mistakes.note(file.place, f"a {language} file", f"{shown(file.value)}, which does not exist", hint)
            return Imported()

        def value(key: str, default: Any) -> Any:
            return plain(entries[key])[0] if key in entries else default

        options = Options(
            language,
            prefix=f"{name}_" if name else "",
            mount={key: entries[key] for key in MOUNT if key in entries},
            stops=dict(entries["limits"].entries) if "limits" in entries else {},
            inertia=value("inertia", "check"),
            mimic=value("mimic", COUPLED),
            package_dirs=tuple((folder / one).absolute() for one in value("package_dirs", [])),
            allow_outside=value("allow_outside", False),
        )
        leftovers, remarks = Leftovers(str(path), tuple(value("without", []))), Remarks()
        shapes = {"visual": value("visual", True), "collision": value("collision", False)}
        if key == "urdf":
            tree = read_urdf(path, self.mistakes, remarks, **shapes)
        elif key == "mjcf":
            keyframe = entries.get("keyframe")
            tree = read_mjcf(path, leftovers, remarks, outside=options.allow_outside, keyframe=keyframe, **shapes)
        else:
            tree = read_sdf(path, leftovers, remarks, **shapes)
        leftovers.finish(self.mistakes)
        made = imported(tree, path, options, self.mistakes, remarks)
        if not self.mistakes:
            remarks.give()
        return made

    def reparented(self, root: Node) -> Node:
        """A file whose links name what carries the frame that they hang on; nothing may hang loose."""
        links = root.entries.get("links")
        if links is None or not (self.found.frames or self.found.bare):
            return root
        out = {name: self._reparented(node) for name, node in links.entries.items()}
        parents = [node.entries["parent"].value for node in out.values() if "parent" in node.entries]
        carrying = {name for name in parents if isinstance(name, str)}
        for name, node in out.items():
            if name in self.found.frames:
                hint = f"the other one is imported, a frame of {shown(self.found.frames[name])}"
                self.mistakes.note(node.key or node.place, "names that differ", f"{shown(name)} twice", hint)
        for name, place in self.found.bare.items():
            if name not in carrying:
                hint = "give it <inertial>, or hang something with a mass on it"
                self.mistakes.note(place, "a mass that its joint moves", "none", hint)
        for block in PARTS:
            if block in root.entries:
                self._check_links(root.entries[block])
        return replace(root, value={**root.value, "links": replace(links, value=out)})

    def _check_links(self, node: Node) -> None:
        """Note frames of links where links are named: only `parent` takes either."""
        for key, entry in node.entries.items():
            if key in NAMING and isinstance(entry.value, str) and entry.value in self.found.frames:
                carrier = self.found.frames[entry.value]
                hint = f"it is a frame of {shown(carrier)}: name that link, and the frame beside it"
                self.mistakes.note(entry.place, "a link that moves on its own", shown(entry.value), hint)
            self._check_links(entry)
        for entry in node.value if isinstance(node.value, list) else ():
            self._check_links(entry)

    def _reparented(self, link: Node) -> Node:
        parent = link.entries.get("parent")
        carrier = self.found.frames.get(parent.value) if parent is not None and isinstance(parent.value, str) else None
        if parent is None or carrier is None:
            return link
        place = parent.place
        first = Node({"frame": Node(parent.value, place, place)}, place)
        at = link.entries.get("at")
        poses = [first, *at.items] if at is not None else [first]
        return replace(
            link, value={**link.value, "parent": replace(parent, value=carrier), "at": Node(poses, place, place)}
        )


def document_of(path: FilePath) -> Node:
    """The file that imports a file of another format and nothing else.

    Raises
    ------
    FileError
        It is a file in XML of none of the formats.
    """
    key = path.suffix.lower().removeprefix(".")
    if key == "xml":
        root = read_document(path, "MJCF, SDF or URDF")
        if root.tag not in ROOTS:
            known = listed([f"<{tag}>" for tag in ROOTS])
            at = root.place
            raise FileError(
                str(path), f"expected a robot, whose root is {known}, got {root_in_words(root)}", at.line, at.column
            )
        key = ROOTS[root.tag]
    place = Place(str(path))
    block = Node({key: Node(path.name, place, place)}, place, place)
    return Node({"sorosim": Node(1, place, place), KEY: block}, place)
