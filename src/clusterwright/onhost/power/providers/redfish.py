"""Redfish over HTTPS (DMTF DSP0266): the first system of a BMC, and its Reset action."""

import base64
import io
import json
import os
import socket
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, RESULT_DEPTH, parse_document
from clusterwright.onhost.power.providers import Refusal
from clusterwright.onhost.power.providers.per_host import PerHostProvider

LIMIT_S = 15  # a BMC that starts its host responds late; of a whole response too
LIMIT_BYTES = 1 << 20  # DMTF's mockup of a system has 20 kB
REASON_BYTES = 1 << 16  # of the answer that has an error
RESETS = {"on": ("On", "ForceOn"), "off": ("GracefulShutdown", "PushPowerButton"), "kill": ("ForceOff",)}
STATES = {"On": "on", "PoweringOn": "on", "Off": "off", "PoweringOff": "on", "Paused": "on"}
RESET = "#ComputerSystem.Reset"
ROOT = "/redfish/v1/"
WRONG_PASSWORD, FORBIDDEN, BUSY = 401, 403, 503
UNKNOWN_CERTIFICATE = "CERTIFICATE_VERIFY_FAILED"  # OpenSSL's name of the error, for ssl.SSLError.reason


class Deadline:
    """The sockets of one exchange; all of them are shut down once its time is over."""

    def __init__(self) -> None:
        self.sockets: List[socket.socket] = []
        self.is_over = False

    def add(self, connected: socket.socket) -> None:
        """Add a socket that has just connected to those that the deadline ends."""
        self.sockets.append(socket.socket(fileno=os.dup(connected.fileno())))  # TLS detaches the original one
        if self.is_over:
            self.end()

    def end(self) -> None:
        """Shut down all sockets of the exchange, so that whoever reads one gets its end."""
        self.is_over = True
        for handle in self.sockets:
            with suppress(OSError):
                handle.shutdown(socket.SHUT_RDWR)


_of_thread = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limit the duration of all HTTPS requests in a `with` block: a socket's own timeout begins anew with each byte.

    Raises:
        TimeoutError: The time is over.
    """
    exchange = _of_thread.deadline = Deadline()
    timer = threading.Timer(seconds, exchange.end)
    timer.daemon = True
    timer.start()
    try:
        try:
            yield
        finally:
            timer.cancel()
            for handle in exchange.sockets:
                handle.close()
    except (OSError, HTTPException, ValueError):
        if not exchange.is_over:
            raise
    if exchange.is_over:
        raise TimeoutError(f"timed out: no complete response in {seconds} s")


class Connection(HTTPSConnection):
    """A connection that ends with the deadline of its thread, also in the TLS handshake."""

    def connect(self) -> None:
        """Connect to the BMC, then negotiate TLS."""
        HTTPConnection.connect(self)
        _of_thread.deadline.add(self.sock)
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self.host)  # type: ignore[attr-defined] # (set by its constructor)


class Https(HTTPSHandler):
    """HTTPS by `Connection`."""

    def https_open(self, request: Request) -> Any:
        """Send an HTTPS request over a `Connection` and return the response."""
        return self.do_open(Connection, request, context=self._context)  # type: ignore[attr-defined] # (set by its constructor)


class NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: it would send the password of the BMCs to any host that a BMC names."""

    def redirect_request(self, *_arguments: Any) -> None:
        """Follow no redirect: return None, so that the caller gets it as an HTTPError."""


class Switch(PerHostProvider):
    """Power control by Redfish with basic authentication: one request, where a session needs three."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.systems: Dict[str, str] = {}
        self.opener = build_opener(Https(context=_trust(self.provider)), NoRedirects)

    def call_host(self, host: str, verb: str) -> str:
        """Reset the host by its BMC if its power state is not the requested one; return the result or error.

        As PerHostProvider.
        """
        return self.respond(host, lambda: self._switch(host, verb))

    def respond(self, host: str, exchange: Callable[[], str]) -> str:
        """Return the result of requests to the host's BMC, or the message of the error of HTTP, TLS or Redfish.

        Raises:
            OSError: the BMC is unreachable.
        """
        try:
            return exchange()
        except HTTPError as error:
            return self._denied(host, error)
        except URLError as error:
            if isinstance(error.reason, ssl.SSLError) and error.reason.reason == UNKNOWN_CERTIFICATE:
                return self._unknown_certificate(host, error.reason)
            raise
        except OSError:
            raise
        except (*DATA_ERRORS, HTTPException) as error:
            return f"{self.address(host)} does not respond as Redfish: {error!r}"

    def _switch(self, host: str, verb: str) -> str:
        system = self.get(host, self.system(host))
        state = STATES.get(system.get("PowerState", ""), "")
        if verb == "state":
            return state or "its PowerState is {!r}".format(system.get("PowerState"))
        if state == ("on" if verb == "on" else "off"):
            return ""
        return self._reset(host, system, verb)

    def system(self, host: str) -> str:
        """Return the path of the first system of the host's BMC."""
        if host not in self.systems:
            root = self.get(host, ROOT)
            members = self.get(host, root["Systems"]["@odata.id"])["Members"]
            self.systems[host] = str(members[0]["@odata.id"])
        return self.systems[host]

    def _reset(self, host: str, system: Dict[str, Any], verb: str) -> str:
        action = system["Actions"][RESET]
        allowed = action.get("ResetType@Redfish.AllowableValues") or RESETS[verb]
        chosen = [kind for kind in RESETS[verb] if kind in allowed]
        if not chosen and verb == "off":
            chosen = [kind for kind in RESETS["kill"] if kind in allowed]
        if not chosen:
            return "{} supports none of {}".format(self.address(host), ", ".join(RESETS[verb]))
        self.get(host, action["target"], {"ResetType": chosen[0]})  # 200, 204, or 202 with a task
        return ""

    def get(self, host: str, path: str, body: Optional[Dict[str, str]] = None) -> Dict[str, Any]:
        """Send a GET request for a path to the host's BMC, or a POST of `body`; return the answer's JSON object."""
        return self.send(host, path, "GET" if body is None else "POST", body)[0]

    def send(
        self,
        host: str,
        path: str,
        method: str,
        body: Optional[Dict[str, Any]] = None,
        *,
        etag: str = "",
        limit: int = 0,
    ) -> Tuple[Dict[str, Any], str]:
        """Send a request to the host's BMC; return the document of its answer, and its ETag ("" if it has none).

        `limit` is the largest answer in bytes, default: LIMIT_BYTES. With `etag` the BMC refuses if the document has
        changed.
        """
        if not path.startswith("/"):  # `@other.host` would complete the address to one of another host
            raise ValueError(f"the path {path!r}")
        token = base64.b64encode("{}:{}".format(self.provider["user"], self.password).encode()).decode()
        headers = {
            "Authorization": "Basic " + token,
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        if etag:
            headers["If-Match"] = etag
        request = Request(
            f"https://{self.address(host)}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers=headers,
            method=method,
        )
        with deadline(LIMIT_S), self._open(request) as answer:
            text = read_limited(answer, limit or LIMIT_BYTES).decode()
            tag = answer.headers.get("ETag") or ""
        document = parse_document(text, depth=RESULT_DEPTH) if text.strip() else {}
        return document if isinstance(document, dict) else {}, tag

    def _open(self, request: Request) -> Any:
        """Send the request and return the response; an HTTPError has its body already, which the deadline covers."""
        try:
            return self.opener.open(request, timeout=LIMIT_S)
        except HTTPError as error:
            with error:
                body = io.BytesIO(error.read(REASON_BYTES))
            raise HTTPError(error.url, error.code, error.reason, error.headers, body) from None

    def _denied(self, host: str, error: HTTPError) -> str:
        if error.code in (WRONG_PASSWORD, FORBIDDEN):
            return self.refusal(host)
        later = error.headers.get("Retry-After") if error.code == BUSY else None
        return "{} responds {} {}{}".format(
            self.address(host), error.code, error.reason, f", retry after {later} s" if later else ""
        )

    def _unknown_certificate(self, host: str, error: Exception) -> str:
        reason = getattr(error, "verify_message", "") or error
        return Refusal(
            f"refused: the certificate of {self.address(host)} is not trusted: {reason}. "
            "Set its `authority` in slurm.power_saving.provider"
        )


def read_limited(answer: Any, limit: int) -> bytes:
    """Return the whole body of an HTTP response.

    Raises:
        ValueError: it exceeds the limit of bytes or seconds.
    """
    end, data = time.monotonic() + LIMIT_S, b""
    while len(data) <= limit and time.monotonic() < end:
        piece = answer.read1(65536)
        if not piece:
            return data
        data += piece
    raise ValueError(f"its response exceeds {limit} bytes or {LIMIT_S} s")


def _trust(provider: Dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=provider.get("authority"))
    if provider.get("certificate") == "any":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
