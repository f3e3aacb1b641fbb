"""A trial of a training on this machine: real ranks, ended once they have done their steps."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.onhost.bench import trial

HERE = Path(trial.__file__)
SOURCE = Path(__file__).parents[3] / "src"
RECIPE = (
    f"export PYTHONPATH={SOURCE}\nexec {sys.executable} -m clusterwright.runtime.recipes.gpt --steps=100000 --width=16"
    " --layers=1 --context=8 --batch=2 --text-bytes=20000 --evaluate-every=100000"
)


def ran(tmp_path, script, **given):
    """The exit code, what it printed, what it said, and the folder of the run."""
    (tmp_path / "programs").mkdir()
    shutil.copy(HERE, tmp_path / "programs")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    asked = {
        "name": "00001", "script": script, "workdir": "", "address": "127.0.0.1", "port": port, "interface": "lo",
        "ranks": 2, "first_rank": 0, "ranks_here": 2, "skip": 2, "steps": 4, **given,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, tmp_path / "programs" / HERE.name], input=json.dumps(asked), capture_output=True,
        text=True, timeout=280, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr, tmp_path / "trials" / "00001"


def left(marker):
    """Processes whose environment or command line has that in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in text and process.name != str(os.getpid()):
            found.append(process.name)
    return found


@pytest.mark.train
@pytest.mark.timeout(300)
def test_ranks_train_for_some_steps_and_are_ended(tmp_path):
    """As many as were asked for are told, nothing is saved, and no process is left."""
    code, out, err, run = ran(tmp_path, RECIPE)
    found = json.loads(out)

    assert code == 0, err
    assert len(found["seconds"]) == 4
    assert min(found["seconds"]) > 0
    assert found["loss"] > 0
    assert found["cpus"] >= 1
    assert not list((run / "checkpoints").glob("step*"))
    assert left(str(run)) == []


def test_a_rank_that_dies_is_told_with_its_last_words_and_takes_the_others_along(tmp_path):
    """One goes on for ever, were it not ended."""
    script = 'if [ "$RANK" = 0 ]; then echo "ValueError: no data" >&2; exit 3; fi; exec sleep 100000'
    code, _out, err, run = ran(tmp_path, script)

    assert code == 1
    assert "ValueError: no data" in err
    assert "exited with 3, -9" in err
    assert left(str(run)) == []
