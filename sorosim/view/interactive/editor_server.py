"""Pages of the editor: what they load, and their messages, on the server of the scene."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sorosim.base.errors import InputError, SorosimError
from sorosim.base.problems import Path as Place
from sorosim.files import json_schema
from sorosim.files.bundled import bundled_robots, bundled_text, robot_words
from sorosim.view.interactive.editor import RobotText
from sorosim.view.interactive.handles import Handles
from sorosim.view.interactive.session import STATICS, Session
from sorosim.view.interactive.studies import Studies

FOLDER = Path(__file__).parent / "web_editor" / "dist"


class Editing:
    """An editor beside the page of a session.

    Parameters
    ----------
    session : Session
    path : Path
        The robot's file.
    set : mapping, optional
        Values of it that the robot has, as `sorosim.load` takes them.
    """

    def __init__(self, session: Session, path: Path, set: Mapping[str, Any] | None = None) -> None:
        self.session = session
        self._page: Any = None
        self.studies = Studies(session, lambda message: self.server.say(message))
        actions = {"press": lambda message: session.press(message["command"]), "select": self._select}
        self.server = EditorServer({**actions, **self.studies.actions}, self.studies.file)
        self.text = self.server.text = RobotText(path, session.take, self._said, set)
        self.handles = Handles(session, self.text, self._commit, lambda words: self.server.say({"refused": words}))

    def start(self, page: Any) -> None:
        """Read the file, and follow clicks in the scene."""
        self._page, page.on_click, page.shown = page, self._clicked, self.studies.playback
        page.handles = self.handles
        self.session.set_mode(STATICS)
        self.text.start()
        self.handles.start()

    def stop(self) -> None:
        """End that; what is not saved is lost."""
        self.studies.stop()
        self.text.stop()
        self.handles.stop()

    def _said(self, message: dict[str, Any]) -> None:
        """Tell all pages, and handles where the text says another robot."""
        if "state" in message:
            self.handles.refresh()
        self.server.say(message)

    def _commit(self, values: Mapping[Place, str]) -> None:
        """Change numbers of the file.

        By the page whose pointer was in the scene last, which can undo it; by the session where that one is closed.
        """
        given = [[list(path), new] for path, new in values.items()]
        self.text.edit("numbers", (), values=given)
        if not self.server.tell({"numbers": given}):
            self.text.change("numbers", (), values=given)

    def _select(self, message: dict[str, Any]) -> None:
        """Name what a page selected in the scene, if it is a link."""
        path = _path(message["path"])
        block, *name = (*path, "")
        self.handles.select(path)
        self._page.select(str(name[0]) if block == "links" and name else "")

    def _clicked(self, link: str) -> None:
        """Tell pages where the link stands in the file."""
        document = self.session.robot.description.document
        path = ("links", link) if document is None else document.expanded.places.place(("links", link)).path
        self.server.say({"selected": list(path)})


class EditorServer:
    """Answers pages of the editor.

    Parameters
    ----------
    actions : mapping of str to callable
        What buttons do, by name; each takes a dict, and returns what JSON can say.
    offered : callable
        Type, content and name of a file that was made for a page, by its path; None: there is none.

    Attributes
    ----------
    text : RobotText
        Whose pages these are; set before the first one opens.
    """

    def __init__(
        self, actions: dict[str, Callable[[dict[str, Any]], Any]],
        offered: Callable[[str], tuple[str, bytes, str] | None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.text: RobotText | None = None
        self._actions, self._offered = actions, offered
        self._open: dict[Any, asyncio.AbstractEventLoop] = {}
        self._touched: Any = None  # connection of the page whose pointer was in the scene last
        self._slid: Any = None  # of that which slid a number last, and has changed no text since

    def file(self, path: str) -> tuple[str, bytes, str] | None:
        """Type and content of a file of the page, and the name of one to be kept; None if it has none of that path."""
        if path == "schema.json":
            return "application/json", _schema(), ""
        name = path or "index.html"
        known = {one.name: one for one in FOLDER.iterdir() if one.is_file()}
        if name not in known:
            return self._offered(path)
        return mimetypes.guess_type(name)[0] or "text/plain", known[name].read_bytes(), ""

    def say(self, message: dict[str, Any]) -> None:
        """Tell all pages; from any thread."""
        text = json.dumps(message)
        for connection, loop in list(self._open.items()):
            asyncio.run_coroutine_threadsafe(_sent(connection, text), loop)

    def tell(self, message: dict[str, Any]) -> bool:
        """Tell the page whose pointer was in the scene last; whether there is one."""
        loop = self._open.get(self._touched)
        if loop is None:
            return False
        asyncio.run_coroutine_threadsafe(_sent(self._touched, json.dumps(message)), loop)
        return True

    async def serve(self, connection: Any) -> None:
        """Messages of one page, until it closes."""
        self._open[connection] = asyncio.get_running_loop()
        try:
            assert self.text is not None
            first = {"document": self.text.document(), "state": self.text.report, **self.text.findings}
            await connection.send(json.dumps(first))
            async for raw in connection:
                answer = await asyncio.to_thread(self._answered, raw, connection)
                if answer is not None:
                    await connection.send(json.dumps(answer))
        except Exception as error:
            from websockets.exceptions import ConnectionClosed

            if not isinstance(error, ConnectionClosed):
                raise
        finally:
            self._open.pop(connection, None)
            if connection is self._slid and self.text is not None:  # the page was closed in the middle of it
                self._slid = None
                await asyncio.to_thread(self.text.slide, {})

    def _answered(self, raw: Any, connection: Any = None) -> dict[str, Any] | None:
        """The answer to a message: what it asks for, or why not."""
        number = None
        try:
            message = json.loads(raw)
            number = message.get("id")
            if message.get("do") == "touch":
                self._touched = connection
            if message.get("do") in ("slide", "push"):
                self._slid = connection if message["do"] == "slide" else None
            return {"id": number, "answer": self._done(message)}
        except SorosimError as error:
            return {"id": number, "error": str(error)}
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:  # of a page that is none of ours
            return {"id": number, "error": f"a message that cannot be read: {type(error).__name__}"}
        except Exception as error:  # nobody else sees it, and the page goes on
            traceback.print_exception(error)
            return {"id": number, "error": f"{type(error).__name__}: {error}"}

    def _done(self, message: dict[str, Any]) -> Any:
        text, what = self.text, message["do"]
        assert text is not None
        if what == "push":
            return text.push(int(message["version"]), list(message["updates"]))
        if what == "pull":
            return text.since(int(message["version"]))
        if what == "edit":
            given = {key: value for key, value in message.items() if key not in ("do", "id", "what", "path")}
            with text._lock:
                version = text.version
                return {"version": version, "changes": text.edit(message["what"], _path(message["path"]), **given)}
        if what == "kinds":
            return text.kinds(message["block"], message.get("beside", ""))
        if what == "slide":
            return text.slide({str(message["path"]): message["value"]} if "path" in message else {})
        if what == "touch":
            return None
        if what == "save":
            return text.save(over=bool(message.get("over")))
        if what == "reload":
            return text.reload()
        if what == "make":
            return text.make(str(message["name"]))
        if what == "robots":
            robots = [{"name": name, "words": robot_words(name)} for name in bundled_robots()]
            return {"robots": robots, "kept": text.is_kept}
        if what == "robot":
            return bundled_text(str(message["name"]))
        if what in self._actions:
            return self._actions[what](message)
        known = ("push", "pull", "edit", "kinds", "slide", "touch", "save", "reload", "make", "robots", "robot",
                 *self._actions)  # fmt: skip
        raise InputError("do", f"one of {', '.join(known)}", f"'{what}'")


async def _sent(connection: Any, text: str) -> None:
    from websockets.exceptions import ConnectionClosed

    with suppress(ConnectionClosed):
        await connection.send(text)


def _path(given: Any) -> tuple[str | int, ...]:
    if not isinstance(given, list) or not all(isinstance(one, str) or type(one) is int for one in given):
        raise InputError("path", "a list of names and numbers", "something else")
    return tuple(given)


@cache
def _schema() -> bytes:
    return json.dumps(json_schema()).encode()
