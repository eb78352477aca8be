"""Files: robots in YAML, units, results in HDF5. What is slow to import is imported by the functions that need it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sorosim.base.errors import FileError, InputError, nearest
from sorosim.base.public import public
from sorosim.files.bundled import bundled_file, bundled_robots

if TYPE_CHECKING:
    from sorosim.mechanics.robot import Robot

IMPORTED = (".urdf", ".sdf", ".xml")  # endings of files in other formats; .xml is of any of them

__all__ = ["bundled_robots", "dump", "format_page", "json_schema", "load", "load_text", "sweep_schema"]


@public
def load(source: str | Path | Mapping[str, Any], *, set: Mapping[str, Any] | None = None) -> Robot:
    """Read a robot.

    Parameters
    ----------
    source : path, name of a bundled robot, or mapping
        A YAML file (docs: the file format), one of `bundled_robots`, or the same data as a dict. A URDF, MJCF or SDF
        file is the robot of a file that imports it and says nothing else.
    set : mapping, optional
        Values of the file to replace, by their paths: ``{"links.arm.rod.length": "40 cm", "gravity[2]": 0}``. They take
        effect before parameters are replaced and parts are made. Texts are read as YAML.

    Returns
    -------
    Robot
        The text of its description stands alone: it holds what came from included files, CSV files and `set`.

    Raises
    ------
    FileError
        The file cannot be read, or its content is wrong: every mistake on a line of its own, with line and column.
    ModelError
        The same for a dict, without positions.
    InputError
        A path of `set` leads nowhere.
    """
    from sorosim.base.problems import plain_data
    from sorosim.files.expand import expand
    from sorosim.files.include import BLOCKS
    from sorosim.files.nodes import nodes_of
    from sorosim.files.yaml_reader import read_file

    if isinstance(source, Mapping):
        data = plain_data(source)
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"  # JSON is YAML too
        return _robot(expand(nodes_of(data, ""), "", Path(), set), Path(), text=text)
    path = _find(source)
    if path.suffix.lower() in IMPORTED:
        from sorosim.files.imports import document_of

        expanded = expand(document_of(path), str(path), path.parent, set, str(path))
        return _robot(expanded, path.parent, name=path.stem or "robot")
    document = read_file(path, keys=BLOCKS)
    root = nodes_of(document.data, str(path), document.positions)
    expanded = expand(root, str(path), path.parent, set, str(path))
    return _robot(expanded, path.parent, str(path), document.text, path.stem or "robot")


def _robot(
    expanded: Any, folder: Path | None, file: str = "", text: str = "", name: str = "robot", like: Robot | None = None
) -> Robot:
    """The robot of a file, which keeps its document."""
    from sorosim.files.build import robot_from
    from sorosim.files.document import document_of

    robot, scope = robot_from(expanded, folder=folder, name=name, like=like)
    document = document_of(expanded, scope.embedded, robot.name, file, text, folder)
    document.reading = scope.reading
    return robot._redescribed(robot.description.with_document(document))


def load_text(
    text: str, file: str, folder: Path | None = None, *, set: Mapping[str, object] | None = None,
    like: Robot | None = None,
) -> Robot:  # fmt: skip
    """Read a robot from the text of its file, as result files keep it.

    Parameters
    ----------
    text : str
    file : str
        Where it comes from, for messages.
    folder : Path, optional
        Where relative paths of tables and included files begin. Without it the signals of such tables fail when they
        are used, and an included file is an error.
    set : mapping, optional
        Values to replace, see `load`.
    like : Robot, optional
        Read from the text before it was changed, which took in no other files: what stays is taken from it.
    """
    from sorosim.files.expand import expand
    from sorosim.files.nodes import nodes_of
    from sorosim.files.yaml_reader import read_text

    if not text:
        hint = "its robot was built of Python objects; sorosim.files.results.read gives the arrays"
        raise FileError(file, f"expected the description of a robot, got a result without one; {hint}")
    document = read_text(text, file)
    expanded = expand(nodes_of(document.data, file, document.positions), file, folder, set)
    return _robot(expanded, folder, file, text, like=like)


@public
def with_values(robot: Robot, values: Mapping[str, Any]) -> Robot:
    """The robot with other values of its file, by paths as `sorosim.load(..., set=...)` takes them; no text is parsed.

    Such as ``{"materials.silicone.young": "2 MPa", "parameters.width": 0.05}``. Of a robot that was made in Python the
    file is what `to_yaml` writes. InputError: a path that leads nowhere; FileError: what it then says is wrong.
    """
    from sorosim.files.document import Document
    from sorosim.files.expand import expand

    document = robot.description.document
    like = None if document is None else robot
    if document is None:
        document = Document(robot.name, dump(robot))
    return _robot(expand(document.root, document.file, None, values), None, document.file, name=robot.name, like=like)


@public
def dump(robot: Robot, path: str | Path | None = None) -> str:
    """YAML of a robot as a person writes it; `load` makes the same robot of it. `path`: a file that it is written to.

    Raises
    ------
    ModelError
        Something of it cannot be written in a file: which, and what it is.
    FileError
        The file cannot be written.
    """
    from sorosim.files.robot_writer import write

    return write(robot, path)


def json_schema() -> dict[str, Any]:
    """JSON Schema of the file format: title, description, units and an example for every key."""
    from sorosim.files.schema import robot_schema

    return robot_schema()


def sweep_schema() -> dict[str, Any]:
    """JSON Schema of sweep files, likewise."""
    from sorosim.files.schema import sweep_schema

    return sweep_schema()


def format_page() -> str:
    """The page of the documentation that describes the file format, in MyST Markdown."""
    from sorosim.files.page import page

    return page()


def _robots_in(folder: Path) -> list[str]:
    """Names of files in a folder that may be robots."""
    try:
        return [file.name for file in folder.iterdir() if file.suffix.lower() in (".yaml", ".yml", *IMPORTED)]
    except OSError:
        return []


def _find(source: object) -> Path:
    """The file of a path or a bundled name."""
    if not isinstance(source, str | Path):
        raise InputError("source", "a path, the name of a bundled robot, or a dict", type(source).__name__)
    text = str(source)
    if "\n" in text or "\0" in text or len(text) > 4000:
        raise InputError("source", "a path or the name of a bundled robot", "a text of several lines",
                         "a robot's text goes into a file")  # fmt: skip
    path = Path(source)
    try:
        if path.is_file():
            return path
        if isinstance(source, str) and re.fullmatch(r"[\w-]+", source) and source in bundled_robots():
            return bundled_file(source)
        is_folder = path.is_dir()
    except OSError as error:
        raise FileError(text, f"cannot be read: {error.strerror or error}") from None
    if is_folder:
        raise FileError(text, "expected a file, got a folder")
    if path.with_name(f"{path.name}.yaml").is_file():
        raise FileError(text, f"expected a file or the name of a bundled robot, got neither; did you mean {text}.yaml?")
    hint = nearest(path.stem, bundled_robots()).replace("known:", "bundled robots:")
    if near := get_close_matches(path.name, _robots_in(path.parent), n=1):
        hint = f"did you mean {path.with_name(near[0])}?"
    raise FileError(text, f"expected a file or the name of a bundled robot, got neither; {hint}")
