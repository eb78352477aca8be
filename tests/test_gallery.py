"""Pictures of the gallery stand beside the example that drew them."""

import importlib.util
import time
from pathlib import Path

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def pictures():
    file = Path(__file__).parents[1] / "docs" / "gallery_pictures.py"
    spec = importlib.util.spec_from_file_location("gallery_pictures", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_figures_are_shown_once_alone_and_by_names(tmp_path, monkeypatch, pictures):
    monkeypatch.chdir(tmp_path)
    pictures.begin({}, "example.py")
    names = (tmp_path / "shown" / f"{k}.png" for k in range(9))
    (tmp_path / "shown").mkdir()
    block = {"example_globals": {"alone": Figure(), "plots": {"a": Figure(), "b": Figure()}, "n": 1}}
    block["image_path_iterator"] = names
    assert [path.name for path in pictures.gathered(block)] == ["0.png", "1.png", "2.png"]
    assert pictures.gathered(block) == []


def test_a_picture_that_an_aborted_example_left_is_not_shown_with_the_next_one(tmp_path, monkeypatch, pictures):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shown").mkdir()
    (tmp_path / "left.png").write_bytes(b"left")
    time.sleep(0.05)  # more than the clock of a file system is coarse
    pictures.begin({}, "example.py")
    time.sleep(0.05)
    for name in ("b", "a"):
        (tmp_path / f"{name}.png").write_bytes(name.encode())
        time.sleep(0.05)
    names = (tmp_path / "shown" / f"{k}.png" for k in range(9))
    written = pictures.gathered({"example_globals": {}, "image_path_iterator": names})
    assert [path.name for path in written] == ["0.png", "1.png"]
    assert [path.read_bytes() for path in sorted((tmp_path / "shown").iterdir())] == [b"b", b"a"]
    assert [path.name for path in tmp_path.glob("*.png")] == ["left.png"]
