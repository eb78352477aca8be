"""XML with positions: elements and attributes of a file, the line of each, bounded in size.

A document type could define entities, that is other files and texts without end, so none is taken. Nothing in a file is
ever run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from xml.parsers import expat

from sorosim.base.errors import FileError
from sorosim.base.problems import Path, Place, shown
from sorosim.files.bounded import read_bounded
from sorosim.files.rigid.remarks import WRITTEN, Remarks

MAX_BYTES, MAX_NESTING, MAX_ELEMENTS = 4_000_000, 200, 50_000
BLANK = re.compile(rb"(?:\xef\xbb\xbf)?(\s+)(<\?xml\b[^>]*\?>)")  # behind a byte order mark, too
OTHER_NAMES = {"origin": ("pose",)}  # of the same thing in other languages than URDF


@dataclass
class Element:
    """An element and where it is written."""

    tag: str
    attributes: dict[str, str]
    place: Place
    children: list[Element] = field(default_factory=list)
    text: str = ""  # between its tags, but for that of its children

    def all(self, tag: str) -> Iterator[Element]:
        """Its children of a tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Its first child of a tag."""
        return next(self.all(tag), None)

    def walk(self) -> Iterator[Element]:
        """Itself and all that is in it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()

    def place_of(self, *inside: str) -> Place:
        """Where something in it is written: elements one inside the other; what there is none of is left out."""
        element = self
        for tag in inside:
            tags = (tag, *OTHER_NAMES.get(tag, ()))
            element = next((found for found in element.walk() if found.tag in tags and found is not element), element)
        return element.place


def root_in_words(root: Element) -> str:
    """The root of another file than was expected, by name if it is a robot's: others are not quoted."""
    return f"<{root.tag}>" if root.tag in ("robot", "mujoco", "sdf") else "another kind of file"


def read_document(
    path: FilePath, language: str, starts: tuple[str, ...] = (), remarks: Remarks | None = None
) -> Element:
    """The root element of a file. Blank lines before its declaration, where XML has none, are remarked on.

    Parameters
    ----------
    path : Path
    language : str
        What it is written in, for messages.
    starts : tuple of str
        Tags at whose names paths begin, beside those in the root.
    remarks : Remarks, optional

    Raises
    ------
    FileError
        It cannot be read, is too large, or is no XML; also a document type, and what xacro still has to expand.
    """
    file = str(path)
    content = read_bounded(path, file, MAX_BYTES)
    if blank := BLANK.match(content):
        content = blank[2] + blank[1] + content[blank.end() :]  # lines keep their numbers
        if remarks is not None:
            remarks.add(WRITTEN, "a declaration <?xml ...?> after blank lines", Place(file, 1 + blank[1].count(b"\n")))
    return _Reader(file, language, starts).read(content)


class _Reader:
    """Builds elements while the parser goes through a file."""

    def __init__(self, file: str, language: str, starts: tuple[str, ...]) -> None:
        self.file, self.language, self.starts = file, language, starts
        self.open, self.count = list[Element](), 0
        self.root: Element | None = None
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.doctype

    def read(self, content: bytes) -> Element:
        try:
            self.parser.Parse(content, True)
        except expat.ExpatError as error:
            message = f"expected {self.language}, which is XML, got a mistake in it: {expat.ErrorString(error.code)}"
            raise FileError(self.file, message, error.lineno, error.offset + 1) from None
        assert self.root is not None  # the parser refuses a document without one
        return self.root

    def refuse(self, message: str) -> FileError:
        return FileError(self.file, message, *self.position)

    @property
    def position(self) -> tuple[int, int]:
        return self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1

    def doctype(self, *_: object) -> None:
        raise self.refuse(f"expected {self.language} without a document type, got a DOCTYPE; leave it out")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.refuse(f"expected at most {MAX_ELEMENTS} elements, got more")
        if len(self.open) >= MAX_NESTING:
            raise self.refuse(f"expected at most {MAX_NESTING} levels of nesting, got more")
        if tag.startswith("xacro:"):
            ending = self.language.lower()
            hint = f"expand it first: xacro robot.{ending}.xacro > robot.{ending}"
            raise self.refuse(f"expected {self.language}, got an element of xacro, {shown(tag)}; {hint}")
        line, column = self.position
        element = Element(tag, attributes, Place(self.file, line, column, self.path(tag, attributes)))
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def path(self, tag: str, attributes: dict[str, str]) -> Path:
        """``link.forearm.inertial``: elements by their tags, links and joints by their names too."""
        named = attributes.get("name")
        if len(self.open) <= 1 or (named and tag in self.starts):
            return (tag, named) if self.open and named else (tag,)
        return (*self.open[-1].place.path, tag)

    def text(self, text: str) -> None:
        if self.open:
            self.open[-1].text += text

    def end(self, tag: str) -> None:
        self.open.pop()
