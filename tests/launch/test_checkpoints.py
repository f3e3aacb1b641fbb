"""Checkpoints here and on a host; the host is this machine, by its own shell."""

import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.edge.processes import CommandResult
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.launch import checkpoints
from clusterwright.launch.checkpoints import CheckpointHost, convert, listing, verify

SOURCE = Path(checkpoints.__file__).parents[2]


class Shell:
    """A host that is this machine."""

    def __init__(self):
        self.hosts = []

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """By sh, as sshd does it."""
        self.hosts.append(host)
        done = subprocess.run(
            ["sh", "-c", command], input=stdin, capture_output=True, timeout=60, check=False
        )
        return CommandResult(("sh",), done.returncode, done.stdout.decode(), done.stderr.decode(), 0.0)


@pytest.fixture
def there(saved, cluster, monkeypatch):
    """A run with two checkpoints, seen through a host of the cluster."""
    run = saved(10, 20)
    monkeypatch.setattr(checkpoints, "runs_folder", lambda _: str(run.parent))  # the file's folder is /shared
    monkeypatch.setattr(checkpoints, "library_of", lambda _: str(SOURCE))  # what `apply` puts on a host
    software = cluster.software.model_copy(update={"python": sys.executable})
    return run, CheckpointHost(cluster.model_copy(update={"software": software}), Shell())


@pytest.mark.parametrize("what", ["last", "gpt-20261121-120000", "path"])
def test_a_run_of_a_cluster_is_listed_by_name_or_by_path(there, what):
    """With one ssh, to the control host."""
    run, seen = there
    found = listing(str(run) if what == "path" else what, seen)

    assert [row["step"] for row in found["checkpoints"]] == [20, 10]
    assert seen.remote.hosts == [seen.cluster.control.name]


@pytest.mark.train
def test_a_run_of_a_cluster_is_verified_and_converted_there(there, tmp_path):
    """By the cluster's own Python and the runtime on the host."""
    _, seen = there
    assert [row["state"] for row in verify("last", seen, everything=True)["checkpoints"]] == ["verified"] * 2
    told = convert("last", str(tmp_path / "gpt.pt"), seen, to="torch", origin=None)

    assert (tmp_path / "gpt.pt").stat().st_size == told["bytes"]


def test_another_host_may_look(there):
    """The control host may have no torch."""
    run, seen = there
    listing(str(run), CheckpointHost(seen.cluster, seen.remote, "gpu-node1"))

    assert seen.remote.hosts == ["gpu-node1"]


@pytest.mark.parametrize(
    ("name", "fix"), [("gpt-20261121-12000", "did you mean `gpt-20261121-120000`"), ("x", "wright jobs")]
)
def test_a_run_that_does_not_exist_on_the_cluster(there, name, fix):
    """The closest run of the cluster is the fix, else the command that lists the runs."""
    _, seen = there
    with pytest.raises(WrightError, match=f"no run `{name}` in .*\n.*{fix}") as error:
        listing(name, seen)

    assert error.value.exit_code == EXIT_USAGE
    assert error.value.findings[0].code == "no-run"


def test_a_host_without_that_python(there):
    """It is said which one, and how to name another host."""
    _, seen = there
    software = seen.cluster.software.model_copy(update={"python": "/no/such/python"})
    with pytest.raises(WrightError, match="has no /no/such/python") as error:
        verify("last", CheckpointHost(seen.cluster.model_copy(update={"software": software}), seen.remote))

    assert error.value.findings[0].code == "checkpoint-no-torch"


def test_trouble_here_is_an_error_with_its_code(tmp_path):
    """What is wrong with a folder of this machine."""
    with pytest.raises(WrightError) as error:
        listing(str(tmp_path))

    assert error.value.findings[0].code == "checkpoint-none"
