"""`include`: blocks of other files become blocks of this one, those of `import` among them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

from sorosim.base.declare import At, Scope
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import Place, shown
from sorosim.files.bundled import bundled_file, bundled_robots
from sorosim.files.imports import Importer
from sorosim.files.nodes import Mistake, Mistakes, Node, joined, mapping, nodes_of, plain, refusal
from sorosim.files.robot_file import OF_ONE_ROBOT, Inclusion, Inclusions, Version
from sorosim.files.yaml_reader import read_file
from sorosim.mechanics.model.description import PARTS

MAX_FILES, MAX_TOTAL_BYTES = 50, 4_000_000
MERGED = ("parameters", "materials", "prefabs", "links", "parts", *PARTS, "outputs")
OWN = ("sorosim", "name", "include", "import")  # keys that an included file may have for itself
BLOCKS = (*MERGED, "sorosim", "include", "import", *OF_ONE_ROBOT)  # keys that tell a robot's file from others


@dataclass
class Includer:
    """Brings the blocks of included files together. ``folder`` None: files are not looked for."""

    mistakes: Mistakes = field(default_factory=Mistakes)
    importer: Importer = field(default_factory=Importer)
    done: set[str] = field(default_factory=set)
    total: int = 0

    def merged(self, root: Node, folder: FilePath | None, chain: tuple[str, ...] = ()) -> Node:
        """A file with the blocks of the files that it includes, theirs first."""
        entries = dict(root.entries)
        given, robots = entries.pop("include", None), entries.pop("import", None)
        if given is None and robots is None:
            return root
        blocks: dict[str, Node] = {}
        for entry in given.items if given is not None else ():
            inclusion, place = self.inclusion(entry)
            found = None if inclusion is None else self.file(inclusion, place, folder, chain)
            if found is not None:
                self.bring(blocks, found)
        if robots is not None:
            brought = self.importer.blocks(robots, folder)
            made = {block: mapping(new, [robots]) for block, new in brought.items() if new or block == "links"}
            self.bring(blocks, mapping(made, [robots]))
        self.bring(blocks, mapping({name: entries[name] for name in MERGED if name in entries}, [root]))
        # keys in the order of the file, then those that only included files have
        out = {name: blocks.get(name, node) for name, node in entries.items()}
        if len(chain) < 2 and "gravity" not in out and (gravity := self.importer.gravity()) is not None:
            out["gravity"] = gravity
        if len(chain) < 2 and (initial := self.importer.initial(entries.get("initial"))) is not None:
            out["initial"] = initial
        return Node({**out, **{name: node for name, node in blocks.items() if name not in out}}, root.place, root.key)

    def inclusion(self, entry: Node) -> tuple[Inclusion | None, Place]:
        """What an entry of `include` says, and where its file stands; None if it is wrong."""
        data, places = plain(entry)
        own = Inclusions().one(data, At(scope := Scope(data, is_file=True), (), data))
        self.mistakes += [Mistake(places.place(p.path, p.at_key), replace(p, path=(*entry.place.path, *p.path)))
                          for p in scope.problems]  # fmt: skip
        return (None if scope.problems else own), entry.entries.get("file", entry).place

    def file(self, inclusion: Inclusion, place: Place, folder: FilePath | None, chain: tuple[str, ...]) -> Node | None:
        """An included file with all it includes itself; None if it is there already, or wrong."""
        if folder is None:
            raise refusal(place, "a description in one piece", "an include", "included files are not kept here")
        path = folder / inclusion.file
        if not os.path.isfile(path):  # False for impossible names too
            if inclusion.file not in bundled_robots():
                hint = "relative paths begin in the folder of the file that includes"
                self.mistakes.note(place, "a file", f"{shown(inclusion.file)}, which does not exist", hint)
                return None
            path = bundled_file(inclusion.file)
        real = os.path.realpath(path)
        if real in chain:
            loop = joined(os.path.basename(name) for name in [*chain[chain.index(real) :], real])
            self.mistakes.note(place, "files that do not include themselves", loop)
            return None
        if real in self.done:
            return None
        self.done.add(real)
        if len(self.done) > MAX_FILES:
            raise refusal(place, f"at most {MAX_FILES} included files", "more")
        self.total += os.path.getsize(path)
        if self.total > MAX_TOTAL_BYTES:
            hint = "keep measured data in CSV files"
            raise refusal(place, f"at most {MAX_TOTAL_BYTES // 10**6} MB of included files", "more", hint)
        label = str(path)
        document = read_file(path, label, keys=BLOCKS)
        root = nodes_of(document.data, label, document.positions)
        if isinstance(root.value, dict):
            root = replace(root, value={k: node for k, node in root.value.items() if k not in inclusion.without})
        return self.merged(self.brought_by(root), path.parent, (*chain, real))

    def brought_by(self, root: Node) -> Node:
        """The parts of an included file that may be brought; others are noted."""
        known = (*OWN, *MERGED)
        if not isinstance(root.value, dict):
            self.mistakes.note(root.place, f"a mapping with the keys {', '.join(known)}", shown(root.outline))
            return Node({}, root.place)
        if "sorosim" in root.value:
            check_version(root.value["sorosim"])
        for name, node in root.value.items():
            if name not in known:
                hint = nearest(name, known)
                if name in OF_ONE_ROBOT:
                    hint = f"it belongs into the file that includes; without: [{name}] leaves it behind"
                self.mistakes.note(
                    node.key or node.place, f"a block to include: {', '.join(MERGED)}", shown(name), hint
                )
        return Node({name: node for name, node in root.value.items() if name in known}, root.place)

    def bring(self, blocks: dict[str, Node], found: Node) -> None:
        """Add the blocks of a file to those there are."""
        for block in MERGED:
            node = found.entries.get(block)
            if node is None:
                continue
            there = blocks.get(block)
            if there is None or not isinstance(node.value, dict) or not isinstance(there.value, dict):
                blocks[block] = node
                continue
            for name, entry in node.value.items():
                if name in there.value:
                    first = written_at(there.value[name].key or there.value[name].place)
                    hint = f"the first is at {first}"
                    self.mistakes.note(entry.key or entry.place, "names that differ", f"{shown(name)} twice", hint)
            # the block is where the last file has it
            blocks[block] = mapping({**there.value, **node.value}, [node])


def written_at(place: Place) -> str:
    """A place of a file as people write it."""
    return f"{place.file}:{place.line}:{place.column}" if place.line else place.file or "another place"


def check_version(node: Node) -> None:
    """Refuse another version of the format than the one that is known: it may differ in everything."""
    try:
        Version().check(node.value)
    except ModelError as error:
        raise refusal(node.place, error.expected, error.got, error.hint) from None
