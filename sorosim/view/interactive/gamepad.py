"""A gamepad that drives a session, read by pygame-ce on the machine that moves the robot."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from sorosim.base.errors import InputError, nearest
from sorosim.base.validation import describe
from sorosim.view.interactive.session import COMMANDS, Session

DEFAULT = "default"
AXIS, BUTTON = "axis", "button"
DEAD = 0.1  # of an axis, whose springs do not bring it back to 0
RATE = 0.5  # of a control's range per second at the end of an axis, or by a button
PERIOD = 0.02  # s between reads

# axes or buttons -> controls, with "-" before those that they lower, and commands
Bindings = Mapping[str, str]


class _Binding(NamedTuple):
    kind: str  # AXIS or BUTTON
    number: int
    target: str  # a control or a command
    sign: float


class Gamepad:
    """Axes and buttons that change controls at a rate, and buttons that do what keys do.

    Parameters
    ----------
    session : Session
    bindings : "default", or mapping of str to str
        As {"axis0": "cable1", "axis1": "-cable2", "button0": "pause", "button4": "cable3"}: a control is raised, with a
        minus before it lowered. Default: axes are the controls in their order, buttons pause, step, reset, record and
        mode.
    joystick : pygame.joystick.Joystick, optional
        Default: the first that is connected.

    Raises
    ------
    InputError
        The extra `gamepad` is missing, none is connected, or a name is wrong.
    """

    def __init__(self, session: Session, bindings: str | Bindings = DEFAULT, joystick: Any = None) -> None:
        self._session, self._pump = session, _nothing
        if joystick is None:
            joystick, self._pump = _connected()
        self._joystick = joystick
        self._bindings = _checked(bindings, list(session.controls.all), joystick)
        self._pressed: set[int] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sorosim gamepad", daemon=True)

    def start(self) -> None:
        """Read it in a thread of its own, until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def poll(self, elapsed: float) -> None:
        """Read it once, and change controls by what a time [s] makes of it."""
        self._pump()
        names = list(self._session.controls.all)
        pressed = {one.number for one in self._bindings if one.kind == BUTTON and self._joystick.get_button(one.number)}
        for one in self._bindings:
            if one.target in COMMANDS:
                if one.number in pressed - self._pressed:
                    self._session.press(one.target)
            elif one.target in names:  # it may have gone with the robot of a file that was read again
                deflection = self._joystick.get_axis(one.number) if one.kind == AXIS else float(one.number in pressed)
                if abs(deflection) > DEAD:
                    self._session.nudge(names.index(one.target), one.sign * deflection * RATE * elapsed)
        self._pressed = pressed

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._stopping.wait(PERIOD):
            now = time.perf_counter()
            try:
                self.poll(now - before)
            except Exception as error:  # of its driver
                self._session.fail(error)
                return
            before = now


def _checked(bindings: Any, controls: list[str], joystick: Any) -> list[_Binding]:
    counts = {AXIS: joystick.get_numaxes(), BUTTON: joystick.get_numbuttons()}
    if bindings == DEFAULT:
        axes = [_Binding(AXIS, k, name, 1.0) for k, name in enumerate(controls[: counts[AXIS]])]
        return axes + [_Binding(BUTTON, k, name, 1.0) for k, name in enumerate(COMMANDS[: counts[BUTTON]])]
    if not isinstance(bindings, Mapping):
        raise InputError("gamepad", f"'{DEFAULT}', or a mapping such as {{'axis0': 'cable1'}}", describe(bindings))
    out = []
    for source, value in bindings.items():
        where, target = f"gamepad.{source}", str(value)
        match = re.fullmatch(rf"({AXIS}|{BUTTON})(\d+)", str(source))
        if match is None or int(match[2]) >= counts[match[1]]:
            there = " or ".join(f"{kind}0 to {kind}{n - 1}" for kind, n in counts.items() if n)
            raise InputError("gamepad", there or "a gamepad with axes or buttons", f"'{source}'")
        known = [*controls, *(COMMANDS if match[1] == BUTTON else ())]
        name = target.removeprefix("-") if target not in known else target
        if name not in known or (name != target and name in COMMANDS):
            expected = f"a control{', or ' + ', '.join(COMMANDS) if match[1] == BUTTON else ''}"
            raise InputError(where, expected, f"'{target}'", nearest(name, known))
        out.append(_Binding(match[1], int(match[2]), name, 1.0 if name == target else -1.0))
    return out


def _connected() -> tuple[Any, Any]:
    """The first joystick, and what reads all of them."""
    # no window: SDL reads joysticks by its events, which belong to its video driver
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError:
        hint = "pip install 'sorosim[gamepad]'"
        raise InputError("gamepad", "the package pygame-ce", "none that can be imported", hint) from None
    pygame.display.init()
    pygame.joystick.init()
    if not pygame.joystick.get_count():
        raise InputError("gamepad", "one that is connected to this machine", "none")
    return pygame.joystick.Joystick(0), pygame.event.pump


def _nothing() -> None:
    """Reads nothing: joysticks of tests need no events."""
