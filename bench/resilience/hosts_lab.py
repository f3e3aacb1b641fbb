"""The lab of hosts.py: eight virtual hosts under Slurm, and fault injection on them."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.lib.lab import EXAMPLE, replaced
from bench.resilience.lines import HERE, say
from clusterwright import lab
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import load_cluster
from clusterwright.edge.host import as_user
from clusterwright.edge.ssh import Ssh
from clusterwright.lab import state
from clusterwright.provision.apply import apply, remote_of

NAME, NET, USER = "bench-hosts", "10.190", "alice"
# Twice as many hosts as the example: Slurm cleans up those of the last trial while the next starts on others.
CHANGES = {"name: lab\n": f"name: {NAME}\n", "10.77.": f"{NET}.", "gpu-node[1-4]": "gpu-node[1-8]"}
GRACE_S = 30
QOS = f"""
qos:
  urgent: {{priority: 100, preempts: [scavenger]}}
  scavenger: {{grace: {GRACE_S}s, preempt_mode: cancel}}
"""
IDLE = 5  # hosts: two that train, a standby, and two for a successor; the rest may still be cleaned up
BACK_LIMIT_S = 150.0


class Place:
    """The lab: its hosts over SSH, and its shared folder as a folder of this machine."""

    def __init__(self, cluster: Cluster, remote: Ssh) -> None:
        self.cluster, self.remote = cluster, remote
        self.shared = str(cluster.shared_folder)
        self.folder = state.folder(NAME) / "shared" / self.shared.strip("/")
        self.bench = f"{self.shared}/bench"

    def here(self, path: str) -> Path:
        """Return the path on this machine of a path in the lab's shared folder."""
        return self.folder / Path(path).relative_to(self.shared)

    def control(self, command: str, *, user: str | None = None) -> str:
        """Return the output of a command on the control host.

        Raises:
            RuntimeError: the command failed.
        """
        line = as_user(command, user) if user else command
        done = self.remote.run(self.cluster.control.name, line, timeout_s=60)
        if not done.ok:
            raise RuntimeError(f"{command}: {done.last_lines()}")
        return done.out

    def new_folder(self, name: str) -> str:
        """Create an empty shared folder that the user may write to."""
        path = f"{self.bench}/{name}-{time.time_ns()}"
        self.control(f"install -d -o {USER} {shlex.quote(path)}")
        return path

    def hosts_of(self, job: str) -> list[str]:
        """Return the hosts of a job, that of its batch step first; none while it is pending."""
        names = self.control(f'scontrol show hostnames "$(squeue -h -j {job} -o %N)" 2>/dev/null || true')
        return names.split()

    def inject(self, kind: str, host: str) -> float:
        """Inject a fault into a host and return its time."""
        at = time.time()
        lab.fault(NAME, kind, host)
        return at

    def clear(self) -> None:
        """Cancel all jobs and wait until enough hosts are idle."""
        self.control(f"scancel --user={USER}")
        end = time.monotonic() + BACK_LIMIT_S
        while time.monotonic() < end:
            self.control("scontrol update nodename=ALL state=resume 2>/dev/null || true")
            states = self.control("sinfo --Node --noheader --format=%t").split()
            if states.count("idle") >= IDLE:
                return
            time.sleep(0.3)
        raise RuntimeError(f"fewer than {IDLE} idle hosts in {BACK_LIMIT_S:.0f} s: {' '.join(states)}")

    def fix(self) -> None:
        """Undo all faults and wait until killed hosts have booted."""
        lab.undo(NAME, "all")


@contextmanager
def applied_lab(*, keep: bool) -> Iterator[Place]:
    """Yield the lab after an apply; remove it at the end unless `keep` is set."""
    file = HERE.parents[1] / "build/resilience/hosts/cluster.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = replaced(EXAMPLE.read_text(), CHANGES)
    file.write_text(text + QOS)
    cluster = load_cluster(file)
    try:
        lab.up(cluster, log=say)
        remote = remote_of(cluster)
        report = apply(cluster, str(file), remote)
        if report.failed:
            raise RuntimeError(f"apply failed: {report}")
        place = Place(cluster, remote)
        # a job file names no QOS, so the user's default must be the preemptible one
        place.control(f"sacctmgr -i modify user {USER} set defaultqos=scavenger >/dev/null || true")
        shutil.copytree(HERE / "trainings", place.here(f"{place.bench}/trainings"), dirs_exist_ok=True)
        yield place
    finally:
        if not keep and (left := lab.down(NAME)):
            raise RuntimeError(f"left behind: {left}")
