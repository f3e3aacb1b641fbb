"""All hosts have the declared Slurm release."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, fault, most_common
from clusterwright.check.facts.slurm_version import slurm_version
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(slurm_version, cluster_wide=True, fix="install the declared Slurm release, on the control host first")
def slurm_as_declared(cluster: Cluster, have: Mapping[str, str]) -> list[Verdict]:
    """Every host has the declared Slurm release; another patch level than most hosts have is a warning."""
    declared, usual = cluster.software.slurm, most_common(have, cluster.control.name)
    return [_verdict(host, version, declared, usual) for host, version in have.items()]


def _verdict(host: str, version: str, declared: str, usual: str) -> Verdict:
    of_release = version == declared or version.startswith((f"{declared}.", f"{declared}-"))
    if of_release:
        expected = _("{declared} (software.slurm), {usual} on all hosts", declared=declared, usual=usual)
        return expect(
            version == usual, observed=version, expected=expected, subject=host, otherwise=Status.WARN
        )
    return fault(observed=version, expected=_("{declared} (software.slurm)", declared=declared), subject=host)
