"""The program as systemd starts it: scraped, with and without certificates, killed, and held by a driver."""

import os
import socket
import ssl
import time

import pytest

from clusterwright.edge.certificates import certificates
from clusterwright.edge.clock import SystemClock
from clusterwright.onhost.exporter import server


@pytest.fixture
def port():
    """One that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def up(name, value=1):
    """The line that says whether a collector answers."""
    return f'clusterwright_collector_up{{collector="{name}"}} {value}\n'


def test_what_a_host_has_is_scraped(exporter, settings, gpus, port, samples):
    """Each collector answers, and the text is whole."""
    running = exporter(settings(port=port, gpus=8, slurmd=True, paths=["/"], journal=True, proc="/proc"))
    text = running.until(lambda said: up("gpus") in said and up("file_systems") in said)
    found = samples(text)

    assert found["gpus_seen",] == found["gpus_declared",] == 8
    assert found["file_system_answers", ("path", "/")] == 1
    running.end()
    assert running.process.returncode == 0


def test_a_driver_that_hangs_holds_no_scrape(exporter, settings, gpus, port):
    """The answer comes at once, without its values; when it answers again, they are there."""
    running = exporter(settings(port=port, gpus=8, paths=["/"]))
    running.until(lambda said: up("gpus") in said)
    gpus.put("hang", {"driver.hangs": 1})
    running.until(lambda said: up("gpus", 0) in said)
    times = []
    for _ in range(20):
        began = time.monotonic()
        text = running.scrape()
        times.append(time.monotonic() - began)
        assert "clusterwright_gpus_seen" not in text
    gpus.take("hang")

    assert sorted(times)[10] < 1
    assert "clusterwright_gpus_seen 8" in running.until(lambda said: up("gpus") in said, 150)


def test_whoever_answers_scrapes_is_started_again(exporter, settings, port, tmp_path):
    """Killed by its number, as the kernel might."""
    running = exporter(settings(port=port, paths=["/"]))
    running.until(lambda said: up("file_systems") in said)
    for pid in _children(running.process.pid):
        os.kill(pid, 9)
    text = running.until(lambda said: "clusterwright_exporter_server_restarts_total 1" in said)

    assert up("file_systems") in text


def test_nothing_outlives_it(exporter, settings, port):
    """Killed itself, it leaves nobody who answers."""
    running = exporter(settings(port=port, paths=["/"]))
    running.until(lambda said: up("file_systems") in said)
    running.end(9)
    end = time.monotonic() + 20
    while running.scrape():
        assert time.monotonic() < end
        time.sleep(0.1)

    assert running.process.returncode == -9


def test_a_path_that_is_none_is_not_found(exporter, settings, port):
    """And one connection serves many requests."""
    running = exporter(settings(port=port, paths=["/"]))
    running.until(bool)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as one, one.makefile("rb") as answers:
        for path, status in ((b"/", b"404"), (b"/metrics", b"200"), (b"/metrics?x=1", b"200")):
            one.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answers.readline().split()[1] == status
            head = list(iter(answers.readline, b"\r\n"))
            answers.read(next(int(line.split()[1]) for line in head if b"Length" in line))
        one.sendall(b"POST /metrics HTTP/1.1\r\n\r\n")
        assert answers.readline().split()[1] == b"405"


@pytest.mark.parametrize("words", [["--settings", "/none"], []])
def test_settings_that_cannot_be_read_end_it_with_words(words, tmp_path, capsys):
    """Which file, and why."""
    from clusterwright.onhost.exporter.__main__ import main

    broken = tmp_path / "broken.json"
    broken.write_text('{"port": "ninety"}')

    assert main(words or ["--settings", str(broken)]) == 2
    assert ("/none" if words else "port") in capsys.readouterr().err


@pytest.fixture
def tls(tmp_path, settings):
    """The cluster's authority, a host's certificate, and that of a stranger's authority."""
    made = {}
    for whose in ("ours", "strangers"):
        (tmp_path / whose).mkdir()
        made[whose] = certificates(tmp_path / whose, {"host": "DNS:localhost,IP:127.0.0.1"}, SystemClock())
        for name, data in made[whose].items():
            (tmp_path / whose / name.replace("tls/", "")).write_bytes(data)

    def lay(whose="ours"):
        for name, data in made[whose].items():
            with open(os.path.join(settings().tls, name.replace("tls/", "")), "wb") as file:
                file.write(data)

    lay()
    return tmp_path, lay


def fetched(port, folder, whose, shown):
    """Over TLS: believing that authority, showing that certificate, or none."""
    context = ssl.create_default_context(cafile=folder / whose / "ca.crt")
    if shown:
        context.load_cert_chain(folder / shown / "host.crt", folder / shown / "host.key")
    plain = socket.create_connection(("127.0.0.1", port), timeout=10)
    with plain, context.wrap_socket(plain, server_hostname="localhost") as talks:
        talks.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        return b"".join(iter(lambda: talks.recv(65536), b"")).decode()


def wait_for(port):
    """Somebody listens."""
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)
        else:
            return


def test_only_the_clusters_own_are_let_in(exporter, settings, port, tls):
    """Nobody in the clear, nobody without a certificate, nobody with another authority's."""
    folder, _ = tls
    running = exporter(settings(port=port, paths=["/"]))
    wait_for(port)

    assert "clusterwright_exporter_server_restarts_total" in fetched(port, folder, "ours", "ours")
    assert running.scrape() == ""
    for shown in (None, "strangers"):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            fetched(port, folder, "ours", shown)


def test_new_certificates_are_taken_without_a_restart(exporter, settings, port, tls):
    """They end a year before they would be too old; another authority's are noticed within seconds."""
    folder, lay = tls
    running = exporter(settings(port=port, paths=["/"]))
    wait_for(port)
    lay("strangers")
    end = time.monotonic() + 60
    while True:
        try:
            text = fetched(port, folder, "strangers", "strangers")
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.5)
        else:
            break

    assert "clusterwright_collector_up" in text
    assert running.process.poll() is None


def test_one_who_says_nothing_keeps_no_place(settings, port, tls, monkeypatch):
    """Sixteen of them are put out after five seconds, and the next is served."""
    folder, _ = tls
    monkeypatch.setattr(server, "REQUEST_TIMEOUT_S", 0.5)
    monkeypatch.setattr(server, "CHECK_INTERVAL_S", 0.2)
    process = server.start(settings(port=port))
    try:
        wait_for(port)
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(server.MOST_AT_ONCE)]
        end = time.monotonic() + 30
        while True:
            try:
                text = fetched(port, folder, "ours", "ours")
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.2)
            else:
                break
        assert text.startswith("HTTP/1.1 200")
        for each in silent:
            each.close()
    finally:
        process.end()


def _children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return list(map(int, file.read().split()))


def test_it_sleeps_between_two_rounds(exporter, settings, port):
    """Nothing is due for seconds, so nothing is done: of ten seconds it has used one at the very most."""
    running = exporter(settings(port=port, paths=["/"]))
    running.until(lambda said: up("file_systems") in said)
    time.sleep(6)  # longer than what looks after the server waits
    before = _ticks(running.process.pid)
    time.sleep(10)

    assert (_ticks(running.process.pid) - before) / os.sysconf("SC_CLK_TCK") < 1


def _ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
