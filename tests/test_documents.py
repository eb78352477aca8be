"""What the README and the examples tell people to run, runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
README = (REPO / "README.md").read_text(encoding="utf-8")


def run(code_or_file, folder):
    command = [sys.executable, "-c", code_or_file] if isinstance(code_or_file, str) else [sys.executable, code_or_file]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL).group(1)


def test_python_of_the_readme_runs(tmp_path):
    out = run(block("python"), tmp_path)
    assert "(24, 24)" in out
    assert (tmp_path / "run.h5").exists()


def test_robot_of_the_readme_loads_and_bends_towards_its_tendon(tmp_path):
    (tmp_path / "finger.yaml").write_text(block("yaml"), encoding="utf-8")
    code = (
        "import sorosim; r = sorosim.load('finger.yaml'); "
        "a = sorosim.statics(r, u={}).tip()[2]; b = sorosim.statics(r, u={'tendon': 2.0}).tip()[2]; print(b - a)"
    )
    # the tendon runs above the axis (positive z), so pulling it lifts the tip
    assert float(run(code, tmp_path)) > 0.01


@pytest.mark.parametrize("example", sorted((REPO / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_example_runs(example, tmp_path):
    assert run(example, tmp_path)


def test_links_and_pictures_of_the_documents_exist():
    for document in [REPO / "README.md", *(REPO / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
