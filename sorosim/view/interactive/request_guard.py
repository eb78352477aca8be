"""Who may open the page of a session: those who know its address, whose token nobody guesses, from its own origin."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from sorosim.base.errors import InputError
from sorosim.base.validation import describe

TOKEN_BYTES = 16
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
    """

    def __init__(self, origins: Collection[str]) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.accepts: Callable[[Any], bool] = lambda _: True
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

        def serve(*args: Any, process_request: Any = None, **given: Any) -> Any:
            called.append(True)
            return original(*args, process_request=lambda *asked: self(process_request, *asked), **given)

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
