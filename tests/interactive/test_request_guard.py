"""Who drives a session by its page, and what a page may send."""

import asyncio
import re

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError
from sorosim.view.interactive import recording
from sorosim.view.interactive.page import Page, _can_have
from sorosim.view.interactive.request_guard import RequestGuard
from sorosim.view.interactive.session import Session

viser = pytest.importorskip("viser")
websockets = pytest.importorskip("websockets.asyncio.client")


# the first message of a page, before which it is no client
CAMERA = {"type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0.0, 1.0, 0.0], "fov": 1.0,
          "near": 0.01, "far": 100.0, "image_height": 100, "image_width": 100, "look_at": [0.0, 0.0, 0.0],
          "up_direction": [0.0, 0.0, 1.0]}  # fmt: skip


@pytest.fixture
def page(tmp_path):
    session = Session(sorosim.load("cable_manipulator"), out=tmp_path / "run.h5")
    page = Page(session, "127.0.0.1", 0, origins=("https://hub.example",))
    yield page
    page.stop()


def asked(page, path, origin, *messages):
    """Open the page's socket at a path and send messages; whether it was opened and is open after them."""

    async def ask():
        address = page.url.replace("http", "ws").split("/")[2]
        options = {"subprotocols": [f"viser-v{viser.__version__}"], "origin": origin, "max_size": None,
                   "compression": None}  # fmt: skip
        try:
            async with websockets.connect(f"ws://{address}/{path}", **options) as socket:
                for message in [packed(CAMERA), *messages] if messages else ():
                    await socket.send(message)
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.5)
                await socket.ping()
                return True
        except websockets.InvalidStatus as refused:
            return refused.response.status_code != 403

    return asyncio.run(ask())


def packed(message):
    return pytest.importorskip("msgspec").msgpack.encode(message)


def token(page):
    return page.url.split("/")[3]


def test_only_who_knows_the_token_from_a_known_origin_opens_the_page(page):
    own = page.url.rsplit("/", 2)[0]
    assert not asked(page, "", None)
    assert not asked(page, token(page)[:-1], None)
    assert not asked(page, token(page), "http://evil.example")
    assert not asked(page, token(page), "null")
    assert asked(page, token(page), None)
    assert asked(page, token(page), own)
    assert asked(page, token(page), "https://hub.example")


def test_the_page_itself_is_served_at_its_address_alone(page):
    urllib = pytest.importorskip("urllib.request")
    with urllib.urlopen(page.url) as answer:
        assert b"<html" in answer.read()
    with urllib.urlopen(page.url.rstrip("/")) as answer:
        assert answer.url == page.url
    with pytest.raises(Exception, match="403"):
        urllib.urlopen(page.url.replace(token(page), "x"))


def test_forged_values_and_bad_messages_change_nothing_and_print_nothing(page, capfd):
    mode, slider = page._mode, page._sliders["cable1"]
    updates = [(mode._impl.uuid, {"value": "levitation"}), (mode._impl.uuid, {"options": ["x"]}),
               (page._plotted._impl.uuid, {"value": "x"}), (slider._impl.uuid, {"value": 1e9}),
               (slider._impl.uuid, {"value": float("nan")}), (slider._impl.uuid, {"value": "x"}),
               (slider._impl.uuid, {"update_cb": 3}), ("nobody", {"value": 1})]  # fmt: skip
    messages = [packed({"type": "GuiUpdateMessage", "uuid": uuid, "updates": update}) for uuid, update in updates]
    messages += [b"", b"\xc1", packed(3), packed({"type": "x"}), packed({"type": "GuiUpdateMessage"}), "text"]
    before = slider.value, mode.value, page._plotted.value
    assert asked(page, token(page), None, *messages)
    page.session.frame(0.01)
    assert (slider.value, mode.value, page._plotted.value) == before
    assert not page.session.state.paused
    assert "Traceback" not in "".join(capfd.readouterr())
    right = packed({"type": "GuiUpdateMessage", "uuid": slider._impl.uuid, "updates": {"value": 1.0}})
    assert asked(page, token(page), None, right)
    page.session.frame(0.0)
    assert page.session.state.values["cable1"] == 1.0


def test_elements_have_the_values_that_their_users_can_give(page):
    assert _can_have(page._gravity, (0.0, 0.0, -9.81))
    assert not _can_have(page._gravity, (0.0, np.inf, -9.81))
    assert not _can_have(page._gravity, (0.0, -9.81))
    box = next(iter(page._shown.values()))
    assert _can_have(box, True)
    assert not _can_have(box, 1)


def test_a_recording_ends_where_it_is_full_and_a_session_writes_only_so_many(page, monkeypatch):
    monkeypatch.setattr(recording, "MOST_ROWS", 4)
    monkeypatch.setattr("sorosim.view.interactive.session.MOST_FILES", 1)
    session = page.session
    session.record()
    session.frame(0.1)
    assert len(sorosim.open(session._out).t) == 4
    session.record()
    assert "at most 1 files" in session.frame(0.0).message
    assert not session.state.recorded


@pytest.mark.parametrize("wrong", ["evil", 3, ""])
def test_origins_are_addresses(wrong):
    with pytest.raises(InputError, match=re.escape("origins")):
        RequestGuard([wrong])


def test_what_is_set_before_the_session_runs_is_kept(tmp_path):
    session = Session(sorosim.load("cable_manipulator"), out=tmp_path / "run.h5")
    session.set(cable1="3 N")
    session.frame(0.01)
    assert session.state.values["cable1"] == 3.0
