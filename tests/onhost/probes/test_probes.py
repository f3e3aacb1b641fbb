"""The probes against real sockets, files and resolvers of this machine."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from clusterwright.edge import bundler
from clusterwright.onhost.probes import kernel_log


def probe(name, *arguments, stdin=""):
    """What the probe prints, run as the reader runs it."""
    source = bundler.probe(name)
    argv = [sys.executable, "-I", "-S", "-c", source, *map(str, arguments)]
    return json.loads(
        subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=150, check=True).stdout
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
        source = bundler.probe("sntp")
        source = source.replace(", 123))", f", {server.getsockname()[1]}))")
        argv = [sys.executable, "-I", "-S", "-c", source, "127.0.0.1"]
        return json.loads(
            subprocess.run(argv, capture_output=True, text=True, timeout=150, check=True).stdout
        )

    yield run
    server.close()


def test_sntp_measures_how_far_the_clock_is_behind(time_server):
    """A server that is 100 s ahead: this clock is 100 s behind, to within the round trip."""
    found = time_server(100.0, lambda packet: [packet])

    assert found["offset_s"] == pytest.approx(-100.0, abs=found["round_trip_s"] / 2 + 1e-3)


def test_sntp_ignores_an_answer_to_an_older_question(time_server):
    """Only the packet that carries our own mark back counts."""
    found = time_server(0.0, lambda packet: [packet[:24] + bytes(8) + packet[32:], packet])

    assert abs(found["offset_s"]) <= found["round_trip_s"] / 2 + 1e-3
    assert found["round_trip_s"] >= 0


@pytest.mark.parametrize(
    "answer", [lambda _: [], lambda packet: [packet[:20]], lambda packet: [b"\x24\x00" + packet[2:]]]
)
def test_sntp_without_a_usable_answer_says_so(time_server, answer):
    """Silence, a short packet and the kiss of death hold no time."""
    assert time_server(0.0, answer) is None


def test_fetch_prints_one_line_for_a_refusal(unused):
    """The system's words; exit code 1."""
    source = bundler.probe("fetch")
    argv = [sys.executable, "-I", "-S", "-c", source, f"http://127.0.0.1:{unused}/metrics"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=150, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (1, "error: Connection refused\n", "")


def test_kernel_log_keeps_what_tells_and_says_where_from():
    """This machine's own log: times of now, and only lines that warn or match."""
    found = probe("kernel_log", "NVRM:|Linux version")

    assert found["source"] in ("journal", "dmesg", "")
    assert abs(found["now"] - time.time()) < 30
    assert all(when <= found["now"] + 60 for when, _priority, _text in found["lines"])
    assert all(
        grave <= 4 or "Linux version" in text or "NVRM:" in text for _when, grave, text in found["lines"]
    )


def test_kernel_log_reads_the_journal_and_keeps_its_latest_lines(tmp_path, monkeypatch):
    """Of many lines, one not text, the latest are kept and the others counted; with what is said to be fixed."""
    rows = [
        {"__REALTIME_TIMESTAMP": str(step * 10**6), "PRIORITY": "4", "MESSAGE": f"line {step}"}
        for step in range(2500)
    ]
    rows += [
        {"__REALTIME_TIMESTAMP": "9000000000", "PRIORITY": "6", "MESSAGE": [78, 86, 82, 77, 58, 32, 255]}
    ]
    (tmp_path / "rows").write_text("".join(json.dumps(row) + "\n" for row in rows) + "torn {\n")
    mark = json.dumps(
        {"__REALTIME_TIMESTAMP": "9100000000", "PRIORITY": "5", "MESSAGE": "repaired 0000:3b:00"}
    )
    fields = "-t clusterwright _UID=0 _SYSTEMD_UNIT=clusterwright-repair.service"
    words = f'case "$*" in *" {fields}"*) echo \'{mark}\' ;; *" -k"*) cat {tmp_path}/rows ;; esac'
    (tmp_path / "journalctl").write_text(f"#!/bin/sh\n{words}\n")
    (tmp_path / "journalctl").chmod(0o755)
    # The probe finds its programs by PATH, which is the only seam that a script on a host has.
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    found = probe("kernel_log", "NVRM:")

    assert found["source"] == "journal"
    assert (len(found["lines"]), found["left_out"]) == (2001, 501)
    assert found["lines"][-2:] == [
        [9000.0, 6, "NVRM: \ufffd"],
        [9100.0, 5, "clusterwright repaired 0000:3b:00"],
    ]
    assert found["lines"][0][2] == "line 501"


def test_a_line_end_in_a_record_of_the_ring_buffer_begins_no_message(tmp_path, monkeypatch):
    """In EL 8, dmesg prints it, and a user chooses what follows; the record has it escaped."""
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus"
    gpu = "NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: fallen off the bus and is not responding"
    rows = (f"segfault in x\\x0a<4>[    9.0] {xid}", xid.replace("3b", "4b"), gpu, "name \\xe2\\x82\\xac")
    pieces = [f"4,{n},{n}500000,-,caller=T9;{row}\n SUBSYSTEM=pci\n".encode() for n, row in enumerate(rows)]
    pieces[1:1] = [BrokenPipeError()]  # overwritten before it was read

    def read(_handle, _size):
        if not pieces:
            raise BlockingIOError
        if isinstance(pieces[0], OSError):
            raise pieces.pop(0)
        return pieces.pop(0)

    (tmp_path / "kmsg").write_text("")
    monkeypatch.setattr(kernel_log.os, "read", read)  # a file gives all records at once
    texts = [text for _time, _priority, text in kernel_log.ring_buffer(str(tmp_path / "kmsg"))]

    assert texts == ["segfault in x", xid.replace("3b", "4b"), *gpu.split("\\x0a"), "name \u20ac"]


SMI = """#!{python}
import sys
known, rows = {known}, {rows}
switch, names = next(each for each in sys.argv if each.startswith("--query")).split("=", 1)
chosen = sys.argv[sys.argv.index("-i") + 1] if "-i" in sys.argv else ""
for name in names.split(","):
    if name not in known[switch]:
        print(f'Field "{{name}}" is not a valid field to query.\\n')
        sys.exit(2)
lost = [row for row in rows if row.get("lost") and chosen in ("", row["index"])]
if lost:
    print("Unable to determine the device handle for GPU0000:91:00.0: Unknown Error")
    sys.exit(255)
for row in rows:
    if chosen in ("", row["index"]):
        print(", ".join(row.get(name, "[N/A]") for name in names.split(",")))
print("WARNING: infoROM is corrupted at gpu 0000:3B:00.0")
"""


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """An nvidia-smi that knows these fields and has these GPUs, found by PATH as on a host."""

    def put(known, rows, rows_known=()):
        switches = {"--query-gpu": list(known), "--query-remapped-rows": list(rows_known)}
        (tmp_path / "nvidia-smi").write_text(SMI.format(python=sys.executable, known=switches, rows=rows))
        (tmp_path / "nvidia-smi").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return put


FIELDS = [["index"], ["uuid"], ["reasons.new", "reasons.old"], ["tlimit"], ["remapped_rows.pending"]]


def test_a_field_that_a_driver_does_not_know_blinds_nothing_else(nvidia_smi):
    """The other name is tried, what has none is left out, and remapped rows have a query of their own."""
    row = {
        "index": "0",
        "uuid": "GPU-a",
        "gpu_uuid": "GPU-a",
        "reasons.old": "0x1",
        "remapped_rows.pending": "Yes",
    }
    nvidia_smi(["index", "uuid", "reasons.old"], [row], ["gpu_uuid", "remapped_rows.pending"])

    found = probe("nvidia_smi", 1, json.dumps(FIELDS))

    assert found["rows"] == [
        {"index": "0", "uuid": "GPU-a", "reasons.new": "0x1", "remapped_rows.pending": "Yes"}
    ]
    assert found["refused"] == ["remapped_rows.pending", "tlimit"]
    assert found["said"] == ["WARNING: infoROM is corrupted at gpu 0000:3B:00.0"]


def test_a_lost_gpu_hides_no_other(nvidia_smi):
    """Where the whole query fails for it, each is asked for by itself."""
    rows = [{"index": str(index), "uuid": f"GPU-{index}", "lost": index == 1} for index in range(3)]
    nvidia_smi(["index", "uuid"], rows)

    found = probe("nvidia_smi", 3, json.dumps([["index"], ["uuid"]]))

    assert [row["index"] for row in found["rows"]] == ["0", "2"]
    assert found["said"][0].startswith("Unable to determine the device handle")
    assert found["code"] == 255


def test_a_host_without_nvidia_smi_says_so(tmp_path, monkeypatch):
    """Both probes that ask it."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert probe("nvidia_smi", 1, '[["index"]]')["absent"]
    assert probe("gpu_processes")["absent"]


def test_a_folder_answers_or_says_why_not(tmp_path):
    """Seconds of the call itself, and the kernel's words for what is not there."""
    found = probe("answers", "/", tmp_path, "/not-there")

    assert 0 <= found["/"] < 5
    assert 0 <= found[str(tmp_path)] < 5
    assert found["/not-there"] == "No such file or directory"


def test_a_folder_that_does_not_answer_holds_nobody_up():
    """A call that hangs is given up after its limit, and the answer is printed and read to its end."""
    source = bundler.probe("answers")
    hang = "os.statvfs = lambda path, real=os.statvfs: time.sleep(15) if path == '/hangs' else real(path)"
    program = source.replace("\n\nmain()\n", f"\n\n{hang}\nmain()\n")
    began = time.monotonic()

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, "/", "/hangs"],
        capture_output=True, text=True, timeout=50, check=True,
    )  # fmt: skip

    assert 5 <= time.monotonic() - began < 40
    assert json.loads(done.stdout)["/hangs"] == "no answer"
    assert json.loads(done.stdout)["/"] < 5


def test_stuck_finds_a_zombie_and_nobody_who_moves():
    """A child that ended and was not waited for; this test itself is not stuck."""
    with subprocess.Popen(["/bin/true"]) as child:
        deadline = time.monotonic() + 10
        while Path(f"/proc/{child.pid}/stat").read_text().split()[2] != "Z" and time.monotonic() < deadline:
            time.sleep(0.01)
        found = probe("stuck")

    assert [child.pid, "true"] in found["zombies"]
    assert child.pid not in [pid for pid, _name in found["stuck"]]
    assert found["all"] > 1
