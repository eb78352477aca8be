"""Files of other programs with random mistakes: an error that says where, or a robot with finite numbers."""

import random
import re
import shutil
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yourdfpy", reason="the extra urdf is not installed")
from files.test_mjcf import CHAIN, DRIVEN
from files.test_sdf import FOUR_BAR
from files.test_urdf import GRIPPER

from sorosim.base.errors import SorosimError, SorosimWarning
from sorosim.files import load

DATA = Path(__file__).parents[1] / "data"
FORMATS = ["urdf", "sdf", *(["mjcf"] if find_spec("mujoco") else [])]
MORE = {
    "urdf": {"gripper.urdf": GRIPPER},
    "sdf": {"bars.sdf": FOUR_BAR.replace("KIND", "revolute").replace("MORE", "").replace("SIGN", "1")},
    "mjcf": {
        "ring.xml": CHAIN.replace("ROWS", '<connect body1="pad" body2="d" anchor="0.1 0 0"/><weld body1="b"/>'),
        "driven.xml": DRIVEN.replace("MORE", ""),
    },
}
VALUES = [
    "0", "-1", "1e308", "-1e-300", "nan", "inf", "1e-320", "", "1 2", "0 0 0", "1,2,3", "abc", "../../x", "1e5",
    "99999999999", "-0", "world", "3 cm", "\u0663", "0x10", "1_0", "&lt;", "true",
]  # fmt: skip
SETTINGS = [
    {},
    {"import.visual": False, "import.collision": True, "import.inertia": "accept"},
    {"import.inertia": "mend", "import.limits": "{revolute: 100, prismatic: 1000}"},
]


def mutated(rng, text):
    """One to three mistakes: values, elements and lines that are others, missing, doubled or moved."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        values = list(re.finditer(r'\w+=(["\'])(.*?)\1|>([^<>\n]+)<', text))
        tags = list(re.finditer(r"<[^<>]*>", text))
        lines = text.split("\n")
        kind, i, j = rng.randrange(6), rng.randrange(len(lines)), rng.randrange(len(lines))
        if kind < 2 and values:
            found, other = rng.choice(values), rng.choice(values)
            group = 2 if found[2] is not None else 3
            new = (other[2] or other[3] or "") if kind else rng.choice(VALUES)
            text = text[: found.start(group)] + new + text[found.end(group) :]
        elif kind == 2 and tags:
            found = rng.choice(tags)
            text = text[: found.start()] + text[found.end() :]
        elif kind == 3 and tags:
            found, other = rng.choice(tags), rng.choice(tags)
            text = text[: found.start()] + other[0] + text[found.start() :]
        elif kind == 4:
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
        else:
            lines.insert(i, lines[j])
            text = "\n".join(lines)
    return text


def check(tmp_path, language, seed, n):
    folder, rng = tmp_path / language, random.Random(seed)
    shutil.copytree(DATA / language, folder)
    texts = [path.read_text("utf-8") for path in sorted(folder.iterdir()) if path.suffix in (".urdf", ".sdf", ".xml")]
    texts += MORE[language].values()
    path = folder / f"mutated.{'xml' if language == 'mjcf' else language}"
    for _ in range(n):
        path.write_text(mutated(rng, rng.choice(texts)), "utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", SorosimWarning)
            try:
                robot = load(path, set=rng.choice(SETTINGS))
            except SorosimError as error:
                places = re.search(rf"{path.name}(:\d+:\d+)?: |:\d+:\d+: ", str(error))
                assert places, error  # noqa: PT017
                continue
        zero = np.zeros(robot.ndof)
        assert np.isfinite(robot.mass_matrix(zero)).all()
        assert np.isfinite(robot.inverse_dynamics(zero, zero, qdd=zero)).all()


@pytest.mark.parametrize("language", FORMATS)
def test_mutated_files(tmp_path, language):
    check(tmp_path, language, 0, 100)


@pytest.mark.slow
@pytest.mark.parametrize("language", FORMATS)
def test_many_mutated_files(tmp_path, language):
    check(tmp_path, language, 1, 2000)
