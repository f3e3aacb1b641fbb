"""slurm.conf, the same on every host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.once import once
from clusterwright.config.slurm_keys import RELEASES, lint
from clusterwright.provision.render.power import power
from clusterwright.provision.render.slurm_accounting import accounting
from clusterwright.provision.render.slurm_health import health
from clusterwright.provision.render.slurm_nodes import nodes, partitions
from clusterwright.provision.render.slurm_options import with_options
from clusterwright.provision.render.slurm_releases import release_of
from clusterwright.provision.render.slurm_scheduler import scheduler
from clusterwright.provision.render.slurm_settings import slurm_settings


@once
def slurm_conf(cluster: Cluster, header: str) -> str:
    """The whole file: settings with their reasons, then nodes, then partitions."""
    settings = (
        slurm_settings(cluster) + health(cluster) + power(cluster) + scheduler(cluster) + accounting(cluster)
    )
    paragraphs = [part.strip("\n") for part in settings.split("\n\n") if part.strip()]
    paragraphs = with_options(paragraphs, cluster.slurm.options)
    return header + "".join(f"\n{part}\n" for part in paragraphs) + nodes(cluster) + partitions(cluster)


def findings(text: str, file: str, cluster: Cluster) -> list[str]:
    """What the cluster's release would not take in a file; a release newer than our tables counts as the last."""
    return [str(found) for found in lint(text, file, min(release_of(cluster), RELEASES[-1]))]
