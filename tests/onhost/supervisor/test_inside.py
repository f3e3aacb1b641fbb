"""Agents in an image: what srun is told."""

import os

import pytest

from clusterwright.onhost.supervisor import inside

AGENT = ("-m", "agent", "RUN")


@pytest.mark.parametrize(
    ("runtime", "step", "command"),
    [
        ("oci", ["--container=/i"], ["python3", *AGENT]),
        ("pyxis", ["--container-image=/i", "--container-mounts=/a:/a,/b:/b"], ["python3", *AGENT]),
        ("apptainer", [], ["apptainer", "exec", "--nv", "--bind", "/a,/b", "/i", "python3", *AGENT]),
    ],
)
def test_each_runtime_is_asked_in_its_own_way(runtime, step, command):
    """Slurm's own reads further mounts from the environment."""
    image = inside.parse_image((runtime, "/i", "/a:/b", "python3"))

    assert image.step() == step
    assert image.command(AGENT) == command


@pytest.fixture
def srun(tmp_path, monkeypatch):
    """A program in the place of srun that says something; the real one is in a lab."""

    def say(text, code):
        path = tmp_path / "srun"
        path.write_text(f"#!/bin/sh\nprintf '%s' '{text}'\nexit {code}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return say


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        ("", 0, ""),
        (
            "clusterwright: the image has no python3\nsrun: error: task 0: Exited\n",
            1,
            "the image has no python3",
        ),
        ("there is no torch in /usr/bin/python3\n", 1, "there is no torch in /usr/bin/python3"),
        ("srun: error: no image\n", 1, "srun: error: no image"),
        ("", 3, "srun ended with 3"),
    ],
)
def test_an_image_that_cannot_train_ends_the_run_with_the_reason(said, code, reason, srun, tmp_path, capfd):
    """In the words of whoever refused, where a run's end is read."""
    srun(said, code)
    ended = inside.main([str(tmp_path), "oci", "/shared/images/x", "", "python3"])
    folder = inside.Folder(str(tmp_path))

    assert ended == (1 if reason else 0)
    assert reason in folder.read("ended.json").get("reason", "")
    assert ("failed: image /shared/images/x" in capfd.readouterr().out) == bool(reason)
