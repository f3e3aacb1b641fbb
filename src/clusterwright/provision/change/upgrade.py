"""From one release of Slurm to another: whether that may be, and in which order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.config.slurm_keys import release
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import N_, _

# RELEASE_NOTES of each release in Slurm's tree ("can be upgraded from", "supports upgrading directly from").
SOURCES = {
    "22.05": ("20.11", "21.08"),
    "23.02": ("21.08", "22.05"),
    "23.11": ("22.05", "23.02"),
    "24.05": ("23.02", "23.11"),
    "24.11": ("23.02", "23.11", "24.05"),
    "25.05": ("23.11", "24.05", "24.11"),
    "25.11": ("24.05", "24.11", "25.05"),
    "26.05": ("24.11", "25.05", "25.11"),
}
NOTE = N_("SPANK plugins, and programs linked with libslurm, have to be built anew for the new release")

Kind = Literal["slurmdbd", "slurmctld", "slurmd", "clients"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the hosts that get the new release at once, what is kept before, and what has to hold after."""

    kind: Kind
    hosts: tuple[str, ...]
    backups: str
    then: str

    def __str__(self) -> str:
        return _(
            "{kind} on {hosts}: {backups}upgraded; then {then}",
            kind=self.kind,
            hosts=fold(self.hosts),
            backups=self.backups,
            then=self.then,
        )


def newer(version: str, other_version: str) -> bool:
    """True when the version is a later one, by all its numbers; what one of them lacks does not count."""
    ours, theirs = numbers(version), numbers(other_version)
    shared = min(len(ours), len(theirs))
    return ours[:shared] > theirs[:shared]


def is_of(version: str, target: str) -> bool:
    """True for a version of that release: 24.11.5 is of 24.11 and of 24.11.5."""
    ours, theirs = numbers(version), numbers(target)
    return ours[: len(theirs)] == theirs


def numbers(version: str) -> tuple[int, ...]:
    """24.11.5-4 as 24, 11, 5."""
    parts = version.split("-", maxsplit=1)[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def refuse_span(have: Mapping[str, str], target: str) -> None:
    """Every host's release may be followed directly by the wanted one.

    Raises:
        WrightError: a step back, a span that Slurm does not take, or a release that we do not know.
    """
    for version in sorted(set(have.values())):
        hosts = fold([host for host, has in have.items() if has == version])
        if newer(version, target):
            raise _refused(
                _(
                    "{hosts} has Slurm {version}, which is newer than {target}; Slurm has no downgrade: "
                    "the new daemons have rewritten its state and its database",
                    hosts=hosts,
                    version=version,
                    target=target,
                ),
                _("to go back for good: the kept dump and state, on hosts that are installed anew"),
            )
        if is_of(version, target) or release(version) == release(target):
            continue
        if release(target) not in SOURCES:
            releases = ", ".join(SOURCES)
            raise _refused(
                _("nothing is known here of Slurm {release}", release=release(target)),
                _("name one of: {releases}", releases=releases),
            )
        if release(version) not in SOURCES[release(target)]:
            raise _refused(
                _(
                    "{hosts} has Slurm {version}; {release} takes over only from {sources}: from others "
                    "it drops jobs and state",
                    hosts=hosts,
                    version=version,
                    release=release(target),
                    sources=", ".join(SOURCES[release(target)]),
                ),
                _upgrade_path(release(version), release(target)),
            )


def steps(cluster: Cluster, have: Mapping[str, str], target: str, batch: int) -> tuple[Step, ...]:
    """What is left to do, in order; hosts that have the release already are in no step."""
    todo = [host.name for host in cluster.hosts() if not is_of(have.get(host.name, ""), target)]
    accountant = cluster.accountant.name if cluster.accountant else ""
    step_list: list[Step] = []
    if accountant in todo:
        backups = _("stopped, its database dumped and the dump read, ")
        if accountant == cluster.control.name:
            backups = _("it and slurmctld stopped, database dumped, state copied, both read, ")
        step_list.append(Step("slurmdbd", (accountant,), backups, _("it has to answer with the new version")))
    for host in cluster.hosts("control"):
        if host.name in todo:
            backups = "" if host.name == accountant else _("stopped, its state copied and the copy read, ")
            then = _("it has to answer with the new version, and know every job from before")
            step_list.append(Step("slurmctld", (host.name,), backups, then))
    compute = [host.name for host in cluster.hosts("compute") if host.name in todo]
    for hosts in in_batches(compute, batch):
        then = _("each has to answer slurmctld with the new version, its jobs still there")
        step_list.append(Step("slurmd", hosts, "", then))
    clients = tuple(host.name for host in cluster.hosts("login") if host.name in todo)
    if clients:
        step_list.append(Step("clients", clients, "", _("its commands have to answer")))
    return tuple(step_list)


def in_batches(hosts: Sequence[str], batch: int) -> list[tuple[str, ...]]:
    """The first one alone, as the one that shows whether it works; then so many at once."""
    size = max(1, batch)
    ends = [0, *range(1, len(hosts), size), len(hosts)]
    return [tuple(hosts[a:b]) for a, b in pairwise(ends) if a < b]


def batch_size(text: str, count: int) -> int:
    """`8`, or `25%` of the hosts; one at least.

    Raises:
        WrightError: it is neither.
    """
    number = text.removesuffix("%")
    if not number.isdecimal() or int(number) < 1:
        raise WrightError.from_code(
            "bad-batch",
            _("`{text}` is no number of hosts", text=text),
            "write 8, or 25%",
            exit_code=EXIT_USAGE,
        )
    return max(1, math.ceil(count * int(number) / 100)) if text.endswith("%") else int(number)


def _upgrade_path(have: str, target: str) -> str:
    """The fewest releases in between."""
    paths: list[tuple[str, ...]] = [(have,)]
    while paths:
        path = paths.pop(0)
        if path[-1] == target:
            return _("go by {path} first", path=" and ".join(path[1:-1]))
        paths += [(*path, next_release) for next_release, sources in SOURCES.items() if path[-1] in sources]
    return _("upgrade to a release in between first")


def _refused(message: str, fix: str) -> WrightError:
    return WrightError.from_code("upgrade-span", message, fix, exit_code=EXIT_USAGE)
