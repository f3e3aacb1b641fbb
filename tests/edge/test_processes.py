"""Who hears Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.edge.processes import CommandResult, run

CHILD = "import time; print('on', flush=True); time.sleep(1); print('over', flush=True)"
PROGRAM = f"""
import signal, sys
from clusterwright.edge.processes import stream
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
sys.exit(stream([sys.executable, "-c", {CHILD!r}], ignore_interrupts=sys.argv[1] == "deaf"))
"""


@pytest.mark.parametrize(("how", "said", "code"), [("deaf", "heard\nover\n", 0), ("hearing", "", -2)])
def test_a_command_that_is_deaf_outlives_the_terminals_interrupt(how, said, code):
    """The signal goes to the whole group; else it ends the command, and us."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "on\n"
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()

    assert (rest, process.returncode) == (said, code)


@pytest.mark.parametrize("to", ["", ">&2"])
def test_a_command_that_prints_too_much_is_stopped(to, tmp_path):
    """Its output is dropped, and its children end with it."""
    result = run(
        ["sh", "-c", f"sleep 60 & echo $! >{tmp_path}/pid; head -c 100M /dev/zero {to}"], timeout_s=9
    )

    assert not result.ok
    assert result.out == ""
    assert result.last_lines() == "the program printed more than 64 MiB and was stopped"
    assert not Path("/proc", (tmp_path / "pid").read_text().strip(), "fd/1").exists()


def test_the_last_lines_for_a_message_are_short():
    """A compromised host can print megabytes without a line end, or nothing but line ends."""
    for err in ("a" * 3_000_000, "\n" * 3_000_000 + "a" * 3_000_000 + "\n" + "b" * 3_000_000):
        text = CommandResult((), 1, "", err, 0.1).last_lines(2)

        assert 0 < len(text) <= 2001
