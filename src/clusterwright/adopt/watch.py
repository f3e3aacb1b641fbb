"""Watch what an adopted cluster file describes and no role manages: the meaning of the site's slurm.conf."""

from __future__ import annotations

from clusterwright.adopt.meaning import Difference, differences
from clusterwright.adopt.recorded import RecordedSite
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import release
from clusterwright.config.slurm_rules import Source, parse_conf
from clusterwright.provision.render.slurm_conf import slurm_conf


def is_watched(cluster: Cluster) -> bool:
    """Return whether the file describes a slurm.conf that only the site changes."""
    return cluster.slurm.is_of_site and not cluster.manages("slurm")


def watched(cluster: Cluster, site: RecordedSite) -> tuple[Difference, ...]:
    """Return where the site's slurm.conf means something else than the file: first the file, then the site."""
    slurm_release = release(cluster.software.slurm)
    expected = parse_conf([Source("slurm.conf", "slurm.conf", slurm_conf(cluster, ""))], slurm_release)
    return differences(expected, parse_conf(site.sources(), slurm_release))
