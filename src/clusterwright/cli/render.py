"""`wright render CLUSTER --out DIR`."""

from __future__ import annotations

from pathlib import Path


def render(cluster: Path, /, *, out: Path) -> int:
    """Write every file of every host into a folder, touching no host.

    Parameters
    ----------
    cluster
        The cluster file.
    out
        The folder: new, empty, or an earlier render, which is replaced.
    """
    from clusterwright.build.render.tree import tree  # noqa: PLC0415 (start-up time)
    from clusterwright.build.resources import Given  # noqa: PLC0415
    from clusterwright.cli._show import say  # noqa: PLC0415
    from clusterwright.edge.sources import payload  # noqa: PLC0415
    from clusterwright.edge.trees import write_tree  # noqa: PLC0415
    from clusterwright.spec.load import load_cluster  # noqa: PLC0415

    spec = load_cluster(cluster)
    files = tree(spec, Given(cluster.name, {"munge.key": b""}, payload()))
    count = write_tree(out, files)
    say(f"{count} files of {len(files)} hosts in {out}")
    say(f"next: wright apply --dry-run {cluster}")
    return 0
