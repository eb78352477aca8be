"""Where compiled code is kept, and which folders are removed there."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding as llvm

from sorosim.base.compiled import ahead, cache


def test_a_relative_folder_stays_where_it_is(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOROSIM_CACHE_DIR", "here")
    assert cache._root() == tmp_path / "here"


def test_an_empty_name_is_none(monkeypatch):
    monkeypatch.delenv("SOROSIM_CACHE_DIR", raising=False)
    usual = cache._root()
    monkeypatch.setenv("SOROSIM_CACHE_DIR", "")
    assert cache._root() == usual


def test_older_caches_are_removed_and_nothing_else(monkeypatch, tmp_path):
    monkeypatch.setenv("SOROSIM_CACHE_DIR", str(tmp_path))
    for k in range(12):
        for name in (f"{k:016x}", f"my results of {k:02d}"):  # of as many letters
            (tmp_path / name).mkdir()
            os.utime(tmp_path / name, (k, k))
    folder = Path(cache._folder())
    assert folder.is_dir()
    assert len([path for path in tmp_path.iterdir() if cache._IS_DIGEST.fullmatch(path.name)]) == cache._MOST_CACHES
    assert len(list(tmp_path.glob("my results of *"))) == 12


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_an_older_cache_that_another_process_has_removed_does_no_harm(monkeypatch, tmp_path):
    monkeypatch.setenv("SOROSIM_CACHE_DIR", str(tmp_path))
    (tmp_path / f"{1:016x}").symlink_to(tmp_path / "nothing")
    monkeypatch.setattr(Path, "is_dir", lambda self: True)  # it was there a moment ago
    assert Path(cache._folder()).parent == tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="needs a script that is a program")
def test_a_program_that_is_no_python_ends_the_attempt_only(monkeypatch, tmp_path):
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho I am another program\n")  # I begins an integer in pickle
    other.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(other))
    pool = ahead._Pool(1, frozenset(), lambda line: None)
    try:
        pool.start()
        pool.compile(("nothing:here", ()))
    finally:
        pool.close()
    assert pool.workers
    assert all(worker.poll() is not None for worker in pool.workers)  # all have ended


def test_what_compiled_files_take_from_others_counts_as_source_of_the_cache():
    def counts(path):
        return cache._MARK in path.read_bytes() or path.parent.name in ("compiled", "kernels", "lie")

    taken = set()
    for path in cache.PACKAGE.rglob("*.py"):
        if cache._MARK not in path.read_bytes():
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("sorosim."):
                taken.add(node.module)
    assert "sorosim.base.signals.opcodes" in taken
    files = {name: cache.PACKAGE.parent.joinpath(*name.split(".")) for name in taken}
    missing = {
        name
        for name, path in files.items()
        if not counts(path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py")
    }
    assert missing <= {"sorosim.base.arrays", "sorosim.base.interrupts"}  # annotations, what calls from outside


KERNEL_CALL = """
import json, platform, sys
from pathlib import Path
from sorosim.base.compiled import cache
cache.SHIPPED_FOLDER = Path(sys.argv[1])
name, features = cache.PORTABLE[platform.machine()]
cache.PORTABLE = {platform.machine(): (name, features + sys.argv[2])}
from sorosim.base.signals.tape import _smaller
print(json.dumps([_smaller(2.0, 0.0, 0.0, 1.0, 0.5, 0.25), sum(_smaller.stats.cache_misses.values())]))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_code_that_comes_with_the_package_is_used_where_it_fits_only(monkeypatch, tmp_path):
    portable = cache.portable_environment()
    here = llvm.get_host_cpu_features()
    if portable is None or not all(here.get(one[1:]) for one in portable["NUMBA_CPU_FEATURES"].split(",")):
        pytest.skip("no processor that portable code is for")
    shipped = tmp_path / "shipped"

    def misses(folder, *, more="", **environment):
        command = [sys.executable, "-c", KERNEL_CALL, str(shipped), more]
        environment = os.environ | {"SOROSIM_CACHE_DIR": str(tmp_path / folder)} | environment
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        value, count = json.loads(done.stdout)
        assert value == [1.0, 0.5, 0.25]
        return count

    assert misses("shipped", **(portable | {"SOROSIM_CACHE_DIR": str(shipped)})) == 1
    before = sorted(shipped.rglob("*"))
    assert misses("own") == 0
    assert not list((tmp_path / "own").rglob("*.nbc"))
    (tmp_path / "no folder").write_text("")
    assert misses("no folder") == 0
    assert misses("other processor", more=",+wings") == 1
    assert misses("other options", NUMBA_OPT="1") == 1
    for path in shipped.rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:100])
    assert misses("damaged") == 1
    assert misses("own") == 1  # it had been taken from there
    assert sorted(shipped.rglob("*")) == before
