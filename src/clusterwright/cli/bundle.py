"""`wright bundle --out FILE`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.i18n import _


def bundle(*, cluster: Path | None = None, out: Path, os: str | None = None) -> int:
    """Gather every package that an apply of the cluster file installs, for hosts without a network.

    Runs on a machine with the distribution of the hosts and with a network, such as a container of its image. The
    packages come from the repositories of that machine and from `software.repositories` of the cluster file.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    out
        File to write, a tar archive.
    os
        Distribution release, such as rocky-9; default: `os` of the cluster file.
    """
    from clusterwright.cli._connection import cluster_file, cluster_option
    from clusterwright.cli._progress import progress
    from clusterwright.cli._show import show_message, show_next, show_verbatim
    from clusterwright.config.load import cluster_of, source_of
    from clusterwright.provision.package_bundle.gather import gather
    from clusterwright.units import human_size

    file = cluster_file(cluster)
    source = source_of(file)
    if os is not None:
        source.values["os"] = os
    with progress("bundle"):
        gathered = gather(cluster_of(source), out, on_progress=show_message)
    show_message(
        _(
            "{out}: {count} packages, {size}. Copy it to the machine that runs `wright apply`, and name it in the "
            "cluster file:",
            out=out,
            count=gathered.packages,
            size=human_size(gathered.size_bytes),
        )
    )
    show_verbatim(f"software:\n  bundle:\n    path: {out.absolute()}\n    sha256: {gathered.sha256}")
    show_next(f"wright apply {cluster_option(file)}")
    return 0
