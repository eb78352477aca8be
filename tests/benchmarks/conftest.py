"""Collects the figures of one run of the benchmarks; prints them beside the paper's, and keeps them in .benchmarks/."""

import json
import platform
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.metadata import version

import pytest

import sorosim
from sorosim import benchmark
from sorosim.benchmark.setting import processor

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-sundae")
_SETTING = pytest.StashKey[benchmark.Setting]()
_TIMED = pytest.StashKey[list[benchmark.Timed]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SETTING] = benchmark.Setting()
    config.stash[_TIMED] = []


@pytest.fixture
def setting(pytestconfig: pytest.Config) -> benchmark.Setting:
    """What all cases share."""
    return pytestconfig.stash[_SETTING]


@pytest.fixture
def note(pytestconfig: pytest.Config) -> Callable[[benchmark.Timed], None]:
    """Takes what was measured of a case."""
    return pytestconfig.stash[_TIMED].append


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    setting, timed = config.stash[_SETTING], config.stash[_TIMED]
    if not timed:
        return
    rows = [benchmark.yardstick_row(setting), *(benchmark.make_row(item, setting) for item in timed)]
    terminalreporter.section("beside the yardstick and the paper (medians of this run)")
    terminalreporter.write_line(benchmark.table(rows))
    now = datetime.now(timezone.utc)  # noqa: UP017 (datetime.UTC is the same object)
    folder = config.rootpath / ".benchmarks"
    folder.mkdir(exist_ok=True)
    place = folder / f"comparison-{now:%Y%m%dT%H%M%S}.json"
    versions = {"sorosim": sorosim.__version__} | {name: version(name) for name in _LIBRARIES}
    machine = {"machine": processor(), "platform": platform.platform(), "python": platform.python_version()}
    content = {"time": now.isoformat(), **machine, "versions": versions, "rows": [row._asdict() for row in rows]}
    place.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    terminalreporter.write_line(f"kept in {place.relative_to(config.rootpath)}")
