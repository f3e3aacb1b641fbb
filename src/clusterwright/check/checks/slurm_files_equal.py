"""One Slurm configuration everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, most_common
from clusterwright.check.facts.slurm_files import FILES, slurm_files
from clusterwright.check.verdict import Verdict
from clusterwright.spec.cluster import Cluster


@check(
    slurm_files,
    together=True,
    mend="apply the cluster file again, or `wright apply --dry-run` to see who edited what",
)
def slurm_files_equal(cluster: Cluster, have: Mapping[str, dict[str, str]]) -> list[Verdict]:
    """Every file of Slurm's configuration that most hosts have is the same one on every host."""
    usual = {name: most_common(_prints(have, name), cluster.control.name) for name in FILES}
    return [_verdict(host, files, usual) for host, files in have.items()]


def _prints(have: Mapping[str, dict[str, str]], name: str) -> dict[str, str]:
    return {host: files.get(name, "") for host, files in have.items()}


def _verdict(host: str, files: dict[str, str], usual: dict[str, str]) -> Verdict:
    odd = [
        f"{name} {'differs' if name in files else 'is missing'}"
        for name in FILES
        if files.get(name, "") != usual[name]
    ]
    odd += [] if "slurm.conf" in files or usual["slurm.conf"] else ["slurm.conf is missing"]
    saw = ", ".join(odd) or f"{', '.join(files)} equal"
    return expect(not odd, saw=saw, want="the same files in /etc/slurm on all hosts", subject=host)
