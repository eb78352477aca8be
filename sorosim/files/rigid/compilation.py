"""MuJoCo compiles a file: counted before, and in a process with limits where counts do not bound what it takes.

A process costs half a second, most of which is the import of MuJoCo, against some 10 ms of a robot: so files whose
elements take what they have in the file, each, are compiled here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Any

from sorosim.base.errors import FileError
from sorosim.files.nodes import Mistakes
from sorosim.files.rigid.document import Element

# of elements with those that are replicated, and of numbers in tables: MuJoCo would take minutes, and gigabytes
MAX_ELEMENTS, MAX_NUMBERS = 50_000, 50_000_000
MAX_SECONDS, MAX_BYTES = 60, 3_000_000_000  # of a process that compiles; MuJoCo itself has 0.5 GB of addresses
# tables that pair elements, as mass matrices do, then have some 100 MB; and so have those of numbers
PLAIN_ELEMENTS, PLAIN_NUMBERS, PLAIN_SIZE = 2000, 4_000_000, 100
_TAGS = (
    "mujoco compiler option flag size statistic visual global quality headlight map scale rgba default custom numeric "
    "text tuple element asset mesh texture material layer worldbody body frame replicate inertial joint freejoint geom "
    "site camera light contact pair exclude equality connect weld tendon fixed spatial pulley actuator general motor "
    "position velocity intvelocity damper cylinder muscle adhesion sensor keyframe key"
)
PLAIN = frozenset(_TAGS.split())
OF_LISTS = ("sensor",)  # blocks of elements that are alike, of any tag but a plug-in's
SIZE = re.compile(r"n(key|userdata|user_\w+|sample)|actdim|dim|num")  # attributes that say how long something is
AT_ELEMENT = re.compile(  # where a mistake is, at the end of a message of MuJoCo
    r"Element (?:'(?P<tag>\w+)'|name '(?P<name>.*?)', id -?\d+)(?:, line (?P<line>\d+))?$"
)
REFUSED, TOO_LARGE = 3, 4  # exit status after a message of MuJoCo, and where there was no memory
_CHILD = """
import sys
sys.path[:] = {path!r}
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({bytes}, {bytes}))
    resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
import mujoco
mujoco.set_mju_user_warning(lambda text: None)
try:
    if hasattr(getattr(mujoco, "MjSpec", None), "from_file"):
        spec = mujoco.MjSpec.from_file(sys.argv[1])
        spec.memory = spec.njmax = spec.nconmax = -1  # as much as it needs, not what contacts of a motion may
        model = spec.compile()
    else:
        model = mujoco.MjModel.from_xml_path(sys.argv[1])
    mujoco.mj_saveModel(model, sys.argv[2])
except ValueError as error:
    sys.stdout.buffer.write(str(error).encode("utf-8", "replace"))
    sys.exit({refused})
except (MemoryError, RuntimeError):
    sys.exit({too_large})
"""


def check_size(root: Element, mistakes: Mistakes) -> None:
    """Note what MuJoCo would take minutes and gigabytes for."""
    if (count := _counted(root)) > MAX_ELEMENTS:
        mistakes.note(root.place, f"at most {MAX_ELEMENTS} elements", f"{count:.6g} with those that are replicated")
    for element in root.walk():
        if (size := _numbers(element)) > MAX_NUMBERS:
            mistakes.note(element.place, f"at most {MAX_NUMBERS} numbers in a table", f"{size:.6g}")


def compiled(path: FilePath, root: Element) -> Any:
    """The model of a file (mujoco.MjModel).

    Raises
    ------
    FileError
        MuJoCo is not there; it refuses the file, told where that is written; or takes more than its limits.
    """
    try:
        import mujoco
    except ImportError:
        message = "expected the package mujoco, which reads MJCF, got none; install it: pip install 'sorosim[mjcf]'"
        raise FileError(str(path), message) from None
    file = str(path.absolute())
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)  # else MuJoCo writes a file of its own where the program runs
    try:
        return mujoco.MjModel.from_xml_path(file) if _is_plain(root) else _in_a_child(file, root)
    except ValueError as error:
        raise _located(str(error), root) from None
    finally:
        mujoco.set_mju_user_warning(before)


def _counted(element: Element) -> float:
    """How many elements MuJoCo makes of one."""
    given = element.attributes
    inner = sum(_counted(child) for child in element.children)
    if element.tag == "replicate":
        return _product(given.get("count", "")) * inner
    made = _product(*given.get("count", "").split()) if element.tag in ("flexcomp", "composite") else 1.0
    return made * (1.0 + inner)


def _numbers(element: Element) -> float:
    """How many numbers a table has, without those of a file."""
    given = element.attributes
    if element.tag == "hfield":
        return _product(given.get("nrow", ""), given.get("ncol", ""))
    if element.tag != "texture" or "builtin" not in given:
        return 0.0
    width, flat = given.get("width", ""), given.get("type", "cube") == "2d"
    return 3.0 * _product(width, given.get("height", "")) if flat else 18.0 * _product(width, width)  # six faces


def _product(*texts: str) -> float:
    """Product of the numbers among texts, each at least 1."""
    out = 1.0
    for text in texts:
        with suppress(ValueError, OverflowError):
            out *= max(1.0, float(text))
    return out


def _is_plain(root: Element) -> bool:
    """Whether each element takes what it has in the file, or in the file of its mesh.

    Whatever this does not know, as an element of a newer MuJoCo, is not.
    """
    if _counted(root) > PLAIN_ELEMENTS or sum(map(_numbers, root.walk())) > PLAIN_NUMBERS:
        return False
    alike = {id(element) for tag in OF_LISTS for block in root.all(tag) for element in block.children}
    for element in root.walk():
        given = element.attributes
        known = element.tag in PLAIN or (id(element) in alike and element.tag != "plugin")
        sized = any(_product(text) > PLAIN_SIZE for name, text in given.items() if SIZE.fullmatch(name))
        # the triangles of a built-in mesh, the pixels of a picture
        unseen = {"mesh": "builtin", "texture": "file"}.get(element.tag)
        if sized or not known or (unseen and any(name.startswith(unseen) for name in given)):
            return False
    return True


def _in_a_child(file: str, root: Element) -> Any:
    """The model of a file, compiled by a process with limits of time and memory.

    Raises
    ------
    ValueError
        A message of MuJoCo.
    FileError
        It takes more than its limits.
    """
    import mujoco

    program = _CHILD.format(path=sys.path, bytes=MAX_BYTES, seconds=MAX_SECONDS, refused=REFUSED, too_large=TOO_LARGE)
    # nothing is drawn, and each thread of linear algebra has memory of its own
    environment = os.environ | {"MUJOCO_GL": "disable", "OPENBLAS_NUM_THREADS": "1"}
    with TemporaryDirectory(prefix="sorosim_") as folder:
        model = os.path.join(folder, "model.mjb")
        command = [sys.executable, "-c", program, file, model]
        try:
            child = subprocess.run(command, env=environment, capture_output=True, timeout=MAX_SECONDS, check=False)
            said, last = (text.decode("utf-8", "replace") for text in (child.stdout, child.stderr))
            ended = child.returncode
        except subprocess.TimeoutExpired:
            said, last, ended = "", "", TOO_LARGE
        except OSError as error:
            raise FileError(file, f"expected Python to run MuJoCo in a process of its own, got: {error}") from None
        if ended == 0:
            return mujoco.MjModel.from_binary_path(model)
    more = ended == TOO_LARGE or ended < 0 or "allocate memory" in said  # a signal ends who passes a limit
    if ended == REFUSED and not more:
        raise ValueError(said)
    limits = f"MJCF that MuJoCo compiles within {MAX_SECONDS} s and {MAX_BYTES / 1e9:g} GB"
    got = (
        "more: make it smaller"
        if more
        else f"a process that ended with status {ended}: {last.strip().rpartition(chr(10))[2]}"
    )
    raise FileError(root.place.file, f"expected {limits}, got {got}", root.place.line, root.place.column)


def _located(said: str, root: Element) -> FileError:
    """A message of MuJoCo, with the place that it means."""
    text = " ".join(said.split())
    what = re.sub(r"^(XML )?(Error: )*", "", AT_ELEMENT.sub("", text)).strip(" .")
    at, quoted = AT_ELEMENT.search(text), re.search(r"'([^']+)'", what)
    line, word = int((at and at["line"]) or 0), quoted[1] if quoted else ""
    if at and line:
        here = [e for e in root.walk() if e.place.line == line and e.tag == (at["tag"] or e.tag)]
        here.sort(key=lambda e: e.attributes.get("name", "") != (at["name"] or ""))
    elif at and at["tag"]:  # in an included file: what has the word that is told, if that is one element only
        here = [e for e in root.walk() if e.tag == at["tag"] and word in (*e.attributes, *e.attributes.values())]
        here = here if len(here) == 1 else []
    else:  # the last one of a name, or a file that is not there
        named = ([e.attributes.get("name"), FilePath(e.attributes.get("file", "")).name] for e in root.walk())
        here = [e for e, own in zip(root.walk(), named, strict=True) if word and FilePath(word).name in own][-1:]
    tag = f"<{here[0].tag}>: " if here else ""
    message = f"expected MJCF that MuJoCo compiles, got a mistake in it: {tag}{what}"
    place = here[0].place if here else root.place
    return FileError(place.file, message, place.line, place.column)
