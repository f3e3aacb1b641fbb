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
    """Demonstrate fault tolerance: start a lab, train on it, kill a host, and write a report; then remove the lab.

    Exit code: 0 if every claim of the report holds, else 1.

    Parameters
    ----------
    out
        Folder of report.json and report.html.
    local
        Without a lab: run the ranks of the same training on this machine and kill one of them.
    cluster
        Cluster file of a lab; default: examples/lab/cluster.yaml.
    job
        Job file; default: a small transformer on two hosts with a third on standby.
    """
    from clusterwright.cli._show import show_message
    from clusterwright.config.load import load_job
    from clusterwright.lab.demo.runner import demo as run_demo

    report = run_demo(
        out, local=local, cluster_file=cluster, job=load_job(job) if job else None, write=show_message
    )
    return 0 if report.ok else 1
