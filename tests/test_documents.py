"""What the documents and the examples tell people to do works, and prints what they say.

Blocks of one document are run in order, in one folder, Python with one set of names:

- ``yaml`` with a key ``sorosim``: a robot, loaded and written to <its name>.yaml. A block with a caption is written to
  the file that the caption begins with, and not loaded.
- ``python``: executed, unless it imports an extra that is not there. ``text`` right after it: what it prints.
- ``console``: lines ``$ sorosim ...`` are run; what follows is what they print. Other commands are left alone.

In printed text spaces do not count, a line ``...`` stands for all that follows, and numbers need to agree to 1 % only.
Times, counts and errors, which differ from machine to machine, need to be numbers only, and which of its stopping
tests ended a least-squares fit does not count.
"""

import contextlib
import importlib.metadata
import importlib.util
import inspect
import io
import pydoc
import re
import runpy
import shlex
import sys
import warnings
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
import typer
import yaml

import sorosim
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.base.declare.result import Result
from sorosim.base.registry import ACTUATORS, BASES, INTEGRATORS, JOINTS, LOADS, OBSTACLES, SECTIONS, SENSORS, SHAPES
from sorosim.connect.cli import console
from sorosim.connect.cli.main import COMMANDS, app, main
from sorosim.files import bundled_robots
from sorosim.view.viz import movie as films

REPO = Path(__file__).resolve().parents[1]
DOCUMENTS = [REPO / "README.md", REPO / "CHANGELOG.md", *sorted((REPO / "docs").rglob("*.md"))]
GENERATED = {"file_format.md", "gallery/index.rst"}  # written by programs, may not be there
HEAVY = {"movie", "bench", "play"}  # too slow: only their words are checked
# blocks that import one are left out where it is not there
EXTRAS = re.compile(r"^(?:import|from) (torch|jax|stable_baselines3|fmpy|rclpy)\b", re.MULTILINE)

FENCE = re.compile(
    r"^```(?P<kind>\S*|\{(?:code-block|include)\} \S+)\n(?P<options>(?::[^\n]*\n)*\n?)(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    kind: str
    text: str
    caption: str
    line: int


def blocks(document):
    text = document.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        caption = re.search(r":caption: (.*)", found["options"])
        kind = found["kind"].removeprefix("{code-block} ")
        line = text.count("\n", 0, found.start()) + 1
        yield Block(kind, found["text"], caption[1] if caption else "", line)


NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
VARIES = re.compile(r"real time|evaluations|residual|energy balance|balance off|error \d|^ *tip of .* at the end")
# of SciPy's least squares
STOPPING = re.compile(r"(?:Both )?`[fgx]tol`(?: and `[fgx]tol`)? termination conditions? (?:is|are) satisfied")


def same_text(got, wanted):
    """Whether a printed text is that of a document."""
    got, wanted = ([line.split() for line in text.splitlines() if line.strip()] for text in (got, wanted))
    if wanted and wanted[-1] == ["..."]:
        got, wanted = got[: len(wanted) - 1], wanted[:-1]
    return len(got) == len(wanted) and all(map(same_line, map(" ".join, got), map(" ".join, wanted)))


def same_line(got, wanted):
    got, wanted = (STOPPING.sub("converged", line) for line in (got, wanted))
    if NUMBER.sub("0", got) != NUMBER.sub("0", wanted):
        return False
    numbers = ([float(x) for x in NUMBER.findall(line)] for line in (got, wanted))
    return bool(VARIES.search(wanted)) or np.allclose(*numbers, rtol=0.01, atol=0.002)


def forget_registered(monkeypatch):
    """What is registered or declared from now on is forgotten after the test."""
    for registry in (SECTIONS, SHAPES, OBSTACLES, JOINTS, LOADS, ACTUATORS, SENSORS, BASES, INTEGRATORS):
        registry.declared()
        for known in ("_registered", "_built_in"):
            monkeypatch.setattr(registry, known, dict(getattr(registry, known)))


class Reader:
    """Somebody who does what a document says, in the current folder."""

    def __init__(self, monkeypatch):
        self.monkeypatch, self.names, self.printed = monkeypatch, {"__name__": "document"}, ""
        monkeypatch.setattr(films, "movie", film_without_pictures)
        forget_registered(monkeypatch)

    def follow(self, block):
        step = {"python": self.python, "text": self.text, "yaml": self.yaml, "console": self.console}.get(block.kind)
        if step is not None:
            step(block)

    def python(self, block):
        if any(importlib.util.find_spec(name) is None for name in EXTRAS.findall(block.text)):
            self.printed = None
            return
        printed = io.StringIO()
        code = compile("\n" * block.line + block.text, "document", "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        self.printed = printed.getvalue()

    def text(self, block):
        assert self.printed is None or same_text(self.printed, block.text), (
            f"line {block.line}: it prints\n{self.printed}"
        )

    def yaml(self, block):
        if block.caption:
            Path(block.caption.split(",")[0]).write_text(block.text, encoding="utf-8")
        elif re.search(r"^sorosim:", block.text, re.MULTILINE):
            path = Path(f"{yaml.safe_load(block.text)['name']}.yaml")
            path.write_text(block.text, encoding="utf-8")
            sorosim.load(path)

    def console(self, block):
        for command, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            words = shlex.split(command, comments=True)
            if words[0] != "sorosim":
                continue
            if words[1] in HEAVY:
                check_words(words[1:])
                continue
            got = self.command(words)
            if wanted.strip():
                assert same_text(got, wanted), f"line {block.line}: $ {command}\n{got}"
            else:
                assert "error:" not in got, f"line {block.line}: $ {command}\n{got}"

    def command(self, words):
        """Run a command line in this process: what it prints."""
        printed = io.StringIO()
        self.monkeypatch.setattr(sys, "argv", words)
        for stream in (console.out(), console.err()):
            self.monkeypatch.setattr(stream, "_file", printed)
            self.monkeypatch.setattr(stream, "_width", 200)
        with pytest.raises(SystemExit):
            main()
        return printed.getvalue()


def check_words(words):
    """Parse a command line without running it."""
    group = typer.main.get_command(app)
    with group.make_context("sorosim", [words[0], "--help"], resilient_parsing=True) as context:
        command = group.get_command(context, words[0])
    assert command is not None, words
    command.make_context(words[0], words[1:])


def film_without_pictures(*arguments, **options):
    """Stand-in for `movie`, whose rendering takes long: it only takes the same arguments."""
    run, path = list(ORIGINAL_MOVIE.bind(*arguments, **options).arguments.values())[:2]
    assert len(run.t)
    Path(path).touch()


ORIGINAL_MOVIE = inspect.signature(films.movie)


def skip_without_package(document):
    """Leave out a page whose robots are files of a package that is not there."""
    package = OF_PACKAGE.get(document.stem)
    if package is not None and not any(importlib.metadata.distributions(name=package)):
        pytest.skip(f"{package} is not installed: pip install 'sorosim[robots]'")


# each takes 5 s or more
LONG_PAGES = {"optimal_control", "sweep_on_a_cluster", "fitting", "sweeps", "grasp", "walk", "design"}
# whose robots are files of a package that is no extra of all tests
OF_PACKAGE = {"walk": "example-robot-data"}


@pytest.mark.parametrize(
    "document", [pytest.param(p, marks=[pytest.mark.slow] * (p.stem in LONG_PAGES), id=p.stem) for p in DOCUMENTS]
)
def test_blocks_of_the_document_work(document, tmp_path, monkeypatch):
    skip_without_package(document)
    monkeypatch.chdir(tmp_path)
    reader = Reader(monkeypatch)
    for block in blocks(document):
        try:
            reader.follow(block)
        except Exception as error:
            error.add_note(f"{document.relative_to(REPO)}, line {block.line}")
            raise


def test_robot_of_the_readme_bends_towards_its_tendon(tmp_path):
    robot = next(block.text for block in blocks(REPO / "README.md") if block.kind == "yaml")
    (tmp_path / "finger.yaml").write_text(robot, encoding="utf-8")
    finger = sorosim.load(tmp_path / "finger.yaml")
    # the tendon runs above the axis (positive z), so pulling it lifts the tip
    assert sorosim.statics(finger, u={"tendon": 2.0}).tip()[2] > sorosim.statics(finger, u={}).tip()[2] + 0.01


def test_the_page_of_robots_has_each_with_its_picture_and_its_number_of_coordinates():
    page = (REPO / "docs" / "robots.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| !\[(\w+)\]\(images/(\w+)\.png\) \| `(\w+)`: .* \| (\d+) \|$", page, re.MULTILINE)
    assert all(shown == file == name for shown, file, name, _ in rows)
    told = {name: int(count) for *_, name, count in rows}
    assert told == {name: sorosim.load(name).ndof for name in bundled_robots()}


EXAMPLES = sorted([*(REPO / "examples").glob("*.py"), *(REPO / "examples" / "robots").glob("*.py")])


def test_every_bundled_robot_is_in_the_gallery():
    shown = "".join(file.read_text(encoding="utf-8") for file in EXAMPLES if file.parent.name == "robots")
    assert not [name for name in bundled_robots() if f'sorosim.load("{name}")' not in shown]


# the gallery runs all of them
LONG = {
    "fit_modulus_and_damping", "contact_and_grippers", "closed_chains", "swing_up", "draw_a_letter", "manipulators",
    "free_and_flying", "follow_a_figure_eight", "relax_a_finger", "rigid_chains", "in_water", "touch_three_pins",
    "pd_control", "buckling", "vibrations", "reject_a_push",
}  # fmt: skip


@pytest.mark.parametrize(
    "example", [pytest.param(p, marks=[pytest.mark.slow] if p.stem in LONG else [], id=p.stem) for p in EXAMPLES]
)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    forget_registered(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr()
    assert printed.out
    assert not printed.err


# -- links


def prose(document):
    """Text of a document without its blocks."""
    return FENCE.sub("", document.read_text(encoding="utf-8"))


def anchors(document):
    """Anchors of the headings of a document."""
    headings = re.findall(r"^#{1,3} (.*)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_links_and_pictures_of_the_document_exist(document):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", prose(document)):
        name, _, anchor = target.partition("#")
        file = document.parent / name if name else document
        assert name in GENERATED or file.exists(), f"{document.name}: {target}"
        if anchor and file.exists():
            assert anchor in anchors(file), f"{document.name}: {target}"


def contents_of(page):
    """Pages that the tables of contents of a page name, by their paths without an ending; the gallery is built."""
    text = page.read_text(encoding="utf-8")
    for table in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for name in re.findall(r"^([\w/.]+)$", table, re.MULTILINE):
            if name != "gallery/index":
                yield (page.parent / name).resolve()


def test_every_page_stands_behind_one_of_the_four_doors():
    docs = REPO / "docs"
    doors = list(contents_of(docs / "index.md"))
    assert [str(door.relative_to(docs)) for door in doors] == ["tutorials", "how_to/index", "lookup", "explanation"]
    behind = [page for door in doors for page in contents_of(door.with_suffix(".md"))]
    assert len(behind) == len(set(behind)), "a page behind two doors"
    files = [*docs.glob("*.md"), *docs.glob("*.rst"), *docs.glob("how_to/*.md")]
    assert {file.with_suffix("") for file in files} - {docs / "index", *doors} == set(behind)


# -- lists of everything


def test_the_page_of_the_command_line_tells_every_command_and_option():
    page = (REPO / "docs" / "command_line.md").read_text(encoding="utf-8")
    program = runpy.run_path(str(REPO / "docs" / "make_command_line.py"))
    assert page == program["with_options"](page), "python docs/make_command_line.py writes it anew"
    for name in COMMANDS:
        assert f"| `{name}` |" in page[: page.index(program["BEGIN"])], f"{name} is not in the table of commands"


def test_the_page_of_results_tells_what_is_declared_of_their_files():
    page = (REPO / "docs" / "results.md").read_text(encoding="utf-8")
    program = runpy.run_path(str(REPO / "docs" / "make_results.py"))
    assert page == program["with_tables"](page), "python docs/make_results.py writes it anew"


def test_the_reference_in_brief_is_that_of_the_docstrings():
    program = runpy.run_path(str(REPO / "docs" / "make_reference.py"))
    page = (REPO / "docs" / "reference.md").read_text(encoding="utf-8")
    assert page == program["reference"](), "python docs/make_reference.py writes it anew"
    # each public name with what is said of it, a function with its arguments
    for name in set(sorosim.__all__) - {"__version__"}:
        assert re.search(rf"^(### sorosim\.{name}$|- `sorosim\.{name}\b.*`: \w)", page, re.MULTILINE), name
    assert "- `t_end` (float or str): End [s].\n" in page[page.index("### sorosim.simulate") :]


def test_the_reference_names_what_there_is():
    module, missing = "sorosim", []
    absent = tuple(f"sorosim.{name}" for name in ("torch", "jax") if importlib.util.find_spec(name) is None)
    for line in (REPO / "docs" / "api.rst").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\.\. (currentmodule|auto\w+):: (\S+)", line):
            kind, name = match.groups()
            if kind == "currentmodule":
                module = name
            elif kind != "automodule" and not name.startswith(absent):
                missing += [] if any(map(pydoc.locate, (name, f"{module}.{name}"))) else [name]
    assert missing == []


def test_every_public_name_is_in_the_reference():
    page = (REPO / "docs" / "api.rst").read_text(encoding="utf-8")
    told = set(re.findall(r"^\.\. auto(?:function|class|exception):: sorosim\.(\w+)$", page, re.MULTILINE))
    assert told == set(sorosim.__all__)


@pytest.mark.parametrize(("result", "inner"), [(Run, set()), (Equilibrium, {"contact_state"})])
def test_everything_that_results_can_do_is_in_the_reference(result, inner):
    page = (REPO / "docs" / "api.rst").read_text(encoding="utf-8")
    (told,) = re.findall(rf"^\.\. autoclass:: sorosim\.{result.__name__}\n   :members: (.*)$", page, re.MULTILINE)
    can = {name for name in dir(result) if not name.startswith("_")} - {field.name for field in fields(result)}
    can -= set(vars(Result)) - {"save"}  # what makes kinds of results
    assert set(told.split(", ")) == can - inner


# -- what the code cites


def cited_sections():
    """(file, section) of every docs/theory.md, N that the sources cite, ranges spelled out."""
    cite = re.compile(r"theory\.md, ((?:[0-9A-Z]+(?:-[0-9A-Z]+)?)(?:(?:, | and )(?:[0-9]+|[A-Z])\b)*)")
    for file in sorted((REPO / "sorosim").rglob("*.py")):
        for found in cite.findall(file.read_text(encoding="utf-8")):
            for part in re.split(r", | and ", found):
                first, _, last = part.partition("-")
                if first.isdigit():
                    yield from ((file.relative_to(REPO), str(n)) for n in range(int(first), int(last or first) + 1))
                else:
                    yield file.relative_to(REPO), first


def test_sections_of_the_theory_that_the_code_cites_exist():
    sections = set(
        re.findall(r"^## ([0-9]+|[A-Z]) ", (REPO / "docs" / "theory.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    cited = list(cited_sections())
    assert len(cited) > 30
    for file, section in cited:
        assert section in sections, f"{file} cites docs/theory.md, {section}"


def test_names_of_the_glossary_are_in_the_files_it_gives():
    page = (REPO / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!term )(.+?) \|.*\| `([\w/.]+\.py)`: (.*) \|$", page, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| (?!term )", page, re.MULTILINE))
    for term, file, names in rows:
        source = (REPO / "sorosim" / file).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"\b{name}\b", source), f"{term}: no {name} in {file}"


def test_terms_of_the_glossary_are_in_alphabetical_order():
    page = (REPO / "docs" / "glossary.md").read_text(encoding="utf-8")
    for group in page.split("\n## ")[1:]:
        terms = [term.lower() for term in re.findall(r"^\| (?!term )(.+?) \|", group, re.MULTILINE)]
        assert terms == sorted(terms), group.splitlines()[0]


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((REPO / "CITATION.cff").read_text(encoding="utf-8"))
    headings = re.findall(
        r"^## \[(.*?)\](?: - (\S+))?$", (REPO / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert headings[0] == ("Unreleased", "")
    assert headings[1] == (sorosim.__version__, citation["date-released"])
    assert citation["version"] == sorosim.__version__
