"""Inject a campaign's fault into a lab, and undo it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright import lab
from clusterwright.config.cluster import Cluster
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab.chaos.kind import FaultKind, Planned, choose_host
from clusterwright.lab.chaos.training_run import TrainingRun
from clusterwright.lab.demo.events import DemoEvent

_TEAR = """newest=$(ls -t {folder}/checkpoints/step-*/manifest.json | head -1) || exit
truncate --size 100 "${{newest%/*}}"/*.safetensors"""


@dataclass(frozen=True, slots=True)
class Places:
    """The hosts by their role in the running training: supervisor, members, free, control."""

    supervisor: str
    members: tuple[str, ...]
    free: tuple[str, ...]
    control: str

    def host_for(self, on: str, which: float) -> str:
        """Return the host of a role (`member`, `supervisor`, `free`, `control`) that `which` (0 to 1) selects.

        Empty if there is none. As `member`, the supervisor's host is not selected if other hosts train.
        """
        workers = tuple(host for host in self.members if host != self.supervisor) or self.members
        hosts = {
            "member": workers, "supervisor": (self.supervisor,), "free": self.free, "control": (self.control,),
        }.get(on, ())  # fmt: skip
        return choose_host(hosts, which) if hosts else ""


def places(cluster: Cluster, events: Sequence[DemoEvent]) -> Places:
    """Return the training's supervisor host, hosts with ranks, compute hosts outside its job, and the control host.

    The newest events of the run decide; without events there are no supervisor host and no hosts with ranks.
    """
    starts = [event for event in events if event.kind == "generation_start"]
    jobs = [event for event in events if event.kind == "job_start"]
    members = tuple(starts[-1].more.get("hosts", ())) if starts else ()
    job_hosts = set(jobs[-1].more.get("hosts", ())) if jobs else set()
    free = tuple(host.name for host in cluster.hosts("compute") if host.name not in job_hosts | set(members))
    return Places(jobs[-1].host if jobs else "", members, free, cluster.control.name)


def inject_fault(
    planned: Planned,
    host: str,
    placement: Places,
    cluster: Cluster,
    remote: Remote,
    training_run: TrainingRun,
) -> None:
    """Inject the planned fault on the host, and the second one, on another host, that some kinds have.

    Depending on the kind that is a fault of the lab, a torn checkpoint, or a signal to ranks.

    Raises:
        WrightError: The lab cannot inject it, or the host has no rank.
    """
    kind = planned.kind
    if kind.fault:
        lab.fault(cluster.name, kind.fault, host, **kind.options)
    if kind.tears:
        tear = _TEAR.format(folder=shlex.quote(training_run.run.folder))
        Host(remote, cluster.control.name).run(tear, timeout_s=30)
    for member in (placement.members if kind.tears else (host,)) if kind.signal else ():
        Host(remote, member).run(f"kill -{kind.signal} {_rank_on(member, training_run.events)}", timeout_s=30)
    if kind.second_fault and (second_host := placement.host_for(kind.second_fault["on"], planned.which)):
        options = {key: value for key, value in kind.second_fault.items() if key not in ("fault", "on")}
        lab.fault(cluster.name, kind.second_fault["fault"], second_host, **options)


def _rank_on(host: str, events: Sequence[DemoEvent]) -> int:
    """Return the PID of the rank that started last on the host.

    Raises:
        WrightError: `campaign-no-rank`: no rank has started there.
    """
    starts = [event for event in events if event.kind == "process_start" and event.host == host]
    if not starts:
        raise WrightError.from_code(
            "campaign-no-rank", _("no rank of the run is on {host}", host=host), _("run the campaign again")
        )
    return int(starts[-1].more["pid"])


def repair(kind: FaultKind, cluster: Cluster) -> None:
    """Undo the faults of a kind that only a person could repair: power, cables, disks, GPUs.

    All faults of the lab are undone; nothing for a kind that the lab does not inject.
    """
    if kind.fault or kind.second_fault:
        lab.undo(cluster.name)
