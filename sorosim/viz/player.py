"""A run or an equilibrium in a window."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.errors import InputError
from sorosim.validation import describe, positive
from sorosim.viz.colours import narrowness
from sorosim.viz.look import PLAIN, SWITCHES, Look, varying_colours
from sorosim.viz.offscreen import require_screen
from sorosim.viz.playback import KEYS, Playback
from sorosim.viz.target import check_size
from sorosim.viz.together import Together, together
from sorosim.viz.words import INK

PERIOD = 30  # between two pictures [ms]


def play(
    result: Any, *, speed: float = 1.0, loop: bool = False, size: Sequence[int] = (1280, 720), **look: Any
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
    **look
        As for `sorosim.viz.look.Look`: view, colour, tendons, floor, axes, frames, trails, tips, contacts, loads,
        joints, gravity, follow, orbit, title.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    SorosimError
        There is no screen.
    """
    # mistakes are told before a window opens
    _check(result, speed, loop, look)
    check_size(size)
    require_screen()
    Player(result, speed=speed, loop=loop, size=size, **look).show()


def _check(result: Any, speed: float, loop: bool, options: Mapping[str, Any]) -> tuple[Together, Look]:
    """What is played and its look, refusing what the player cannot do."""
    shown = together(result)
    positive("speed", speed)
    if not isinstance(loop, bool | np.bool_):
        raise InputError("loop", "True or False", describe(loop))
    return shown, shown.check_look(options)


class Player:
    """The window: draws what `Playback` says, and hands it the keys.

    Attributes
    ----------
    state : Playback
    scene : Scene
    """

    def __init__(
        self, result: Any, *, speed: float = 1.0, loop: bool = False, size: Sequence[int] = (1280, 720),
        off_screen: bool = False, **look: Any,
    ) -> None:  # fmt: skip
        self.motion, known = _check(result, speed, loop, look)
        robot = self.motion.robot
        self.state = Playback(
            self.motion.t if self.motion.timed else None, speed=speed, loop=bool(loop), view=known.view,
            colours=(PLAIN,) if self.motion.several else varying_colours(robot),
            colour=PLAIN if self.motion.several else known.colour_of(robot),
            **{name: bool(getattr(known, name)) for name in SWITCHES},
        )  # fmt: skip
        self._last: float | None = None  # when `tick` was called last
        self.scene = self.motion.scene(size, look, off_screen=off_screen)
        # room for the slider, and for the bar that a key may bring
        self.scene.margin_below, beside = 0.14 if self.state.timed else 0.06, self.scene.margin_bar
        self.scene.margin_right = beside * narrowness(self.scene.size)
        self.scene.fit_runs(self.motion.motions)
        self.slider = self._add_slider() if self.state.timed else None
        if self.slider is not None:
            self.scene.words.raise_to("scale", 0.11)  # above its line
        self._listen()
        self.draw()

    def _add_slider(self) -> Any:
        state = self.state
        span = (state.start, max(state.end, state.start + 1e-9))
        place = {"pointa": (0.25, 0.085), "pointb": (0.75, 0.085)}
        style = {"color": INK, "style": "modern", "fmt": "%.2f s", "interaction_event": "always"}
        slider = self.scene.plotter.add_slider_widget(self._slid, span, value=state.t, **place, **style)
        shown = slider.GetRepresentation()
        shown.SetTubeWidth(0.004)
        shown.SetSliderWidth(0.02)
        shown.SetSliderLength(0.008)
        shown.SetEndCapLength(0.0)
        shown.ShowSliderLabelOff()  # the clock tells it
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
        """Do what a key asks for."""
        action = self.state.press(key)
        if action is None:
            return
        if action == "close":
            self.scene.plotter.iren.terminate_app()
            return
        self._last = None
        self.scene.words.say("note", "")
        if action == "screenshot":
            try:
                self.scene.words.say("note", f"written: {self.screenshot()}")
            except OSError as error:
                self.scene.words.say("note", f"cannot write a picture here: {error.strerror or error}")
        elif action == "fit" or action == self.state.view:
            self.scene.change(view=self.state.view)
        self.scene.change(colour=self.state.colour, **self.state.switches)
        self.draw()
        self.scene.plotter.render()

    def draw(self) -> None:
        """Show the present state."""
        state, words = self.state, self.scene.words
        self.scene.update(*self.motion.state(state.t))
        words.say("status" if state.timed else "clock", "   ".join(filter(None, (state.status, "h: help"))))
        words.say("help", state.help_text if state.help else "")
        if self.slider is not None:
            self.slider.GetRepresentation().SetValue(state.t)

    def tick(self, *_: object) -> None:
        """Go on to the present moment, if playing."""
        now = time.perf_counter()
        passed, self._last = (0.0 if self._last is None else now - self._last), now
        if self.state.playing:
            self.state.tick(passed)
            self.draw()
            self.scene.plotter.render()

    def screenshot(self) -> Path:
        """Write the picture, without help and slider, into the present folder; returns the new file."""
        import imageio.v3

        name = re.sub(r"\W+", "_", self.motion.robot.name).strip("_") or "robot"
        stem = f"{name}_{self.state.t:.3f}s" if self.state.timed else name
        path = next(p for k in range(10**6) if not (p := Path(f"{stem}_{k}.png" if k else f"{stem}.png")).exists())
        words = self.scene.words
        kept = {name: words.said(name) for name in ("status", "help", "note")}
        for name in kept:
            words.say(name, "")
        if self.slider is not None:
            self.slider.EnabledOff()
        try:
            imageio.v3.imwrite(path, self.scene.image())
        finally:
            if self.slider is not None:
                self.slider.EnabledOn()
            for name, text in kept.items():
                words.say(name, text)
        return path

    def show(self) -> None:
        """Open the window; returns when it is closed."""
        interactor = self.scene.plotter.iren
        interactor.initialize()
        interactor.add_observer("TimerEvent", self.tick)
        interactor.create_timer(PERIOD, repeating=True)
        self.scene.plotter.show()
