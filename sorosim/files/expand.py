"""From files to data in one piece: overrides, included files, parameters, prefabs. No position is lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, NamedTuple

from sorosim.base.declare import At, Scope
from sorosim.base.errors import InputError
from sorosim.files.include import Includer, check_version
from sorosim.files.nodes import Mistake, Mistakes, Node, Places, mapping, plain
from sorosim.files.override import overridden
from sorosim.files.parameters import ParameterScope, substituted
from sorosim.files.prefabs import BLOCKS, PartMaker
from sorosim.files.robot_file import RobotFile
from sorosim.mechanics.model.mesh import Mesh

REUSE = ("include", "parameters", "prefabs", "parts")


class Expanded(NamedTuple):
    """A description in one piece."""

    data: Any
    places: Places
    stands_alone: bool  # the file's own text says all of it
    short: Any  # the same with its parameters and parts as they are, overrides and included files in it
    root: Node  # that, with its places
    meshes: Mapping[tuple[str, Any], Mesh] = MappingProxyType({})  # that were read already, by file and scale


def expand(
    root: Node, file: str, folder: FilePath | None, settings: Mapping[str, object] | None = None, path: str = ""
) -> Expanded:
    """Expand a file.

    Parameters
    ----------
    root : Node
        The file as it is written.
    file : str
        Its name in messages, "" for data that is from no file.
    folder : Path, optional
        Where relative paths begin; without it there are no other files.
    settings : mapping, optional
        Overrides, see `override`.
    path : str, optional
        The file itself, which must not be included again.

    Raises
    ------
    FileError, ModelError
        All mistakes that were found, at the places where they were written.
    InputError
        An override's path leads nowhere.
    """
    if not isinstance(root.value, dict):
        if settings:
            raise InputError("set", "a robot's file, a mapping", "another one")
        data, places = plain(root)
        return Expanded(data, places, True, data, root)
    if "sorosim" in root.value:
        check_version(root.value["sorosim"])
    includer, real = Includer(), os.path.realpath(path) if path else ""
    includer.done.add(real)
    alone = not {"include", "import"} & set(root.value) and not settings
    settings = dict(settings) if isinstance(settings, Mapping) else settings
    if settings:
        # what is brought from other files decides what else there is to set
        first = {key: settings.pop(key) for key in list(settings) if str(key).startswith(("include", "import"))}
        root = overridden(root, first)
    root = includer.merged(root, folder, (real,) if real else ())
    importer = includer.importer
    Mistakes([*includer.mistakes, *importer.mistakes]).raise_if_any(file)
    if settings:
        root = overridden(root, settings)
        if "sorosim" in settings:
            check_version(root.value["sorosim"])
    whole = importer.reparented(_in_one_piece(root, file))
    importer.mistakes.raise_if_any(file)
    data, places = plain(whole)
    if importer.found.frames or importer.found.bare:
        # what hangs on imported frames hangs on their links; where a part or a parameter names a frame, it is dissolved
        short = importer.reparented(root)
        root = short if plain(_in_one_piece(short, file))[0] == data else whole
    return Expanded(data, places, alone, plain(root)[0], root, importer.found.meshes)


def _in_one_piece(root: Node, file: str) -> Node:
    """A file whose parameters are replaced and whose parts are made."""
    data, places = plain(Node({name: node for name, node in root.value.items() if name in REUSE}, root.place))
    mistakes = Mistakes()
    reading = Scope(data, is_file=True)
    for name in ("parameters", "prefabs", "parts"):
        one = RobotFile.declaration()[name]
        one.type.take(data, one, At(reading))
    mistakes += [Mistake(places.place(p.path, p.at_key), p) for p in reading.problems]
    mistakes.raise_if_any(file)
    entries = root.entries
    scope = ParameterScope(entries["parameters"].entries if "parameters" in entries else {}, {})
    for name, node in scope.own.items():
        if node.value is None:
            mistakes.note(node.place, f"a value of parameter '{name}'", "nothing", "write one after the colon")
    prefabs = entries["prefabs"].entries if "prefabs" in entries else {}
    made = PartMaker(prefabs, mistakes).blocks(entries, scope)
    out: dict[str, Node] = {}
    for name, node in entries.items():
        if name in BLOCKS and isinstance(node.value, dict):
            out[name] = Node(made[name], node.place, node.key)
        elif name not in REUSE:
            out[name] = substituted(node, scope, mistakes)
    for name in BLOCKS:
        if name not in entries and made[name]:
            out[name] = mapping(made[name], [entries.get("parts"), root])
    mistakes.raise_if_any(file)
    return Node(out, root.place, root.key)
