"""One lab for all tests that need real hosts, applied once; tests that cannot run here are skipped by name."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from clusterwright import i18n, lab
from clusterwright.check.bench.store import file_of
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Ssh
from clusterwright.provision.apply import apply, remote_of

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "lab" / "cluster.yaml"
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])  # each has a lab of its own
NAME, NET = f"wright-tests{WORKER}", f"10.{160 + WORKER}"

# A shell starts what runs in the background with Ctrl-C ignored, and every child would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is the loaded machine's doing; speed is measured in bench/.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure(config):
    """Chinese texts are read as they are in this tree, not as they were when it was installed."""
    catalog = Path(i18n.__file__).parent / "locale" / "zh" / "LC_MESSAGES" / "clusterwright.po"
    compiled = catalog.with_suffix(".mo")
    outdated = not compiled.exists() or compiled.stat().st_mtime < catalog.stat().st_mtime
    if outdated and not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, ROOT / "tools" / "messages", "--compile"], check=True)


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
        "lab": "; ".join(f"{found.message} ({found.fix})" for found in lab.able()),
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


GIVE_BACK = """squeue -h -o %A | xargs -r scancel
for host in $(sinfo -hN -t drain,down -o %N | sort -u); do scontrol update nodename=$host state=resume; done
squeue -h; sinfo -hN -o '%N %T %E' | grep -v ' idle '; true"""


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

    def rest(self, limit_s=180):
        """Nothing is left of an earlier test: no fault, no job nor step of one, and every host takes jobs."""
        lab.undo(self.cluster.name, "all")
        end = time.monotonic() + limit_s
        while left := self.restless():
            assert time.monotonic() < end, left
            time.sleep(0.5)

    def restless(self):
        """Jobs, hosts that take none, steps that just end; jobs are cancelled, and hosts given back."""
        left = self.sh("control", GIVE_BACK).splitlines()
        for host in () if left else self.cluster.hosts("compute"):
            left += self.sh(host.name, "pgrep -a slurmstepd | grep -v infinity; true").splitlines()
        return left


@pytest.fixture(scope="session")
def lab_of():
    """`lab_of(file, cluster, remote)` for tests that need a lab of their own."""
    return LabCluster


@contextmanager
def _example_lab(folder, name, net, changes):
    file = folder / "cluster.yaml"
    text = EXAMPLE.read_text().replace("10.77.", f"{net}.").replace("name: lab\n", f"name: {name}\n")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    file.write_text(text)
    cluster = load_cluster(file)
    try:
        lab.up(cluster)
        remote = remote_of(cluster)
        report = apply(cluster, str(file), remote)
        assert not report.failed, report
        stands = LabCluster(file, cluster, remote)
        stands.rest()
        yield stands
    finally:
        assert lab.down(name) == []
        file_of(name).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def example_lab():
    """Makes another lab of examples/lab: given a folder, a name, a net, and changes of the text.

    Up, applied and at rest; gone afterwards, with what was kept of benches on it.
    """
    return _example_lab


@pytest.fixture(scope="session")
def lab_cluster(tmp_path_factory):
    """Five hosts as in examples/lab, in subnets of their own, up and applied; gone at the end."""
    with _example_lab(tmp_path_factory.mktemp("lab"), NAME, NET, {}) as stands:
        yield stands


@pytest.fixture
def saved(tmp_path):
    """`saved(10, 20)` is a run with checkpoints of these steps, as one rank makes them."""
    torch = pytest.importorskip("torch")
    from clusterwright.runtime.checkpoints.convert import write_step

    def make(*steps, limit=3):
        run = tmp_path / "gpt-20261121-120000"
        (run / "checkpoints").mkdir(parents=True, exist_ok=True)
        (run / "job.json").write_text(
            json.dumps({"local": True, "job": {"checkpoint": {"save_total_limit": limit}}})
        )
        for step in steps:
            state = {"model": {"weight": torch.full((300,), float(step))}, "run": {"loss": 1 / step}}
            write_step(run / "checkpoints" / f"step-{step:08d}", step, state)
        return run

    return make
