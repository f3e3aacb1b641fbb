"""One lab for all tests that need real hosts, applied once; tests that cannot run here are skipped by name."""

import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.build.apply import apply, remote_of
from clusterwright.edge.ssh import Ssh
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.load import load_cluster

EXAMPLE = Path(__file__).parents[1] / "examples" / "lab" / "cluster.yaml"
NAME, NET = "wright-tests", "10.184"


def pytest_addoption(parser):
    """`--golden` rewrites expected trees in place of comparing with them."""
    parser.addoption("--golden", action="store_true", help="rewrite golden files; read the diff like code")


@pytest.fixture
def golden(request):
    """True when golden files are to be rewritten."""
    return request.config.getoption("--golden")


def pytest_collection_modifyitems(items):
    """A test whose part is missing on this machine is skipped, and says which part."""
    missing = {
        "lab": "; ".join(f"{found.message} ({found.mend})" for found in lab.able()),
        "slurm": ""
        if shutil.which("slurmctld")
        else "slurmctld is not installed (apt-get install slurmctld)",
        "train": "" if find_spec("torch") else "torch is not installed (pip install torch)",
        "gpu": "" if Path("/dev/nvidiactl").exists() else "no CUDA device",
    }
    for item in items:
        for mark, why in missing.items():
            if why and item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"{mark}: {why}"))


@dataclass(frozen=True)
class LabCluster:
    """An applied lab: its file, what the file says, and the way to its hosts."""

    file: Path
    cluster: Cluster
    remote: Ssh

    def sh(self, host, command, *, timeout_s=60):
        """What a command on a host printed; fails with what it said when it failed."""
        done = self.remote.run(host, command, timeout_s=timeout_s)
        assert done.ok, f"{host}: {command}: {done.code}: {done.last_lines(20)}"
        return done.out


@pytest.fixture(scope="session")
def lab_cluster(tmp_path_factory):
    """Five hosts as in examples/lab, in subnets of their own, up and applied; gone at the end."""
    file = tmp_path_factory.mktemp("lab") / "cluster.yaml"
    text = EXAMPLE.read_text().replace("10.77.", f"{NET}.").replace("name: lab\n", f"name: {NAME}\n")
    file.write_text(text)
    cluster = load_cluster(file)
    try:
        lab.up(cluster)
        remote = remote_of(cluster)
        report = apply(cluster, str(file), remote)
        assert not report.failed, report
        yield LabCluster(file, cluster, remote)
    finally:
        assert lab.down(NAME) == []
