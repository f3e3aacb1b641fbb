"""What this machine is, and what is looked for on it."""

import os
import subprocess
import sys
from contextlib import contextmanager

from clusterwright.lab.demo import local_machine

SLEEP = "import time; print(flush=True); time.sleep(60)"


@contextmanager
def started(*words, **environment):
    """A process that runs its own program: until it has said so, it may have no command line."""
    argv, env = [sys.executable, "-c", SLEEP, *words], {**os.environ, **environment}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline() == b"\n"
            yield child.pid
        finally:
            child.kill()


def test_the_machine_says_what_it_is():
    """Every figure of the report stands beside it."""
    assert local_machine.machine().keys() == {"processor", "cores", "memory", "system", "kernel"}
    assert all(local_machine.machine().values())
    assert local_machine.software()["python"].startswith(f"{sys.version_info.major}.")


def test_processes_are_found_by_what_they_were_started_with(tmp_path):
    """By a variable of their environment, or by the words of their command line; and not when they are gone."""
    mark = str(tmp_path / "run")
    with started(mark, DEMO_TEST=mark, RANK="3") as pid:
        found = local_machine.processes("DEMO_TEST", mark)
        assert list(found) == [pid]
        assert found[pid]["RANK"] == "3"
        assert local_machine.commands("time.sleep", mark) == [pid]
        assert local_machine.commands("other words", mark) == []
    assert local_machine.processes("DEMO_TEST", mark) == {}


def test_the_remains_of_a_lab_are_seen_without_asking_its_journal(tmp_path):
    """A folder, and a process that works in it."""
    folder = tmp_path / "labs" / "no-such-lab"
    assert local_machine.remains("cw-no-such", folder) == []

    folder.mkdir(parents=True)
    with started(f"{folder}/hosts") as pid:
        assert local_machine.remains("cw-no-such", folder) == [f"process {pid}", f"folder {folder}"]
