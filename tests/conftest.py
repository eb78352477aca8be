"""What every test shares: one seeded generator, and drawing without a screen."""

import gc
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.agreement import MARGIN, Agrees, Margins, rows_of

os.environ["MPLBACKEND"] = "Agg"
os.environ["PYVISTA_OFF_SCREEN"] = "true"
if sys.platform == "linux" and not os.environ.get("DISPLAY"):
    # without it VTK tries libX11 first, and crashes where that is missing; if EGL is missing it goes on to OSMesa
    os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")


def pytest_sessionstart(session: pytest.Session) -> None:
    """With several workers: compile once, before they start, what else each of them would; all for all of the tests."""
    config = session.config
    if not getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        return
    import sorosim
    from sorosim.base.compiled import ALL_FEATURES, reporting

    every = config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword
    with reporting(lambda line: None, ALL_FEATURES if every else frozenset()):
        robot = sorosim.load("pendulum")
        for method in ("bdf", "generalized-alpha"):
            sorosim.simulate(robot, 0.01, method=method)
        found = sorosim.sensitivities(robot, list(sorosim.scalars(robot))[:1])
        found.inverse_dynamics([0.1], [0.0], qdd=[0.0])
        if every:
            motion = sorosim.rollout(robot, np.zeros((1, robot.engine.n_actuators)), 0.01, tolerance=1e-11)
            motion.vjp(motion.q)
            motion.jvp()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave tests and modules, which live to the end, out of what the garbage collector looks through."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240229)


@pytest.fixture
def call(monkeypatch, capsys):
    """Run the command line in this process: exit code, output, errors."""

    def run(*words):
        from sorosim.connect import cli

        monkeypatch.setattr(sys, "argv", ["sorosim", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


@pytest.fixture
def agrees(record_property) -> Agrees:
    """Compares a quantity with a reference and notes it for the page on validation."""
    return Agrees(record_property)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--agreements", metavar="FILE", help="write the comparisons of the page on validation as JSON")
    parser.addoption("--margins", metavar="FILE", help="write error over tolerance of all assertions as JSON")


class Collector:
    """Gathers comparisons, of all workers."""

    def __init__(self, agreements: str | None, margins: str | None) -> None:
        self.agreements, self.margins, self.found = agreements, margins, []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.found.append((*report.location, report))

    def pytest_sessionfinish(self) -> None:
        # in the order of the tests, however workers shared them
        reports = [report for *_, report in sorted(self.found, key=lambda one: one[:3])]
        agreements = [row for report in reports if report.when == "call" for row in rows_of(report)]
        failed = [report.nodeid for report in reports if report.failed]
        margins = [
            [report.nodeid.partition("[")[0], *value]
            for report in reports if report.when == "call"
            for name, value in report.user_properties if name == MARGIN
        ]  # fmt: skip
        write(self.agreements, agreements)
        write(self.margins, {"agreements": agreements, "margins": margins, "failed": failed, "tests": len(reports)})


def write(path: str | None, found: object) -> None:
    if path:
        Path(path).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    agreements, margins = config.getoption("--agreements"), config.getoption("--margins")
    if margins:
        config.pluginmanager.register(Margins())  # in workers too
    if (agreements or margins) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Collector(agreements, margins))
