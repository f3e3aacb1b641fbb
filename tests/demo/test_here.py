"""What this machine is, and what is looked for on it."""

import os
import subprocess
import sys

from clusterwright.demo import here

SLEEP = "import time; time.sleep(60)"


def test_the_machine_says_what_it_is():
    """Every figure of the report stands beside it."""
    assert here.machine().keys() == {"processor", "cores", "memory", "system", "kernel"}
    assert all(here.machine().values())
    assert here.software()["python"].startswith(f"{sys.version_info.major}.")


def test_processes_are_found_by_what_they_were_started_with(tmp_path):
    """By a variable of their environment, or by the words of their command line; and not when they are gone."""
    mark = str(tmp_path / "run")
    child = subprocess.Popen(
        [sys.executable, "-c", SLEEP, mark], env={**os.environ, "DEMO_TEST": mark, "RANK": "3"}
    )
    try:
        found = here.processes("DEMO_TEST", mark)
        assert list(found) == [child.pid]
        assert found[child.pid]["RANK"] == "3"
        assert here.commands("time.sleep", mark) == [child.pid]
        assert here.commands("other words", mark) == []
    finally:
        child.kill()
        child.wait()
    assert here.processes("DEMO_TEST", mark) == {}


def test_the_remains_of_a_lab_are_seen_without_asking_its_journal(tmp_path):
    """A folder, and a process that works in it."""
    folder = tmp_path / "labs" / "no-such-lab"
    assert here.remains("cw-no-such", folder) == []

    folder.mkdir(parents=True)
    child = subprocess.Popen([sys.executable, "-c", SLEEP, f"{folder}/hosts"])
    try:
        assert here.remains("cw-no-such", folder) == [f"process {child.pid}", f"folder {folder}"]
    finally:
        child.kill()
        child.wait()
