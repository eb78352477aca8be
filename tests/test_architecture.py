"""The structure of the package: who imports whom, what `import sorosim` costs, how long a file is."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sorosim
from sorosim.connect.cli.main import COMMANDS

REPO = Path(__file__).resolve().parents[1]
PACKAGE = REPO / "sorosim"

# from the ground up, storeys and the rooms in each: a room imports those before it, and itself
STOREYS = {
    "base": (
        "frozen errors interrupts files_read arrays complex_step duals problems validation writing public compiled "
        "signals units registry declare work_limit ode methods options"
    ),
    "mechanics": (
        "lie kernels model loads actuation constraints engine sensors linear dynamics robot quantities testing"
    ),
    "files": "",
    "analysis": "solvers equations results equilibria inversion sensitivity motion bifurcation",
    "studies": "doctor sweeps fitting estimation control design",
    "view": "viz interactive",
    "connect": "fmi differentiable torch jax gym",
}
PUBLIC_PATHS = ("testing", "gym", "torch", "jax")  # what users import by name; modules of other rooms
LAYERS = (
    *(
        layer
        for storey, rooms in STOREYS.items()
        for layer in (storey, *(f"{storey}.{room}" for room in rooms.split()))
    ),
    *PUBLIC_PATHS,
    "__init__",
    "connect.cli",  # calls the public names
    "__main__",
)
# compiled code returns status codes, it knows no errors
KNOWN_TO_KERNELS = {"base.arrays", "base.compiled"}
ONLY = {"mechanics.lie": KNOWN_TO_KERNELS, "mechanics.kernels": KNOWN_TO_KERNELS | {"mechanics.lie", "base.signals"}}
# a residual and a Jacobian, whatever they stand for
NEVER = {"analysis.solvers": {f"mechanics.{room}" for room in ("robot", "model", "kernels")}}
EAGER_PUBLIC = {"__version__"}  # of sorosim/__init__.py, free for all

HEAVY = {"numba", "scipy", "pyvista", "matplotlib", "h5py", "trimesh"}
LONGEST_FILE = 600  # lines
LONGEST_FUNCTION = 60  # lines without its docstring; recursions of kernels may have more


@dataclass(frozen=True)
class Import:
    line: int
    target: str  # layer


def layer_named(parts: Sequence[str]) -> str:
    """The room of a module, or the storey where it has no rooms."""
    return ".".join(parts[:2]) if STOREYS.get(parts[0]) else parts[0]


def layer_of(file: Path, package: Path) -> str:
    parts = file.relative_to(package).with_suffix("").parts
    return layer_named(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def imports_of(file: Path, package: Path) -> Iterator[Import]:
    """Every import of a layer of the package, those under ``if TYPE_CHECKING`` and inside functions included."""
    here = (package.name, *file.relative_to(package).parent.parts)

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            dotted = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(here[: len(here) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            dotted = [[*base, alias.name] for alias in node.names]
        else:
            return
        for name in dotted:
            if name[0] != package.name or set(name[1:2]) & EAGER_PUBLIC:
                continue
            layer = layer_named(name[1:] or ["__init__"])
            where = package / layer.replace(".", "/")
            yield layer if layer in LAYERS or where.is_dir() or where.with_suffix(".py").is_file() else "__init__"

    waiting: list[ast.AST] = [parsed(file)]
    while waiting:
        node = waiting.pop()
        yield from (Import(node.lineno, target) for target in targets(node))
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def python_files(package: Path) -> list[Path]:
    return sorted(p for p in package.rglob("*.py") if "_robots" not in p.parts)


def violations(package: Path) -> list[str]:
    found = []
    for file in python_files(package):
        layer, name = layer_of(file, package), file.relative_to(package.parent).as_posix()
        if layer not in LAYERS:
            found.append(f"{name}: {layer!r} has no place yet, give it one in STOREYS")
            continue
        allowed = ONLY.get(layer, set(LAYERS[: LAYERS.index(layer)])) - NEVER.get(layer, set()) | {layer}
        for item in imports_of(file, package):
            if item.target not in allowed:  # inside functions too: conveniences such as run.save are a `LazyMethod`
                found.append(f"{name}:{item.line}: {layer} must not import {item.target}")
    return found


def text_files() -> Iterator[tuple[Path, str]]:
    """The files of the repository that are text: tracked ones and new ones, without what .gitignore names."""
    command = ["git", "-C", str(REPO), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        files = [REPO / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # not a clone, or no git
        skipped = re.compile(r"^(\.(?!ci$|github$|gitignore$|pre-commit).*|__pycache__|build|dist|demo)$")
        files = [p for p in REPO.rglob("*") if not any(map(skipped.match, p.relative_to(REPO).parts))]
    for file in sorted(set(files)):
        if file.is_file():
            content = file.read_bytes()
            if b"\0" not in content:
                yield file, content.decode("utf-8", errors="replace")


def test_imports_go_one_way():
    assert violations(PACKAGE) == []


def test_modules_do_not_import_each_other_in_circles():
    def name_of(file):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    modules = {name_of(file): file for file in python_files(PACKAGE)}
    graph = {}
    for name, file in modules.items():
        graph[name] = set()
        for node in parsed(file).body:  # not inside functions or `if TYPE_CHECKING`
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sorosim":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    graph[name].add(inner if inner in modules else node.module)
    # a package is loaded before what is in it, but needs what it imports only
    assert list(TopologicalSorter({a: b - {a} for a, b in graph.items()}).static_order())


def test_the_reader_of_imports_finds_planted_violations(tmp_path):
    package = tmp_path / "sorosim"
    planted = {
        "__init__.py": "from sorosim.base.errors import SorosimError\n",
        "base/errors.py": "import os\n",
        "mechanics/lie/so3.py": "from sorosim.base.errors import SorosimError\n",
        "mechanics/kernels/tree.py": "from ..lie.so3 import exp\nfrom ...base.errors import InputError\n",
        "mechanics/model/rod.py": "from sorosim.mechanics.kernels import Tree\nfrom . import rod\n"
        "from sorosim import __version__, robot\nfrom sorosim.mechanics import robot\n",
        "mechanics/robot.py": "def load():\n    from sorosim.files import read\n",
        "analysis/motion/run.py": "def f():\n    from sorosim.mechanics.robot import Robot\n\n"
        "def g():\n    import sorosim.view.viz\n",
        "analysis/equations/system.py": "def f():\n    from sorosim.connect.cli import main\n",
        "analysis/solvers/bdf.py": "from sorosim.mechanics.lie import so3\nif True:\n"
        "    from sorosim.mechanics import kernels\n",
        "analysis/solvers/newmark.py": "import sorosim\n",
        "helpers.py": "import sorosim.connect.cli\n",
    }
    for name, text in planted.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert violations(package) == [
        "sorosim/analysis/equations/system.py:2: analysis.equations must not import connect.cli",
        "sorosim/analysis/motion/run.py:5: analysis.motion must not import view.viz",
        "sorosim/analysis/solvers/bdf.py:3: analysis.solvers must not import mechanics.kernels",
        "sorosim/analysis/solvers/newmark.py:1: analysis.solvers must not import __init__",
        "sorosim/helpers.py: 'helpers' has no place yet, give it one in STOREYS",
        "sorosim/mechanics/kernels/tree.py:2: mechanics.kernels must not import base.errors",
        "sorosim/mechanics/lie/so3.py:1: mechanics.lie must not import base.errors",
        "sorosim/mechanics/model/rod.py:4: mechanics.model must not import mechanics.robot",
        "sorosim/mechanics/model/rod.py:3: mechanics.model must not import __init__",
        "sorosim/mechanics/robot.py:2: mechanics.robot must not import files",
    ]


def test_the_top_floor_has_few_rooms():
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("_")} == set(STOREYS)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, sorosim; print(*{name.partition('.')[0] for name in sys.modules})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPO)
    assert HEAVY & set(result.stdout.split()) == set()


TOLD = """
import sys
from sorosim.connect.cli import main
for line in sys.argv[1:]:
    sys.argv = ["sorosim", *line.split()]
    try:
        main()
    except SystemExit:
        pass
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def told(*lines, **variables):
    """What the command line prints to some lines in one process, and which packages that loads."""
    command, environment = [sys.executable, "-c", TOLD, *lines], os.environ | variables
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPO, env=environment)
    return result.stdout, set(result.stderr.split())


def test_the_list_of_commands_loads_nothing_heavy():
    printed, loaded = told("--help", "--version", "")
    assert printed.count("Usage: sorosim ") == 2
    assert (HEAVY | {"numpy", "rich", "pydantic"}) & loaded == set()


def test_help_of_commands_loads_nothing_heavy():
    printed, loaded = told(*(f"{name} --help" for name in COMMANDS))
    assert printed.count("Usage: sorosim ") == len(COMMANDS)
    assert (HEAVY | {"rich", "pydantic"}) & loaded == set()


@pytest.mark.parametrize(
    ("line", "wanted"), [("sorosim sw", {"sweep"}), ("sorosim simulate --max-s", {"--max-step", "--max-steps"})]
)
def test_completion_loads_nothing_heavy(line, wanted):
    place = str(line.count(" "))
    printed, loaded = told("", _SOROSIM_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place)
    assert set(printed.split()) == wanted
    assert HEAVY & loaded == set()


def test_no_module_takes_the_place_of_a_public_name():
    modules = {path.stem for path in PACKAGE.iterdir()}  # importing sorosim.x sets the attribute x of sorosim
    assert modules & set(sorosim.__all__) == set()


STAND_INS = {  # as much as importing sorosim.torch and sorosim.jax takes of packages that may not be installed
    "torch/__init__.py": "import torch.autograd",
    "torch/autograd/__init__.py": "class Function: pass",
    "torch/autograd/function.py": "def once_differentiable(function): return function",
    "jax/__init__.py": "",
    "jax/numpy.py": "",
}


@pytest.mark.parametrize("name", PUBLIC_PATHS)
def test_public_path_is_the_module_that_it_names(name, tmp_path):
    for file, text in STAND_INS.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, "utf-8")
    code = f"import sorosim.{name}; print(sorosim.{name}.__name__)"
    path = os.pathsep.join([str(tmp_path), str(REPO)])
    command, environment = [sys.executable, "-c", code], os.environ | {"PYTHONPATH": path}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.strip() in (f"sorosim.connect.{name}", f"sorosim.mechanics.{name}")


@pytest.mark.parametrize("name", sorosim.__all__)
def test_public_name_is_found(name):
    assert callable(getattr(sorosim, name))


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No sorosim attribute statistics"):
        _ = sorosim.statistics


def test_no_file_of_the_package_is_too_long():
    lengths = {p.relative_to(REPO).as_posix(): len(p.read_text("utf-8").splitlines()) for p in python_files(PACKAGE)}
    assert {name: n for name, n in lengths.items() if n > LONGEST_FILE} == {}


def lines_of(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_no_function_is_too_long():
    lengths = {
        f"{p.relative_to(PACKAGE).as_posix()}: {node.name}": lines_of(node)
        for p in python_files(PACKAGE)
        if p.parent.name != "kernels"
        for node in ast.walk(parsed(p))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: n for name, n in lengths.items() if n > LONGEST_FUNCTION} == {}
    assert max(lengths.values()) > LONGEST_FUNCTION // 2  # they are found


def test_frozen_classes_are_set_in_one_place():
    found = [
        p.relative_to(PACKAGE).as_posix() for p in python_files(PACKAGE) if "object.__setattr__" in p.read_text("utf-8")
    ]
    assert found == ["base/frozen.py"]


# a feature is to be one thing in one place: words of its names, and how many modules name it, of these kernels
FEATURES = {
    "tubes": ("tube tubes rotor rotors", 18, 4),
    "Maxwell's strains": ("maxwell relax relaxes relaxation", 32, 5),
    "feeding": ("feed feeds flow flows flowing", 23, 10),
    "insertions": ("insert inserts inserted insertion insertions", 29, 6),
    "sticking": ("stick sticking stuck", 8, 3),
    "magnets": ("magnet magnets magnetic dipole", 2, 1),
    "capstan": ("capstan", 4, 2),
}


@cache
def words_of_modules() -> dict[str, set[str]]:
    """The parts of all names in each module, without those in texts and comments."""
    found = {}
    for file in python_files(PACKAGE):
        nodes = [vars(node) for node in ast.walk(parsed(file))]
        names = {node.get(field) for node in nodes for field in ("id", "attr", "name", "arg")}
        found[file.relative_to(PACKAGE).as_posix()] = {
            word for name in names if isinstance(name, str) for word in re.split(r"[_.]", name.lower())
        }
    return found


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_does_not_spread(feature):
    words, most, most_kernels = FEATURES[feature]
    found = [name for name, parts in words_of_modules().items() if parts & set(words.split())]
    kernels = [name for name in found if name.startswith("mechanics/kernels/")]
    # where it gets less, write the new numbers here
    assert (len(found), len(kernels)) == (most, most_kernels), found


def test_no_file_names_a_folder_of_a_developers_machine():
    folders = "|".join(["ho" + "me", "ro" + "ot", "wo" + "rk", "Us" + "ers"])
    # a slash after a letter, dot or tilde belongs to a longer path, a URL or a quotient
    absolute = re.compile(rf"(?<![\w.~)\]}}])/(?:{folders})/|\b[A-Z]:\\+Us" + r"ers\b")
    found = [
        f"{file.relative_to(REPO).as_posix()}:{number}: {line.strip()[:100]}"
        for file, text in text_files()
        for number, line in enumerate(text.splitlines(), 1)
        if absolute.search(line)
    ]
    assert found == []
