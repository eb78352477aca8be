"""The player without its window: time, speed, loop, what is shown, and the keys that change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.validation import positive
from sorosim.viz.look import SWITCHES

Array = NDArray[np.float64]

SLOWEST, FASTEST = 2.0**-10, 2.0**10


class Key(NamedTuple):
    """A key and what it does."""

    name: str  # as VTK calls it
    shown: str  # in the help
    action: str
    words: str
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
OF_WINDOW = ("fit", "screenshot", "close")  # what changes nothing here


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
    look : mapping of str to bool or str
        Switches, view and colour at the start.

    Attributes
    ----------
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
        self.t = self.start
        self.playing, self.loop, self.help = self.timed, loop, False
        self.speed = positive("speed", speed)
        self.view, self.colour, self._colours = view, colour, tuple(colours)
        self.switches = dict.fromkeys(SWITCHES, False) | switches

    @property
    def start(self) -> float:
        """First time [s]."""
        return float(self._times[0])

    @property
    def end(self) -> float:
        """Last time [s]."""
        return float(self._times[-1])

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys that do something here."""
        return tuple(key for key in KEYS if self.timed or not key.timed)

    def seek(self, t: float) -> None:
        """Go to a time [s], or to the nearest there is."""
        self.t = float(np.clip(t, self.start, self.end))

    def tick(self, passed: float) -> None:
        """Let time pass [s]: go on if playing; at the end start again, or pause."""
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
        if action in SWITCHES:
            self.switches[action] = not self.switches[action]
        elif action in VIEWS:
            self.view = action
        elif action not in OF_WINDOW:
            getattr(self, f"_{action}")()
        return action

    def _toggle(self) -> None:
        self.playing = not self.playing
        if self.playing and self.t >= self.end:
            self.t = self.start

    def _forwards(self) -> None:
        self._step(int(np.searchsorted(self._times, self.t + self._tiny, side="right")))

    def _backwards(self) -> None:
        self._step(int(np.searchsorted(self._times, self.t - self._tiny, side="left")) - 1)

    @property
    def _tiny(self) -> float:
        return 1e-9 * (self.end - self.start)

    def _step(self, k: int) -> None:
        self.t, self.playing = float(self._times[np.clip(k, 0, len(self._times) - 1)]), False

    def _first(self) -> None:
        self.t = self.start

    def _last(self) -> None:
        self.t, self.playing = self.end, False

    def _faster(self) -> None:
        self.speed = min(2.0 * self.speed, FASTEST)

    def _slower(self) -> None:
        self.speed = max(0.5 * self.speed, SLOWEST)

    def _loop(self) -> None:
        self.loop = not self.loop

    def _help(self) -> None:
        self.help = not self.help

    def _colour(self) -> None:
        k = self._colours.index(self.colour) if self.colour in self._colours else -1
        self.colour = self._colours[(k + 1) % len(self._colours)]

    @property
    def status(self) -> str:
        """How it plays, in a few words."""
        if not self.timed:
            return ""
        words = ["playing" if self.playing else "paused", f"speed {self.speed:.3g}", "loop" if self.loop else ""]
        return "   ".join(word for word in words if word)

    @property
    def help_text(self) -> str:
        """The keys, one a line."""
        width = max(len(key.shown) for key in self.keys)
        return "\n".join(f"{key.shown:>{width}}  {key.words}" for key in self.keys)
