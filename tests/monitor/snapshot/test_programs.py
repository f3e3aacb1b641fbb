"""Slurm's programs are asked within a time, whatever they do."""

import os
import time
from pathlib import Path

import pytest

from clusterwright.onhost.snapshot import programs


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program of some name that does what a shell line says."""

    def make(name, does):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{does}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return make


def test_one_that_hangs_is_killed_with_its_children(program, tmp_path):
    """A slurmctld that does not answer must not hold up the others."""
    program("squeue", f"sleep 1000 & echo $! >{tmp_path}/child; wait")
    before = time.monotonic()
    answer = programs.run_program(["squeue"], 0.5)

    assert answer == ("", "squeue did not respond within 0.5 s")
    assert time.monotonic() - before < 30
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "cmdline"
    end = time.monotonic() + 30
    while child.exists() and child.read_text():  # what has ended and is not waited for has no command line
        assert time.monotonic() < end, "its child is alive"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("echo slurm_load_jobs error: Unable to contact slurm controller >&2; exit 1",
         "squeue: slurm_load_jobs error: Unable to contact slurm controller"),
        ("echo said on stdout; exit 3", "squeue: said on stdout"),
        ("exit 3", "squeue: exit code 3"),
    ],
)  # fmt: skip
def test_one_that_fails_says_why(program, does, why):
    """In its own last words."""
    program("squeue", does)

    assert programs.run_program(["squeue"], 10) == ("", why)


def test_one_that_is_not_there_says_so():
    """A control host without accounting has no sshare."""
    assert programs.run_program(["no-such-program"], 10) == ("", "no-such-program: No such file or directory")


def test_what_a_shell_asks_for_itself_is_left_out(program, monkeypatch):
    """SQUEUE_STATES and the like would hide jobs; times are seconds."""
    monkeypatch.setenv("SQUEUE_STATES", "RUNNING")
    monkeypatch.setenv("SLURM_CONF", "/etc/other.conf")
    program("squeue", 'echo "$SQUEUE_STATES,$SLURM_CONF,$SLURM_TIME_FORMAT"; printf "\\377\\n"')

    text, why = programs.run_program(["squeue"], 10)
    assert (text.splitlines()[0], why) == (",/etc/other.conf,%s", "")
