"""`rest()` of the tests' labs, beside programs that stand for Slurm's: its commands hit no job of a later test."""

import contextlib
import subprocess
from types import SimpleNamespace

import pytest

from clusterwright.edge.processes import CommandResult

PROGRAMS = {
    "squeue": """while read -r id; do
        case "$*" in *job*) echo "job $id RUNNING n1";; *) echo $id;; esac
    done <"$FOLDER/jobs" """,
    "scancel": 'for id; do sed -i "/^$id$/d" "$FOLDER/jobs"; done',
    "sinfo": """[ "$3" != -t ] || exec cat "$FOLDER/down"
    while read -r name; do echo "host $name down Not responding"; done <"$FOLDER/down"
    echo "host n9 idle none" """,
    "scontrol": 'echo "$*" >>"$FOLDER/resumed"; : >"$FOLDER/down"',
    "pgrep": "true",
}


@pytest.fixture
def slurm(tmp_path):
    """Run commands beside programs of Slurm, which have their jobs and hosts in files."""
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "jobs").write_text("7\n")
    (tmp_path / "down").write_text("")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "FOLDER": str(tmp_path)}

    def run(_host, command, **_options):
        done = subprocess.run(
            ["sh", "-c", command], env=environment, capture_output=True, text=True, check=False
        )
        return CommandResult((), done.returncode, done.stdout, done.stderr, 0.0)

    return SimpleNamespace(run=run, folder=tmp_path)


@pytest.fixture
def site(lab_of):
    """Return a function that makes a lab of one compute host from a connection."""
    hosts = SimpleNamespace(hosts=lambda _role: [SimpleNamespace(name="n1")])
    return lambda run: lab_of(None, hosts, SimpleNamespace(run=run))


def test_jobs_are_canceled_and_hosts_resumed(slurm, site):
    """Nothing is left then."""
    (slurm.folder / "down").write_text("n1\nn2\n")
    left = site(slurm.run).restless()

    assert [line.split()[:2] for line in left] == [["job", "7"], ["host", "n1"], ["host", "n2"]]
    assert (slurm.folder / "resumed").read_text() == "update nodename=n1,n2 state=resume\n"
    assert site(slurm.run).restless() == []


def test_a_late_command_cancels_no_job_of_the_next_test(slurm, site):
    """The time limit ends ssh; the host's shell goes on."""
    late = []

    def overrun(_host, command, **_options):
        late.append(command)
        is_listing = "scancel" not in command
        return slurm.run("", command) if is_listing else CommandResult((), 124, "", "", 60.0)

    with contextlib.suppress(AssertionError):
        site(overrun).restless()
    (slurm.folder / "jobs").write_text("8\n")
    for command in late:
        slurm.run("", command)

    assert any("scancel" in command for command in late)
    assert (slurm.folder / "jobs").read_text() == "8\n"


def test_a_controller_that_does_not_respond_is_not_rest(slurm, site):
    """No line of squeue does not mean that there is no job."""
    (slurm.folder / "squeue").write_text("#!/bin/sh\necho 'slurm_load_jobs error' >&2; exit 1\n")

    assert site(slurm.run).restless() == ["control 1 slurm_load_jobs error"]
