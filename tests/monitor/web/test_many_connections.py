"""Strangers that hold connections open, and a viewer."""

import socket
import threading

import httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from clusterwright.monitor.web import serve
from clusterwright.onhost.lib.connections import Connections

WAITING = 20


@pytest.fixture
def url():
    """A page behind the limits of the real one, with fewer places."""
    connections = Connections(WAITING, 1000)
    opened = serve.bound(serve.Listener(port=0))
    port = opened.getsockname()[1]
    page = serve.counted(PlainTextResponse("the page"), connections)
    server = uvicorn.Server(uvicorn.Config(page, log_level="error", lifespan="off", http="h11"))
    listener = serve.LimitedListener(opened, connections)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@pytest.mark.parametrize("head", [b"", b"GET / HTTP/1.1\r\nHost: "], ids=["nothing", "half a head"])
def test_idle_connections_leave_a_place_for_viewers(url, head):
    """The oldest idle ones are closed; a viewer between two requests keeps a connection too."""
    address = ("127.0.0.1", int(url.rpartition(":")[2]))
    idle = [socket.create_connection(address) for _ in range(3 * WAITING)]
    for connection in idle[-WAITING:]:
        connection.sendall(head)
    answers = [httpx.get(url, timeout=20).text for _ in range(3)]
    idle[0].settimeout(20)
    oldest = idle[0].recv(1)
    for connection in idle:
        connection.close()

    assert answers == ["the page"] * 3
    assert oldest == b""
