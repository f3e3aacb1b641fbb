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
    """Slurm.conf, gres.conf, cgroup.conf and topology.conf are the same files on every host that has them."""
    usual: dict[str, str] = {}
    for name in FILES:
        prints = {host: files[name] for host, files in have.items() if name in files}
        usual |= {name: most_common(prints, cluster.control.name)} if prints else {}
    return [_verdict(host, files, usual) for host, files in have.items()]


def _verdict(host: str, files: dict[str, str], usual: dict[str, str]) -> Verdict:
    odd = [f"{name} differs" for name, digest in files.items() if digest != usual[name]]
    odd += [] if "slurm.conf" in files else ["slurm.conf is missing"]
    saw = ", ".join(odd) or f"{', '.join(files)} equal"
    return expect(not odd, saw=saw, want="the same files in /etc/slurm on all hosts", subject=host)
