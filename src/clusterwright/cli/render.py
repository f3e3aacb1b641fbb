"""`wright render --out DIR`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.cli._show import cluster_option
from clusterwright.i18n import _


def render(*, cluster: Path | None = None, out: Path) -> int:
    """Write every generated file of every host into a folder, without contacting hosts.

    Files that all hosts share are in `all`, files of a role in `roles/ROLE`, of a node group in `groups/GROUP`, and
    files of one host in `hosts/HOST`.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    out
        Output folder: new, empty, or an earlier render, which is replaced.
    """
    from clusterwright.cli._connection import cluster_file
    from clusterwright.cli._show import show_message, show_next
    from clusterwright.config.load import load_cluster
    from clusterwright.edge.bundler import library
    from clusterwright.edge.trees import write_tree
    from clusterwright.provision.export.fold import fold_files
    from clusterwright.provision.render.tree import tree
    from clusterwright.provision.resources import RoleContext

    file = cluster_file(cluster)
    spec = load_cluster(file)
    files = tree(spec, RoleContext({"munge.key": b""}, library()))
    write_tree(out, fold_files(files, spec.hosts()))
    count = sum(map(len, files.values()))
    show_message(
        _(
            "{folder}: {files} files of {hosts} hosts, identical files once",
            folder=out,
            files=count,
            hosts=len(files),
        )
    )
    show_next(f"wright apply --dry-run {cluster_option(file)}")
    return 0
