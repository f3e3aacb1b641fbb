"""The verdicts of a pass, grouped by host and part; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.check.folding import WORST_FIRST, counts
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import N_, _

# Who fixes a problem, by `kind_of` its part.
CONTACTS = {
    "gpu": N_("server vendor (GPU)"),
    "network": N_("network team (cable, port or adapter)"),
    "disk": N_("storage team"),
    "host": N_("cluster administrator"),
}


@dataclass(frozen=True, slots=True)
class HostPart:
    """One GPU, link or disk of a host; `status` is None without a verdict."""

    kind: str
    name: str
    status: Status | None


@dataclass(frozen=True, slots=True)
class HostFindings:
    """One host: the worst status of the host itself, and its parts in order."""

    name: str
    role: str
    group: str
    address: str
    status: Status | None
    parts: tuple[HostPart, ...]

    def parts_by_kind(self, kind: str) -> tuple[HostPart, ...]:
        """Return the host's parts of a kind: `gpu`, `network` or `disk`."""
        return tuple(part for part in self.parts if part.kind == kind)


@dataclass(frozen=True, slots=True)
class Findings:
    """The data of the acceptance page; `checked_at` is a formatted time, `version` that of Clusterwright.

    `benches` describes the benchmark runs whose verdicts are included, with their times.
    """

    cluster: str
    checked_at: str
    version: str
    is_lab: bool
    counts: Mapping[str, int]
    hosts: tuple[HostFindings, ...]
    verdicts: tuple[Verdict, ...]
    benches: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if no verdict is `fail` or `unknown`."""
        return not (self.counts[Status.FAIL] or self.counts[Status.UNKNOWN])


def findings(
    cluster: Cluster,
    verdicts: Sequence[Verdict],
    *,
    checked_at: str,
    version: str,
    benches: Sequence[str] = (),
) -> Findings:
    """Return the verdicts of a check and of benchmarks by host of the cluster file, for a report, with counts."""
    by_host: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_host.setdefault(verdict.subject, []).append(verdict)
    hosts = tuple(_host(host, by_host.get(host.name, [])) for host in cluster.hosts())
    lab = cluster.lab is not None
    return Findings(
        cluster.name, checked_at, version, lab, counts(verdicts), hosts, tuple(verdicts), tuple(benches)
    )


def contact(verdict: Verdict, networks: Iterable[str]) -> str:
    """Return who fixes the problem of a verdict, by the kind of its part: GPU, network, disk or host."""
    return _(CONTACTS[kind_of(verdict.part, networks)])


def kind_of(part: str, networks: Iterable[str]) -> str:
    """Return the kind of a verdict's part: `gpu`, `network`, `disk`, or `host` for anything else."""
    if part.startswith("gpu"):
        return "gpu"
    if part in networks:
        return "network"
    return "disk" if part.startswith("/") else "host"


def worst(verdicts: Iterable[Verdict]) -> Status | None:
    """Return the worst status of verdicts; SKIPPED only if all are skipped, None if there are none."""
    statuses = {verdict.status for verdict in verdicts}
    order = [status for status in WORST_FIRST if status is not Status.SKIPPED]
    return next((status for status in order if status in statuses), Status.SKIPPED if statuses else None)


def _host(host: Host, verdicts: Sequence[Verdict]) -> HostFindings:
    by_part: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_part.setdefault(verdict.part, []).append(verdict)
    gpus = host.group.gpus.count if host.group.gpus else 0
    names = [("gpu", f"gpu {index}") for index in range(gpus)]
    names += [("network", network) for network in host.addresses]
    names += [("disk", path) for path in sorted(by_part) if path.startswith("/")]
    parts = tuple(HostPart(kind, name, worst(by_part.get(name, []))) for kind, name in names)
    address = str(next(iter(host.addresses.values())))
    return HostFindings(
        host.name, host.group.role, host.group_name, address, worst(by_part.get("", [])), parts
    )
