"""Who may ask: the one gate in front of everything that listens on loopback (the web page, MCP over HTTP).

What must stay true: a request that reaches the application named this machine as its host (a page that rebinds its own name to
127.0.0.1 does not), came from no other origin, and showed the token; and every answer leaves with headers that let nothing run,
load or embed it but our own files.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
PRIVATE = {"cache-control": "no-store"}  # for what is said of notes; static files may stay in the browser's cache


@dataclass(frozen=True, slots=True)
class Door:
    """What a request must show. `tokenless` are paths answered without the token: the user opened them in the configuration."""

    port: int
    token: str = field(repr=False)
    tokenless: frozenset[str] = frozenset()

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    @property
    def cookie(self) -> str:
        """Cookies know no ports: the name keeps two vaults that are served at once apart."""
        return f"onebrain-{self.port}"


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    reason: str


def refusal(door: Door, path: str, headers: Mapping[str, str]) -> Refusal | None:
    """Why a request is turned away, or None. `headers` have lower-case names; only the token in a cookie or a header counts here."""
    if headers.get("host", "").lower() not in door.hosts:
        return Refusal(421, "This server answers on 127.0.0.1 and localhost alone.")
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in door.hosts}:
        return Refusal(403, "Requests from other web pages are refused.")
    if path in door.tokenless:
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return Refusal(403, "Requests from other web pages are refused.")
        return None
    if any(secrets.compare_digest(shown.encode(), door.token.encode()) for shown in _shown(door, headers)):
        return None
    return Refusal(403, "The token is missing or old. Use the address, or the token, that was printed at the start.")


def _shown(door: Door, headers: Mapping[str, str]) -> list[str]:
    shown = []
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        shown.append(token.strip())
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return shown
    if door.cookie in jar:
        shown.append(jar[door.cookie].value)
    return shown


class Guard:
    """ASGI middleware: `refusal` in front of `app`, the headers behind it, and the first visit that turns `?token=` into a cookie.

    The first visit is answered with a page that moves on by itself, not with a redirect: browsers leave a strict cookie out of a
    redirect that began on another site (a link clicked in a web terminal).
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websocket is offered; leaving it unanswered closes it
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if self._is_first_visit(scope, headers):
            cookie = f"{self._door.cookie}={self._door.token}; HttpOnly; SameSite=Strict; Path=/"
            await _say(send, 200, "Opening your notes …", {"set-cookie": cookie, "refresh": "0; url=/"})
        elif refused := refusal(self._door, scope["path"], headers):
            await _say(send, refused.status, refused.reason)
        else:
            await self._app(scope, receive, _with_headers(send, private=not scope["path"].startswith("/static/")))

    def _is_first_visit(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET" or b"token=" not in scope["query_string"]:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        return refusal(self._door, "/", {"host": headers.get("host", ""), "authorization": f"Bearer {given}"}) is None


def _with_headers(send: Send, *, private: bool) -> Send:
    extra = HEADERS | PRIVATE if private else HEADERS

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added = [(name.encode(), value.encode()) for name, value in extra.items() if name.encode() not in present]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return wrapped


async def _say(send: Send, status: int, words: str, extra: Mapping[str, str] | None = None) -> None:
    head = '<meta charset="utf-8"><title>onebrain</title><link rel="icon" href="/static/icon.svg">'
    body = f'<!doctype html><html lang="en"><head>{head}</head><body><p>{escape(words)}</p></body></html>'.encode()
    headers = {"content-type": "text/html; charset=utf-8", **HEADERS, **PRIVATE, **(extra or {})}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
