"""Further keys of slurm.conf are known to the release, and none of them is ours."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.slurm_keys import OURS, RELEASES, lint, release

_OPTIONS = ("slurm", "options")
_VERSION = ("software", "slurm")


def slurm_options(cluster: Cluster) -> Iterator[Clash]:
    """A key that the file decides elsewhere, and one that this Slurm would die of or complain about."""
    of = min(release(cluster.software.slurm), RELEASES[-1])
    for key, value in cluster.slurm.options.items():
        at = (*_OPTIONS, key)
        field = OURS.get(key.lower())
        if field is not None:
            yield _ours(key, field, at)
            continue
        for finding in lint(f"{key}={value}", "slurm.conf", of):
            yield Clash(
                "slurm-key",
                f"{finding.key}: {finding.what}",
                "write it as the slurm.conf(5) of that release does, or leave it out",
                (at, _VERSION),
            )


def _ours(key: str, field: str, at: tuple[str, ...]) -> Clash:
    if field:
        return Clash(
            "slurm-key-ours",
            f"{key} is written by us, from {field}",
            f"set {field}, and leave this out",
            (at,),
        )
    what = f"{key} is written by us: units, firewall, logs and folders rest on it"
    return Clash("slurm-key-ours", what, "leave it out", (at,))
