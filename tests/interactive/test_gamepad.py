"""A gamepad: which axes and buttons drive what; joysticks are stood in for."""

import sys
import time

import pytest

import sorosim
from sorosim.base.errors import InputError
from sorosim.view.interactive.gamepad import DEAD, RATE, Gamepad
from sorosim.view.interactive.session import Session


class Joystick:
    """What is read of a joystick of pygame."""

    def __init__(self, n_axes=4, n_buttons=6):
        self.axes, self.buttons = [0.0] * n_axes, [False] * n_buttons

    def get_numaxes(self):
        return len(self.axes)

    def get_numbuttons(self):
        return len(self.buttons)

    def get_axis(self, index):
        return self.axes[index]

    def get_button(self, index):
        return self.buttons[index]


@pytest.fixture
def session(tmp_path):
    return Session(sorosim.load("cable_manipulator"), out=tmp_path / "run.h5")


@pytest.fixture
def joystick():
    return Joystick()


def values(session):
    return session.frame(0.0).values


def test_axes_change_controls_at_a_rate_within_their_ranges(session, joystick):
    pad = Gamepad(session, {"axis0": "cable1", "axis3": "-cable2"}, joystick)
    joystick.axes[:] = 0.6, 1.0, 1.0, -0.5
    pad.poll(0.1)
    one, two = session.controls.all["cable1"], session.controls.all["cable2"]
    now = values(session)
    assert now["cable1"] == pytest.approx(0.6 * RATE * 0.1 * (one.high - one.low))
    assert now["cable2"] == pytest.approx(0.5 * RATE * 0.1 * (two.high - two.low))
    assert now["cable3"] == 0.0
    joystick.axes[0] = 1.0
    for _ in range(100):
        pad.poll(0.1)
    assert values(session)["cable1"] == one.high


def test_an_axis_near_its_middle_does_nothing(session, joystick):
    pad = Gamepad(session, {"axis0": "cable1"}, joystick)
    joystick.axes[0] = 0.9 * DEAD
    pad.poll(10.0)
    assert values(session)["cable1"] == 0.0


def test_buttons_are_commands_once_each_time_they_are_pressed(session, joystick):
    pad = Gamepad(session, {"button0": "pause", "button1": "cable1"}, joystick)
    joystick.buttons[0] = True
    for _ in range(3):
        pad.poll(0.02)
    assert session.frame(0.0).paused
    joystick.buttons[0] = False
    pad.poll(0.02)
    joystick.buttons[0] = True
    pad.poll(0.02)
    assert not session.frame(0.0).paused
    joystick.buttons[1] = True
    pad.poll(0.02)
    pad.poll(0.02)
    one = session.controls.all["cable1"]
    assert values(session)["cable1"] == pytest.approx(0.04 * RATE * (one.high - one.low))


def test_by_default_axes_are_the_controls_in_order(session, joystick):
    pad = Gamepad(session, joystick=joystick)
    joystick.axes[2], joystick.buttons[3] = 1.0, True
    pad.poll(0.1)
    state = session.frame(0.05)
    assert [name for name, x in state.values.items() if x] == ["cable3"]
    assert state.recorded


def test_controls_that_went_with_their_robot_are_left_alone(session, joystick):
    pad = Gamepad(session, {"axis0": "cable1"}, joystick)
    session._take(sorosim.load("soft_gripper"))
    session.frame(0.0)
    before = values(session)
    joystick.axes[0] = 1.0
    pad.poll(0.1)
    assert values(session) == before


def test_the_thread_reads_and_ends_and_tells_of_a_driver_that_fails(session, joystick, capsys):
    pad = Gamepad(session, {"axis0": "cable1"}, joystick)
    joystick.axes[0] = 1.0
    pad.start()
    end = time.monotonic() + 30.0
    while not values(session)["cable1"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    joystick.axes.clear()  # unplugged
    pad._thread.join(30.0)
    pad.stop()
    state = session.frame(0.0)
    assert state.paused
    assert "IndexError" in state.message
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bindings", "words"),
    [
        ({"axis9": "cable1"}, "axis0 to axis3 or button0 to button5, got 'axis9'"),
        ({"stick": "cable1"}, "axis0 to axis3"),
        ({"axis0": "cabel1"}, "gamepad.axis0.*cable1"),
        ({"axis0": "pause"}, "a control, got 'pause'"),
        ({"button0": "-pause"}, "got '-pause'"),
        ("all", "'default', or a mapping"),
        (["axis0"], "'default', or a mapping"),
    ],
)
def test_wrong_bindings_are_refused(session, joystick, bindings, words):
    with pytest.raises(InputError, match=words):
        Gamepad(session, bindings, joystick)


def test_without_pygame_one_line_names_the_extra(session, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(InputError, match=r"pip install 'sorosim\[gamepad\]'"):
        Gamepad(session)


def test_without_a_gamepad_one_line_says_so(session, monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setattr(pygame.joystick, "get_count", lambda: 0)  # whatever this machine has
    with pytest.raises(InputError, match="gamepad: expected one that is connected to this machine, got none"):
        Gamepad(session)
