"""Sign-in and sign-out."""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
from collections import Counter
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from clusterwright.errors import WrightError
from clusterwright.monitor.web import pages
from clusterwright.monitor.web.guard import Guard
from clusterwright.monitor.web.pages import preferences
from clusterwright.monitor.web.sessions import PasswordChecker, network

_HASHES_AT_ONCE = 2  # each scrypt takes 32 MiB
_MOST_WAITING = 32  # sign-ins that wait for a hash; more are answered with 429
_BROWSER_S = 90 * 24 * 3600  # seconds for which a browser that has signed in stays known
_MOST_OF_ADDRESS, _MOST_OF_ACCOUNT = 8, 2  # of these: from one address, and on one account from one address


class Waiting:
    """Counts of waiting sign-ins by account and address: none of them may use up the limit of all."""

    def __init__(self) -> None:
        self._places: Counter[tuple[str, str]] = Counter()

    def enter(self, name: str, address: str) -> bool:
        """Count a sign-in that waits and return True; False, without counting it, if too many wait already.

        There are limits for all, for one address, and for one account from one address.
        """
        of_address = sum(count for (_, other), count in self._places.items() if other == address)
        if (
            self._places.total() >= _MOST_WAITING
            or of_address >= _MOST_OF_ADDRESS
            or self._places[name, address] >= _MOST_OF_ACCOUNT
        ):
            return False
        self._places[name, address] += 1
        return True

    def leave(self, name: str, address: str) -> None:
        """Count one waiting sign-in less for this account name and address."""
        self._places[name, address] -= 1
        self._places += Counter()  # without the entries of zero


class SignIn:
    """The handlers of sign-in and sign-out."""

    def __init__(self, guard: Guard, passwords: PasswordChecker) -> None:
        self._guard, self._passwords = guard, passwords
        self._hashing, self._waiting = asyncio.Semaphore(_HASHES_AT_ONCE), Waiting()

    async def sign_in(self, request: Request) -> Response:
        """Respond with the form (GET), or check the password and begin a session (POST); 403, 429 or 503 if refused."""
        if request.method != "POST":
            return self._form(request, "", 200)
        form = {
            name: values[0]
            for name, values in parse_qs((await request.body()).decode("utf-8", "replace")).items()
        }
        token = request.cookies.get(self._form_cookie, "")
        if not token or not hmac.compare_digest(form.get("token", "").encode(), token.encode()):
            return self._form(request, "sign.stale", 403)
        name = form.get("name", "")
        try:
            address = self._passwords.attempt_source(
                name,
                request.client.host if request.client else "",
                request.cookies.get(self._browser_cookie, ""),
            )
        except WrightError:
            return self._form(request, "sign.closed", 503)
        wait_s, address_wait_s = (
            self._passwords.wait_s(name, address),
            self._passwords.address_wait_s(address),
        )
        if wait_s > 0 or not self._waiting.enter(name, network(address)):
            return self._wait(request, wait_s)
        try:
            async with self._hashing:
                user = await asyncio.to_thread(self._passwords.opens, name, form.get("password", ""), address)
        except WrightError:
            return self._form(request, "sign.closed", 503)
        finally:
            self._waiting.leave(name, network(address))
        if user is None:
            return (
                self._wait(request, address_wait_s)
                if address_wait_s
                else self._form(request, "sign.wrong", 403)
            )
        self._guard.sessions.end(request.cookies.get(self._guard.cookie, ""))
        cookie, session = self._guard.sessions.begin(user)
        answer = RedirectResponse(f"/#token={session.token}", 303)
        self._set_cookie(answer, self._guard.cookie, cookie)
        self._set_cookie(
            answer, self._browser_cookie, self._passwords.browser_cookie(user), max_age=_BROWSER_S
        )
        answer.delete_cookie(self._form_cookie, secure=self._guard.tls, httponly=True, samesite="strict")
        return answer

    def _wait(self, request: Request, wait_s: float) -> Response:
        """Return the sign-in form with status 429, and `wait_s`, rounded up, in its Retry-After header."""
        answer = self._form(request, "sign.wait", 429)
        answer.headers["retry-after"] = str(math.ceil(max(wait_s, 1)))
        return answer

    async def sign_out(self, request: Request) -> Response:
        """End the user's session, and respond with 204 and the deletion of its cookie; also if there is no session."""
        self._guard.sessions.end(request.cookies.get(self._guard.cookie, ""))
        answer = Response(status_code=204)
        answer.delete_cookie(self._guard.cookie, secure=self._guard.tls, httponly=True, samesite="strict")
        return answer

    @property
    def _form_cookie(self) -> str:
        return f"{self._guard.cookie}-form"

    @property
    def _browser_cookie(self) -> str:
        return f"{self._guard.cookie}-browser"

    def _form(self, request: Request, trouble: str, code: int) -> Response:
        """Return the form, with a token that is in a cookie as well, so that another site cannot submit it (CSRF)."""
        token = secrets.token_urlsafe(24)
        answer = HTMLResponse(
            pages.sign_in(*preferences(request.cookies, request.headers), token, trouble), code
        )
        self._set_cookie(answer, self._form_cookie, token)
        return answer

    def _set_cookie(self, answer: Response, name: str, value: str, max_age: int | None = None) -> None:
        answer.set_cookie(
            name, value, max_age, secure=self._guard.tls, httponly=True, samesite="strict", path="/"
        )
