"""What every request passes before it reaches a page: host, size, who it is, and that it comes from our own page."""

from __future__ import annotations

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
from clusterwright.monitor.web.users import User

LONGEST_BODY = 8192  # a sign-in or a reason
TOKEN = "x-wright-token"  # noqa: S105 (a header's name)
_SAFE = frozenset({"GET", "HEAD"})
_OPEN = ("/sign-in", "/static/")  # what is there for those who have not signed in
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, browsers send a form's origin as null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks; no user for one who only looks."""

    user: User | None = None
    session: Session | None = None

    @property
    def role(self) -> str:
        """The role; one who has not signed in is a viewer."""
        return self.user.role if self.user else "viewer"


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of this listener."""

    sessions: Sessions
    tls: bool
    open_to_all: bool  # looking needs no sign-in: on loopback alone
    _names: frozenset[str] = field(default=frozenset({"localhost"}))

    @property
    def cookie(self) -> str:
        """The cookie's name; with TLS one that no other host or path can set."""
        return "__Host-wright" if self.tls else "wright"

    def identify(self, request: Request) -> Identity:
        """Who asks, by the cookie."""
        session_user = self.sessions.find(request.cookies.get(self.cookie, ""))
        return Identity(session_user[1], session_user[0]) if session_user else Identity()

    def may_view(self, identity: Identity) -> bool:
        """True for one who has signed in, and for everyone where the page is open."""
        return self.open_to_all or identity.user is not None

    def host_is_ours(self, headers: Headers) -> bool:
        """On loopback only loopback's names: else another site's name that points here could read the page."""
        if self.tls:
            return True  # the certificate names the host
        name = _hostname(headers.get("host", ""))
        return name in self._names or _is_loopback(name)

    def refusal(self, request: Request) -> Response | None:
        """The answer for a request that goes no further; None for one that may."""
        if not self.host_is_ours(request.headers):
            return _no(421, "host")
        try:
            identity = self.identify(request)
        except WrightError:
            return _no(503, "users")  # nobody is who they say while the file of users is unusable
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
        """A change comes from our own page, in the name of the session, and is short."""
        length = request.headers.get("content-length", "")
        if not length.isdigit() or int(length) > LONGEST_BODY:
            return _no(413, "too-long")
        if not _same_origin(request):
            return _no(403, "origin")
        if request.url.path == "/sign-in":
            return None  # has no session yet; its form carries a token of its own
        if identity.session is None:
            return _no(401, "sign-in")
        if not hmac.compare_digest(request.headers.get(TOKEN, "").encode(), identity.session.token.encode()):
            return _no(403, "token")
        return None


class Guarded:
    """The application behind its guard; every answer has the headers."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
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
        await (refused or self.app)(scope, receive, headed)


def _no(code: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, code)


def _same_origin(request: Request) -> bool:
    """Browsers say where a change comes from; what says nothing is no browser, and needs the token all the same."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in (None, "same-origin"):
        return False
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")


def _hostname(host: str) -> str:
    return urlsplit(f"//{host}").hostname or "" if host.count(":") < 2 or host.startswith("[") else host


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
