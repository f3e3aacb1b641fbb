"""The probes against real sockets, files and resolvers of this machine."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing
from importlib import resources

import pytest


def probe(name, *arguments, stdin=""):
    """What the probe prints, run as the reader runs it."""
    source = (resources.files("clusterwright.check.probes") / f"{name}.py").read_text()
    argv = [sys.executable, "-I", "-S", "-c", source, *map(str, arguments)]
    return json.loads(
        subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=30, check=True).stdout
    )


@pytest.fixture
def listener():
    """A port of the loopback on which something listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.fixture
def unused():
    """A port of the loopback on which nothing listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


def test_connect_tells_open_from_refused(listener, unused):
    """Many at once, each with its own outcome."""
    found = probe("connect", f"127.0.0.1:{listener}", f"-127.0.0.1:{unused}")

    assert found == {f"127.0.0.1:{listener}": "open", f"127.0.0.1:{unused}": "refused"}


def test_connect_tries_the_ports_that_hosts_said_they_listen_on(listener):
    """Ports come by host on stdin, addresses as arguments; a host without an address is left out."""
    found = probe("connect", "here=127.0.0.1", stdin=json.dumps({"here": [listener], "control": [22]}))

    assert found == {f"127.0.0.1:{listener}": "open"}


def test_a_token_written_by_one_host_is_found_and_removed(tmp_path):
    """What `read` finds it takes away; a host that left none is left out."""
    written = probe("shared", "write", "n1", tmp_path)

    assert probe("shared", "read", "c", tmp_path, stdin='{"n1": {}, "n2": {}}') == {
        str(tmp_path): {"n1": written[str(tmp_path)]["token"]}
    }
    assert list(tmp_path.iterdir()) == []


def test_a_token_replaces_the_one_of_an_interrupted_check(tmp_path):
    """What was left behind is taken away by the next check on that host."""
    first, second = (probe("shared", "write", "n1", tmp_path)[str(tmp_path)]["token"] for _ in range(2))

    assert first != second
    assert [path.read_text() for path in tmp_path.iterdir()] == [second]


def test_a_folder_that_is_not_there_is_an_error_with_its_name(tmp_path):
    """The errno's name and the system's words."""
    found = probe("shared", "write", "n1", tmp_path / "absent")

    assert found[str(tmp_path / "absent")] == {"token": "", "error": "ENOENT: No such file or directory"}


def test_a_symbolic_link_in_place_of_the_token_is_not_followed(tmp_path):
    """Anyone can put one into a folder that is open to all; root must not write through it."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / ".wright-check-n1").symlink_to(victim)

    probe("shared", "write", "n1", tmp_path / "shared")

    assert victim.read_text() == "precious"
    assert not (tmp_path / "shared" / ".wright-check-n1").is_symlink()


def test_a_symbolic_link_is_not_read_either(tmp_path):
    """A link to a secret is no token."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / ".wright-check-n1").symlink_to(tmp_path / "secret")

    assert probe("shared", "read", "c", tmp_path, stdin='{"n1": {}}') == {str(tmp_path): {}}


def test_names_are_resolved_both_ways():
    """By this machine's own resolver; what it does not know is empty."""
    found = probe("names", "localhost=127.0.0.1", "no-such-host.invalid=192.0.2.1")

    assert found["forward"]["localhost"] == ["127.0.0.1"]
    assert "localhost" in found["reverse"]["127.0.0.1"]
    assert found["forward"]["no-such-host.invalid"] == []


def ntp(ahead_s, packets):
    """An NTP packet of a server whose clock is that far from ours, for each that it received."""
    for data, came in packets:
        stamps = [came + ahead_s, time.time() + ahead_s]
        parts = [part for stamp in stamps for part in (int(stamp) + 2208988800, int(stamp % 1 * 2**32))]
        yield b"\x24\x0a" + bytes(22) + data[40:48] + struct.pack("!IIII", *parts)


@pytest.fixture
def time_server(monkeypatch):
    """Serves NTP on a port of the loopback; returns a function that runs the probe against it."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(5)

    def run(ahead_s, answer):
        def serve():
            for _ in range(4):
                try:
                    data, peer = server.recvfrom(512)
                except OSError:
                    return
                for packet in answer(next(ntp(ahead_s, [(data, time.time())]))):
                    server.sendto(packet, peer)

        threading.Thread(target=serve, daemon=True).start()
        source = (resources.files("clusterwright.check.probes") / "sntp.py").read_text()
        source = source.replace(", 123))", f", {server.getsockname()[1]}))")
        argv = [sys.executable, "-I", "-S", "-c", source, "127.0.0.1"]
        return json.loads(subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout)

    yield run
    server.close()


def test_sntp_measures_how_far_the_clock_is_behind(time_server):
    """A server that is 100 s ahead: this clock is 100 s behind, to within the round trip."""
    found = time_server(100.0, lambda packet: [packet])

    assert found["offset_s"] == pytest.approx(-100.0, abs=found["round_trip_s"] / 2 + 1e-3)


def test_sntp_ignores_an_answer_to_an_older_question(time_server):
    """Only the packet that carries our own mark back counts."""
    found = time_server(0.0, lambda packet: [packet[:24] + bytes(8) + packet[32:], packet])

    assert abs(found["offset_s"]) < 0.5
    assert found["round_trip_s"] >= 0


@pytest.mark.parametrize(
    "answer", [lambda _: [], lambda packet: [packet[:20]], lambda packet: [b"\x24\x00" + packet[2:]]]
)
def test_sntp_without_a_usable_answer_says_so(time_server, answer):
    """Silence, a short packet and the kiss of death hold no time."""
    assert time_server(0.0, answer) is None


def test_fetch_prints_one_line_for_a_refusal(unused):
    """The system's words; exit code 1."""
    source = (resources.files("clusterwright.check.probes") / "fetch.py").read_text()
    argv = [sys.executable, "-I", "-S", "-c", source, f"http://127.0.0.1:{unused}/metrics"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (1, "error: Connection refused\n", "")
