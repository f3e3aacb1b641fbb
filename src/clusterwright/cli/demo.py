"""`wright demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def demo(
    *,
    out: Path = Path("build/demo"),
    local: Annotated[bool, Parameter(negative="")] = False,
    cluster: Path | None = None,
    job: Path | None = None,
) -> int:
    """Make a lab, train on it, kill a host in the middle, and write a report of it; then take the lab down.

    Exit code: 0 when all that the report claims happened, 1 otherwise.

    Parameters
    ----------
    out
        Where report.json and report.html go.
    local
        No lab: the same training as ranks on this machine, one of them killed.
    cluster
        Another file of a lab; else examples/lab/cluster.yaml.
    job
        Another job file; else a small transformer on two hosts, with a third held ready.
    """
    from clusterwright.cli._show import show_message
    from clusterwright.config.load import load_job
    from clusterwright.lab.demo.runner import demo as run_demo

    report = run_demo(
        out, local=local, cluster_file=cluster, job=load_job(job) if job else None, write=show_message
    )
    return 0 if report.ok else 1
