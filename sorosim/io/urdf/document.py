"""XML with positions: elements and attributes of a file, the line of each, bounded in size.

A document type could define entities, that is other files and texts without end, so none is taken. Nothing in a file is
ever run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from xml.parsers import expat

from sorosim.errors import FileError
from sorosim.io.bounded import read_bounded
from sorosim.problems import Path, Place, shown

MAX_BYTES, MAX_NESTING, MAX_ELEMENTS = 4_000_000, 60, 50_000


@dataclass
class Element:
    """An element and where it is written; texts between elements mean nothing here."""

    tag: str
    attributes: dict[str, str]
    place: Place
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        """Its children of a tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Its first child of a tag."""
        return next(self.all(tag), None)


def read_document(path: FilePath) -> Element:
    """The root element of a file.

    Raises
    ------
    FileError
        It cannot be read, is too large, or is no XML; also a document type, and what xacro still has to expand.
    """
    file = str(path)
    return _Reader(file).read(read_bounded(path, file, MAX_BYTES))


class _Reader:
    """Builds elements while the parser goes through a file."""

    def __init__(self, file: str) -> None:
        self.file, self.open, self.count = file, list[Element](), 0
        self.root: Element | None = None
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.doctype

    def read(self, content: bytes) -> Element:
        try:
            self.parser.Parse(content, True)
        except expat.ExpatError as error:
            message = f"expected URDF, which is XML, got a mistake in it: {expat.ErrorString(error.code)}"
            raise FileError(self.file, message, error.lineno, error.offset + 1) from None
        assert self.root is not None  # the parser refuses a document without one
        return self.root

    def refuse(self, message: str) -> FileError:
        return FileError(self.file, message, *self.position)

    @property
    def position(self) -> tuple[int, int]:
        return self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1

    def doctype(self, *_: object) -> None:
        raise self.refuse("expected URDF without a document type, got a DOCTYPE; leave it out")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.refuse(f"expected at most {MAX_ELEMENTS} elements, got more")
        if len(self.open) >= MAX_NESTING:
            raise self.refuse(f"expected at most {MAX_NESTING} levels of nesting, got more")
        if tag.startswith("xacro:"):
            hint = "expand it first: xacro robot.urdf.xacro > robot.urdf"
            raise self.refuse(f"expected URDF, got an element of xacro, {shown(tag)}; {hint}")
        line, column = self.position
        element = Element(tag, attributes, Place(self.file, line, column, self.path(tag, attributes)))
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def path(self, tag: str, attributes: dict[str, str]) -> Path:
        """``link.forearm.inertial``: elements by their tags, links and joints by their names too."""
        if len(self.open) <= 1:
            return (tag, attributes["name"]) if self.open and attributes.get("name") else (tag,)
        return (*self.open[-1].place.path, tag)

    def end(self, tag: str) -> None:
        self.open.pop()
