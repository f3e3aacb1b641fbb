"""What was found, by host and by part; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.check.folding import WORST_FIRST, counts
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import N_

# Who fixes it: the first word of a part, or what it is on the host.
CONTACTS = {
    "gpu": N_("the server's vendor: a GPU"),
    "network": N_("who runs the network: cable, port or adapter"),
    "disk": N_("who runs the storage"),
    "host": N_("the cluster's administrator"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One GPU, link or disk of a host; `status` is None where nothing was said of it."""

    kind: str
    name: str
    status: Status | None


@dataclass(frozen=True, slots=True)
class HostFindings:
    """One host: the worst that was said of it as a whole, and its parts in their order."""

    name: str
    role: str
    group: str
    address: str
    status: Status | None
    parts: tuple[Part, ...]

    def parts_by_kind(self, kind: str) -> tuple[Part, ...]:
        """Its GPUs, links or disks."""
        return tuple(part for part in self.parts if part.kind == kind)


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the page shows; `checked_at` is a date and time in words, `version` ours.

    `benches` says which measurements are among the verdicts, and of when they are.
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
        """True when nothing failed and nothing could not be seen: only `ok` is green."""
        return not (self.counts[Status.FAIL] or self.counts[Status.UNKNOWN])


def findings(
    cluster: Cluster,
    verdicts: Sequence[Verdict],
    *,
    checked_at: str,
    version: str,
    benches: Sequence[str] = (),
) -> Findings:
    """The verdicts of one pass and of benches, laid out over the cluster that the file describes."""
    by_host: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_host.setdefault(verdict.subject, []).append(verdict)
    hosts = tuple(_host(host, by_host.get(host.name, [])) for host in cluster.hosts())
    lab = cluster.lab is not None
    return Findings(
        cluster.name, checked_at, version, lab, counts(verdicts), hosts, tuple(verdicts), tuple(benches)
    )


def contact(verdict: Verdict, networks: Iterable[str]) -> str:
    """Who fixes what a verdict is about."""
    return CONTACTS[kind_of(verdict.part, networks)]


def kind_of(part: str, networks: Iterable[str]) -> str:
    """`gpu`, `network`, `disk`, or `host` for the whole of it."""
    if part.startswith("gpu"):
        return "gpu"
    if part in networks:
        return "network"
    return "disk" if part.startswith("/") else "host"


def worst(verdicts: Iterable[Verdict]) -> Status | None:
    """The worst status among them; skipped only where there is nothing else, None for none."""
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
    parts = tuple(Part(kind, name, worst(by_part.get(name, []))) for kind, name in names)
    address = str(next(iter(host.addresses.values())))
    return HostFindings(
        host.name, host.group.role, host.group_name, address, worst(by_part.get("", [])), parts
    )
