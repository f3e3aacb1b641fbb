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


def files(guide):
    """Name and text of every file that the guide shows: the block's first line says ```LANGUAGE NAME."""
    page = (GUIDES / f"{guide}.md").read_text()
    return re.findall(r"```[a-z]+ (\S+)\n(.*?)```", page, flags=re.DOTALL)


def commands(guide):
    """What a reader of the guide types, line by line."""
    return [line[2:] for line in "".join(blocks("console", guide)).splitlines() if line.startswith("$ ")]


def renamed(file):
    """The lab's file with a name and subnets of its own, to be alone; its text."""
    text = re.sub(r"(?m)^name: \S+", f"name: {NAME}", file.read_text().replace("10.77.", f"{NET}."))
    file.write_text(text)
    return text


def run(command, place):
    """The command as a user would give it; it has to end well."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=place, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"


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
    typed = commands("first-training")

    assert len(typed) > 10
    for command in typed:
        run(command, place)
        if "wright init" in command:
            renamed(place / "cluster.yaml")


@pytest.mark.lab
@pytest.mark.timeout(600)
def test_changing(place):
    """Every command of the guide ends well, on a lab; the file is at the end as it was but for what was changed."""
    typed = commands("changing")

    assert len(typed) > 10
    for command in typed:
        run(command, place)
        if "wright init" in command:
            file = place / "cluster.yaml"
            text = renamed(file)
    assert file.read_text() == text.replace("max_time: 1d", "max_time: 2d")


@pytest.mark.parametrize("guide", ["own-hardware", "plan", "export"])
def test_guide_without_a_lab(tmp_path, monkeypatch, guide):
    """Every command of the guide ends well, with the files that it shows in the folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # an export makes the cluster's secrets
    for name, text in files(guide):
        (tmp_path / name).write_text(text)
    typed = commands(guide)

    assert len(typed) >= 10
    for command in typed:
        run(command, tmp_path)


@pytest.mark.train
def test_checkpoints(tmp_path):
    """Every command of the guide ends well, on a run made here."""
    for name, text in files("checkpoints"):
        (tmp_path / name).write_text(text)
    typed = commands("checkpoints")

    assert len(typed) >= 10
    for command in typed:
        run(command, tmp_path)
    assert (tmp_path / "tiny-hf" / "model.safetensors").exists()


@pytest.mark.lab
@pytest.mark.train
@pytest.mark.long
@pytest.mark.timeout(2400)
def test_bench(tmp_path, monkeypatch):
    """Every command of the guide ends well, on a lab; results are kept apart from those of other tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    typed = commands("bench")

    assert len(typed) > 10
    try:
        for command in typed:
            run(command, tmp_path)
            if "wright init" in command:
                renamed(tmp_path / "cluster.yaml")
    finally:
        assert lab.down(NAME) == []


@pytest.mark.lab
@pytest.mark.train
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_tune(tmp_path):
    """Every command of the guide ends well, on a lab, with the job file that it shows."""
    for name, text in files("tune"):
        (tmp_path / name).write_text(text)
    typed = commands("tune")

    assert len(typed) >= 6
    try:
        for command in typed:
            run(command.replace("lab down lab", f"lab down {NAME}"), tmp_path)
            if "wright init" in command:
                renamed(tmp_path / "cluster.yaml")
    finally:
        assert lab.down(NAME) == []


@pytest.mark.lab
@pytest.mark.timeout(900)
def test_dev(tmp_path, monkeypatch):
    """Every command of the guide ends well, on a lab; keys of sessions are kept apart from the user's own."""
    pytest.importorskip("jupyterlab")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    typed = commands("dev")

    assert len(typed) >= 10
    try:
        for command in typed:
            run(command.replace("lab down lab", f"lab down {NAME}"), tmp_path)
            if "wright init" in command:
                renamed(tmp_path / "cluster.yaml")
    finally:
        assert lab.down(NAME) == []


def test_simulate(tmp_path):
    """Every command of the guide ends well; the files are those that it shows."""
    for name, text in files("simulate"):
        (tmp_path / name).write_text(text)
    typed = commands("simulate")

    assert len(typed) == 5
    for command in typed:
        run(command, tmp_path)
