"""Which cluster a command means, and the way to the host where its runs are kept."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.edge.ssh import Ssh
    from clusterwright.spec.cluster import Cluster

VARIABLE = "CLUSTERWRIGHT_CLUSTER"


def find_cluster(named: Path | None) -> Cluster:
    """The cluster that a command means.

    Raises:
        WrightError: there is none; with the places that were tried.
    """
    from clusterwright.spec.load import load_cluster  # noqa: PLC0415 (start-up time)

    return load_cluster(cluster_file(named))


def cluster_file(named: Path | None, beside: Path | None = None) -> Path:
    """The file of `--cluster`, of $CLUSTERWRIGHT_CLUSTER, of ./cluster.yaml, or of the one beside the job file.

    Raises:
        WrightError: there is none; with the places that were tried.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError  # noqa: PLC0415 (start-up time)

    if named:
        return named
    said = os.environ.get(VARIABLE)
    tried = (
        [Path(said)]
        if said
        else [Path("cluster.yaml"), *([beside.parent / "cluster.yaml"] if beside else [])]
    )
    found = next((path for path in tried if path.exists()), None)
    if found is None:
        raise WrightError.of(
            "no-cluster-file",
            f"no cluster file; tried {', '.join(str(path) for path in tried)}"
            + ("" if said else f" (${VARIABLE} is not set)"),
            f"name it: --cluster cluster.yaml, or export {VARIABLE}=/path/to/cluster.yaml",
            exit_code=EXIT_USAGE,
        )
    return found


def way_to(cluster: Cluster) -> Ssh:
    """The lab's own ssh for a lab, the site's otherwise."""
    from clusterwright.build.apply import remote_of  # noqa: PLC0415 (start-up time)

    return remote_of(cluster)


def far_command(what: str, runs: str, *more: str) -> str:
    """The shell line for far.py, whose text comes on stdin."""
    return f"python3 -u - {shlex.join([what, runs, *more])}"


def far_text() -> bytes:
    """The script that is sent."""
    from clusterwright.train.launch import far  # noqa: PLC0415 (start-up time)

    return Path(far.__file__).read_bytes()


def follow(cluster: Cluster | None, runs: str, what: str, *, live: bool) -> int:
    """Show a run's logs from the control host, or from here; the run's outcome as an exit code."""
    from clusterwright.edge.processes import stream  # noqa: PLC0415 (start-up time)

    if cluster is None:
        argv: tuple[str, ...] = (sys.executable, "-u", "-", "logs", runs, what, "live" if live else "once")
    else:
        command = far_command("logs", runs, what, "live" if live else "once")
        argv = way_to(cluster).argv(cluster.control.name, command)
    return stream(argv, stdin=far_text())
