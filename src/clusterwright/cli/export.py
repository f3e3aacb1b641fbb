"""`wright export CLUSTER --out DIR`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.i18n import _


def export(
    cluster: Path, /, *, out: Path, ansible: bool = False, compose: bool = False, with_secrets: bool = False
) -> int:
    """Write the cluster as files that need no Clusterwright: for Ansible, for containers, for copying by hand.

    Parameters
    ----------
    cluster
        The cluster file.
    out
        The folder: new, empty, or an earlier export, which is replaced.
    ansible
        An inventory and a playbook, too.
    compose
        A compose file and what its images are made of, too.
    with_secrets
        The munge key and the like, too; each readable by its owner only.
    """
    from clusterwright.cli._show import show_message
    from clusterwright.config.load import load_cluster
    from clusterwright.edge.trees import write_files
    from clusterwright.provision.apply import build_context
    from clusterwright.provision.export.export import export as exported

    spec = load_cluster(cluster)
    context = build_context(spec, str(cluster))
    files = exported(spec, context, ansible=ansible, compose=compose, with_secrets=with_secrets)
    write_files(out, {path: (file.data, file.mode) for path, file in files.items()})
    show_message(
        _("{count} files for {count2} hosts in {out}", count=len(files), count2=len(spec.hosts()), out=out)
    )
    show_message(_("next: read {out}", out=out / "README.md"))
    return 0
