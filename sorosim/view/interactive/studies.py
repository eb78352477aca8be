"""Studies of the robot in an editor: a motion, an equilibrium, modes, a sweep of up to two numbers.

One is computed at a time, in a thread of its own; its options are those that functions and commands have. The result
plays in the scene, and is handed out as a file that only the browser writes.
"""

from __future__ import annotations

import base64
import secrets
import tempfile
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.simulate import simulate, usual_options
from sorosim.analysis.results.modes import describe, mode
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.analysis.sensitivity import scalars_of
from sorosim.base.declare import Boolean, Key
from sorosim.base.errors import ConvergenceError, InputError, Interrupted, SorosimError
from sorosim.base.methods import METHODS, MOTIONS, Option, method_class, options_by_name
from sorosim.base.options import ByName, ModesArguments, SimulateOptions, StaticsOptions, checked
from sorosim.base.units.table import DIMENSIONS, dimension_of
from sorosim.base.validation import choice
from sorosim.files.sweep_file import Span, SweepFile
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.robot import Robot
from sorosim.studies.sweeps.driver import sweep
from sorosim.studies.sweeps.result import SweepResult
from sorosim.studies.sweeps.task import prescribed
from sorosim.view.interactive.playback import Playback
from sorosim.view.interactive.recording import file_stem
from sorosim.view.interactive.session import SLIDERS, Session
from sorosim.view.viz.motion import Motion
from sorosim.view.viz.movie import movie

SIMULATE, STATICS, MODES, SWEEP = "simulate", "statics", "modes", "sweep"
FILE = "file"
SAID = 0.1  # s between two messages of progress
MOST_OFFERED = 4  # files that wait for being fetched
RANGE = 0.5, 1.5  # of a number of the file, relative to what it is
FILM_SIZE = 1280, 720
WRITERS = {"h5": "result file", "html": "page", "mp4": "film", "glb": "glTF"}


class Study(NamedTuple):
    """What can be computed, in a word and a sentence, and where its options are declared."""

    label: str
    meaning: str
    keys: Mapping[str, Key]


def _declared(kind: Any, *names: str) -> dict[str, Key]:
    """Options that one number or word says; without names all."""
    keys = kind.declaration()
    return {
        name: key for name, key in keys.items() if not isinstance(key.type, ByName) and (not names or name in names)
    }


STUDIES = {
    SIMULATE: Study("Run", "A motion from t = 0.", _declared(SimulateOptions)),
    STATICS: Study("Statics", "An equilibrium.", _declared(StaticsOptions)),
    MODES: Study("Modes", "Natural frequencies and modes about the equilibrium.", _declared(ModesArguments)),
    SWEEP: Study("Sweep", "Equilibria over one or two numbers.", _declared(SweepFile, "start", "block")),
}


class Offered(NamedTuple):
    """A file that is served once."""

    kind: str
    content: bytes
    name: str


class Studies:
    """Computes, shows and hands out studies for the pages of an editor.

    Parameters
    ----------
    session : Session
        Whose robot is studied.
    say : callable
        Tells all pages something: a dict that JSON can say.

    Attributes
    ----------
    result : Run, Equilibrium, Linearization, SweepResult or None
        The last one.
    playback : Playback
        What is drawn of it.
    actions : mapping of str to callable
        What pages ask for, by name.
    """

    def __init__(self, session: Session, say: Callable[[dict[str, Any]], None]) -> None:
        self._session, self._say = session, say
        self.playback = Playback(session, say)
        self.result: Any = None
        self._shown: Any = None  # the run or equilibrium of it that is drawn and handed out
        self._point = self._mode = 0
        self._options: dict[str, Any] = {}
        self._words, self._wrong, self._done = "", False, 0.0
        self._thread: threading.Thread | None = None
        self._cancelled, self._said = threading.Event(), 0.0
        self._lock, self._busy = threading.Lock(), False
        self._offered: OrderedDict[str, Offered] = OrderedDict()
        self._base: tuple[Any, Robot] | None = None
        self.actions: dict[str, Callable[[dict[str, Any]], Any]] = {
            "studies": lambda message: self.forms(),
            "study": self._study,
            "cancel": lambda message: self.cancel(),
            "playback": self._change_playback,
            "mode": lambda message: self.show_mode(int(message["number"])),
            "point": lambda message: self.show_point(int(message["index"])),
            "picture": lambda message: self.picture(str(message["column"])),
            "export": lambda message: self.export(str(message["format"]), str(message["key"])),
        }

    def stop(self) -> None:
        """End what is computed."""
        self.cancel()
        if self._thread is not None:
            self._thread.join(5.0)

    # -- forms ---------------------------------------------------------------------------------------------------------

    def forms(self) -> dict[str, Any]:
        """What a page needs to ask for studies, and how far they are."""
        robot = self._robot()
        block = robot.description.simulate
        blocks = {SIMULATE: usual_options(robot, block), STATICS: robot.description.statics}
        forms = {
            name: {"label": one.label, "meaning": one.meaning,
                   "fields": [_field(key, about, blocks.get(name, {})) for key, about in one.keys.items()]}
            for name, one in STUDIES.items()
        }  # fmt: skip
        span = [_field(name, key, {}) for name, key in Span.declaration().items()]
        return {"forms": forms, "span": span, "varied": list(self._varied(robot)), "state": self.state(),
                "playback": self.playback.data(), "writers": WRITERS}  # fmt: skip

    def _varied(self, robot: Robot) -> Iterator[dict[str, Any]]:
        """What a sweep may vary, with a range to begin with."""
        for one in self._session.controls.all.values():
            yield {"name": one.of.name, "unit": one.of.unit, "low": _short(one.low), "high": _short(one.high)}
        try:
            file = scalars_of(robot)
            for path in file.paths:
                x, unit = file.value(path), DIMENSIONS[dimension_of(str(file.text(path))) or "number"].unit
                low, high = sorted((RANGE[0] * x, RANGE[1] * x)) if x else (0.0, 1.0)
                yield {"name": path, "unit": unit, "low": _short(low), "high": _short(high)}
        except SorosimError:  # no file can say it
            return

    # -- what is computed ----------------------------------------------------------------------------------------------

    def _study(self, message: dict[str, Any]) -> None:
        self.start(str(message["kind"]), dict(message.get("options") or {}), str(message.get("inputs", SLIDERS)),
                   list(message.get("axes") or []))  # fmt: skip

    def start(
        self, kind: str, options: Mapping[str, Any], inputs: str = SLIDERS, axes: list[Mapping[str, Any]] | None = None
    ) -> None:
        """Begin a study of the robot as it is now.

        Parameters
        ----------
        kind : {"simulate", "statics", "modes", "sweep"}
        options : mapping
            Its options, as texts; empty ones are not given.
        inputs : {"sliders", "file"}
            Where inputs and driven coordinates are taken from.
        axes : list of {"name", "from", "to", "n"}
            What a sweep varies.
        """
        study = STUDIES[choice("kind", kind, tuple(STUDIES))]
        choice("inputs", inputs, (SLIDERS, FILE))
        given = {}
        for name, value in options.items():
            if name not in study.keys:
                raise InputError(name, f"an option of {kind}", "another one")
            if value not in ("", None):
                given[name] = value == "true" if isinstance(study.keys[name].type, Boolean) else str(value)
        robot, values = self._robot(), self._values(inputs)
        compute = {SIMULATE: self._simulate, STATICS: self._statics, MODES: self._modes, SWEEP: self._sweep}[kind]

        def work() -> None:
            found = compute(robot, values, given, axes or [])
            if self._cancelled.is_set() and kind in (STATICS, MODES):  # a search is not broken off
                raise KeyboardInterrupt
            self._take(*found)

        self._begin(f"{study.label} ...", work)

    def cancel(self) -> None:
        """End what is computed; a motion and a sweep keep what they have."""
        if self._busy:
            self._cancelled.set()
            self._words = "ends ..."
            self._tell()

    def state(self) -> dict[str, Any]:
        """How far it is, and what the last one found."""
        return {"busy": self._busy, "done": self._done, "words": self._words, "wrong": self._wrong, **self._found()}

    def _robot(self) -> Robot:
        """The robot of the session, with an engine that no other thread uses."""
        description = self._session.robot.description
        if self._base is None or self._base[0] is not description:
            self._base = description, Robot(description)
        return self._base[1]

    def _values(self, inputs: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Inputs and driven coordinates by name; None: as the file says."""
        if inputs == FILE:
            return None, None
        state = self._session.state
        _, driven = state.controls.split(state.values)
        return {name: x for name, x in state.values.items() if name not in driven}, driven

    def _simulate(self, robot: Robot, values: Any, options: dict[str, Any], _: Any) -> tuple[Any, str]:
        t_end = checked(SimulateOptions, options, robot.description.simulate)["t_end"]
        report = lambda t: self._report(t / t_end if t_end else 0.0, f"t = {t:.4g} of {t_end or 0.0:g} s")  # noqa: E731
        run = simulate(robot, u=values[0], driven=values[1], progress=report, **options)
        return run, run.message

    def _statics(self, robot: Robot, values: Any, options: dict[str, Any], _: Any) -> tuple[Any, str]:
        found = statics(robot, values[0], driven=values[1], **options)
        return found, f"{found.message}; {found.stability}"

    def _modes(self, robot: Robot, values: Any, options: dict[str, Any], _: Any) -> tuple[Any, str]:
        self._options = checked(ModesArguments, options)
        lin = statics(robot, values[0], driven=values[1]).linearize()
        if not len(lin.damped):
            raise InputError("modes", "something that can move", "every coordinate driven, or none")
        return lin, f"{len(lin.damped)} modes, {lin.stability}"

    def _sweep(self, robot: Robot, values: Any, options: dict[str, Any], axes: Any) -> tuple[Any, str]:
        if not 1 <= len(axes) <= 2:
            raise InputError("sweep", "one or two numbers that vary", f"{len(axes)}")
        names = [str(one["name"]) for one in axes]
        if len(set(names)) < len(names):
            raise InputError("sweep", "two different numbers", f"'{names[0]}' twice")
        grid = {name: {key: one[key] for key in ("from", "to", "n")} for name, one in zip(names, axes, strict=True)}
        u, driven = (
            None if table is None else {name: x for name, x in table.items() if f"{kind}.{name}" not in names}
            for kind, table in zip(("u", "driven"), values, strict=True)
        )
        start, block = options.get("start"), options.get("block")
        report = lambda n, of, failed: self._report(  # noqa: E731
            n / of, f"{n} of {of} points" + (f", {failed} failed" if failed else "")
        )
        found = sweep(robot, {"grid": grid}, u=u, driven=driven, start=start, block=block, progress=report)
        return found, _words_of(found)

    def _take(self, result: Any, words: str) -> None:
        """Show a result."""
        self.result, self._words, self._point, self._mode = result, words, 0, 0
        if isinstance(result, SweepResult):
            if not result.ok.any():
                failed = next(iter(result.failed.values()), "no point is done")
                self._shown, self._wrong, self._words = None, True, f"{words}: {failed}"
                return
            self.show_point(int(np.flatnonzero(result.ok)[-1]))
        elif isinstance(result, Linearization):
            self.show_mode(1)
        else:
            self._shown = result
            self.playback.show(result, words)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def show_mode(self, number: int) -> None:
        """Let a mode of the last study oscillate, over and over, a period in two seconds."""
        lin = self._last(Linearization, "modes")
        options = {name: x for name, x in self._options.items() if name != "number"}
        run = mode(lin, number, **options)
        self._shown, self._mode = run, number
        self.playback.show(run, run.message, speed=run.speed, loop=True)
        self._tell()

    def show_point(self, index: int) -> None:
        """Show the equilibrium at a point of the last sweep."""
        found = self._last(SweepResult, "a sweep")
        at = int(np.clip(index, 0, len(found) - 1))
        self._point = at
        if not found.ok[at]:
            self.playback.close()
            self._words, self._wrong = f"no equilibrium there: {found.messages[at] or found.status[at]}", True
        else:
            robot, row = found.robot_at(at), found.plan.samples.row(at)
            u = robot.inputs(prescribed(found.plan.job(), robot, row)[0])
            q = np.array(found.q[at, : robot.ndof])
            words = ", ".join(f"{name} = {x:.4g} {unit}".strip() for (name, x), unit in
                              zip(row.items(), found.units, strict=True))  # fmt: skip
            self.playback.show(Motion(robot, np.zeros(1), q[None], u[None], False, None), words)
            self._words, self._wrong, self._shown = _words_of(found), False, None
        self._tell()

    def picture(self, column: str) -> dict[str, Any]:
        """A column of the last sweep as a picture, and where in it the points are."""
        found = self._last(SweepResult, "a sweep")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "sweep.png")
            figure = found.plot(path, y=column)
            content = path.read_bytes()
        axes = figure.axes[0]
        box, (low, high), (bottom, top) = axes.get_position(), axes.get_xlim(), axes.get_ylim()
        return {
            "png": base64.b64encode(content).decode(), "box": [box.x0, 1.0 - box.y1, box.width, box.height],
            "x": [low, high], "y": [bottom, top],
        }  # fmt: skip

    def _last(self, kind: type[Any], words: str) -> Any:
        if not isinstance(self.result, kind):
            raise InputError("study", f"{words} before", "none")
        return self.result

    def _change_playback(self, message: dict[str, Any]) -> None:
        if message.get("close"):
            self.playback.close()
            return
        if message.get("again"):
            self._again()
            return
        numbers = {name: float(message[name]) for name in ("t", "speed") if name in message}
        if not all(map(np.isfinite, numbers.values())) or not numbers.get("speed", 1.0) > 0.0:
            raise InputError("playback", "a time, and a speed greater than 0", f"{numbers}")
        flags = {name: message[name] is True for name in ("plays", "loop") if name in message}
        self.playback.change(**numbers, **flags)  # type: ignore[arg-type]

    def _again(self) -> None:
        """Show the last result, after the robot was taken hold of."""
        if isinstance(self.result, SweepResult):
            self.show_point(self._point)
        elif isinstance(self.result, Linearization):
            self.show_mode(self._mode)
        elif self._shown is not None:
            self.playback.show(self._shown, self._words)

    def _found(self) -> dict[str, Any]:
        """What pages show of the last result."""
        result = self.result
        if isinstance(result, Linearization):
            shown = range(1, min(self._options["number"], len(result.damped)) + 1)
            modes = [{"number": k, "words": describe(result, k)} for k in shown]
            return {"found": MODES, "modes": modes, "mode": self._mode, "exports": list(WRITERS)}
        if isinstance(result, SweepResult):
            shape = result.shape or (len(result),)
            values = result.values.reshape(*shape, -1)
            along = [np.moveaxis(values, k, 0).reshape(shape[k], -1, len(shape))[:, 0, k] for k in range(len(shape))]
            axes = [{"name": name, "unit": unit, "values": x.tolist()}
                    for name, unit, x in zip(result.names, result.units, along, strict=True)]  # fmt: skip
            columns = [name for name, x in result.columns.items() if x.dtype.kind == "f" and name not in result.names]
            place = result.plan.shown_output if result.plan.outputs else ""
            spans = {f"{place}.{axis}": np.ptp(result.columns[f"{place}.{axis}"][result.ok]) for axis in "xyz" if place
                     and result.ok.any()}  # fmt: skip
            first = max(spans, key=lambda name: spans[name], default="")
            return {"found": SWEEP, "axes": axes, "columns": columns, "column": first, "point": self._point,
                    "exports": ["h5", "html", "glb"]}  # fmt: skip
        if result is None:
            return {"found": ""}
        timed = isinstance(result, Run)
        return {"found": SIMULATE if timed else STATICS, "exports": list(WRITERS) if timed else ["h5", "html", "glb"]}

    # -- files ---------------------------------------------------------------------------------------------------------

    def export(self, form: str, key: str) -> None:
        """Make a file of what is shown; the page that knows the key is told where it is served, once."""
        choice("format", form, tuple(WRITERS))
        if self.result is None or form not in self._found()["exports"]:
            raise InputError("export", "a result that can be written so", f"{WRITERS[form]} of none")
        result, shown, point, speed = self.result, self._shown, self._point, self.playback.speed

        def make() -> None:
            drawn = result.equilibrium(point) if isinstance(result, SweepResult) and form != "h5" else shown
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, f"result.{form}")
                if form == "h5":
                    (result if isinstance(result, SweepResult) else drawn).save(path)
                elif form == "html":
                    drawn.export_html(path, **({"speed": speed, "loop": self.playback.loops} if _timed(drawn) else {}))
                elif form == "glb":
                    drawn.export_gltf(path)
                else:
                    movie(drawn, path, speed=speed, size=FILM_SIZE, progress=lambda n, of: self._report(
                        n / of, f"{n} of {of} pictures"))  # fmt: skip
                content = path.read_bytes()
            if self._cancelled.is_set():
                raise KeyboardInterrupt
            url = self._offer(form, content, f"{file_stem(result.robot.name)}_{self._found()['found']}.{form}")
            self._words = f"{WRITERS[form]}: {len(content) / 1e6:.2g} MB"
            self._say({"export": {"key": key, "url": url}})

        self._begin(f"{WRITERS[form]} ...", make)

    def _offer(self, form: str, content: bytes, name: str) -> str:
        kinds = {"h5": "application/x-hdf5", "html": "text/html", "mp4": "video/mp4", "glb": "model/gltf-binary"}
        url = f"download-{secrets.token_urlsafe(16)}"
        self._offered[url] = Offered(kinds[form], content, name)
        while len(self._offered) > MOST_OFFERED:
            self._offered.popitem(last=False)
        return url

    def file(self, path: str) -> Offered | None:
        """A file that was made, which is then gone."""
        return self._offered.pop(path, None)

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _begin(self, words: str, work: Callable[[], None]) -> None:
        with self._lock:
            if self._busy:
                raise InputError("study", "one at a time", "another one", "cancel the one that is computed")
            self._busy = True
        self._cancelled.clear()
        self._words, self._wrong, self._done = words, False, 0.0
        self._thread = threading.Thread(target=lambda: self._run(work), name="sorosim study", daemon=True)
        self._thread.start()
        self._tell()

    def _run(self, work: Callable[[], None]) -> None:
        with self._failures():
            work()
        self._done, self._busy = 0.0, False
        self._tell()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Say why something failed, and keep what it had."""
        try:
            yield
        except (Interrupted, ConvergenceError) as error:
            words, partial = str(error), error.partial
            if isinstance(partial, Equilibrium) or (isinstance(partial, Run | SweepResult) and len(partial)):
                self._take(partial, words)
                words = f"{words}; what there is, is shown"
            self._words, self._wrong = words, True
        except KeyboardInterrupt:
            self._words, self._wrong = "cancelled", True
        except SorosimError as error:
            self._words, self._wrong = str(error), True
        except Exception as error:  # nobody else sees it
            traceback.print_exception(error)
            self._words, self._wrong = f"{type(error).__name__}: {error}", True

    def _report(self, done: float, words: str) -> None:
        """Tell how far it is, or end it."""
        if self._cancelled.is_set():
            raise KeyboardInterrupt
        now = time.perf_counter()
        if now > self._said + SAID:
            self._said, self._done, self._words = now, done, words
            self._say({"study": {"busy": True, "done": done, "words": words, "wrong": False}})

    def _tell(self) -> None:
        self._say({"study": self.state()})


def _field(name: str, key: Key, block: Mapping[str, Any]) -> dict[str, Any]:
    """A declared option as a page asks for it; `block`: what the robot's file says in its place."""
    schema = key.type.schema(lambda _: {})
    forms = (schema, *schema.get("anyOf", ()))
    words = [word for form in forms for word in form.get("enum", ())]
    words = ["true", "false"] if isinstance(key.type, Boolean) else words
    unit = schema.get("x-unit", "")
    default = block.get(name)
    if default is None:
        default = key.fallback if isinstance(key, Option) else None if key.required else key.default
    of = (
        [one for one in METHODS if name in method_class(one).options(MOTIONS)]
        if name in options_by_name(MOTIONS)
        else []
    )
    return {
        "name": key.name or name, "meaning": key.doc, "unit": unit, "words": words, "default": _written(default, unit),
        "free": not words or any(form.get("type") == "array" for form in forms), "methods": of,
    }  # fmt: skip


def _written(value: Any, unit: str) -> str:
    if value is None or value == np.inf:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g} {unit}".strip() if isinstance(value, int | float) else str(getattr(value, "kind", value))


def _words_of(found: SweepResult) -> str:
    """How a sweep went."""
    unstable = int((found.ok & ~np.asarray(found.columns["stable"], dtype=bool)).sum())
    counts = {"failed": len(found.failed), "unstable": unstable, "not computed": int((found.status == "pending").sum())}
    rest = "".join(f", {n} {word}" for word, n in counts.items() if n)
    return f"{int(found.ok.sum())} of {len(found)} equilibria found{rest}"


def _short(x: float) -> float:
    return float(f"{x:.4g}")


def _timed(drawn: Any) -> bool:
    return isinstance(drawn, Run)
