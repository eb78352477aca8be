"""The page in the browser: a thin view of a `Session`, by viser. All pages that are open show and do the same."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, SorosimError
from sorosim.mechanics.model.link import WORLD
from sorosim.view.interactive.controls import ROUNDING, Control
from sorosim.view.interactive.observing import Estimated
from sorosim.view.interactive.request_guard import RequestGuard
from sorosim.view.interactive.scene import RobotScene
from sorosim.view.interactive.session import MODES, MOTION, STATICS, Session
from sorosim.view.interactive.state import LiveState
from sorosim.view.viz.motion import TINTS
from sorosim.view.viz.options import CENTRE_OF_MASS, CONTACTS, FORCES, LOADS

NOBODY, ESTIMATED = "nothing", "estimated"
KEY_PART = 0.05  # of a control's range, by which a key changes it
TEXT_TIME, PLOT_TIME = 0.25, 0.1  # s between changes of texts and plots
UNTOUCHED = 0.5  # s since a slider was moved, after which it shows what others set
WINDOW = 10.0  # s that plots show
MOST_LINES = 6  # in a plot
STRENGTHS = (-2.0, 2.0)  # powers of ten
SPEEDS = (0.05, 4.0)
PLOT_HEIGHT = 130  # pixels
SLOWER = 0.9  # of the speed that was asked for, from which on the page says so
NOTABLE = 0.2  # share of a controller in the time of slow steps that it says, too
SHOWN = {LOADS: "loads", CONTACTS: "contacts", "joints": "joints and motors", "gravity": "weight"}
COMMAND_KEYS = {"space": "pause", "N": "step", "R": "reset", "V": "record", "M": "mode"}
KEYS = "space: pause; N: one step; R: reset; M: motion or statics; V: record; 1 to 9: raise a slider, with shift lower"


class Page:
    """The page of a session, which is served until `stop`.

    Attributes
    ----------
    url : str
    rate : float
        Frames per second that were sent lately.
    """

    def __init__(
        self, session: Session, host: str, port: int, origins: Collection[str] = (), beside: Any = None
    ) -> None:
        viser = require_viser()
        free, guard = _free_port(host, port), RequestGuard(origins)
        guard.beside, self._beside = beside, beside is not None
        self.session = session
        with redirect_stdout(StringIO()), guard.guarding():  # it announces itself
            self._server = viser.ViserServer(host=host, port=free, label=session.robot.name, verbose=False)
        if self._server.get_port() != free:  # taken in the meantime
            self._server.stop()
            raise _taken(port)
        name = "localhost" if host in ("127.0.0.1", "0.0.0.0") else f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{free}/{guard.token}/"
        self.rate = 0.0
        self._gui, self._uplot = self._server.gui, viser.uplot
        guard.accepts = self._accepts
        self._gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="small" if self._beside else "medium"
        )
        self._built: LiveState | None = None
        self._panels: Any = None
        self._selected = ""
        self.on_click: Callable[[str], None] = lambda _: None  # takes the name of a link
        self.shown: Callable[[LiveState], LiveState] = lambda live: live  # what is drawn in its place
        self.handles: Any = None  # those of an editor
        self._stopping = threading.Event()
        self._build(session.state)
        self._thread = threading.Thread(target=self._run, name="sorosim page", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the page."""
        self._stopping.set()
        self._thread.join()
        with redirect_stdout(StringIO()):
            self._server.stop()

    def _run(self) -> None:
        state, sent, failed = self.session.state, deque[float](maxlen=60), ""
        while not self._stopping.is_set():
            newer = self.session.wait_for_frame(state)
            if newer is state:
                continue
            state = newer
            try:
                drawn = self._drawn = self.shown(state)
                if self._built is None or drawn.generation != self._built.generation:
                    self._build(drawn)
                with self._server.atomic():
                    self._show(drawn)
                self.session.see(state.generation)
            except Exception as error:  # the page must say what it cannot show
                failed = self._fail(error, failed)
            sent.append(time.perf_counter())
            self.rate = (len(sent) - 1) / (sent[-1] - sent[0]) if len(sent) > 1 else 0.0

    def _fail(self, error: Exception, before: str = "") -> str:
        """Pause the motion, say what was raised, and return it; what was raised before is no news in the pause."""
        what = f"{type(error).__name__}: {error}"
        if what != before or not self.session.state.paused:
            self.session.fail(error)
        self._message.content = self.session.state.message or what
        return what

    def _accepts(self, message: bytes) -> bool:
        """Whether a message can be one of this page: it can be read, and gives an element a value that it can have."""
        from viser._messages import GuiUpdateMessage, Message

        try:
            read = Message.deserialize(message)
            if not isinstance(read, GuiUpdateMessage):
                return True
            element = self._gui._gui_input_handle_from_uuid[read.uuid]
            return read.updates.keys() == {"value"} and _can_have(element, read.updates["value"])
        except Exception:  # bytes of strangers raise whatever they like
            return False

    # -- what is in the page -------------------------------------------------------------------------------------------

    def _build(self, state: LiveState) -> None:
        """All of it, for a robot; panels of one like it stay."""
        self._drawn = state
        panels = (state.robot.name, [(one.label, one.low, one.high, one.step) for one in state.controls.all.values()],
                  [link.name for link in state.robot.links], list(state.robot.instruments.readers),
                  list(state.controls.outputs.points),
                  state.estimated and (state.estimated.places, state.estimated.names))  # fmt: skip
        alike = panels == self._panels
        before = getattr(self, "_scene", None)
        self._scene = RobotScene(
            self._server, state, self._dragged, self._clicked, beside=self._beside, aims=not alike, before=before
        )  # fmt: skip
        self._scene.selected = self._selected
        if alike:
            self._built = state
            return
        self._panels = panels
        self._gui.reset()
        self._gui.set_panel_label(state.robot.name)
        gui = self._gui
        self._status, self._message = gui.add_markdown(""), gui.add_markdown("")
        self._buttons = gui.add_button_group("", ("pause", "step", "reset"), hint=KEYS)
        self._buttons.on_click(lambda event: self.session.press(event.target.value))
        self._source: Any = None
        self._sliders, self._touched = dict[str, Any](), dict[str, float]()
        if state.controls.all:
            with gui.add_folder("Controls"):
                self._build_controls(state)
        self._mode = self._dropdown("mode", MODES, self.session.set_mode)
        self._slider("speed", *SPEEDS, 0.05, state.speed, self.session.set_speed)
        self._record = gui.add_button("record", icon=None)
        self._record.on_click(lambda _: self.session.press("record"))
        self._plotted = gui.add_dropdown("plot", list(self._plots(state)))
        self._plotted.on_update(lambda _: self._clear_plot())
        self._history = deque[tuple[float, Array]]()
        self._chart: Any = gui.add_markdown("")  # where the plot is to be
        self._clear_plot()
        self._estimate: dict[str, Any] = {}
        if state.estimated is not None:
            with gui.add_folder("Estimate"):
                self._build_estimate(state.estimated)
        with gui.add_folder("Forces", expand_by_default=False):
            self._gravity = gui.add_vector3("gravity [m/s²]", tuple(state.gravity.tolist()))
            self._gravity.on_update(self._called(self._set_gravity, self._gravity.value))
            self._slider("pull, power of 10", *STRENGTHS, 0.1, 0.0, lambda x: self.session.set_strength(10.0**x))
        with gui.add_folder("Picture", expand_by_default=False):
            self._shown = {kind: gui.add_checkbox(SHOWN[kind], kind == CONTACTS) for kind in FORCES}
            self._arrow_label = gui.add_markdown("")
            # a link that has one of these names cannot be followed
            names = list(dict.fromkeys([NOBODY, CENTRE_OF_MASS, *(link.name for link in state.robot.links)]))
            floats = all(link.joint.kind == "free" for link in state.robot.links if link.parent == WORLD)
            self._follow = gui.add_dropdown("camera follows", names, initial_value=CENTRE_OF_MASS if floats else NOBODY)
        keys: dict[tuple[Any, Any], tuple[str, Callable[[], None]]]
        keys = {(key, None): (name, partial(self.session.press, name)) for key, name in COMMAND_KEYS.items()}
        for k, name in enumerate([*state.controls.all][:9]):
            keys[str(k + 1), None] = f"raise {name}", partial(self.session.nudge, k, KEY_PART)
            keys[str(k + 1), "shift"] = f"lower {name}", partial(self.session.nudge, k, -KEY_PART)
        for (key, modifier), (label, action) in keys.items():
            command = gui.add_command(label, hotkey=key, modifier=modifier)
            command.on_trigger(partial(_without_event, action))
        self._built, self._texts_at, self._plotted_at = state, 0.0, 0.0

    def _build_controls(self, state: LiveState) -> None:
        if len(self.session.sources) > 1:
            self._source = self._dropdown("follow", self.session.sources, self.session.follow)
        for name, one in state.controls.all.items():
            low, high = (_rounded(x, one.step, up) for x, up in ((one.low, True), (one.high, False)))
            x = _on_slider(one, state.values[name])
            self._sliders[name] = self._slider(one.label, low, high, one.step, x, partial(self._set, name))

    def _build_estimate(self, estimated: Estimated) -> None:
        for name, label, on, change in (
            ("on", "observe", estimated.on, self.session.observe),
            ("reads", "readings arrive", estimated.reads, self.session.read),
        ):
            box = self._estimate[name] = self._gui.add_checkbox(label, on)
            box.on_update(self._called(change, on))
        self._estimate["band"] = self._gui.add_checkbox("95 % ellipsoids", True)
        self._estimate["text"] = self._gui.add_markdown("")

    def _slider(self, label: str, low: float, high: float, step: float, x: float, change: Callable[[Any], None]) -> Any:
        slider = self._gui.add_slider(label, low, high, step, x)
        slider.on_update(self._called(change, x))
        return slider

    def _dropdown(self, label: str, names: Sequence[str], change: Callable[[Any], None]) -> Any:
        dropdown = self._gui.add_dropdown(label, names)
        dropdown.on_update(self._called(change, dropdown.value))
        return dropdown

    def _called(self, change: Callable[[Any], None], shown: Any = None) -> Callable[[Any], None]:
        """What a page does to a value that it shows, but for values that follow the session; refused ones go back."""
        accepted = deque([shown], maxlen=1)

        def called(event: Any) -> None:
            if event.client is not None:
                try:
                    change(event.target.value)
                    accepted.append(event.target.value)
                except SorosimError as error:
                    event.target.value = accepted[-1]
                    event.client.add_notification("refused", str(error), color="red", auto_close_seconds=10.0)
                except Exception as error:
                    self.session.fail(error)

        return called

    def _set(self, name: str, x: float) -> None:
        self._touched[name] = time.monotonic()
        self.session.set(**{name: x})

    def _set_gravity(self, gravity: Any) -> None:
        self._touched["gravity"] = time.monotonic()
        self.session.set_gravity(gravity)

    async def _dragged(self, event: Any) -> None:
        """A pointer drags the robot; a coroutine, for these come in order."""
        state, session = self._drawn, self.session
        if self.handles is not None and (self.handles.holds or (event.phase == "start" and self.handles.meets(event))):
            await self.handles.dragged(event)
            return
        if event.phase == "end":
            session.release()
            return
        if event.phase == "start":
            point = np.array(event.start_position)
            link, s = self._scene.nearest(state.q, point)
            session.grab(link, s=s, point=point)
        session.aim(event.end_position)

    def select(self, link: str) -> None:
        """Show the name of a link beside it; of none if it is ""."""
        self._selected = self._scene.selected = link

    async def _clicked(self, event: Any) -> None:
        """A pointer clicks at the robot."""
        origin, direction = (np.array(x) for x in (event.ray_origin, event.ray_direction))
        self.on_click(self._scene.met(self._drawn.q, origin, direction))

    # -- what changes --------------------------------------------------------------------------------------------------

    def _show(self, state: LiveState) -> None:
        kinds = [kind for kind, box in self._shown.items() if box.value]
        band = "band" in self._estimate and self._estimate["band"].value
        self._scene.show(state, kinds, None if self._follow.value == NOBODY else self._follow.value, band)
        if self.handles is not None:
            self.handles.show(self._server.scene, state)
            self._scene.pale(bool(self.handles.items))
        now = time.monotonic()
        if now >= self._texts_at + TEXT_TIME:
            self._texts_at = now
            self._show_texts(state)
        if now >= self._plotted_at + PLOT_TIME:
            self._plotted_at = now
            self._show_plot(state)

    def _show_texts(self, state: LiveState) -> None:
        self._status.content = state.compiling or f"**t = {state.t:.2f} s**, {_pace(state)}"
        self._message.content = state.message
        self._arrow_label.content = self._scene.arrow_label
        if state.estimated is not None:
            self._estimate["on"].value, self._estimate["reads"].value = state.estimated.on, state.estimated.reads
            self._estimate["text"].content = _estimated(state)
        self._record.label = f"end recording ({state.recorded} states)" if state.recorded else "record"
        self._mode.value = state.mode
        if self._source is not None:
            self._source.value = state.source
        gravity = tuple(state.gravity.tolist())
        if gravity != self._gravity.value and time.monotonic() > self._touched.get("gravity", 0.0) + UNTOUCHED:
            self._gravity.value = gravity
        for name, slider in self._sliders.items():
            x = _on_slider(state.controls.all[name], state.values[name])
            if x != slider.value and time.monotonic() > self._touched.get(name, 0.0) + UNTOUCHED:
                slider.value = x

    @staticmethod
    def _plots(state: LiveState) -> dict[str, list[str]]:
        """What can be plotted, and the labels of its lines."""
        plots = {f"{place} [m]": ["x", "y", "z"] for place in state.controls.outputs.points}
        if state.controls.all:
            plots["controls"] = [one.label for one in state.controls.all.values()][:MOST_LINES]
        for name, reader in state.robot.instruments.readers.items():
            plots[f"sensor {name}"] = list(reader.channels)[:MOST_LINES]
        if state.estimated is not None and state.estimated.names:
            plots[ESTIMATED] = list(state.estimated.names)[:MOST_LINES]
        return plots

    def _readings(self, state: LiveState) -> Array:
        what = self._plotted.value
        outputs = state.controls.outputs
        if what.removesuffix(" [m]") in outputs.points:
            return outputs.poses(state.q)[outputs.points.index(what.removesuffix(" [m]")), :3, 3]
        if what == "controls":
            return np.array(list(state.values.values()))[:MOST_LINES]
        if what == ESTIMATED:
            known = state.estimated
            seen = None if known is None else known.seen
            return (
                np.full(len(known.names if known else ()), np.nan)[:MOST_LINES]
                if seen is None
                else seen.mean[:MOST_LINES]
            )
        readings = state.robot.measure(state.q, state.qd, u=state.u, t=state.t)
        return np.ravel(readings[what.removeprefix("sensor ")])[:MOST_LINES]

    def _clear_plot(self) -> None:
        self._history.clear()
        labels = self._plots(self._drawn)[self._plotted.value]
        series = [self._uplot.Series(label="t [s]")]
        series += [self._uplot.Series(label=label, stroke=TINTS[k], width=2) for k, label in enumerate(labels)]
        data, order = tuple(np.zeros(1) for _ in series), self._chart.order
        self._chart.remove()
        scales = {"x": self._uplot.Scale(time=False)}
        self._chart = self._gui.add_uplot(data, tuple(series), scales=scales, height=PLOT_HEIGHT, order=order)

    def _show_plot(self, state: LiveState) -> None:
        history = self._history
        if history and state.t <= history[-1][0]:
            if state.t == history[-1][0] and state.mode == MOTION:
                return
            history.clear()
        history.append((state.t, self._readings(state)))
        while history[0][0] < state.t - WINDOW:
            history.popleft()
        times, rows = np.array([t for t, _ in history]), np.array([row for _, row in history])
        if rows.shape[1] + 1 == len(self._chart.data):
            self._chart.data = (times, *rows.T)


def _pace(state: LiveState) -> str:
    """How fast a state moves."""
    if state.paused or state.mode == STATICS:
        return "paused" if state.paused else STATICS
    pace = f"{state.factor:.2f} times real time"
    if state.factor < SLOWER * state.speed:
        shares = {"controller": state.controller_share, "observer": state.estimated.share if state.estimated else 0.0}
        pace += f" (slower than {state.speed:g}"
        pace += "".join(f"; {x:.0%} of the time is the {who}'s" for who, x in shares.items() if x > NOTABLE) + ")"
    return pace


def _estimated(state: LiveState) -> str:
    """What an observer knows, as Markdown: unknowns with standard deviations, how far places are off, what it lacks."""
    estimated = state.estimated
    assert estimated is not None
    lines = [] if not estimated.message else [f"**no estimate**: {estimated.message}"]
    if (seen := estimated.seen) is not None:
        sd = seen.standard_deviations
        rows = [f"| {name} | {x:.3g} ± {sd[name]:.2g} {unit} |" for (name, x), unit in
                zip(seen.values.items(), estimated.units, strict=True)]  # fmt: skip
        rows += [f"| {name} | {1e3 * off:.1f} mm off, 95 %: {1e3 * reach:.1f} mm |"
                 for name, (off, reach) in estimated.off(state.q).items()]  # fmt: skip
        lines.append("\n".join(["| | |", "|---|---|", *rows]))
    if not estimated.reads:
        lines.append("no reading arrives")
    if estimated.left_out:
        out = ", ".join(f"{name} {part:.0%}" for name, part in estimated.left_out.items())
        lines.append(f"left out as improbable, of the last second: {out}")
    return "\n\n".join(lines)


def _can_have(element: Any, value: Any) -> bool:
    """Whether an element can have a value by what its user does."""
    known = getattr(element, "options", None)
    if known is not None:
        return value in known
    low, high = getattr(element, "min", None), getattr(element, "max", None)
    if isinstance(element.value, bool):
        return isinstance(value, bool)
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "fiu" or numbers.shape != np.shape(element.value) or not np.isfinite(numbers).all():
        return False
    return bool((low is None or (numbers >= low).all()) and (high is None or (numbers <= high).all()))


def _rounded(x: float, step: float, up: bool) -> float:
    """The next multiple of a round step, upwards or downwards."""
    count = np.ceil(x / step - ROUNDING) if up else np.floor(x / step + ROUNDING)
    return _multiple(int(count), step)


def _multiple(count: int, step: float) -> float:
    """A multiple of a round step, without the rounding noise of the product."""
    return round(count * step, max(0, -int(np.floor(np.log10(step)))))


def _on_slider(one: Control, x: float) -> float:
    """A value as a slider shows it."""
    low, high = _rounded(one.low, one.step, True), _rounded(one.high, one.step, False)
    return min(max(_multiple(round(x / one.step), one.step), low), high)


def _without_event(action: Callable[[], None], _: Any) -> None:
    action()


def require_viser() -> Any:
    """The package, which the extra `live` brings (InputError)."""
    try:
        import viser
    except ImportError:
        hint = "pip install 'sorosim[live]'"
        raise InputError("live", "the package viser", "none that can be imported", hint) from None
    return viser


def _free_port(host: str, port: int) -> int:
    """The port if it is free, or one that is if it is 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if isinstance(error, socket.gaierror) or "assign" in (error.strerror or ""):
                expected = "a name or an address of this machine"
                raise InputError("host", expected, f"'{host}'", "127.0.0.1 is for this machine alone") from None
            raise _taken(port) from None
        return int(probe.getsockname()[1])


def _taken(port: int) -> InputError:
    return InputError("port", "one that is free", f"{port}, which is taken", "port 0 takes one that is free")
