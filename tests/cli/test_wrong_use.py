"""Wrong uses of every command: an error with a code and a fix, the right exit code, and never a traceback or a bug.

Commands and options come from the command line itself, so that a new command joins by itself. Each case is a fork of
this process in a folder of its own, with a PATH that has nothing but an `ssh` that refuses.
"""

import itertools
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.cli import commands, main
from clusterwright.cli._command_tree import all_commands

EXAMPLE = Path(__file__).parents[2] / "examples/lab/cluster.yaml"
COMMANDS = {" ".join(command.words): command for command in all_commands()}
OUT = {"--out", "--html", "--csv", "--svg", "--cables", "--metrics"}
INPUTS = ("missing.yaml", "folder", "binary", "empty", "/dev/full")
OUTPUTS = ("/dev/full", "empty/x")
NUMBERS = ("-1", "0", "1" + "0" * 30, "nan", "x")
TEXTS = ("no-such-name", "", "gpu-node[", "x" * 5000)
LIMIT_S = 60
HANG = -signal.SIGALRM
# What else a line needs, so that nothing but the wrong part is wrong.
REST = {
    "add-hosts": "a100 gpu-node5 --dry-run", "adopt": "--folder folder --slurm 25.11 --out new.yaml",
    "apply": "--dry-run", "bench compare": "1 2", "cancel": "r",
    "checkpoints convert": "src dst --to torch", "checkpoints verify": "files", "completion": "bash",
    "dev": "--dry-run", "dev stop": "1", "explain": "gres-mismatch", "export": "--out out", "heal": "--plan",
    "heal approve": "1", "heal undo": "1", "init": "--out new.yaml", "kubernetes": "--out out",
    "lab fault": "kill-host gpu-node1", "lab shell": "gpu-node1 true", "lint": "slurm.conf --slurm 25.11",
    "plan catalog": "gpus", "plan cost": "--gpu h100-sxm-80gb --nodes 2",
    "plan explain": "--model llama3-8b --seq 4096 --global-batch 128 --micro-batch 1 --gpu h100-sxm-80gb --gpus 8",
    "plan fabric": "--nodes 4", "plan gradients": "--parameters 25e6 --step 0.25 --hosts 2 --rate 25Gbit/s",
    "plan power": "--gpu h100-sxm-80gb", "plan predict": "table.csv",
    "plan search": "--model llama3-8b --seq 4096 --global-batch 64 --gpu h100-sxm-80gb --gpus 8 --top 1",
    "plan size": "--model llama3-8b --gpu h100-sxm-80gb --gpus 8 --tokens 1e9", "plan storage": "--dataset 1TB",
    "remove-hosts": "gpu-node4 --dry-run", "render": "--out out", "rollback": "--dry-run", "schema": "cluster",
    "simulate": "--teams 2 --days 1", "top": "--batch", "train": "job.yaml --dry-run", "tune training": "job.yaml",
    "upgrade": "--slurm 26.05 --dry-run", "validate": "cluster.yaml", "why": "job.log",
}  # fmt: skip
ENDLESS = {"demo", "heal watch", "mcp", "web"}  # serve or work until stopped: only their files are tried
QUIET_READERS = (
    "plan catalog",
    "plan cost",
    "schema",
    "explain",
    "completion",
    "validate --json",
    "why --all",
)


@dataclass(frozen=True)
class Outcome:
    """What a line did."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path):
    """A cluster file of a lab that does not exist, and files of every wrong kind."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "cluster.yaml").write_text(EXAMPLE.read_text().replace("name: lab", "name: wrong-use", 1))
    (files / "job.yaml").write_text("name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n")
    (files / "binary").write_bytes(bytes(range(256)) * 40)
    for name, text in (
        ("empty", ""),
        ("train.py", ""),
        ("table.csv", "a,b\n1,2\n"),
        ("slurm.conf", "ClusterName=x\n"),
        ("job.log", "step 1 loss 2\n"),
    ):
        (files / name).write_text(text)
    (files / "folder").mkdir()
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host x port 22: Connection refused' >&2; exit 255\n")
    ssh.chmod(0o755)
    return tmp_path


def run(folder, words, *, stdout=None, uid=None, meanwhile=lambda _pid: None):
    """Run a line in a fork; `stdout` is a descriptor, `uid` another user, `meanwhile` gets the process id."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if not pid:
            _child(folder, words, (stdout if stdout is not None else out.fileno(), err.fileno()), uid)
        meanwhile(pid)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Outcome(code, *texts)


def _child(folder, words, descriptors, uid):
    code = 97
    try:
        os.chdir(folder / "files")
        os.environ.update(
            HOME=str(folder), XDG_STATE_HOME=str(folder / "state"), XDG_CACHE_HOME=str(folder / "cache"),
            PATH=str(folder / "bin"), TERM="dumb", LC_ALL="C.UTF-8",
        )  # fmt: skip
        os.environ.pop("CLUSTERWRIGHT_CLUSTER", None)
        for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), *descriptors)):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, "w" if number else "r", closefd=False) for number in range(3)
        )
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIMIT_S)
        if uid:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        sys.argv = ["wright", *words]
        main()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0
    finally:
        try:
            sys.stderr.flush()
            sys.stdout.flush()
        finally:
            os._exit(code)


def wrong_lines(name):
    """Every line with one wrong value, for each option and argument of a command."""
    command, rest = COMMANDS[name], REST.get(name, "").split()
    head = list(itertools.takewhile(lambda word: not word.startswith("-"), rest))
    position = 0
    for option in command.options:
        if option.is_positional:
            index, position = position, position + 1
            if index <= len(head):
                for value in wrong_values(option):
                    yield [*head[:index], value, *head[index + 1 :], *rest[len(head) :]]
        elif option.value and (name not in ENDLESS or option.names[0] == "--cluster"):
            others = list(rest)
            if option.names[0] in others:
                at = others.index(option.names[0])
                del others[at : at + 2]
            for value in wrong_values(option):
                yield [*others, f"{option.names[0]}={value}"]


def wrong_values(option):
    """Values that no option of this kind takes, and some that it might."""
    if option.names[0] in OUT:
        return OUTPUTS
    if "|" in option.value:
        return ("no-such-name",)
    return {"PATH": INPUTS, "INT": NUMBERS, "FLOAT": NUMBERS}.get(option.value, TEXTS)


def complaint(outcome):
    """What is wrong with an outcome; empty if it is an answer or a proper error."""
    if outcome.code == HANG:
        return "does not end"
    if "Traceback" in outcome.err or outcome.code >= 97:
        return "traceback"
    if "error[bug]" in outcome.err:
        return "a bug"
    is_error = "error[" in outcome.err
    if is_error and not ("fix: " in outcome.err and "more: wright explain" in outcome.err):
        return "an error without a fix"
    if outcome.code in (1, 2) and not (is_error or outcome.err.strip()):
        return "fails without a message"
    return ""


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"demo"}))  # a demo trains before it writes
def test_wrong_values_are_errors_with_a_fix(name, folder):
    """Missing and unreadable files, folders, devices, numbers out of range, unknown names."""
    found = []
    for words in wrong_lines(name):
        outcome = run(folder, [*name.split(), *words])
        if said := complaint(outcome):
            found.append((said, outcome.code, [word[:60] for word in words], outcome.err[-300:]))

    assert found == []
    assert (folder / "files" / "empty").read_text() == ""
    assert Path("/dev/full").is_char_device()  # no result takes the place of a device


def test_every_command_is_tried():
    """Also those that serve until they are stopped."""
    assert {name.split()[0] for name in COMMANDS} == {name for name, _ in commands()}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
@pytest.mark.parametrize(
    "line",
    ["validate", "render --out /tmp/x --cluster", "plan expect --cluster", "why", "lint --slurm 25.11"],
)
def test_a_file_that_the_user_may_not_read_is_an_error(line, folder):
    """It names the file."""
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.geteuid() and "pytest" in str(path):
            path.chmod(0o755)
    secret = folder / "files" / "secret.yaml"
    secret.write_text("name: x\n")
    secret.chmod(0o600)

    outcome = run(folder, [*line.split(), str(secret)], uid=65534)

    assert complaint(outcome) == ""
    assert outcome.code in (1, 2)
    assert "secret.yaml" in outcome.err


@pytest.mark.parametrize("line", QUIET_READERS)
def test_a_reader_that_has_left_ends_the_command_quietly(line, folder):
    """Exit code 141, no message, as of other programs in a shell."""
    name = " ".join(word for word in line.split() if not word.startswith("-"))
    reader, writer = os.pipe()
    os.close(reader)

    outcome = run(folder, [*line.split(), *REST.get(name, "").split()], stdout=writer)
    os.close(writer)

    assert (outcome.code, [text for text in outcome.err.splitlines() if "note:" not in text]) == (141, [])


@pytest.mark.parametrize("line", QUIET_READERS)
def test_a_full_disk_behind_stdout_is_one_error(line, folder):
    """As with `wright schema cluster > /full/disk`."""
    name = " ".join(word for word in line.split() if not word.startswith("-"))
    with Path("/dev/full").open("wb") as full:
        outcome = run(folder, [*line.split(), *REST.get(name, "").split()], stdout=full.fileno())

    assert complaint(outcome) == ""
    assert outcome.code == 1
    assert "error[disk-full]: standard output" in outcome.err


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "apply",
        "check",
        "jobs",
        "status",
        "logs",
        "curves",
        "top",
        "report job",
        "heal",
        "bench network",
        "diff",
        "dev list",
    ],
)
def test_an_interrupt_ends_a_command_that_waits_for_a_host(name, folder):
    """Exit code 130 within seconds, without a traceback."""
    (folder / "bin" / "ssh").write_text(f"#!/bin/sh\n: >{folder}/waits\nexec {shutil.which('sleep')} 50\n")
    (folder / "bin" / "ssh-keygen").symlink_to(shutil.which("ssh-keygen") or "/bin/true")

    def interrupt(pid):
        deadline = time.monotonic() + 40
        while not (folder / "waits").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(pid, signal.SIGINT)

    outcome = run(folder, [*name.split(), *REST.get(name, "").split()], meanwhile=interrupt)

    assert (outcome.code, "Traceback" in outcome.err) == (130, False), outcome.err
