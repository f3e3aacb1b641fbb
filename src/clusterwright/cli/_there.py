"""Which cluster a command means, and the way to the host where its runs are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Ssh

VARIABLE = "CLUSTERWRIGHT_CLUSTER"


def find_cluster(named: Path | None) -> Cluster:
    """The cluster that a command means.

    Raises:
        WrightError: there is none; with the places that were tried.
    """
    from clusterwright.config.load import load_cluster

    return load_cluster(cluster_file(named))


def cluster_file(named: Path | None, beside: Path | None = None) -> Path:
    """The file of `--cluster`, of $CLUSTERWRIGHT_CLUSTER, of ./cluster.yaml, or of the one beside the job file.

    Raises:
        WrightError: there is none; with the places that were tried.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError

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
    from clusterwright.provision.apply import remote_of

    return remote_of(cluster)


def follow(
    cluster: Cluster | None, runs: str, what: str, *, live: bool, deaf: bool = False, json: bool = False
) -> int:
    """Show a run's logs from the control host, or from here; the run's outcome as an exit code.

    On a terminal, a line beneath them says how far it is. With `deaf`, an interrupt does not end it.
    """
    from clusterwright.launch.follow.screen import able

    how = ("live" if live else "once", *(["json"] if json else []))
    if json or not live or not able(sys.stdout):
        return ask(cluster, "logs", runs, what, *how, deaf=deaf)
    return _on_screen(_argv(cluster, "logs", runs, what, "live", "json"), deaf=deaf)


def ask(cluster: Cluster | None, what: str, runs: str, *more: str, deaf: bool = False) -> int:
    """Have run_jobs.py do it on the control host, or here, and show what it says; its exit code."""
    from clusterwright.edge.bundler import RUNS, program_input
    from clusterwright.edge.processes import stream

    return stream(_argv(cluster, what, runs, *more), stdin=program_input(RUNS), deaf=deaf)


def _on_screen(argv: tuple[str, ...], *, deaf: bool) -> int:
    from clusterwright.edge.bundler import RUNS, program_input
    from clusterwright.edge.processes import lines
    from clusterwright.launch.follow.screen import Screen

    plain = "utf" not in (sys.stdout.encoding or "").lower()
    screen = Screen(sys.stdout, ascii_only=plain)
    try:
        return lines(argv, screen.line, stdin=program_input(RUNS), deaf=deaf)
    finally:
        screen.close()


def _argv(cluster: Cluster | None, what: str, runs: str, *more: str) -> tuple[str, ...]:
    """What starts run_jobs.py where the runs are."""
    from clusterwright.edge.bundler import LOADER, program_command

    if cluster is None:
        return (sys.executable, "-c", LOADER, what, runs, *more)
    return way_to(cluster).argv(cluster.control.name, program_command(what, runs, *more))
