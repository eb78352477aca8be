"""The robots that come with sorosim."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from sorosim.base.validation import choice


def bundled_robots() -> tuple[str, ...]:
    """Names of the robots that come with sorosim; `load` takes them."""
    folder = _robots_folder()
    return tuple(sorted(file.stem for file in folder.glob("*.yaml"))) if folder else ()


def robot_words(name: str) -> str:
    """What a bundled robot is: the first sentence of its file."""
    lines = bundled_file(name).read_text(encoding="utf-8").splitlines()
    comment = " ".join(line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))
    return re.split(r"(?<=[\w)])\.(?=\s|$)", comment)[0].strip()


def bundled_text(name: str) -> str:
    """The text of the file of a bundled robot (InputError: there is none of that name)."""
    choice("robot", name, bundled_robots())
    return bundled_file(name).read_text(encoding="utf-8")


def bundled_file(name: str) -> Path:
    """The file of a bundled robot."""
    folder = _robots_folder()
    assert folder is not None  # it has bundled robots
    return folder / f"{name}.yaml"


def _robots_folder() -> Path | None:
    package = Path(__file__).resolve().parents[1]
    if (package / "_robots").is_dir():
        return package / "_robots"
    # an editable install or a clone: the folder of the repository
    repository = package.parent
    return repository / "robots" if (repository / "pyproject.toml").is_file() else None
