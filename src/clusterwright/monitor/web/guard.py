"""Checks on every request: host, size, identity, and that changes come from the page itself."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clusterwright.errors import WrightError
from clusterwright.monitor.web.sessions import Session, Sessions
from clusterwright.monitor.web.users import WebUser
from clusterwright.onhost.lib.numbers import ascii_int

LONGEST_BODY, BODY_S = 8192, 10.0  # a sign-in or a reason; seconds until all of it has arrived
TOKEN = "x-wright-token"  # nosec B105 # noqa: S105 (a header's name)
_SAFE = frozenset({"GET", "HEAD"})
_OPEN = ("/sign-in", "/static/")  # available without sign-in
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers send a form's origin as null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """The user of a request; None for a viewer without sign-in."""

    user: WebUser | None = None
    session: Session | None = None

    @property
    def role(self) -> str:
        """The user's role; `viewer` without sign-in."""
        return self.user.role if self.user else "viewer"


@dataclass(frozen=True, slots=True)
class Guard:
    """The access rules of a listener, applied to each request."""

    sessions: Sessions
    tls: bool
    open_to_all: bool  # viewing needs no sign-in; only on loopback
    _names: frozenset[str] = field(default=frozenset({"localhost"}))

    @property
    def cookie(self) -> str:
        """The session cookie's name; with TLS the `__Host-` prefix, which no other host or path can set."""
        return "__Host-wright" if self.tls else "wright"

    def identify(self, request: Request) -> Identity:
        """Return the identity that belongs to the session cookie; an empty identity without a session.

        For data of the page, also its token is required. Browsers send the cookie to every port of the host, so another
        server there may have it.
        """
        session_user = self.sessions.find(request.cookies.get(self.cookie, ""))
        if session_user is None:
            return Identity()
        session, user = session_user
        is_data = request.method in _SAFE and request.url.path.startswith("/api/")
        return Identity() if is_data and not _has_token(request, session) else Identity(user, session)

    def may_view(self, identity: Identity) -> bool:
        """Return whether the user may view: signed in, or the page is open to all."""
        return self.open_to_all or identity.user is not None

    def host_is_ours(self, headers: Headers) -> bool:
        """Return whether the Host header is allowed: without TLS only names of loopback, against DNS rebinding.

        With TLS any, as the certificate names the host.
        """
        if self.tls:
            return True  # the certificate names the host
        name = _hostname(headers.get("host", ""))
        return name in self._names or _is_loopback(name)

    def refusal(self, request: Request) -> Response | None:
        """Return the response that refuses a request; None for one that may pass.

        421 for a wrong Host header, 401 or the sign-in page without sign-in, 503 without the file of users. The
        identity is
        stored in `request.state.who`.
        """
        if not self.host_is_ours(request.headers):
            return _no(421, "host")
        try:
            identity = self.identify(request)
        except WrightError:
            return _no(503, "users")  # without the file of users nobody can be identified
        request.state.who = identity
        if request.method not in _SAFE and (refused := self._of_change(request, identity)):
            return refused
        if not self.may_view(identity) and not request.url.path.startswith(_OPEN):
            return (
                _no(401, "sign-in")
                if request.url.path.startswith("/api/")
                else RedirectResponse("/sign-in", 303)
            )
        return None

    def _of_change(self, request: Request, identity: Identity) -> Response | None:
        """Return the response that refuses a change: too long, of another origin or without the session's token.

        Or None. The sign-in form has its own token. A change without Content-Length is too long.
        """
        length = ascii_int(request.headers.get("content-length", ""))
        if length is None or length > LONGEST_BODY:
            return _no(413, "too-long")
        if not _same_origin(request):
            return _no(403, "origin")
        if request.url.path == "/sign-in":
            return None  # has no session yet; its form has its own token
        if identity.session is None:
            return _no(401, "sign-in")
        if not _has_token(request, identity.session):
            return _no(403, "token")
        return None


class Guarded:
    """ASGI middleware: applies the guard and sets the security headers."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, or refuse it; add the security headers.

        Read a change's body within BODY_S.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refused = self.guard.refusal(Request(scope))
        if refused is None and scope["method"] not in _SAFE:
            try:
                async with asyncio.timeout(BODY_S):
                    receive = await _with_body(receive)
            except TimeoutError:
                refused = _no(408, "body")
                refused.headers["connection"] = "close"
        await (refused or self.app)(scope, receive, headed)


async def _with_body(receive: Receive) -> Receive:
    """Read the whole body, whose length is limited; return a `receive` that begins with it."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())
    unread = iter(messages)

    async def replay() -> Message:
        for message in unread:
            return message
        return await receive()

    return replay


def _no(code: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, code)


def _has_token(request: Request, session: Session) -> bool:
    """Whether the request has the session's token: in the header, or, if it changes nothing, as a parameter."""
    token = request.headers.get(TOKEN, "")
    if not token and request.method in _SAFE:
        token = request.query_params.get("token", "")
    return hmac.compare_digest(token.encode(), session.token.encode())


def _same_origin(request: Request) -> bool:
    """Return whether a change has the same origin; clients other than browsers send none and need the token."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in (None, "same-origin"):
        return False
    return origin is None or origin.partition("://")[2] == request.headers.get("host", "")


def _hostname(host: str) -> str:
    """Return the name in a Host header, without port and brackets; empty for a malformed one."""
    if host.count(":") >= 2 and not host.startswith("["):
        return host
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
