"""All hosts have the same Slurm configuration."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, most_common
from clusterwright.check.facts.slurm_files import FILES, slurm_files
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import _


@check(
    slurm_files,
    cluster_wide=True,
    fix="run `wright apply`; `wright apply --dry-run` shows the edited files first",
)
def slurm_files_equal(cluster: Cluster, have: Mapping[str, dict[str, str]]) -> list[Verdict]:
    """Every Slurm configuration file is the same on all hosts; gres.conf on the hosts of a group.

    In configless mode compute hosts have no files and are left out.
    """
    groups = {host.name: host for host in cluster.hosts()}
    fetch = {
        name for name, host in groups.items() if cluster.slurm.configless and host.group.role == "compute"
    }
    sides = {
        host: {name: _side(groups[host], name) for name in FILES}
        for host in have
        if host not in fetch and host in groups
    }
    usual = {
        (name, side): most_common(
            {host: have[host].get(name, "") for host in sides if sides[host][name] == side},
            cluster.control.name,
        )
        for name in FILES
        for side in {file_sides[name] for file_sides in sides.values()}
    }
    return [
        _verdict(host, have[host], {name: usual[name, side] for name, side in host_sides.items()})
        for host, host_sides in sides.items()
    ]


def _side(host: Host, name: str) -> str:
    """Return the group whose hosts share the file; empty for a file that all hosts share."""
    return host.group_name if name == "gres.conf" else ""


def _verdict(host: str, files: dict[str, str], usual: dict[str, str]) -> Verdict:
    odd = [
        _("{file} differs", file=name) if name in files else _("{file} is missing", file=name)
        for name in FILES
        if files.get(name, "") != usual[name]
    ]
    odd += [] if "slurm.conf" in files or usual["slurm.conf"] else [_("{file} is missing", file="slurm.conf")]
    observed = ", ".join(odd) or _("equal: {files}", files=", ".join(files))
    return expect(
        not odd, observed=observed, expected=_("the same files in /etc/slurm on all hosts"), subject=host
    )
