"""From a site's files to the text of its cluster file, which is validated and compared before anybody gets it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clusterwright.adopt.document import document
from clusterwright.adopt.express import Adopted, SiteFacts, express
from clusterwright.adopt.meaning import Difference, differences
from clusterwright.adopt.other_files import other_lines, site_files
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import cluster_of
from clusterwright.config.reader import read
from clusterwright.config.slurm_keys import release
from clusterwright.config.slurm_rules import Source, parse_conf
from clusterwright.provision.render.slurm_conf import slurm_conf


@dataclass(frozen=True, slots=True)
class Site:
    """A described site: the text of its cluster file, the cluster, and what of it the file does not hold.

    `differences`: where a slurm.conf rendered from the file would mean something else than the site's.
    """

    text: str
    cluster: Cluster
    adopted: Adopted
    differences: tuple[Difference, ...]


def describe(
    sources: Iterable[Source], version: str, source_name: str, facts: SiteFacts | None = None
) -> Site:
    """Return the site that these Slurm files describe, with its cluster file; `version` is that of its Slurm.

    Raises:
        WrightError: `no-nodes`: slurm.conf describes no host or no partition that a cluster file can have.
        SpecError: the values contradict a rule of cluster files.
    """
    sources = tuple(sources)
    conf = parse_conf(sources, release(version), is_folder=True)
    adopted = express(conf, version, facts)
    cluster = _load(document(adopted, source_name))
    if files := site_files(sources, conf, cluster):
        adopted.values["slurm"]["files"] = files
        cluster = _load(document(adopted, source_name))
    rendered = parse_conf([Source("slurm.conf", "slurm.conf", slurm_conf(cluster, ""))], release(version))
    adopted = replace(adopted, left_out=(*adopted.left_out, *other_lines(conf, cluster)))
    return Site(document(adopted, source_name), cluster, adopted, differences(conf, rendered))


def _load(text: str) -> Cluster:
    return cluster_of(read(text.encode(), "cluster.yaml"))
