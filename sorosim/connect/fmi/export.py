"""Writes functional mock-up units, by pythonfmu or pythonfmu3."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sorosim import __version__
from sorosim.base.errors import InputError
from sorosim.base.methods import Method
from sorosim.base.options import FmuArguments, checked
from sorosim.base.public import public
from sorosim.base.validation import Number
from sorosim.base.writing import check_path, write_whole
from sorosim.connect.fmi.slave import ROBOT_FILE, SETTINGS_FILE
from sorosim.connect.fmi.variables import variables_of
from sorosim.files.document import Document
from sorosim.files.nodes import plain
from sorosim.files.yaml_writer import as_written, to_yaml
from sorosim.mechanics.robot import Robot, check_robot

PACKAGES = {2: "pythonfmu", 3: "pythonfmu3"}
# what FMI 2 and 3 call that states may be kept and written
STATES = {2: ("canGetAndSetFMUstate", "canSerializeFMUstate"), 3: ("canGetAndSetFMUState", "canSerializeFMUState")}
# the module in a unit: it has the same text in all units of a version, which one process may load together
SCRIPT = '''"""The robot of this unit, moved by sorosim."""

import {package} as fmi
from {package} import Fmi{version}Slave

try:
    from sorosim.connect.fmi.slave import RobotSlave
except ImportError as error:
    raise ImportError(
        "expected sorosim {sorosim} or newer in the Python that loads this unit, got none: pip install sorosim"
    ) from error


class SorosimUnit(RobotSlave, Fmi{version}Slave):
    fmi, fmi_version = fmi, {version}
    _namespaces = []

    def __init__(self, **given):
        # {package} drops a reference to these globals for each instance, which it never took
        self._namespaces.append(globals())
        super().__init__(**given)
'''


@public
def export_fmu(
    robot: Robot, path: str | Path | None = None, *, fmi: int = 2, parameters: Sequence[str] = (),
    dt: Number | None = None, method: Method | str | None = None, **options: Any,
) -> Path:  # fmt: skip
    """Write a robot as a functional mock-up unit (FMU) for co-simulation in other programs.

    Parameters
    ----------
    robot : Robot
    path : path
        File to write, .fmu. Default: the robot's name, in this folder.
    fmi : {2, 3}
        Version of the standard.
    parameters : sequence of str
        Paths of numbers in the robot's file that may be set before a simulation begins; `sorosim.scalars` lists them.
    dt, method, **options : as in `Stepper`
        Communication steps are taken in equal steps of at most dt. Default: dt = 5 ms.

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    InputError
        A value; a package of the extra `fmu` is not installed.
    ConvergenceError
        There is no equilibrium to start from.
    FileError
        The file cannot be written.

    Notes
    -----
    The unit holds the robot's file with all that it includes, and its meshes. It needs sorosim in the Python that runs
    it. See docs/how_to/join_other_programs.md.
    """
    check_robot(robot)
    if fmi not in PACKAGES:
        raise InputError("fmi", "2 or 3, a version of the standard", f"{fmi!r}")
    _builder(fmi)
    chosen = checked(FmuArguments, {"dt": dt, "method": method, **options})
    given = {name: value for name, value in chosen.items() if value is not None}
    target = Path(f"{robot.name}.fmu" if path is None else path)
    if target.suffix != ".fmu":
        raise InputError("path", "a file name that ends in .fmu", f"'{target}'")
    check_path(target)
    variables_of(robot, parameters)
    identifier = re.sub(r"\W", "_", robot.name, flags=re.ASCII)
    identifier = identifier if re.match(r"[A-Za-z_]", identifier) else f"_{identifier}"
    settings = {
        "identifier": identifier, "sorosim": __version__, "parameters": list(parameters), "dt": given.pop("dt"),
        "options": given,
    }  # fmt: skip
    script = f"sorosim_fmi{fmi}"
    with tempfile.TemporaryDirectory() as folder, _imported_anew(PACKAGES[fmi], script):
        source, made = Path(folder) / "unit", Path(folder) / "made"
        source.mkdir()
        text = SCRIPT.format(package=PACKAGES[fmi], version=fmi, sorosim=__version__)
        (source / f"{script}.py").write_text(text, encoding="utf-8")
        (source / SETTINGS_FILE).write_text(json.dumps(settings, indent=1), encoding="utf-8")
        files = [source / SETTINGS_FILE, source / ROBOT_FILE, *_write_robot(robot, source)]
        flags = dict.fromkeys((*STATES[fmi], "canHandleVariableCommunicationStepSize"), True)
        unit = _builder(fmi).build_FMU(source / f"{script}.py", made, files, **flags)
        write_whole(target, Path(unit).read_bytes())
    return target


@contextmanager
def _imported_anew(*names: str) -> Iterator[None]:
    """Modules of these names are imported anew inside, and stand as before afterwards.

    A unit that runs in this process puts its folder, with copies of them, on the path; so does the builder.
    """

    def loaded() -> list[str]:
        return [module for module in sys.modules if module.partition(".")[0] in names]

    path, before = list(sys.path), {module: sys.modules.pop(module) for module in loaded()}
    sys.path[:] = [entry for entry in path if not (Path(entry) / SETTINGS_FILE).is_file()]
    try:
        yield
    finally:
        for module in loaded():
            del sys.modules[module]
        sys.modules.update(before)
        sys.path[:] = path


def _builder(version: int) -> Any:
    package = PACKAGES[version]
    try:
        return import_module(f"{package}.builder").FmuBuilder
    except ImportError:
        hint = "pip install 'sorosim[fmu]'"
        raise InputError("fmi", f"the package {package}", "none that can be imported", hint) from None


def _write_robot(robot: Robot, folder: Path) -> list[Path]:
    """Write the robot's file; returns folders of what it names."""
    document = robot.description.document or Document(robot.name, robot.to_yaml())
    meshes = folder / "meshes"
    names: dict[str, str] = {}
    data = plain(document.root)[0]
    for mesh in _meshes(data):
        file = str(mesh["file"])
        if file not in names:
            meshes.mkdir(exist_ok=True)
            names[file] = f"{meshes.name}/{len(names)}_{Path(file).name}"
            shutil.copyfile(file, folder / names[file])
        mesh["file"] = names[file]
    text = to_yaml(as_written(data)) if names else document.text
    (folder / ROBOT_FILE).write_text(text, encoding="utf-8")
    return [meshes] if names else []


def _meshes(data: object) -> Iterator[dict[str, Any]]:
    """Blocks of meshes that stay in files of their own."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, entry in entries:
        if key == "mesh" and isinstance(entry, dict) and "file" in entry:
            yield entry
        else:
            yield from _meshes(entry)
