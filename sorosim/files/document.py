"""The document of a robot: its file as a tree with the places of all parts, from which other files are not needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

from sorosim.base.problems import Path, at_path
from sorosim.files.expand import Expanded, expand
from sorosim.files.nodes import Node, nodes_of, plain
from sorosim.files.parameters import defined_at, escaped
from sorosim.files.yaml_reader import read_text
from sorosim.files.yaml_writer import as_written, to_yaml


class Document:
    """A file in one piece: included files, imports and overrides are in it, parameters and parts as they are written.

    Parameters
    ----------
    file : str
        Its name in messages.
    text : str
        What it says, where that is all; "" if it is made of the data.
    root : Node, optional
        Its tree. Default: that of the text.
    """

    def __init__(self, file: str, text: str = "", root: Node | None = None) -> None:
        self.file = file
        self.reading: Any = None  # the parts that were read from it
        if text:
            self.text = text
        if root is not None:
            self.root = root

    def __getstate__(self) -> dict[str, Any]:  # the tree is made anew where it is needed
        return {"file": self.file, "text": self.text, "reading": None}

    @cached_property
    def root(self) -> Node:
        """Its tree."""
        document = read_text(self.text, self.file)
        return nodes_of(document.data, self.file, document.positions)

    @cached_property
    def text(self) -> str:
        """YAML that says all of it."""
        data = as_written(plain(self.root)[0])
        return to_yaml({key: data[key] for key in ("sorosim", "name") if key in data} | data)

    @cached_property
    def expanded(self) -> Expanded:
        """Its parameters replaced and its parts made."""
        return expand(self.root, self.file, None)

    def written(self, path: str) -> Path | None:
        """Where its own text says what stands at a path of the expanded data, or would; of a parameter, where that is.

        None: another file does, or each part that is made of a prefab.
        `path` has dots, [i] for entries of lists, and * for the only key of a mapping; names of materials are followed.
        """
        data = self.expanded.data
        out: Path = ()
        for part in re.findall(r"[^.\[\]]+", path):
            here = at_path(data, out)
            if isinstance(here, str) and out[-1:] == ("material",):
                out = ("materials", here)
                here = at_path(data, out)
            key: str | int = int(part) if isinstance(here, list) else part
            if part == "*":
                if not isinstance(here, dict) or len(here) != 1:
                    return None
                key = next(iter(here))
            elif isinstance(here, dict) and part not in here and part[-2:] in ("_y", "_z") and part[:-2] in here:
                key = part[:-2]  # of two strains
            out = (*out, key)
        here = at_path(data, out)
        if isinstance(here, dict) and len(here) == 1:  # a basis with its order
            out = (*out, *here)
        place = self.expanded.places.place(out)
        if place.file != self.file:
            return None
        found, why = defined_at(place.path, plain(self.root)[0])
        return None if why else found


def document_of(
    expanded: Expanded, embedded: Mapping[Path, Any], name: str, file: str, text: str, folder: FilePath | None
) -> Document:
    """The document of a robot that was read.

    Parameters
    ----------
    expanded : Expanded
    embedded : mapping of Path to data
        What other files say, by the places that name them.
    name, file, text : str
        Of the robot; of its file; what the file says.
    """
    if not embedded:
        root = expanded.root
        if not expanded.stands_alone and "name" not in root.entries:
            root = Node({**root.entries, "name": Node(escaped(name), root.place, root.place)}, root.place)
        return Document(file or name, text if expanded.stands_alone else "", root)
    data, short = expanded.data, expanded.short
    # or it stands in a part, or is named by a parameter
    stays = all(at_path(short, path) == at_path(data, path) for path in embedded)
    out = as_written(short) if stays else data
    for path, value in embedded.items():
        out = replaced(out, path, value)
    head = {"sorosim": out["sorosim"], "name": name}
    return Document(file or name, to_yaml({**head, **out, **head}))


def replaced(data: Any, path: Path, value: Any) -> Any:
    """Data with another value at a path."""
    if not path:
        return value
    out = data.copy()
    out[path[0]] = replaced(data[path[0]], path[1:], value)
    return out
