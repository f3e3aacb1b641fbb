"""What strangers and signed-in users send to the web page raises nothing, and viewers still see the page."""

import asyncio
import contextlib
import socket
from urllib.parse import quote, unquote

import httpx
import pytest

from clusterwright.monitor.web.users import create_user

PRINTABLE = "".join(map(chr, range(32, 127)))
FEW, MANY = 2_500, 100_000
REAL_COUNT = 200
STATUSES = {200, 204, 303, 307, 400, 401, 403, 404, 405, 413, 421, 422, 429, 502, 503}


@pytest.fixture(params=[False, True], ids=["loopback", "tls"])
def hostile_page(request, page_of, tmp_path, small):
    """A page, and valid requests of an operator who has signed in."""
    page = page_of(tmp_path, small, tls=request.param)
    page.users.set_user(create_user("ann", "operator", "correct horse battery"))
    cookie, session = page.guard.sessions.begin(page.users.all()["ann"])
    name = page.guard.cookie
    page.requests = list(requests(small, name, cookie, session.token))
    yield page
    page.history.close()


def requests(small, cookie_name, cookie, token):
    """One request of each kind, as HTTP/1.1."""
    headers = (
        f"Host: localhost\r\nAccept-Language: en\r\nCookie: {cookie_name}={cookie}; {cookie_name}-form=f\r\n"
    )
    node, job = small.nodes[0].name, small.jobs[0].id
    for path in (
        "/", "/sign-in", "/api/picture", "/api/me", f"/api/job/{job}", f"/api/node/{node}", "/api/history?span=day",
        "/api/jobs?of=all&find=a&order=id&page=1", "/api/stream?since=3", "/static/x/page.js",
    ):  # fmt: skip
        yield f"GET {path} HTTP/1.1\r\n{headers}\r\n".encode()
    for path, body in (
        ("/sign-in", "token=f&name=ann&password=wrong"), (f"/api/node/{node}/drain", '{"reason": "broken fan"}'),
        (f"/api/node/{node}/resume", "{}"), (f"/api/job/{job}/cancel", '{"a": 1}'), ("/sign-out", ""),
    ):  # fmt: skip
        changing = (
            f"{headers}Origin: http://localhost\r\nx-wright-token: {token}\r\nContent-Length: {len(body)}\r\n"
        )
        yield f"POST {path} HTTP/1.1\r\n{changing}\r\n{body}".encode()


def scope_of(data):
    """The ASGI scope and the body of a request, however damaged."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, target, *_ = *quote(first, safe=PRINTABLE).split(" "), "", ""  # h11 refuses other characters here
    path, _, query = target.partition("?")
    pairs = [line.partition(b":") for line in lines]
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method, "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "headers": [(name.strip().lower(), value.strip()) for name, _, value in pairs],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }, body  # fmt: skip


async def status_of(app, data):
    """The status of the response; a stream ends at once, because the viewer disconnects."""
    scope, body = scope_of(data)
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    statuses = []

    async def receive():
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message):
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

    await app(scope, receive, send)
    return statuses


@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_any_request_has_a_response(hostile_page, hostile, count):
    """Exactly one, with a status that the page uses on purpose; no exception reaches the server."""

    async def ask():
        await hostile_page.feed.poll()
        statuses = set()
        for data in hostile(count, *hostile_page.requests):
            (status,) = await status_of(hostile_page.app, data)
            statuses.add(status)
        return statuses, await status_of(hostile_page.app, hostile_page.requests[2])

    statuses, viewer = asyncio.run(ask())
    assert {200, 403} <= statuses <= STATUSES
    assert viewer == [200]


def test_strangers_on_real_sockets_leave_the_page_to_viewers(page, small, served, hostile, caplog):
    """Damaged requests to the real server; it logs no exception."""
    requests_of = list(requests(small, page.guard.cookie, "c", "t"))
    with served(page) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        for data in hostile(REAL_COUNT, *requests_of):
            with socket.create_connection(address) as stranger, contextlib.suppress(OSError):
                stranger.sendall(data + b"\r\n\r\n")
        answer = httpx.get(f"{url}/api/picture", timeout=20)

    assert answer.status_code == 200
    assert "Exception in ASGI application" not in caplog.text


@pytest.mark.parametrize(
    "body", [b"[" * 8000, b'{"reason": ' * 700, b'"\xff"', b"1" * 8000], ids=lambda body: body[:4]
)
def test_a_body_that_is_no_object_is_no_reason(hostile_page, body):
    """Of a drain, by an operator."""
    drain = next(data for data in hostile_page.requests if b"/drain" in data)
    head = drain.partition(b"\r\n\r\n")[0].replace(b"Content-Length: 24", b"Content-Length: %d" % len(body))

    async def ask():
        await hostile_page.feed.poll()
        return await status_of(hostile_page.app, head + b"\r\n\r\n" + body)

    assert asyncio.run(ask()) == [422]
