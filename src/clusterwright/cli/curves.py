"""`wright curves RUN`: a run's points, from wherever its folder is, and the page that is made of them."""

from __future__ import annotations

import sys
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._connection import connection_to, find_cluster
from clusterwright.cli._show import show_message
from clusterwright.errors import WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.edge.processes import CommandResult

LIMIT_S = 300  # a million events take some seconds to read


def curves(
    job: str = "last",
    /,
    *,
    cluster: Path | None = None,
    output: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Draw a run's curves on one page: loss, learning rate, norm, speed, data wait, memory; restarts are marked.

    Parameters
    ----------
    job
        A run's name, a job id, `last`, the path of a slurm-123.out, or a run's folder on this machine.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    output
        Where the page goes; else RUN.html here.
    json
        The points of the curves as one JSON document, and no page.
    """
    text = curve_points(job, cluster)
    if json:
        sys.stdout.write(text)
        return 0
    show_message(f"curves: {write_curves(text, output)}")
    return 0


def curve_points(job: str, cluster: Path | None) -> str:
    """The points of a run's curves, as JSON.

    Raises:
        WrightError: there is no such run, or the host does not answer.
    """
    from clusterwright.edge.bundler import LOADER, RUNS, program_input
    from clusterwright.edge.host import Host
    from clusterwright.edge.processes import run
    from clusterwright.launch.run import runs_folder

    metrics_path = Path(job)
    if (metrics_path / "job.json").exists():
        argv = [
            sys.executable,
            "-c",
            LOADER,
            "curves",
            str(metrics_path.absolute().parent),
            metrics_path.absolute().name,
        ]
        return _out(run(argv, stdin=program_input(RUNS), timeout_s=LIMIT_S), job)
    cluster_config = find_cluster(cluster)
    control = Host(connection_to(cluster_config), cluster_config.control.name)
    return _out(control.run_program(RUNS, "curves", runs_folder(cluster_config), job, timeout_s=LIMIT_S), job)


def write_curves(text: str, output: Path | None) -> Path:
    """The page, in a file of the run's name unless another one is said."""
    from clusterwright.launch.curves import render_page

    document = loads(text)
    path = output or Path(f"{document['run']}.html")
    path.write_text(render_page(document), encoding="utf-8")
    return path


def _out(result: CommandResult, job: str) -> str:
    if result.ok:
        return result.out
    raise WrightError.from_code(
        "no-run",
        _("no curves of `{job}`: {last_lines}", job=job, last_lines=result.last_lines(2)),
        _("name a run that wright jobs lists"),
    )
