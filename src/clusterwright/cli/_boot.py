"""What is looked at on a host that has been rebooted, before it takes jobs again."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.runner import run
from clusterwright.check.verdict import Status
from clusterwright.config.cluster import Cluster
from clusterwright.edge.ssh import Remote
from clusterwright.provision.reboot import Look

BAD = (Status.FAIL, Status.UNKNOWN)


def look(cluster: Cluster, remote: Remote) -> Look:
    """The checks of the occasion `boot`; what fails or cannot be seen is named, by host."""

    def wrong(hosts: tuple[str, ...]) -> Mapping[str, str]:
        found: dict[str, list[str]] = {}
        for one in run(cluster, remote, hosts=hosts, on="boot"):
            if one.status in BAD and one.subject in hosts:
                found.setdefault(one.subject, []).append(f"{one.check}: {one.saw}, wanted {one.want}")
        return {host: f"after its reboot, {'; '.join(words)}" for host, words in found.items()}

    return wrong
