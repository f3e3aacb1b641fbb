"""Upgrade of Slurm from one release to another: whether Slurm supports it, and the order of steps."""

from __future__ import annotations

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
NOTE = N_("rebuild SPANK plugins and programs linked with libslurm for the new release")

Kind = Literal["slurmdbd", "slurmctld", "slurmd", "clients"]


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """One step of a Slurm upgrade: hosts upgraded together, backups before it, and what must hold after (`then`)."""

    kind: Kind
    hosts: tuple[str, ...]
    backups: str
    then: str

    def __str__(self) -> str:
        text = (
            N_("{kind} on {hosts}: {backups}; upgrade; verify that {then}")
            if self.backups
            else N_("{kind} on {hosts}: upgrade; verify that {then}")
        )
        return _(text, kind=self.kind, hosts=fold(self.hosts), backups=self.backups, then=self.then)


def newer(version: str, other_version: str) -> bool:
    """Return whether `version` of Slurm is later; only the components that both versions have are compared."""
    ours, theirs = numbers(version), numbers(other_version)
    shared = min(len(ours), len(theirs))
    return ours[:shared] > theirs[:shared]


def is_of(version: str, target: str) -> bool:
    """Return whether `version` belongs to the release: 24.11.5 belongs to 24.11 and to 24.11.5."""
    ours, theirs = numbers(version), numbers(target)
    return ours[: len(theirs)] == theirs


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version without its package revision: 24.11.5-4 as (24, 11, 5)."""
    parts = version.split("-", maxsplit=1)[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def refuse_span(have: Mapping[str, str], target: str) -> None:
    """Check that Slurm supports a direct upgrade from every host's release to the target.

    Raises:
        WrightError: a downgrade, an unsupported distance, or an unknown release.
    """
    for version in sorted(set(have.values())):
        hosts = fold([host for host, has in have.items() if has == version])
        if newer(version, target):
            raise _refused(
                _(
                    "{hosts} has Slurm {version}, which is newer than {target}; Slurm has no downgrade: "
                    "the newer daemons have converted its state and its database",
                    hosts=hosts,
                    version=version,
                    target=target,
                ),
                _(
                    "to return to the old release, reinstall the hosts and restore the backups of database and state"
                ),
            )
        if is_of(version, target) or release(version) == release(target):
            continue
        if release(target) not in SOURCES:
            releases = ", ".join(SOURCES)
            raise _refused(
                _("Slurm {release} is not supported", release=release(target)),
                _("choose one of: {releases}", releases=releases),
            )
        if release(version) not in SOURCES[release(target)]:
            raise _refused(
                _(
                    "{hosts} has Slurm {version}; {release} upgrades only from {sources}: from other releases "
                    "it discards jobs and state",
                    hosts=hosts,
                    version=version,
                    release=release(target),
                    sources=", ".join(SOURCES[release(target)]),
                ),
                _upgrade_path(release(version), release(target)),
            )


def steps(cluster: Cluster, have: Mapping[str, str], target: str, batch: int) -> tuple[UpgradeStep, ...]:
    """Return the steps of an upgrade to `target`: slurmdbd, slurmctld, slurmd (one host, then batches), login hosts.

    `have` is the Slurm version by host; hosts that have the release already are in no step.
    """
    todo = [host.name for host in cluster.hosts() if not is_of(have.get(host.name, ""), target)]
    accountant = cluster.accountant.name if cluster.accountant else ""
    step_list: list[UpgradeStep] = []
    if accountant in todo:
        backups = _("stop slurmdbd; dump its database and verify the dump")
        if accountant == cluster.control.name:
            backups = _("stop slurmctld and slurmdbd; back up database and state and verify both")
        step_list.append(
            UpgradeStep("slurmdbd", (accountant,), backups, _("slurmdbd responds with the new version"))
        )
    for host in cluster.hosts("control"):
        if host.name in todo:
            backups = (
                "" if host.name == accountant else _("stop slurmctld; copy its state and verify the copy")
            )
            then = _("slurmctld responds with the new version and has every previous job")
            step_list.append(UpgradeStep("slurmctld", (host.name,), backups, then))
    compute = [host.name for host in cluster.hosts("compute") if host.name in todo]
    for hosts in in_batches(compute, batch):
        then = _("each slurmd has registered with the new version, and the jobs of its host still run")
        step_list.append(UpgradeStep("slurmd", hosts, "", then))
    clients = tuple(host.name for host in cluster.hosts("login") if host.name in todo)
    if clients:
        step_list.append(UpgradeStep("clients", clients, "", _("Slurm commands respond")))
    return tuple(step_list)


def in_batches(hosts: Sequence[str], batch: int) -> list[tuple[str, ...]]:
    """Return the first host alone, as a canary, then batches of `batch` hosts; empty without hosts."""
    size = max(1, batch)
    ends = [0, *range(1, len(hosts), size), len(hosts)]
    return [tuple(hosts[a:b]) for a, b in pairwise(ends) if a < b]


def _upgrade_path(have: str, target: str) -> str:
    """Return a sentence with the shortest list of Slurm releases in between; a general one if there is no such list."""
    paths: list[tuple[str, ...]] = [(have,)]
    while paths:
        path = paths.pop(0)
        if path[-1] == target:
            return _("upgrade to {releases} first", releases=", ".join(path[1:-1]))
        paths += [(*path, next_release) for next_release, sources in SOURCES.items() if path[-1] in sources]
    return _("upgrade to an intermediate release first")


def _refused(message: str, fix: str) -> WrightError:
    return WrightError.from_code("upgrade-span", message, fix, exit_code=EXIT_USAGE)
