"""`wright export --out DIR`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.i18n import _


def export(
    *,
    cluster: Path | None = None,
    out: Path,
    ansible: bool = False,
    compose: bool = False,
    with_secrets: bool = False,
) -> int:
    """Export the cluster as files that work without Clusterwright: for Ansible, containers or manual installation.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    out
        Output folder: new, empty, or an earlier export, which is replaced.
    ansible
        Also write an inventory and a playbook.
    compose
        Also write a compose file and the build files of its images.
    with_secrets
        Also write secrets such as the munge key, readable by their owner only.
    """
    from clusterwright.cli._connection import cluster_file
    from clusterwright.cli._progress import progress
    from clusterwright.cli._show import show_message, show_next
    from clusterwright.config.load import load_cluster
    from clusterwright.edge.secrets import state_folder, write_munge_key
    from clusterwright.edge.trees import write_files
    from clusterwright.provision.apply import build_context
    from clusterwright.provision.export.export import export as exported
    from clusterwright.provision.export.places import places_of
    from clusterwright.provision.roles.munge import KEY

    spec = load_cluster(file := cluster_file(cluster))
    context = build_context(spec, str(file))
    if with_secrets:
        write_munge_key(state_folder(spec.name), context.secrets[KEY])
    with progress("export"):
        places = places_of(spec, context)
        files = exported(
            spec, context, ansible=ansible, compose=compose, with_secrets=with_secrets, files=places
        )
        write_files(out, {path: (file.data, file.mode) for path, file in files.items()})
    show_message(
        _("{folder}: {files} files for {hosts} hosts", folder=out, files=len(files), hosts=len(spec.hosts()))
    )
    _show_computed(", ".join(places.computed))
    show_next(f"less {out / 'README.md'}")
    return 0


def _show_computed(paths: str) -> None:
    from clusterwright.cli._show import show_message

    if paths:
        show_message(_("not in the export, because hosts compute them: {paths}; see README.md", paths=paths))
