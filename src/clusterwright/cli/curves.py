"""`wright curves RUN`: read the data points of a run from its folder and render them as a page."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clusterwright.cli._connection import RunLocation, connection_to, find_run
from clusterwright.cli._live_names import RUNS
from clusterwright.cli._show import show_message, write_file
from clusterwright.errors import WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.edge.processes import CommandResult

LIMIT_S = 300  # reading a million events takes seconds


def curves(
    job: Annotated[str, RUNS] = "last",
    /,
    *,
    cluster: Path | None = None,
    html: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Plot a run on one HTML page: loss, learning rate, gradient norm, speed, data wait, memory, restarts.

    Parameters
    ----------
    job
        Name of a run, job id, `last`, path of a slurm-123.out, or the folder of a run on this machine.
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    html
        HTML file; default: RUN.html in the current folder.
    json
        Print the data points as one JSON document; write no page.
    """
    document = curve_points(job, cluster)
    if json:
        sys.stdout.write(dumps(document) + "\n")
        return 0
    show_message(_("curves: {file}", file=write_curves(document, html)))
    return 0


def curve_points(job: str, cluster: Path | None) -> dict[str, Any]:
    """Return the data points of a run's curves.

    Raises:
        WrightError: the run does not exist, or the host does not respond or answers something else.
    """
    from clusterwright.edge.bundler import LOADER, RUNS, program_input
    from clusterwright.edge.host import Host
    from clusterwright.edge.processes import run

    location = find_run(job, cluster)
    if location.cluster is None:
        argv = [sys.executable, "-I", "-c", LOADER, "curves", location.runs, location.name]
        return _document(run(argv, stdin=program_input(RUNS), timeout_s=LIMIT_S), location)
    control = Host(connection_to(location.cluster), location.cluster.control.name)
    return _document(
        control.run_program(RUNS, "curves", location.runs, location.name, timeout_s=LIMIT_S), location
    )


def write_curves(document: dict[str, Any], output: Path | None) -> Path:
    """Write the HTML page of a run's curves to `output`, by default RUN.html; return its path.

    Raises:
        WrightError: the document is malformed.
    """
    from clusterwright.launch.curves import render_page
    from clusterwright.onhost.lib.safe_reader import DATA_ERRORS

    try:
        html = render_page(document)
    except DATA_ERRORS as error:
        raise _unreadable(
            str(document.get("run", "")), _("the answer is malformed: {error!r}", error=error)
        ) from error
    path = output or Path(f"{Path(document['run']).name}.html")  # a host must not choose the folder
    write_file(path, html)
    return path


def _document(result: CommandResult, location: RunLocation) -> dict[str, Any]:
    from clusterwright.edge.answers import parse_answer
    from clusterwright.edge.slurm import checked
    from clusterwright.edge.ssh import SSH_FAILED
    from clusterwright.launch.listing import no_run
    from clusterwright.onhost.runs.run_jobs import NO_RUN

    if result.code == NO_RUN:
        raise no_run(location.name, location.cluster, location.runs)
    if location.cluster and result.code == SSH_FAILED:
        checked(result, location.cluster.control.name, "curves")
    if not result.ok:
        raise _unreadable(location.name, result.last_lines(2))
    return parse_answer(result, result.argv[0])


def _unreadable(job: str, error: str) -> WrightError:
    return WrightError.from_code(
        "no-run",
        _("cannot read the curves of `{job}`: {error}", job=job, error=error),
        _("choose a run that wright jobs lists"),
    )
