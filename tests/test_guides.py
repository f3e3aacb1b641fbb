"""The commands of a guide are run as they stand there, in order, on a lab."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright import lab

GUIDES = Path(__file__).parents[1] / "docs" / "guides"
NAME, NET = "wright-guide", "10.185"


def blocks(language, guide="first-training"):
    """The fenced blocks of that language in the guide, in order."""
    return re.findall(rf"```{language}\n(.*?)```", (GUIDES / f"{guide}.md").read_text(), flags=re.DOTALL)


@pytest.fixture
def place(tmp_path):
    """A folder with the guide's job file; the lab that the guide makes is gone afterwards."""
    (tmp_path / "job.yaml").write_text(blocks("yaml")[0])
    yield tmp_path
    assert lab.down(NAME) == []


@pytest.mark.lab
@pytest.mark.timeout(600)
def test_first_training(place):
    """Every command of the guide ends well; only the lab's name and subnets are changed, to be alone."""
    lines = "".join(blocks("console")).splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    assert len(commands) > 10
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=place, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        if "wright init" in command:
            file = place / "cluster.yaml"
            text = file.read_text().replace("10.77.", f"{NET}.")
            file.write_text(re.sub(r"^name: \S+", f"name: {NAME}", text, flags=re.MULTILINE))


def test_own_hardware(tmp_path):
    """Every command of the guide ends well, with its catalog file and its config.json in the folder."""
    (tmp_path / "catalog.toml").write_text(blocks("toml", "own-hardware")[0])
    (tmp_path / "config.json").write_text(blocks("json", "own-hardware")[0])
    lines = "".join(blocks("console", "own-hardware")).splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    assert len(commands) > 10
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
