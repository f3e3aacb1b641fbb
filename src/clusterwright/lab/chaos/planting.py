"""How a fault is planted in a lab, and taken back."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright import lab
from clusterwright.config.cluster import Cluster
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.lab.chaos.course import Course
from clusterwright.lab.chaos.kind import Kind, Planned, one_of
from clusterwright.lab.demo.events import Event

_TEAR = """newest=$(ls -t {folder}/checkpoints/step-*/manifest.json | head -1) || exit
truncate --size 100 "${{newest%/*}}"/*.safetensors"""


@dataclass(frozen=True, slots=True)
class Places:
    """Which host is what for the training that runs."""

    supervisor: str
    members: tuple[str, ...]
    free: tuple[str, ...]
    control: str

    def of(self, on: str, which: float) -> str:
        """The host that is meant; of all that train where the supervisor trains alone, nothing where none is free."""
        others = tuple(host for host in self.members if host != self.supervisor) or self.members
        hosts = {
            "member": others, "supervisor": (self.supervisor,), "free": self.free, "control": (self.control,),
        }.get(on, ())  # fmt: skip
        return one_of(hosts, which) if hosts else ""


def places(cluster: Cluster, events: Sequence[Event]) -> Places:
    """As the newest events of the run have it."""
    starts = [event for event in events if event.kind == "generation_start"]
    jobs = [event for event in events if event.kind == "job_start"]
    members = tuple(starts[-1].more.get("hosts", ())) if starts else ()
    held = set(jobs[-1].more.get("hosts", ())) if jobs else set()
    free = tuple(host.name for host in cluster.hosts("compute") if host.name not in held | set(members))
    return Places(jobs[-1].host if jobs else "", members, free, cluster.control.name)


def plant(planned: Planned, host: str, at: Places, cluster: Cluster, remote: Remote, course: Course) -> None:
    """The fault is in force.

    Raises:
        WrightError: the lab cannot, or the host has no rank.
    """
    kind = planned.kind
    if kind.fault:
        lab.fault(cluster.name, kind.fault, host, **kind.options)
    if kind.tears:
        tear = _TEAR.format(folder=shlex.quote(course.run.folder))
        Host(remote, cluster.control.name).run(tear, timeout_s=30)
    for each in (at.members if kind.tears else (host,)) if kind.signal else ():
        Host(remote, each).run(f"kill -{kind.signal} {_rank_on(each, course.events)}", timeout_s=30)
    if kind.beside and (other := at.of(kind.beside["on"], planned.which)):
        options = {key: value for key, value in kind.beside.items() if key not in ("fault", "on")}
        lab.fault(cluster.name, kind.beside["fault"], other, **options)


def _rank_on(host: str, events: Sequence[Event]) -> int:
    """The process of the newest rank on the host."""
    found = [event for event in events if event.kind == "process_start" and event.host == host]
    if not found:
        raise WrightError.of("campaign-no-rank", f"no rank of the run is on {host}", "run the campaign again")
    return int(found[-1].more["pid"])


def mend(kind: Kind, cluster: Cluster) -> None:
    """What a person would mend with a screwdriver: power, cables, disks, GPUs."""
    if kind.fault or kind.beside:
        lab.undo(cluster.name)
