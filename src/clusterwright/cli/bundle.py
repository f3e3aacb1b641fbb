"""`wright bundle --out FILE`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._quantities import Os
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.source import Source


def bundle(*, cluster: Path | None = None, out: Path, os: Os | None = None) -> int:
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
    from clusterwright.cli._connection import cluster_file
    from clusterwright.cli._progress import progress
    from clusterwright.cli._show import cluster_option, show_message, show_next, show_verbatim
    from clusterwright.config.load import cluster_of, source_of
    from clusterwright.provision.package_bundle.gather import gather
    from clusterwright.units import human_size

    file = cluster_file(cluster)
    source = source_of(file)
    config = cluster_of(source) if os is None else _with_os(source, os)
    with progress("bundle"):
        gathered = gather(config, out, on_progress=show_message)
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


def _with_os(source: Source, os: str) -> Cluster:
    """Return the cluster with another operating system, whose errors name the option and not the file."""
    from clusterwright.config.load import cluster_of
    from clusterwright.errors import Location, SpecError

    source.values["os"] = os
    for loc, spot in list(source.spots.items()):
        if loc == ("os",):
            source.spots[loc] = replace(spot, excerpt=os)
    option = Location(f"--os {shlex.quote(os)}")
    try:
        return cluster_of(source)
    except SpecError as error:
        findings = (
            replace(
                finding, places=tuple(option if place.path == "os" else place for place in finding.places)
            )
            for finding in error.findings
        )
        raise SpecError(*findings) from error
