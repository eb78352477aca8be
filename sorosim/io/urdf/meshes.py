"""Where the mesh files are that URDF names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath

PACKAGE, FILE = "package://", "file://"


def mesh_file(name: str, urdf: FilePath, package_dirs: Sequence[FilePath]) -> FilePath | None:
    """The file of a mesh; None if there is none.

    ``package://name/rest`` is looked for in the given folders, each a package of that name or one that has it inside,
    then so in all folders above the URDF file. Other names are paths, relative ones from the folder of the URDF file.
    """
    return next((path for path in _candidates(name, urdf.absolute(), package_dirs) if _is_file(path)), None)


def _candidates(name: str, urdf: FilePath, package_dirs: Sequence[FilePath]) -> Iterator[FilePath]:
    if not name.startswith(PACKAGE):
        yield urdf.parent / name.removeprefix(FILE)
        return
    package, _, rest = name.removeprefix(PACKAGE).partition("/")
    for folder in (*package_dirs, *urdf.parents):
        if folder.name == package:
            yield folder / rest
        yield folder / package / rest


def _is_file(path: FilePath) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # an impossible name
        return False
