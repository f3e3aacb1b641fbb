"""Progress of long operations, on terminals of two widths, in pipes, and where nobody wants it."""

import fcntl
import io
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest
from rich.cells import cell_len

from clusterwright.cli import _progress
from clusterwright.cli._progress import (
    ProgressState,
    block_lines,
    plain_line,
    progress,
    shorten,
    summary_line,
)
from clusterwright.cli._show import show_message
from clusterwright.edge.progress import ProgressEvent

# An operation of 1.2 s on 20 hosts: two done, ten at work on a long step, one of them with a hostile name of a step.
OPERATION = """
import sys, time
from clusterwright.cli import _progress
from clusterwright.cli._progress import progress
from clusterwright.cli._show import show_message
from clusterwright.edge.progress import ProgressEvent
_progress.FIRST_S, _progress.LIVE_S, _progress.PLAIN_S = 0.1, 0.1, 0.4
with progress("apply") as shown:
    for number in range(20):
        shown.on_event(ProgressEvent(f"gpu-node{number}"))
    for number in range(10):
        shown.on_event(ProgressEvent(f"gpu-node{number}", "slurm: file:/etc/slurm/" + "x" * 60))
    shown.on_event(ProgressEvent("gpu-node2", "\\x1b[2J\\nevil \\u4f60\\u597d"))
    for number in range(2):
        shown.on_event(ProgressEvent(f"gpu-node{number}", is_finished=True))
    time.sleep(0.5)
    show_message("gpu-node3: rebooting")
    time.sleep(0.7)
    LAST
print("result")
"""


def run_on_terminal(columns, last="pass", *, term="xterm", interrupt_s=0.0):
    """Run the operation on a terminal of this width; return its exit code and all that it wrote."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", OPERATION.replace("LAST", last)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": term},
    )
    os.close(terminal)
    if interrupt_s:
        time.sleep(interrupt_s)
        process.send_signal(signal.SIGINT)
    output = b""
    while True:
        try:
            data = os.read(main, 65536)
        except OSError:  # the program has closed the terminal
            break
        if not data:
            break
        output += data
    os.close(main)
    return process.wait(timeout=20), output.decode()


def screen(text):
    """Return the lines that remain on a terminal: of the sequences that the progress writes, all are known here."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\d*[AJ]|\r|\n|[^\x1b\r\n]+|\x1b", text):
        if part.endswith("A") and part.startswith("\x1b["):
            row -= int(part[2:-1])
        elif part == "\x1b[J":
            lines = [*lines[:row], lines[row][:column]]
        elif part == "\r":
            column = 0
        elif part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        else:
            assert part != "\x1b", "a sequence that is not the progress's own"
            lines[row] = lines[row][:column] + part
            column = len(lines[row])
    return lines


def state_of(*events, title="apply"):
    """The state after these events."""
    state = ProgressState(title)
    for event in events:
        state.add(event)
    return state


EVENTS = (
    ProgressEvent("a"), ProgressEvent("b"), ProgressEvent("c"), ProgressEvent("a", "slurm: unit:slurmd.service"),
    ProgressEvent("b", "x"), ProgressEvent("b", is_finished=True),
)  # fmt: skip


def test_a_summary_counts_the_hosts_that_are_done():
    """Of all that were announced; without hosts, the newest message says what happens."""
    booting = ProgressState("lab up", message="booting a")

    assert summary_line(state_of(*EVENTS), 12.3) == "apply: 12 s, 1 of 3 hosts done"
    assert summary_line(booting, 0.4) == "lab up: 1 s, booting a"
    assert summary_line(ProgressState("plan search"), 200) == "plan search: 3 min 20 s"


def test_a_host_that_begins_again_is_not_done():
    """A second batch or phase of the same hosts."""
    state = state_of(*EVENTS, ProgressEvent("b", "again"))

    assert summary_line(state, 1) == "apply: 1 s, 0 of 3 hosts done"
    assert state.running == [("a", "slurm: unit:slurmd.service"), ("b", "again")]


def test_a_block_has_a_line_for_each_host_at_work():
    """Hosts that wait or are done have none."""
    assert block_lines(state_of(*EVENTS), 5, 80, 24) == [
        "apply: 5 s, 1 of 3 hosts done",
        "  a  slurm: unit:slurmd.service",
    ]


@pytest.mark.parametrize(("height", "expected"), [(24, 8), (6, 4), (3, 1), (2, 0), (1, 0)])
def test_a_block_is_never_higher_than_the_terminal(height, expected):
    """A hundred hosts at work: as many lines as fit, the last counts the others."""
    state = state_of(*(ProgressEvent(f"n{number}", "works") for number in range(100)))
    lines = block_lines(state, 5, 80, height)

    assert len(lines) == 1 + expected
    if expected:
        assert lines[-1] == f"  and {100 - expected + 1} more hosts"


@pytest.mark.parametrize("width", [1, 2, 3, 10, 40, 80])
def test_no_line_is_wider_than_the_terminal(width):
    """Also not where a sign takes two columns, and not in its last column, where terminals wrap."""
    state = state_of(ProgressEvent("gpu-node1", "你好" * 50), ProgressEvent("b" * 100, "x"))

    assert all(cell_len(line) <= max(0, width - 1) for line in block_lines(state, 5, width, 24))


def test_a_line_for_a_log_names_the_first_hosts_at_work():
    """And how many more there are."""
    state = state_of(*(ProgressEvent(f"n{number}", "works") for number in range(5)))

    assert plain_line(state, 10) == (
        "apply: 10 s, 0 of 5 hosts done; n0 (works), n1 (works), n2 (works), 2 more"
    )


def test_what_hosts_report_is_cleaned():
    """A step's name comes from a host."""
    state = state_of(ProgressEvent("a", "\x1b[2J\nevil"))

    assert "\x1b" not in "".join(block_lines(state, 1, 80, 24)) + plain_line(state, 1)
    assert "\n" not in plain_line(state, 1)


def test_a_text_that_fits_is_not_cut():
    """And one that does not ends with dots."""
    assert (shorten("abcde", 5), shorten("abcdef", 5), shorten("abc", 2)) == ("abcde", "ab...", "..")


@pytest.mark.parametrize("columns", [80, 40])
def test_on_a_terminal_a_block_is_drawn_and_removed(columns):
    """Messages stay above it, nothing is wider than the terminal, and the result stands alone at the end."""
    code, text = run_on_terminal(columns)
    drawn = re.split(r"\x1b\[\d*[AJ]|[\r\n]", text)

    assert code == 0
    assert "apply: 1 s, 2 of 20 hosts done" in text
    assert any(line.startswith("  gpu-node3  slurm: file:/etc/slurm/") for line in drawn)
    assert all(cell_len(line) < columns for line in drawn)
    assert [line for line in screen(text) if line] == ["gpu-node3: rebooting", "result"]
    assert "\x1b[2J" not in text


def test_an_exception_and_an_interrupt_leave_a_clean_terminal():
    """No line of the block, no hidden cursor, and the error below."""
    _code, text = run_on_terminal(80, last="raise SystemExit('failed')")
    interrupted, interrupted_text = run_on_terminal(80, last="time.sleep(60)", interrupt_s=2.5)

    assert [line for line in screen(text) if line] == ["gpu-node3: rebooting", "failed"]
    assert interrupted != 0
    assert not any("hosts done" in line for line in screen(interrupted_text))
    assert "\x1b[?25" not in text + interrupted_text


def test_a_dumb_terminal_gets_plain_lines():
    """Such as the shell of an editor."""
    _code, text = run_on_terminal(80, term="dumb")

    assert "\x1b" not in text
    assert text.count("apply: 1 s, 2 of 20 hosts done; gpu-node2 (") in (2, 3)


def test_a_pipe_gets_a_line_at_each_interval():
    """On stderr alone, without any sequence."""
    done = subprocess.run(
        [sys.executable, "-c", OPERATION.replace("LAST", "pass")], capture_output=True, text=True, check=True
    )
    lines = done.stderr.splitlines()

    assert done.stdout == "result\n"
    assert "\x1b" not in done.stderr
    assert sum(line.startswith("apply: 1 s, 2 of 20 hosts done; ") for line in lines) in (2, 3)
    assert [line for line in lines if not line.startswith("apply: ")] == ["gpu-node3: rebooting"]


@pytest.mark.parametrize("how", ["json", "quiet"])
def test_json_and_quiet_show_nothing(how, monkeypatch):
    """And start no thread."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress, "PLAIN_S", 0.01)
    if how == "quiet":
        monkeypatch.setenv("CLUSTERWRIGHT_QUIET", "1")
    with progress("apply", quiet=how == "json") as shown:
        shown.on_event(ProgressEvent("a", "works"))
        time.sleep(0.1)
        names = [thread.name for thread in threading.enumerate()]

    assert stream.getvalue() == ""
    assert "progress" not in names


def test_no_thread_is_left(monkeypatch):
    """Neither at the end nor after an exception; a progress inside another one is the same one."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress("upgrade") as outer, progress("apply") as inner:
        names = [thread.name for thread in threading.enumerate()]
    with pytest.raises(KeyError), progress("apply"):
        raise KeyError

    assert inner is outer
    assert names.count("progress") == 1
    assert "progress" not in [thread.name for thread in threading.enumerate()]


def test_nothing_is_shown_while_a_person_answers(monkeypatch):
    """And the time of the answer is no time of the operation."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress, "PLAIN_S", 0.05)
    with progress("apply") as shown:
        with shown.paused():
            time.sleep(1.6)
            during = stream.getvalue()
        time.sleep(0.3)

    assert during == ""
    assert stream.getvalue().splitlines()[0] == "apply: 1 s"


def test_an_operation_goes_on_without_stderr(monkeypatch):
    """A closed stderr ends the progress, not the apply."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress, "PLAIN_S", 0.02)
    result = []
    with progress("apply") as shown:
        stream.close()
        time.sleep(0.1)
        shown.on_event(ProgressEvent("a", is_finished=True))
        result.append("applied")

    assert result == ["applied"]


def test_messages_without_progress_are_written_at_once(capsys):
    """As ever."""
    show_message("text")

    assert capsys.readouterr().err == "text\n"
