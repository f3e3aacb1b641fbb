"""JupyterLab itself, as the job of a session starts it."""

import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from clusterwright.onhost.dev.events import Trouble
from clusterwright.onhost.dev.jupyter import Jupyter
from clusterwright.onhost.dev.ports import free

pytestmark = pytest.mark.skipif(not find_spec("jupyterlab"), reason="no jupyterlab (pip install jupyterlab)")


class Server(Jupyter):
    """Where the tests run as root, it may; jobs never do."""

    ports = ()

    def _choose_port(self):
        super()._choose_port()
        if self.ports:
            self.port, self.ports = self.ports[0], self.ports[1:]

    def _write_config(self, root):
        super()._write_config(root)
        config = json.loads(Path(self._config()).read_text())
        config["ServerApp"]["allow_root"] = True
        Path(self._config()).write_text(json.dumps(config))


@pytest.fixture
def server(tmp_path, monkeypatch):
    """One that writes nothing outside its folder; ended with the test."""
    for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    wish = {"python": sys.executable, "folder": str(tmp_path), "port": 0, "idle_s": 60, "kind": "jupyter"}
    made = Server(str(tmp_path), wish)
    yield made
    made.stop()


def test_a_port_that_somebody_takes_in_the_last_moment_is_left_to_them(server):
    """The free one was tried by binding it, and taken before JupyterLab did."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        theirs = taken.getsockname()[1]
        server.ports = (theirs,)
        server.start()

    assert server.port not in (0, theirs)
    assert server.ports == ()
    assert server.query_api("status")["kernels"] == 0
    assert server.alive()


def test_the_token_is_in_one_file_that_only_the_user_reads(server):
    """And gone with the server."""
    before = os.umask(0o077)
    try:
        server.start()
    finally:
        os.umask(before)
    config = Path(server._config())

    assert config.stat().st_mode & 0o777 == 0o600
    assert server.token in config.read_text()
    assert server.token.encode() not in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert server.token not in Path(server.log).read_text()
    server.stop()
    assert not server.alive()
    assert not config.exists()


def test_one_that_ends_at_once_is_told_with_its_last_words(server):
    """As where packages of the environment do not go together."""
    server.request["python"] = "/bin/false"

    with pytest.raises(Trouble) as caught:
        server.start()
    assert caught.value.code == "dev-did-not-start"
    assert "ended at once" in caught.value.message


EVE = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
while True:
    peer, _ = server.accept()
    print(peer.recv(65536), flush=True)
    peer.sendall(b"HTTP/1.0 404 No\\r\\n\\r\\n")
    peer.close()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to start a process of another user")
def test_another_user_on_the_port_gets_no_token(server, tmp_path):
    """Neither that of the attempt, nor that of the server which runs on another port then."""
    port = free()
    argv = ["/usr/bin/python3", "-u", "-c", EVE, str(port)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, user=65534, group=65534, cwd="/") as eve:
        try:
            assert eve.stdout.readline() == b"ready\n"
            server.ports = (port,)
            server.start()
        finally:
            eve.kill()
        heard = eve.stdout.read()

    assert server.port != port
    assert server.query_api("status")["kernels"] == 0
    assert b"token" not in heard
    assert server.token.encode() not in heard


def test_each_attempt_has_a_token_of_its_own(server):
    """A token that reached somebody else admits to no server."""
    tokens = []

    class Recording(Server):
        def _write_config(self, root):
            super()._write_config(root)
            tokens.append(self.token)

    server.__class__ = Recording
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server.ports = (taken.getsockname()[1],)
        server.start()

    assert len(set(tokens)) == len(tokens) == 2
