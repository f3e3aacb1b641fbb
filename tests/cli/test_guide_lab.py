"""`wright guide` from its answers to a finished training, on a lab."""

import json
import os
import subprocess
import sys

import pytest
from tests.cli.guide_terminal import NEXT, Terminal

from clusterwright import lab
from clusterwright.config.load import load_cluster

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(900)]

NAME, NET = "guide-tests", "10.247"
ANSWERS = ("--hosts", "2", "--gpu", "h100", "--gpus", "2", "--os", "rocky-9", "--train", "gpt")


def guide(folder, *arguments):
    """Run the command in the folder; return exit code and output."""
    done = subprocess.run(
        [sys.executable, "-m", "clusterwright", "guide", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_answers_become_a_training(tmp_path):
    """Each step runs and shows its command, from the first that has not finished; a second time nothing is left."""
    write_files(tmp_path)
    try:
        code, output = guide(tmp_path, "--yes")

        assert code == 0, output
        state = json.loads((tmp_path / ".wright-guide.json").read_text())
        assert state["finished"] == [
            *("init", "validate", "expect", "size", "lab", "preview", "apply", "check", "train", "jobs")
        ]
        assert "$ wright init" not in output
        assert "$ wright apply --cluster lab.yaml --yes" in output
        assert "the first day is complete" in output
        assert "finished" in output[output.index("$ wright jobs") :]
        assert load_cluster(tmp_path / "cluster.yaml").os == "rocky-9"
        assert guide(tmp_path, "--yes")[1].count("$ wright") == 0
    finally:
        assert lab.down(NAME) == []


def write_files(folder):
    """Run the first step alone; then give the lab a name and subnets of its own, as a user may edit the files."""
    terminal = Terminal(folder, *ANSWERS)
    terminal.wait_for(NEXT)
    terminal.answer("", NEXT)
    terminal.answer("q", "wright guide")
    assert terminal.end() == 0
    for name in ("cluster.yaml", "lab.yaml"):
        text = (folder / name).read_text()
        (folder / name).write_text(
            text.replace("10.77.", f"{NET}.").replace("name: lab\n", f"name: {NAME}\n")
        )
