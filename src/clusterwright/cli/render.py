"""`wright render CLUSTER --out DIR`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.i18n import _


def render(cluster: Path, /, *, out: Path) -> int:
    """Write every file of every host into a folder, touching no host.

    A file that all hosts share lies in `all`, one of a role in `roles/ROLE`, one of a node group in
    `groups/GROUP`, and a host's own in `hosts/HOST`.

    Parameters
    ----------
    cluster
        The cluster file.
    out
        The folder: new, empty, or an earlier render, which is replaced.
    """
    from clusterwright.cli._show import show_message
    from clusterwright.config.load import load_cluster
    from clusterwright.edge.bundler import library
    from clusterwright.edge.trees import write_tree
    from clusterwright.provision.export.fold import fold_files
    from clusterwright.provision.render.tree import tree
    from clusterwright.provision.resources import RoleContext

    spec = load_cluster(cluster)
    files = tree(spec, RoleContext(cluster.name, {"munge.key": b""}, library()))
    write_tree(out, fold_files(files, spec.hosts()))
    show_message(
        _(
            "{map} files of {count} hosts in {out}, equal ones once",
            map=sum(map(len, files.values())),
            count=len(files),
            out=out,
        )
    )
    show_message(_("next: wright apply --dry-run {cluster}", cluster=cluster))
    return 0
