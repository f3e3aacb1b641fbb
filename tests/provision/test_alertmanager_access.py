"""Who may connect to Alertmanager: the rules in a network namespace, real user ids, a real Alertmanager."""

import json
import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest

from clusterwright.provision.render.monitoring.alertmanager import NOTIFY_PORT
from clusterwright.provision.render.monitoring.alertmanager_access import alertmanager_access
from clusterwright.provision.render.monitoring.prometheus import PROMETHEUS_PORT
from clusterwright.provision.roles.alertmanager import DROP_IN, RULES

ALICE, BOB = 6001, 6002  # of the example; alice is an admin here
EVE, PROMETHEUS, SUBORDINATE = 41001, 110, 165536
CONNECT = """import os, socket, sys
os.setgroups([]); os.setresuid(*3 * [int(sys.argv[1])])
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, int(sys.argv[2])) as link:
    link.settimeout(5)
    link.connect(("127.0.0.1", 9093))
    body = sys.stdin.buffer.read()
    head = "POST /api/v2/silences HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n"
    link.sendall(f"{head}Content-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n".encode() + body)
    sys.exit(not link.recv(100).startswith(b"HTTP/1.1 200"))
"""
SILENCE = {
    "matchers": [{"name": "alertname", "value": ".+", "isRegex": True}],
    "startsAt": "2026-01-01T00:00:00Z",
    "endsAt": "2036-01-01T00:00:00Z",
    "createdBy": "x",
    "comment": "x",
}

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="needs root"),
    pytest.mark.skipif(not shutil.which("nft") or not shutil.which("ip"), reason="needs nft and ip"),
    pytest.mark.skipif(not shutil.which("prometheus-alertmanager"), reason="needs prometheus-alertmanager"),
]


class Control:
    """A control host as a network namespace."""

    def __init__(self, folder, cluster):
        self.space = f"cw-alerts-{os.getpid()}"
        self.rules = folder / "alertmanager.nft"
        self.rules.write_text(alertmanager_access(cluster, "# header\n"))
        conf = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}
        (folder / "conf.yml").write_text(json.dumps(conf))
        self.argv = (
            "prometheus-alertmanager", f"--config.file={folder}/conf.yml", f"--storage.path={folder}/data",
            "--cluster.listen-address=", "--web.listen-address=127.0.0.1:9093",
        )  # fmt: skip

    def run(self, *argv, **options):
        """A command on the host."""
        return subprocess.run(
            ["ip", "netns", "exec", self.space, *argv],
            capture_output=True,
            timeout=60,
            check=False,
            **options,
        )

    def load(self):
        """The rules, as the unit does."""
        assert self.run("nft", "-f", str(self.rules)).returncode == 0

    def silences(self, user, protocol=0):
        """Whether a process of the user silences all alerts."""
        body = json.dumps(SILENCE).encode()
        return (
            self.run("/usr/bin/python3", "-c", CONNECT, str(user), str(protocol), input=body).returncode == 0
        )

    @contextmanager
    def running(self):
        """With Alertmanager."""
        subprocess.run(["ip", "netns", "add", self.space], check=True, timeout=60)
        try:
            self.run("ip", "link", "set", "lo", "up")
            self.load()
            with subprocess.Popen(
                ["ip", "netns", "exec", self.space, *self.argv], stderr=subprocess.DEVNULL
            ) as server:
                try:
                    end = time.monotonic() + 30
                    while not self.silences(0):
                        assert time.monotonic() < end
                        time.sleep(0.1)
                    yield
                finally:
                    server.kill()
        finally:
            subprocess.run(["ip", "netns", "delete", self.space], check=True, timeout=60)


@pytest.fixture
def control(tmp_path, altered):
    """A control host with an admin and other users."""
    control = Control(tmp_path, altered({"users.alice.admin": True}))
    with control.running():
        yield control


def test_only_operators_silence_alerts(control):
    """Also by other protocols and by the ids of containers; a second load of the rules changes nothing."""
    control.load()
    for user in (0, PROMETHEUS, ALICE):
        assert control.silences(user), user
    for user in (BOB, EVE, SUBORDINATE, 65534):
        assert not control.silences(user), user
        assert not control.silences(user, getattr(socket, "IPPROTO_MPTCP", 262)), user


def test_alertmanager_starts_with_the_rules_only():
    """They are loaded before it listens, and a failure stops it."""
    assert f"ExecStartPre=+/usr/sbin/nft -f {RULES}" in DROP_IN.splitlines()


def test_the_login_of_wright_is_an_operator(altered):
    """By its name if it is no user of the cluster file."""
    changes = {"users.alice.admin": True}
    assert 'skuid "ubuntu" accept' in alertmanager_access(altered(changes | {"ssh": {"user": "ubuntu"}}), "")
    for name in ("root", "alice"):
        assert '"' not in alertmanager_access(altered(changes | {"ssh": {"user": name}}), "")


LISTEN = """import os, socket, sys
os.setgroups([]); os.setresuid(*3 * [int(sys.argv[1])])
with socket.create_server(("127.0.0.1", int(sys.argv[2]))) as server:
    print("listens", flush=True)
    while True:
        server.accept()[0].close()
"""
REACH = """import os, socket, sys
os.setresuid(*3 * [int(sys.argv[1])])
socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=2).close()
"""


@pytest.mark.parametrize("port", [PROMETHEUS_PORT, NOTIFY_PORT])
def test_who_takes_the_port_of_a_service_while_it_restarts_gets_no_alert_and_no_token(control, port):
    """Alertmanager would send its token, Prometheus its alerts, and operators would read forged metrics."""
    for user, is_reached in ((PROMETHEUS, True), (EVE, False), (ALICE, False), (SUBORDINATE, False)):
        argv = ["ip", "netns", "exec", control.space, "/usr/bin/python3", "-c", LISTEN, str(user), str(port)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout.readline() == b"listens\n"
                done = control.run("/usr/bin/python3", "-c", REACH, str(PROMETHEUS), str(port))
            finally:
                server.kill()

        assert (done.returncode == 0) == is_reached, user
