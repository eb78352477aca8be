"""The file of a robot under the hands of those who have its page open: its text, edits, mistakes and findings.

Pages hold the text in an editor that merges what others type (operational transformation: the order of changes is the
server's, and a page rebases its own on those that came before). A thread of its own reads each newest text: the robot
that it describes is shown at once, or the mistakes stand at their lines and the robot before stays.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sorosim.analysis.equations.strains import places
from sorosim.base.errors import FileError, InputError, SorosimError
from sorosim.base.files_read import noting_files, times_of
from sorosim.base.problems import Path as Place
from sorosim.base.validation import counted, describe
from sorosim.files import IMPORTED, load, load_text, with_values
from sorosim.files import edit as edits
from sorosim.files.bounded import read_bounded
from sorosim.files.kinds import BLOCKS, add, additions
from sorosim.files.yaml_reader import MAX_BYTES, TOO_LARGE, compose, is_block, read_text
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor import OK, WRONG, examine
from sorosim.studies.doctor.findings import LEVELS, Finding

NOTHING = "sorosim: 1\nname: no robot yet\nlinks: {empty: {}}\n"  # shown until there is one
EMPTY = "sorosim: 1\nname: robot\n\nlinks: {}\n"
DISK = "file"  # what the changes are called that something else made
YAML = (".yaml", ".yml")
IDLE = 0.4  # s without a change, after which the doctor looks
MOST_CHANGES = 1_000_000  # of one session, beyond which pages begin anew
OTHER_PLACES = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<words>.*)$")


class Mistake(NamedTuple):
    """What is wrong in a text, and where: line and column from 1; 0: not at a place of this file."""

    line: int
    column: int
    words: str


class _Changed(Exception):
    """The text is another one than that which the doctor looks at."""


class RobotText:
    """The text of a robot's file, which several pages change.

    Parameters
    ----------
    path : Path
        The file; it need not be there yet.
    take : callable
        Takes the robot that a text describes; or, `passing`, one that another soon follows.
    say : callable
        Tells all pages something: a dict that JSON can say.
    set : mapping, optional
        Values of the file that the robot has, as `sorosim.load` takes them; the text keeps its own.

    Attributes
    ----------
    text : str
        With newlines alone.
    version : int
        Number of changes since the beginning.
    imported : bool
        Whether the file is of another format: the text is what it is in ours, and is not changed until `make`.
    """

    def __init__(
        self, path: Path, take: Callable[..., None], say: Callable[[dict[str, Any]], None],
        set: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.path, self._take, self._say, self._set = path, take, say, set
        self._changes: list[Any] = []
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._newline, self._mark = "\n", ""
        self.imported = path.suffix.lower() in IMPORTED
        self._saved = self.text = self._from_disk() if path.exists() else EMPTY
        self._on_disk = self._stamp
        self._robot: Robot | None = None
        self._others: dict[Path, int | None] = {}
        self._stopping, self._slid = False, -IDLE  # when a number moved last, on the clock [s]
        self.report: dict[str, Any] = {}
        self.findings: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name="sorosim editor", daemon=True)

    def start(self) -> None:
        """Read the text whenever it changes, until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """End that."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    # -- the text ------------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        return len(self._changes)

    @property
    def is_saved(self) -> bool:
        """Whether the file says the same."""
        return self.text == self._saved and self.path.exists()

    def document(self) -> dict[str, Any]:
        """What a page begins with."""
        with self._lock:
            known = {"text": self.text, "version": self.version, "file": self.path.name, "saved": self.is_saved}
            return {**known, "imported": self.imported}

    @property
    def is_kept(self) -> bool:
        """Whether another text in its place would lose nothing: it is saved, or says nothing."""
        return self.is_saved or self.text.strip() in ("", EMPTY.strip())

    def since(self, version: int) -> list[Any]:
        """Changes that a page does not have."""
        with self._lock:
            if not 0 <= version <= self.version:
                raise InputError("version", f"0 to {self.version}", f"{version}", "load the page again")
            return self._changes[version:]

    def push(self, version: int, updates: list[Any]) -> bool:
        """Take changes of a page that knows all before; whether it did."""
        with self._changed:
            if self.imported and updates and updates[0].get("clientID") != DISK:
                raise self._not_ours()
            if version != self.version or self.version + len(updates) > MOST_CHANGES:
                return False
            text = self.text
            for update in updates:
                text = changed(text, update["changes"])
            if len(text.encode()) > MAX_BYTES:
                raise InputError("text", f"at most {MAX_BYTES // 10**6} MB", "more", TOO_LARGE)
            self.text = text
            self._changes += [{"clientID": str(one["clientID"])[:40], "changes": one["changes"]} for one in updates]
            self._changed.notify_all()
        self._say({"updates": self.version})
        return True

    def save(self, *, over: bool = False) -> None:
        """Write the text to the file, at once or not at all.

        Raises
        ------
        InputError
            The file was changed by something else; `over` writes over it.
        FileError
            It cannot be written.
        """
        with self._lock:
            if self.imported:
                raise self._not_ours()
            if not over and self._stamp != self._on_disk:
                raise InputError("save", f"{self.path.name} as it was read", "one that was changed outside of the page",
                                 "load it again, or write over it")  # fmt: skip
            content = (self._mark + self.text.replace("\n", self._newline)).encode()
            target = self.path.resolve()  # a link stays one
            mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
            if target.exists() and not (mode & 0o222 and os.access(target, os.W_OK)):
                raise FileError(str(self.path), "cannot be written: it is read-only")
            try:
                with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
                    file.write(content)
                os.chmod(file.name, mode)
                os.replace(file.name, target)
            except OSError as error:
                with contextlib.suppress(OSError, UnboundLocalError):
                    os.unlink(file.name)
                raise FileError(str(self.path), f"cannot be written: {error.strerror or error}") from None
            self._saved, self._on_disk = self.text, self._stamp
        self._say({"saved": True})

    def make(self, name: str) -> None:
        """Write the text to a new file beside this one, and go on with that.

        Raises
        ------
        InputError
            The name is none of a YAML file in the same folder.
        FileError
            The file is there already, or cannot be written.
        """
        path = self.path.with_name(name) if name and Path(name).name == name else Path()
        if path.suffix.lower() not in YAML or not path.stem.strip("."):
            raise InputError("name", "that of a file in the same folder, such as arm.yaml", describe(name))
        with self._lock:
            try:
                with open(path, "x", encoding="utf-8", newline="") as file:
                    file.write(self.text)
            except FileExistsError:
                raise FileError(path.name, "exists already; give another name") from None
            except OSError as error:
                raise FileError(path.name, f"cannot be written: {error.strerror or error}") from None
            self.path, self.imported, self._saved = path, False, self.text
            self._newline, self._mark, self._on_disk = "\n", "", self._stamp
        self._say({"document": self.document()})

    def _not_ours(self) -> InputError:
        expected = "a YAML file, which the editor may change"
        return InputError("text", expected, f"{self.path.name}", "make this a file, and edit that")

    def look_at_disk(self) -> None:
        """Take the file if something else changed it, and the page has nothing that is not saved; else say so."""
        with self._lock:
            stamp = self._stamp
            if stamp == self._on_disk or stamp is None:
                return
            if self.text != self._saved:
                words = f"{self.path.name} was changed outside of the page, which has changes of its own"
                self._say({"conflict": words})
                return
            self._on_disk = stamp
            try:
                text = self._from_disk()
            except SorosimError as error:
                self._say({"conflict": str(error)})
                return
            if text != self.text:
                self.push(self.version, [{"clientID": DISK, "changes": replacement(self.text, text)}])
            self._saved = self.text

    def reload(self) -> None:
        """Take what the file says, whatever the page has."""
        with self._lock:
            self._saved = self.text
            self._on_disk = None if self.path.exists() else self._on_disk
        self.look_at_disk()

    @property
    def _stamp(self) -> int | None:
        """When the file was changed."""
        return times_of([self.path])[self.path]

    def _from_disk(self) -> str:
        if self.imported:
            return load(self.path).description.text.replace("\r\n", "\n")
        content = read_bounded(self.path, str(self.path), MAX_BYTES, TOO_LARGE)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line, words = content[: error.start].count(b"\n") + 1, "expected UTF-8, got another encoding"
            raise FileError(str(self.path), f"{words}; save the file as UTF-8", line) from None
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        text = text.removeprefix("\ufeff")
        self._newline = "\r\n" if "\r\n" in text else "\n"
        if len({*re.findall("\r(?!\n)|\r?\n", text), self._newline}) > 1:
            expected = "lines that all end alike, by CR LF or by LF"
            raise FileError(str(self.path), f"expected {expected}; save the file so")
        return text.replace("\r\n", "\n")

    # -- edits by its tree ---------------------------------------------------------------------------------------------

    def edit(self, what: str, path: Place, **given: Any) -> list[tuple[int, int, str]]:
        """Changes of the newest text that an edit makes, with offsets as a browser counts them.

        what: "set" (`yaml`), "put" and "exchange" (`key`, `yaml`), "add" (`kind`, `name`, `beside`), "remove",
        "rename" (`name`), "move" (`before`), "copy" (`name`), or "numbers" (`values`: pairs of a path and what is set
        there).
        """
        text = self.text
        if what == "add":
            known = additions(self.data, str(path[0]), given.get("beside", ""))
            found = [one for one in known if one.kind == given["kind"]]
            if not found or found[0].lacks:
                raise InputError("add", "a kind that can be added", found[0].lacks if found else str(given["kind"]))
            new = add(text, str(path[0]), found[0], given.get("name", ""))
            return [_as_utf16(text, *one) for one in smallest(text, new)]
        if what == "exchange":
            new = edits.exchange(text, path, given["key"], value_of(given["yaml"]))
            return [_as_utf16(text, *one) for one in smallest(text, new)]
        if what == "numbers":
            each = [edits.set_value(text, tuple(at), value_of(str(new))) for at, new in given["values"]]
            return sorted((_as_utf16(text, *change) for one in each for change in one.changes), reverse=True)
        made = {
            "set": lambda: edits.set_value(text, path, value_of(given["yaml"])),
            "put": lambda: edits.put(text, path, given["key"], value_of(given["yaml"]), given.get("before")),
            "remove": lambda: edits.remove(text, path),
            "rename": lambda: edits.rename(text, path, given["name"]),
            "move": lambda: edits.move(text, path, given["before"]),
            "copy": lambda: edits.copy(text, path, given["name"]),
        }
        if what not in made:
            raise InputError("edit", f"one of {', '.join(made)}", f"'{what}'")
        return [_as_utf16(text, *change) for change in made[what]().changes]

    def change(self, what: str, path: Place, **given: Any) -> None:
        """Make an edit of no page's."""
        with self._lock:
            text = self.text
            changes = self.edit(what, path, **given)
            units = text.encode("utf-16-le")
            for start, end, new in changes:  # from the end to the begin
                units = units[: 2 * start] + new.encode("utf-16-le") + units[2 * end :]
            self.push(self.version, [{"clientID": "scene", "changes": replacement(text, units.decode("utf-16-le"))}])

    def kinds(self, block: str, beside: str = "") -> list[dict[str, Any]]:
        """Parts that may be added to a block."""
        if block not in BLOCKS:
            raise InputError("block", f"one of {', '.join(BLOCKS)}", f"'{block}'")
        return [{"kind": one.kind, "name": one.name, "meaning": one.meaning, "lacks": one.lacks}
                for one in additions(self.data, block, beside)]  # fmt: skip

    def slide(self, values: Mapping[str, Any]) -> None:
        """Show the robot with other values of numbers by their paths, for a moment: the text does not change.

        Without values, as the text says.
        """
        self._slid = time.monotonic()
        if (robot := self.robot) is not None:
            self._take(with_values(robot, values) if values else robot, passing=bool(values))
            if (newer := self.robot) is not None and newer is not robot:  # a text that was read meanwhile comes first
                self._take(newer)

    @property
    def robot(self) -> Robot | None:
        """What the last text without mistakes describes."""
        with self._lock:
            return self._robot

    @property
    def data(self) -> Mapping[str, Any]:
        """What the text says, as plain data."""
        data = read_text(self.text, self.path.name).data
        return data if isinstance(data, Mapping) else {}

    # -- what it says --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        read, examined = -1, -1
        while True:
            with self._changed:
                while not self._stopping and self.version == read:
                    rests = not self._changed.wait(IDLE) and time.monotonic() > self._slid + IDLE
                    if rests and (examined != read or self._others_changed()):
                        break
                    self.look_at_disk()
                if self._stopping:
                    return
                version, text = self.version, self.text
            if version != read or self._others_changed():
                read = version
                self.report = self.read(version, text)
                self._say({"state": self.report})
            elif self._robot is None or self._examine(version):
                examined = read

    def read(self, version: int, text: str) -> dict[str, Any]:
        """Outline, mistakes and size of what a text says; the robot is taken where there is one."""
        out: dict[str, Any] = {"version": version, "mistakes": [], "saved": self.is_saved}
        try:
            out["outline"] = outline(text, self.path.name)
            started = time.perf_counter()
            like = None if self._others else self._robot  # files that a text takes in are read again
            with noting_files() as files:
                try:
                    robot = load_text(text, self.path.name, self.path.parent, set=self._set, like=like)
                finally:
                    self._others = times_of(files)
            with self._lock:
                self._robot = robot
            self._take(robot)
            out["seconds"] = time.perf_counter() - started
            sizes = (robot.ndof, "coordinate"), (len(robot.actuator_names), "input")
            out["size"] = ", ".join(counted(*one) for one in sizes)
        except SorosimError as error:
            out["mistakes"] = [one._asdict() for one in mistakes_of(error, self.path.name)]
        except Exception as error:  # of a plug-in
            out["mistakes"] = [Mistake(0, 0, f"{type(error).__name__}: {error}")._asdict()]
        return out

    def _others_changed(self) -> bool:
        """Whether a file that the text takes in was changed."""
        return times_of(self._others) != self._others

    def _examine(self, version: int) -> bool:
        """Say what the doctor finds; whether nothing came between."""
        robot = self._robot
        assert robot is not None

        begin = time.monotonic()

        def go_on(*_: object) -> None:
            if self.version != version or self._stopping or self._slid > begin:
                raise _Changed

        try:
            found = examine(robot, progress=go_on)
        except _Changed:  # that comes first
            return False
        except SorosimError as error:
            found = [Finding(WRONG, "", str(error))]
        except Exception as error:  # of a plug-in
            found = [Finding(WRONG, "", f"{type(error).__name__}: {error}")]
        rows = [{"level": one.level, "where": one.where, "what": one.what, "remedy": one.remedy,
                 "change": _edit(robot, one.change)} for one in found if one.level != OK]  # fmt: skip
        self.findings = {"findings": {"rows": rows, "discretisation": discretisation(robot, found)}, "version": version}
        self._say(self.findings)
        return True


# -- texts -------------------------------------------------------------------------------------------------------------


def changed(text: str, changes: Any) -> str:
    """A text with a change set of CodeMirror: lengths that stay, and [length that goes, lines that come]."""
    units = text.encode("utf-16-le")
    out, at = bytearray(), 0
    part: Any
    for part in changes if isinstance(changes, list) else [None]:
        stays = type(part) is int and part >= 0
        goes = isinstance(part, list) and part and type(part[0]) is int and part[0] >= 0
        if not stays and not (goes and all(isinstance(line, str) for line in part[1:])):
            raise InputError("changes", "a change set", "something else")
        if stays:
            out += units[2 * at : 2 * (at + part)]
            at += part
        else:
            at += part[0]
            out += "\n".join(part[1:]).encode("utf-16-le")
    if 2 * at != len(units):
        raise InputError("changes", f"changes of a text of {len(units) // 2} characters", f"of {at}")
    return bytes(out).decode("utf-16-le")


def smallest(old: str, new: str) -> list[tuple[int, int, str]]:
    """The change from one text to another, without what both begin and end with."""
    start = _same(old, new)
    end = _same(old[start:][::-1], new[start:][::-1])
    return [(start, len(old) - end, new[start : len(new) - end])]


def _same(a: str, b: str) -> int:
    """The length of what both begin with."""
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def replacement(old: str, new: str) -> list[Any]:
    """The same as a change set."""
    ((start, end, text),) = smallest(old, new)
    start, end, text = _as_utf16(old, start, end, text)
    rest = len(old.encode("utf-16-le")) // 2 - end
    parts = [start, [end - start, *text.split("\n")], rest]
    return [one for one in parts if one != 0]


def _as_utf16(text: str, start: int, end: int, new: str) -> tuple[int, int, str]:
    first, second = (len(text[:at].encode("utf-16-le")) // 2 for at in (start, end))
    return first, second, new


def value_of(yaml_text: str) -> Any:
    """What a person writes after a colon, as data."""
    return read_text(f"x: {yaml_text}\n", "value").data["x"]


def mistakes_of(error: SorosimError, file: str) -> list[Mistake]:
    """Mistakes that an error names, a line each."""
    if not isinstance(error, FileError):
        return [Mistake(0, 0, str(error))]
    first, *others = error.message.split("\n")
    here = error.file == file
    found = [Mistake(error.line if here else 0, error.column if here else 0, first if here else str(error))]
    for line in others:
        match = OTHER_PLACES.match(line)
        if match and match["file"] == file:
            found.append(Mistake(int(match["line"]), int(match["column"]), match["words"]))
        else:
            found.append(Mistake(0, 0, line))
    return found


def _edit(robot: Robot, change: tuple[str, str] | None) -> dict[str, Any] | None:
    """The edit of the text that a change of the doctor is; None where another file would have to be changed."""
    document = robot.description.document
    path = None if change is None or document is None else document.written(change[0])
    return None if change is None or path is None else {"path": list(path), "yaml": change[1]}


def discretisation(robot: Robot, found: Iterable[Finding]) -> dict[str, Any] | None:
    """What the doctor finds of orders and points: the worst level, words, and each division; None without rods."""
    own = [one for one in found if one.code.partition(".")[0] in ("discretisation", "quadrature")]
    rows = [(one.where, max((n - 1 for n in one.division.strain.count_per_strain if n), default=None), one.division)
            for one in places(robot)]  # fmt: skip
    if not rows:
        return None
    level = max((one.level for one in own), key=LEVELS.index, default=OK)
    words = [f"{where}: {'rigid' if order is None else f'order {order}'}, {division.n_gauss} points"
             for where, order, division in rows]  # fmt: skip
    return {"level": level, "words": [one.what for one in own], "divisions": words}


def outline(text: str, file: str) -> list[Any]:
    """What a text says, as a tree: [key, kind, value, start, end, entries], offsets as a browser counts them.

    kind: "map", "list" or "text"; value: as it is written, of a scalar.
    """
    wide = not text.isascii() and any(ord(x) > 0xFFFF for x in text)

    def at(mark: Any) -> int:
        return len(text[: mark.index].encode("utf-16-le")) // 2 if wide else int(mark.index)

    def entry(key: Any, node: Any, name: str | int) -> list[Any]:
        start = at((key or node).start_mark)
        if isinstance(node, yaml.ScalarNode):
            return [name, "text", text[node.start_mark.index : node.end_mark.index], start, at(node.end_mark), []]
        if isinstance(node, yaml.SequenceNode):
            inner = [entry(None, one, i) for i, one in enumerate(node.value)]
            kind = "list"
        else:
            inner = [entry(one, value, one.value) for one, value in node.value]
            kind = "map"
        end = inner[-1][4] if inner and is_block(node) else at(node.end_mark)
        return [name, kind, "", start, end, inner]

    root = compose(text, file)
    return [] if root is None else entry(None, root, "")[5]


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now
