"""Completion with live names, by the real shells: bash always, zsh and fish where they are installed."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.cli._live_names import store_runs, stored_runs

EXAMPLE = Path(__file__).parents[2] / "examples/lab/cluster.yaml"
RUN, HOSTILE = "gpt-20261127-101010", "gpt-$(touch PWNED)"
BASH = """
source {script}
COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_wright
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = r"""
read_until() {{
  out=; for i in {{1..150}}; do zpty -rt z piece && out+=$piece; [[ $out == *$1* ]] && break; sleep 0.1; done
}}
zmodload zsh/zpty
zpty -b z zsh -f -i
zpty -w z 'PS1= ; unsetopt beep; autoload -Uz compinit; fpath=({folder} $fpath)'
zpty -w z 'compinit -u -d {folder}/dump; echo READY-$((40+2))'
read_until READY-42
zpty -wn z $'wright {line}\t'
read_until {expected}
print -r -- "$out"
zpty -d z
"""
# a busy machine may start Python slower than users wait for names
PATIENT = (
    "from clusterwright.cli import _live_names, main; _live_names.LIMIT_S = 60; raise SystemExit(main())"
)
LINES = [
    ("check --hosts contr", "control"),
    ("check --only munge_b", "munge_between"),
    ("status gpt-2", RUN),
    ("explain gres-m", "gres-mismatch"),
    ("plan power --gpu h200", "h200-sxm-141gb"),
    ("plan storage --model llama3-8", "llama3-8b"),
    ("lab fault kill-h", "kill-host"),
    ("add-hosts a1", "a100"),
    ("report team vis", "vision"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a cluster file, two runs and the program `wright` in PATH; one run has the name of an attack."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copy(EXAMPLE, "cluster.yaml")
    for name in (RUN, HOSTILE):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "job.json").write_text('{"local": true}')
    program = tmp_path / "bin" / "wright"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{PATIENT}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return tmp_path


def script_of(shell, path):
    """Write the script of a shell."""
    done = subprocess.run(
        ["wright", "completion", shell], capture_output=True, text=True, check=True, timeout=60
    )
    path.write_text(done.stdout)
    return path


def completed(argv, text=""):
    """Return what the shell prints."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout


@pytest.fixture
def bash(folder):
    """Return the completions of a line in bash."""
    script = script_of("bash", folder / "wright.bash")

    def complete(line):
        return completed(["bash"], BASH.format(script=script, words=f"wright {line}")).split("\n")

    return complete


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_bash_completes_live_names(bash, line, expected):
    """Names of the cluster file, of runs on this machine and of the package."""
    assert expected in bash(line)


def test_a_list_of_hosts_is_completed_after_its_last_comma(bash):
    """The hosts before it stay."""
    assert r"gpu-node1\,gpu-node2" in bash("check --hosts gpu-node1,gpu-n")


def test_names_of_other_users_are_no_commands(bash, folder):
    """A name that a shell might interpret is left out, and nothing runs."""
    assert RUN in bash("status gpt")
    assert not any("PWNED" in name for name in bash("status gpt"))
    assert not (folder / "PWNED").exists()


def test_a_missing_or_damaged_cluster_file_completes_nothing(bash, folder):
    """No message, no traceback."""
    (folder / "cluster.yaml").write_text("nodes: [")
    assert bash("check --hosts g") == ["", ""]
    (folder / "cluster.yaml").unlink()
    assert bash("check --hosts g") == ["", ""]
    assert "control" in bash(f"check --cluster {EXAMPLE} --hosts contr")


def test_names_take_less_than_two_seconds_and_no_network(bash, folder, monkeypatch):
    """`ssh` is never called; runs of the cluster are those that `wright jobs` listed."""
    for name in ("ssh", "scp"):
        (folder / "bin" / name).write_text(f"#!/bin/sh\ntouch {folder}/CALLED\nsleep 9\n")
        (folder / "bin" / name).chmod(0o755)
    store_runs("lab", ["resnet-20261101-090000", "100123"])
    start = time.monotonic()

    assert "resnet-20261101-090000" in bash("logs resn")
    assert "100123" in bash("why 1001")

    assert time.monotonic() - start < 8
    assert not (folder / "CALLED").exists()


def test_a_cache_that_cannot_be_written_or_read_is_no_error(folder):
    """Completion is a convenience."""
    (folder / "cache").write_text("a file")
    store_runs("lab", ["a"])
    assert stored_runs("lab") == []


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
@pytest.mark.parametrize(("line", "expected"), LINES)
def test_fish_completes_live_names(folder, line, expected):
    """By its own engine."""
    script = script_of("fish", folder / "wright.fish")

    out = completed(["fish", "-N", "-c", f"source {script}; complete -C 'wright {line}'"])

    assert expected in [entry.split("\t")[0] for entry in out.split("\n")]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@pytest.mark.parametrize(("line", "expected"), LINES[:4])
def test_zsh_completes_live_names(folder, line, expected):
    """At the prompt of an interactive shell."""
    functions = folder / "functions"
    functions.mkdir()
    script_of("zsh", functions / "_wright")

    out = completed(["zsh", "-f"], ZSH.format(folder=functions, line=line, expected=expected))

    assert expected in out.replace("\b", "")
