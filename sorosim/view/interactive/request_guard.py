"""Who may open the page of a session: those who know its address, whose token nobody guesses, from its own origin."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from sorosim.base.errors import InputError
from sorosim.base.validation import describe

TOKEN_BYTES = 16
# what the editor's page may load: itself; styles are made by its editor while it runs
POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
POLICY += "connect-src 'self' data: ws: wss:"
SOCKET, SCENE = "editor", "scene"  # paths of the editor's messages, and of viser's page where there is an editor
_ONE_AT_A_TIME = threading.Lock()


class RequestGuard:
    """Judges requests for a page and its messages.

    Parameters
    ----------
    origins : collection of str
        Origins that may open the page beside its own, such as "https://hub.example": pages of a proxy.

    Attributes
    ----------
    token : str
        First part of the paths that are answered.
    accepts : callable
        Whether a message (bytes) of a page is passed on.
    beside : EditorServer or None
        Pages beside that of viser, which then is under a path of its own.
    """

    def __init__(self, origins: Collection[str]) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.accepts: Callable[[Any], bool] = lambda _: True
        self.beside: Any = None
        self._allowed = {_netloc("origins", one) for one in origins}

    def __call__(self, further: Callable[..., Any] | None, connection: Any, request: Any) -> Any:
        """Answer a request, or hand it on without its token."""
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc not in {host, *self._allowed}:
            return connection.respond(HTTPStatus.FORBIDDEN, "This page belongs to another origin.\n")
        path, question, query = request.path.partition("?")
        first, slash, rest = path.removeprefix("/").partition("/")
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            return connection.respond(HTTPStatus.FORBIDDEN, "Open the address that the session printed.\n")
        upgrades = request.headers.get("Upgrade", "").lower() == "websocket"
        if not slash and not upgrades:  # the paths in the page are relative
            answer = connection.respond(HTTPStatus.MOVED_PERMANENTLY, "")
            answer.headers["Location"] = f"/{self.token}/{question}{query}"
            return answer
        if self.beside is not None:
            first, slash, inner = rest.partition("/")
            if upgrades and rest == SOCKET:
                request.path = f"/{SOCKET}"
                return None
            if first == SCENE and (slash or upgrades):
                rest = inner
            elif not upgrades:
                return _file(connection, self.beside.file(rest))
        request.path = f"/{rest}{question}{query}"
        if upgrades:
            connection.recv = self._checked(connection.recv)
        return None if further is None else further(connection, request)

    def _checked(self, receive: Callable[[], Any]) -> Callable[[], Any]:
        async def received() -> Any:
            while not self.accepts(message := await receive()):
                pass
            return message

        return received

    async def _handled(self, handler: Callable[[Any], Any], connection: Any) -> None:
        """Hand a connection to whom it is for."""
        if self.beside is not None and connection.request.path == f"/{SOCKET}":
            await self.beside.serve(connection)
        else:
            await handler(connection)

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Guard the server that begins within: viser has no hook for that, but calls `serve` of websockets by name.

        Raises
        ------
        InputError
            It did not call it, so that nothing would be guarded.
        """
        from websockets.asyncio import server

        original, called = server.serve, []

        def serve(handler: Any, *args: Any, process_request: Any = None, **given: Any) -> Any:
            called.append(True)
            answer = lambda *asked: self(process_request, *asked)  # noqa: E731
            return original(partial(self._handled, handler), *args, process_request=answer, **given)

        with _ONE_AT_A_TIME:
            server.serve = serve  # type: ignore[assignment,misc]
            try:
                yield
            finally:
                server.serve = original  # type: ignore[misc]
        if not called:
            raise InputError("live", "a package viser whose server can be guarded", "another", "install viser 1.0")


def _netloc(where: str, origin: Any) -> str:
    found = urlsplit(origin).netloc if isinstance(origin, str) else ""
    if not found:
        raise InputError(where, "origins such as https://hub.example:8000", describe(origin))
    return found


def _file(connection: Any, found: tuple[str, bytes, str] | None) -> Any:
    """The answer with a file, which has its type and may load nothing from elsewhere; one with a name is kept."""
    if found is None:
        return connection.respond(HTTPStatus.NOT_FOUND, "There is no such page.\n")
    kind, content, name = found
    answer = connection.respond(HTTPStatus.OK, "")
    for header in ("Content-Type", "Content-Length"):
        del answer.headers[header]
    is_text = kind.startswith("text") or kind in ("application/json", "application/javascript")
    answer.headers["Content-Type"] = f"{kind}; charset=utf-8" if is_text else kind
    if name:
        answer.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name)}"
        answer.headers["Cache-Control"] = "no-store"
    answer.headers["Content-Length"] = str(len(content))
    answer.headers["Content-Security-Policy"] = POLICY
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.body = content
    return answer
