"""Where the mesh files are that robots of other programs name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import NamedTuple

PACKAGES, FILE = ("package://", "model://"), "file://"
MANIFEST = "package.xml"  # what the folder of a package has


class MeshFile(NamedTuple):
    """A mesh file, and whether it is inside the folder in which the robot's file may name files."""

    path: FilePath
    inside: bool


def mesh_file(name: str, robot: FilePath, package_dirs: Sequence[FilePath]) -> MeshFile | None:
    """The file of a mesh; None if there is none.

    ``package://name/rest``, or ``model://``, is looked for in the given folders, each a package of that name or one
    that has it inside, then so in all folders above the robot's file; the file should be inside the package. Other
    names are paths, relative ones from the folder of the robot's file, then from the given ones; the file should be
    inside this folder, or the package that the folder of the robot's file is in.
    """
    files = (
        MeshFile(path, is_inside(path, folder)) for folder, path in _candidates(name, robot.absolute(), package_dirs)
    )
    return min(filter(lambda file: _is_file(file.path), files), key=lambda file: not file.inside, default=None)


def _candidates(name: str, robot: FilePath, package_dirs: Sequence[FilePath]) -> Iterator[tuple[FilePath, FilePath]]:
    """Folders, and files that should be inside of them."""
    prefix = next((one for one in PACKAGES if name.startswith(one)), "")
    if not prefix:
        package = next((folder for folder in robot.parents if _is_file(folder / MANIFEST)), robot.parent)
        yield package, robot.parent / name.removeprefix(FILE)
        for folder in package_dirs:  # absolute names are what they are
            yield folder, folder / name.removeprefix(FILE)
        return
    package_name, _, rest = name.removeprefix(prefix).partition("/")
    if package_name in ("", ".", ".."):
        return
    for folder in (*package_dirs, *robot.parents[:-1]):  # in the root of the file system there are no packages
        if folder.name == package_name:
            yield folder, folder / rest.lstrip("/")
        yield folder / package_name, folder / package_name / rest.lstrip("/")


def is_inside(path: FilePath, folder: FilePath) -> bool:
    """By their names: links of the file system are the user's own."""
    return FilePath(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))


def _is_file(path: FilePath) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # an impossible name
        return False
