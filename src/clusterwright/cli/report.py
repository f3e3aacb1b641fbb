"""`wright report job|team|cluster`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from clusterwright.cli._connection import cluster_of_run, find_cluster, local_run
from clusterwright.cli._live_names import RUNS, TEAMS
from clusterwright.cli._quantities import Month
from clusterwright.cli._show import show_json, show_message, show_text
from clusterwright.cli._wrapping import terminal_columns
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.monitor.report.report import Report


report = App(
    name="report",
    help="Report GPU use, waiting time, failures, lost time, cost and energy of a job, a team or the cluster.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@report.command
def job(
    job: Annotated[str, RUNS] = "last",
    /,
    *,
    cluster: Path | None = None,
    html: Path | None = None,
    csv: Path | None = None,
    json: bool = False,
) -> int:
    """Report how well one job used its resources, where its time went, and what to change.

    Parameters
    ----------
    job
        Job id, name of a run, `last`, or the folder of a run on this machine.
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    html
        Write the report to this HTML file.
    csv
        Write the bars to this CSV file.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.monitor.reports import job_report, local_report

    if folder := local_run(job, cluster):
        return show(local_report(folder), Forms(html, csv, json))
    return show(job_report(job, cluster_of_run(job, cluster)), Forms(html, csv, json))


@report.command
def team(
    name: Annotated[str, TEAMS] = "",
    /,
    *,
    month: Month = "",
    cluster: Path | None = None,
    html: Path | None = None,
    csv: Path | None = None,
    json: bool = False,
) -> int:
    """Report what a team and its users used in a month; default: all teams.

    Parameters
    ----------
    name
        Team (Slurm account).
    month
        Month, such as 2026-11; default: the current month.
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    html
        Write the report to this HTML file.
    csv
        Write the teams to this CSV file.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.monitor.reports import month_report

    return show(month_report(find_cluster(cluster), month, team=name), Forms(html, csv, json))


@report.command(name="cluster")
def cluster_(
    *,
    cluster: Path | None = None,
    month: Month = "",
    html: Path | None = None,
    csv: Path | None = None,
    json: bool = False,
) -> int:
    """Report how the cluster was used in a month.

    Parameters
    ----------
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    month
        Month, such as 2026-11; default: the current month.
    html
        Write the report to this HTML file.
    csv
        Write the teams to this CSV file.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.monitor.reports import month_report

    return show(month_report(find_cluster(cluster), month), Forms(html, csv, json))


@dataclass(frozen=True)
class Forms:
    """The requested output: files, JSON, or text if none is requested."""

    html: Path | None
    csv: Path | None
    json: bool


def show(result: Report, forms: Forms) -> int:
    """Write the requested files of a report; print JSON if requested, else the text if no file was; return 0.

    Raises:
        WrightError: a file cannot be written.
    """
    from clusterwright.cli._show import write_file
    from clusterwright.monitor.report import page, sheets, text

    if forms.html:
        write_file(forms.html, page.page(result))
        show_message(_("report: {file}", file=forms.html))
    if forms.csv:
        write_file(forms.csv, sheets.table(result))
        show_message(_("table: {file}", file=forms.csv))
    if forms.json:
        show_json(result.data)
    elif not forms.html and not forms.csv:
        show_text(text.text(result, terminal_columns(sys.stdout)))
    return 0
