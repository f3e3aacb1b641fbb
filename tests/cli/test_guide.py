"""`wright guide`: its questions on a terminal, its answers as options, and where it continues."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from tests.cli.guide_terminal import NEXT, STATE, Terminal

from clusterwright.config.load import load_cluster, load_job


@pytest.fixture
def answered(tmp_path):
    """A terminal on which all questions have been answered: three hosts of two H100."""
    terminal = Terminal(tmp_path)
    terminal.wait_for("hosts?")
    terminal.answer("3", "Which GPU?")
    terminal.answer("h100", "GPUs per host?")
    terminal.answer("", "operating system?")
    terminal.answer("", "train?")
    terminal.answer("", NEXT)
    return terminal


def state(folder):
    """Return answers and finished steps."""
    document = json.loads((folder / STATE).read_text())
    return document["answers"], document["finished"]


def test_answers_become_files_and_each_step_shows_its_command(answered, tmp_path):
    """The first steps run on Enter; their commands and outputs are on the terminal."""
    answered.answer("", NEXT)
    answered.answer("", NEXT)
    shown = answered.answer("", NEXT)
    answered.answer("q", "wright guide")
    cluster, job = load_cluster(tmp_path / "cluster.yaml"), load_job(tmp_path / "job.yaml")

    assert answered.end() == 0
    assert "$ wright init --template lab --out cluster.yaml" in answered.output
    assert "$ wright plan expect --cluster cluster.yaml" in answered.output
    assert "memory of one GPU" in shown
    assert [host.name for host in cluster.hosts("compute")] == ["gpu-node1", "gpu-node2", "gpu-node3"]
    assert (cluster.nodes["gpu"].gpus.model, cluster.nodes["gpu"].gpus.count) == ("h100-sxm-80gb", 2)
    assert (job.recipe, job.nodes, job.gpus_per_node) == ("gpt", 2, 2)


def test_a_wrong_answer_is_asked_again_with_the_fix(tmp_path):
    """The error names what is wrong, and the question returns; the file has no wrong answer."""
    terminal = Terminal(tmp_path)
    terminal.wait_for("hosts?")
    for wrong in ("0", "17", "many", "-1"):
        assert "give a number from 1 to 16" in terminal.answer(wrong, "hosts?")
    terminal.answer("2", "Which GPU?")
    assert "is not a known GPU" in terminal.answer("h1000x", "Which GPU?")
    terminal.answer("a100", "GPUs per host?")
    terminal.answer("8", "operating system?")
    assert "rocky-9" in terminal.answer("centos-8", "operating system?")
    terminal.answer("rocky-9", "train?")
    assert "choose one of gpt" in terminal.answer("../missing.py", "train?")
    os.write(terminal.main, b"\x04")  # Ctrl-D

    assert terminal.end() == 0
    assert state(tmp_path)[0] == {"hosts": "2", "gpu": "a100-sxm-80gb", "gpus": "8", "os": "rocky-9"}


def test_it_continues_where_it_was_left(answered, tmp_path):
    """After Ctrl-C nothing is asked twice, no finished step runs again, and edits of the files stay."""
    answered.answer("", NEXT)
    os.killpg(answered.process.pid, signal.SIGINT)
    assert answered.end() == 130
    assert state(tmp_path)[1] == ["init"]
    edited = (tmp_path / "cluster.yaml").read_text().replace("name: lab\n", "name: mine\n")
    (tmp_path / "cluster.yaml").write_text(edited)

    again = Terminal(tmp_path)
    shown = again.wait_for(NEXT)
    again.answer("s", NEXT)
    again.answer("q", "wright guide")

    assert again.end() == 0
    assert "?" not in shown.replace("q leaves", "")
    assert "$ wright validate cluster.yaml job.yaml" in shown
    assert state(tmp_path)[1] == ["init", "validate"]
    assert (tmp_path / "cluster.yaml").read_text() == edited


def test_a_step_that_fails_stops_it_and_is_tried_again(answered, tmp_path):
    """Its exit code is that of the guide; after the fix, the same step comes first."""
    answered.answer("", NEXT)
    good = (tmp_path / "cluster.yaml").read_text()
    (tmp_path / "cluster.yaml").write_text(good.replace("os: debian-12", "os: debian-11"))
    answered.answer("", "exit code 2")
    assert answered.end() == 2
    (tmp_path / "cluster.yaml").write_text(good)
    again = Terminal(tmp_path)
    shown = again.wait_for(NEXT)
    again.answer("q", "wright guide")

    assert again.end() == 0
    assert "$ wright validate" in shown


def test_an_operating_system_that_no_lab_runs_gets_a_copy_for_the_lab(tmp_path):
    """cluster.yaml is for the hosts of the answer, lab.yaml for the virtual ones; steps on hosts name lab.yaml."""
    terminal = Terminal(
        tmp_path, "--hosts", "1", "--gpu", "t4", "--gpus", "1", "--os", "rocky-9", "--train", "resnet"
    )
    for _step in range(4):
        shown = terminal.answer("", NEXT) if terminal.output else terminal.wait_for(NEXT)
    terminal.answer("q", "wright guide")
    own, lab = load_cluster(tmp_path / "cluster.yaml"), load_cluster(tmp_path / "lab.yaml")

    assert terminal.end() == 0
    assert "$ wright lab up --cluster lab.yaml" in shown
    assert (own.os, own.lab) == ("rocky-9", None)
    assert lab.os == "debian-12"
    assert lab.lab is not None
    assert own.nodes["gpu"] == lab.nodes["gpu"]


def test_an_own_script_is_the_job(tmp_path):
    """Its folder is copied into the run."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "my train.py").write_text("print(1)\n")
    terminal = Terminal(
        tmp_path,
        "--hosts",
        "1",
        "--gpu",
        "t4",
        "--gpus",
        "1",
        "--os",
        "debian-12",
        "--train",
        "code/my train.py",
    )
    terminal.wait_for(NEXT)
    terminal.answer("", NEXT)
    terminal.answer("", NEXT)
    terminal.answer("q", "wright guide")
    job = load_job(tmp_path / "job.yaml")

    assert terminal.end() == 0
    assert (job.command, str(job.code.folder), job.nodes) == (("my train.py",), "code", 1)


def test_without_a_terminal_it_shows_questions_and_options(command, tmp_path):
    """It asks nothing, writes nothing and runs nothing; the answers given as options are in the table."""
    done = command("guide", "--hosts", "4", stdin=subprocess.DEVNULL)

    assert done.returncode == 2
    assert re.search(r"--hosts\tHow many GPU hosts\?\t1 to 16\t4", done.stdout)
    assert "--train" in done.stdout
    assert "pass --yes" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "value"),
    [("--hosts", "0"), ("--gpu", ""), ("--gpus", "9"), ("--os", "centos-8"), ("--train", "x.py")],
)
def test_a_wrong_option_is_an_error(command, tmp_path, option, value):
    """Before anything is asked or written."""
    done = command("guide", option, value, stdin=subprocess.DEVNULL)

    assert done.returncode == 2
    assert done.stderr.startswith("error[")
    assert list(tmp_path.iterdir()) == []


def test_other_answers_do_not_change_files_that_exist(command, tmp_path):
    """The files may have been edited; the error names the way."""
    answers = {"hosts": "2", "gpu": "t4", "gpus": "1", "os": "debian-12", "train": "gpt"}
    (tmp_path / STATE).write_text(json.dumps({"schema": 1, "answers": answers, "finished": ["init"]}))
    done = command("guide", "--hosts", "3", stdin=subprocess.DEVNULL)

    assert done.returncode == 2
    assert "were written with hosts 2" in done.stderr


DAMAGED = ("", "{", "[]", "null", '{"answers": [1], "finished": []}', "[" * 100_000, "\xff")


@pytest.mark.parametrize("text", [*DAMAGED, '{"answers": {"hosts": "-1"}, "finished": []}'])
def test_a_damaged_state_is_an_error(command, tmp_path, text):
    """It names the file to remove, and nothing runs."""
    (tmp_path / STATE).write_bytes(text.encode("latin-1"))
    done = command("guide", stdin=subprocess.DEVNULL)

    assert done.returncode == 2
    assert f"remove {STATE}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [STATE]


def test_it_speaks_chinese(tmp_path):
    """Questions and steps; commands stay as they are typed."""
    terminal = Terminal(tmp_path, language="zh")
    shown = terminal.wait_for("[2] ")
    os.write(terminal.main, b"\x04")

    assert terminal.end() == 0
    assert re.search("[\u4e00-\u9fff]", shown)


@pytest.mark.parametrize("kind", ["pipe", "endless", "deep"])
def test_a_file_of_answers_that_never_ends_is_an_error(kind, tmp_path):
    """A pipe, a link to a device that never ends, and brackets in brackets, in place of the guide's file."""
    file = tmp_path / STATE
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    else:
        file.write_text("[" * 100000)
    done = subprocess.run(
        [sys.executable, "-m", "clusterwright", "guide"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (done.returncode, "has no answers that can be read" in done.stderr) == (2, True)
