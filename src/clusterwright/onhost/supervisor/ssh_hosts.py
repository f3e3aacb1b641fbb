"""The hosts of a run without a scheduler: a keeper on each of them (host_keeper.py), started over SSH.

The shared folder is the arbiter that Slurm is elsewhere: who cannot write it is isolated, and one claim in it wins.
"""

from __future__ import annotations

import os
import shlex
from typing import List, Optional, Sequence, Tuple, Union

from clusterwright.onhost.lib.processes import Process
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.host import processes
from clusterwright.onhost.supervisor.job import JobRecord
from clusterwright.onhost.supervisor.schedulers import Local, Reach, Slurm, WithoutSlurm

JOB_ID = "CLUSTERWRIGHT_JOB_ID"  # of the job that a failover supervisor continues
SCRIPT, LOG = "job.sh", "keepers.log"
SSH = ("ssh", "-n", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
# systemd may end all processes of a session with it (KillUserProcesses), except those of a lingering user's manager.
_SCOPE = (
    'scope=; if [ "$(loginctl show-user "$(id -un)" --property=Linger --value 2>/dev/null)" = yes ] && '
    "systemd-run --user --scope --quiet true </dev/null >/dev/null 2>&1; "
    'then scope="systemd-run --user --scope --quiet"; fi; '
)


class SshHosts(WithoutSlurm):
    """The hosts of a run's hostfile; a successor is the next supervisor that a keeper starts."""

    def __init__(self, record: JobRecord, folder: Folder) -> None:
        self.job_id = os.environ.get(JOB_ID) or str(os.getpid())
        self._record, self._folder = record, folder
        self._clients: List[Process] = []
        marker_path = folder.path_to(f"reach-{os.environ.get('CLUSTERWRIGHT_HOST', 'host')}")
        self._reach = Reach(("sh", "-c", 'echo reached >"$1" && cat "$1"', "sh", marker_path), "reached")

    def hosts(self) -> Tuple[str, ...]:
        """Return the names of all hosts, in the order of the hostfile."""
        return self._record.host_names

    def start_agents(self, hosts: Sequence[str], address: str, port: int) -> None:  # noqa: ARG002 (Slurm's signature)
        """Start by ssh the keeper of a single host that is lost or did not come; for several do nothing.

        Those of all hosts were started with the run. A keeper finds the supervisor by its heartbeat file, and ends if
        its host has one.
        """
        if len(hosts) > 1:
            return
        for target, name in zip(self._record.hosts, self._record.host_names):
            if name in hosts:
                line = start_command(self._folder.path, name)
                log = self._folder.path_to("logs", LOG)
                self._clients.append(processes.start([*SSH, "--", target, line], os.environ, log))

    def in_reach(self) -> Optional[bool]:
        """Return whether this host can write and read the shared folder; None while the test is pending."""
        return self._reach.answer()

    def reap(self) -> None:
        """Collect the ssh clients that have ended."""
        self._clients = [client for client in self._clients if client.poll() is None]

    def end(self) -> None:
        """Kill the ssh clients; each host's keeper ends by itself."""
        for client in self._clients:
            client.kill()
            client.wait()

    def submit_successor(self, lost_hosts: Sequence[str]) -> Tuple[str, str]:  # noqa: ARG002 (Slurm's signature)
        """Return a job id and no error: a keeper starts the next supervisor once this one is over."""
        return self.job_id, ""

    def was_cancelled(self) -> bool:
        """Return True if the user has canceled the run; otherwise a signal comes from a host that shuts down."""
        return self._folder.has("cancelled")


Scheduler = Union[Slurm, Local, SshHosts]


def scheduler_of(record: JobRecord, folder: Folder) -> Scheduler:
    """Return the scheduler that provides the hosts of the run: of a hostfile, local processes, or Slurm."""
    if record.hosts:
        return SshHosts(record, folder)
    return (Local if record.local else Slurm)(record, folder)


def start_command(run: str, host: str) -> str:
    """Return the shell line that starts the keeper of a host, which outlives the session of this line."""
    line = f"exec sh {shlex.quote(f'{run}/{SCRIPT}')} {shlex.quote(host)} >>{shlex.quote(f'{run}/logs/{LOG}')} 2>&1"
    return f"cd / && {_SCOPE}setsid $scope sh -c {shlex.quote(line)} </dev/null >/dev/null 2>&1 &"
