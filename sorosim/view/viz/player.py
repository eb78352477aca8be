"""A run or an equilibrium in a window: the state of playback, and the window that draws it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.public import public
from sorosim.base.validation import flag, positive
from sorosim.view.viz.checks import check_size
from sorosim.view.viz.motion import as_group
from sorosim.view.viz.offscreen import require_screen
from sorosim.view.viz.options import PLAIN, TOGGLES, available_colours
from sorosim.view.viz.scene import INK, Scene, narrowness

PERIOD = 30  # between two pictures [ms]
SLOWEST, FASTEST = 2.0**-10, 2.0**10


class Key(NamedTuple):
    """A key and its command."""

    name: str  # as VTK calls it
    label: str  # in the help
    action: str
    description: str
    timed: bool = False  # it needs a motion


KEYS = (
    Key("space", "space", "toggle", "play, pause", True),
    Key("Right", "→", "forwards", "next state", True),
    Key("Left", "←", "backwards", "state before", True),
    Key("Up", "↑", "faster", "twice as fast", True),
    Key("Down", "↓", "slower", "half as fast", True),
    Key("Home", "Home", "first", "go to the start", True),
    Key("End", "End", "last", "go to the end", True),
    Key("l", "l", "loop", "loop on, off", True),
    Key("t", "t", "trails", "trails of the tips", True),
    Key("f", "f", "frames", "frames along the robot"),
    Key("d", "d", "tendons", "tendons"),
    Key("k", "k", "contacts", "contacts and obstacles"),
    Key("e", "e", "loads", "loads as arrows"),
    Key("j", "j", "joints", "forces in loops and joints"),
    Key("m", "m", "gravity", "weight"),
    Key("g", "g", "floor", "floor and grid"),
    Key("a", "a", "axes", "axes of the world"),
    Key("c", "c", "colour", "colour by the next quantity"),
    Key("i", "i", "iso", "view from a corner"),
    Key("x", "x", "x", "view along x"),
    Key("y", "y", "y", "view along y"),
    Key("z", "z", "z", "view along z"),
    Key("r", "r", "fit", "fit the view"),
    Key("s", "s", "screenshot", "write a picture"),
    Key("h", "h", "help", "this help"),
    Key("q", "q", "close", "close the window"),
)
VIEWS = ("iso", "x", "y", "z")


class Playback:
    """State of a player; `press` and `tick` change it.

    Parameters
    ----------
    times : (n,) array_like
        Times of the stored states [s]; None: a state of rest, which has no time.
    speed : float
        Seconds of the motion per second.
    loop : bool
        Whether it starts again at the end.
    colours : sequence of str
        What the key c goes through.
    view, colour : str
    **switches : bool
        `TOGGLES` that are on at the start.

    Attributes
    ----------
    start, end : float
        First and last time [s].
    t : float
        Time shown [s].
    playing, loop, help : bool
    speed : float
    view, colour : str
    switches : dict of str to bool
    """

    def __init__(
        self, times: Array | None, *, speed: float = 1.0, loop: bool = False, colours: Sequence[str] = ("plain",),
        view: str = "iso", colour: str = "plain", **switches: bool,
    ) -> None:  # fmt: skip
        self.timed = times is not None
        self._times = np.zeros(1) if times is None else times
        self.start, self.end = float(self._times[0]), float(self._times[-1])
        self.t = self.start
        self.playing, self.loop, self.help = self.timed, loop, False
        self.speed = positive("speed", speed)
        self.view, self.colour, self._colours = view, colour, tuple(colours)
        self.switches = dict.fromkeys(TOGGLES, False) | switches

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys that do something here."""
        return tuple(key for key in KEYS if self.timed or not key.timed)

    def seek(self, t: float) -> None:
        """Go to a time [s], or to the nearest there is."""
        self.t = float(np.clip(t, self.start, self.end))

    def tick(self, passed: float) -> None:
        """Advance the clock [s] if playing; at the end loop or pause."""
        if not self.playing:
            return
        t, span = self.t + passed * self.speed, self.end - self.start
        if t < self.end:
            self.t = t
        elif self.loop and span > 0.0:
            self.t = self.start + (t - self.start) % span
        else:
            self.t, self.playing = self.end, False

    def press(self, name: str) -> str | None:
        """Take a key by its name; returns its action, None where it has none."""
        action = next((key.action for key in self.keys if key.name == name), None)
        if action is None:
            return None
        if action in TOGGLES:
            self.switches[action] = not self.switches[action]
        elif action in VIEWS:
            self.view = action
        match action:
            case "toggle":
                self.playing = not self.playing
                if self.playing and self.t >= self.end:
                    self.t = self.start
            case "forwards" | "backwards":
                self._step(action == "forwards")
            case "faster":
                self.speed = min(2.0 * self.speed, FASTEST)
            case "slower":
                self.speed = max(0.5 * self.speed, SLOWEST)
            case "first":
                self.t = self.start
            case "last":
                self.t, self.playing = self.end, False
            case "loop":
                self.loop = not self.loop
            case "colour":
                following = dict(zip(self._colours, (*self._colours[1:], self._colours[0]), strict=True))
                self.colour = following.get(self.colour, self._colours[0])
            case "help":
                self.help = not self.help
        return action

    def _step(self, forwards: bool) -> None:
        tiny = 1e-9 * (self.end - self.start)
        later, earlier = self._times[self._times > self.t + tiny], self._times[self._times < self.t - tiny]
        self.t = float(later.min(initial=self.end) if forwards else earlier.max(initial=self.start))
        self.playing = False

    @property
    def status(self) -> str:
        """Whether it plays, and how fast."""
        if not self.timed:
            return ""
        texts = ["playing" if self.playing else "paused", f"speed {self.speed:.3g}", "loop" if self.loop else ""]
        return "   ".join(filter(None, texts))

    @property
    def help_text(self) -> str:
        """The keys, one a line."""
        width = max(len(key.label) for key in self.keys)
        return "\n".join(f"{key.label:>{width}}  {key.description}" for key in self.keys)


@public
def play(
    result: Any, *, speed: float = 1.0, loop: bool = False, size: Sequence[int] = (1280, 720), **options: Any
) -> None:
    """Show a run or an equilibrium in a window; its key h tells the others.

    Parameters
    ----------
    result : Run or Equilibrium
    speed : float
        Seconds of the run per second.
    loop : bool
        Whether it starts again at the end.
    size : (int, int)
        Width and height of the window [pixels].
    **options
        Of `sorosim.view.viz.options.DrawingOptions`: view, colour, tendons, floor, axes, frames, trails, tips,
        contacts, loads, joints, gravity, follow, zoom, orbit, occlusion, title.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    SorosimError
        There is no screen.
    """
    Player(result, speed=speed, loop=loop, size=size, **options).show()


class Player:
    """The window: draws what `Playback` says, and hands it the keys.

    Attributes
    ----------
    state : Playback
    scene : Scene
    """

    def __init__(
        self, result: Any, *, speed: float = 1.0, loop: bool = False, size: Sequence[int] = (1280, 720),
        off_screen: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        self.group = as_group(result)
        checked = self.group.check_options(options)
        robot, several = self.group.robot, self.group.several
        self.state = Playback(
            self.group.t if self.group.timed else None, speed=speed, loop=flag("loop", loop), view=checked.view,
            colours=(PLAIN,) if several else available_colours(robot),
            colour=PLAIN if several else checked.colour_of(robot),
            **{name: bool(getattr(checked, name)) for name in TOGGLES},
        )  # fmt: skip
        if not off_screen:  # after all checks
            check_size(size)
            require_screen()
        self._last: float | None = None  # when `tick` was called last
        self.scene = Scene(self.group, size=size, off_screen=off_screen, fast=True, **options)
        # room for the slider, and for the bar that a key may bring
        self.scene.margin_below, margin_right = 0.14 if self.state.timed else 0.06, self.scene.margin_bar
        self.scene.margin_right = margin_right * narrowness(self.scene.size)
        self.scene.fit_motions()
        self.scene.occlude_if_fast()
        self.slider = self._add_slider() if self.state.timed else None
        if self.slider is not None:
            self.scene.annotations.move_to("scale", 0.11)  # above its line
        self._listen()
        self.draw()

    def _add_slider(self) -> Any:
        state = self.state
        span = (state.start, max(state.end, state.start + 1e-9))
        place = {"pointa": (0.25, 0.085), "pointb": (0.75, 0.085)}
        style = {"color": INK, "style": "modern", "fmt": "%.2f s", "interaction_event": "always"}
        width = {"slider_width": 0.02, "tube_width": 0.004}
        slider = self.scene.plotter.add_slider_widget(self._slid, span, value=state.t, **place, **style, **width)
        bar = slider.GetRepresentation()
        bar.SetSliderLength(0.008)
        bar.SetEndCapLength(0.0)
        bar.ShowSliderLabelOff()  # the clock shows it
        return slider

    def _listen(self) -> None:
        plotter = self.scene.plotter
        plotter.iren.clear_key_event_callbacks()
        for key in KEYS:
            plotter.add_key_event(key.name, partial(self.press, key.name))
        # else VTK's own letters would work too: w for wires, 3 for red and blue glasses, ...
        plotter.iren.update_style()  # as opening the window does
        plotter.iren.style.AddObserver("CharEvent", lambda *_: None)

    def _slid(self, t: float) -> None:
        # a slider moved by `draw` calls this too, with the time it was given
        if abs(t - self.state.t) > 1e-9:
            self.state.seek(t)
            self.draw()

    def press(self, key: str) -> None:
        """Execute the command of a key."""
        action = self.state.press(key)
        if action is None:
            return
        if action == "close":
            self.scene.plotter.iren.terminate_app()
            return
        self._last = None
        self.scene.annotations.write("note", "")
        if action == "screenshot":
            try:
                self.scene.annotations.write("note", f"written: {self.screenshot()}")
            except OSError as error:
                self.scene.annotations.write("note", f"cannot write a picture here: {error.strerror or error}")
        elif action == "fit" or action == self.state.view:
            self.scene.change(view=self.state.view)
        self.scene.change(colour=self.state.colour, **self.state.switches)
        self.draw()
        self.scene.plotter.render()

    def draw(self) -> None:
        """Show the present state."""
        state, annotations = self.state, self.scene.annotations
        self.scene.update(*self.group.state(state.t))
        annotations.write("status" if state.timed else "clock", "   ".join(filter(None, (state.status, "h: help"))))
        annotations.write("help", state.help_text if state.help else "")
        if self.slider is not None:
            self.slider.GetRepresentation().SetValue(state.t)

    def tick(self, *_: object) -> None:
        """Go on to the present moment, if playing."""
        now = time.perf_counter()
        passed, self._last = (0.0 if self._last is None else now - self._last), now
        if self.state.playing:
            self.state.tick(passed)
        elif not self.scene.camera_moved:  # thin rods and tendons suit the camera
            return
        self.draw()
        self.scene.plotter.render()

    def screenshot(self) -> Path:
        """Write the picture, without help and slider, into the present folder; returns the new file."""
        import imageio.v3

        name = re.sub(r"\W+", "_", self.group.robot.name).strip("_") or "robot"
        stem = f"{name}_{self.state.t:.3f}s" if self.state.timed else name
        path = next(p for k in range(10**6) if not (p := Path(f"{stem}_{k}.png" if k else f"{stem}.png")).exists())
        annotations = self.scene.annotations
        texts = {name: annotations.text(name) for name in ("status", "help", "note")}
        for name in texts:
            annotations.write(name, "")
        if self.slider is not None:
            self.slider.EnabledOff()
        try:
            imageio.v3.imwrite(path, self.scene.image())
        finally:
            if self.slider is not None:
                self.slider.EnabledOn()
            for name, text in texts.items():
                annotations.write(name, text)
        return path

    def show(self) -> None:
        """Open the window; returns when it is closed."""
        interactor = self.scene.plotter.iren
        interactor.initialize()
        interactor.add_observer("TimerEvent", self.tick)
        interactor.create_timer(PERIOD, repeating=True)
        self.scene.plotter.show()
