"""`wright report job|team|cluster`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from cyclopts import App, Parameter

report = App(
    name="report",
    help="What a job, a team or the cluster did: use of GPUs, waiting, failures, where the time went, cost and energy.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@report.command
def job(
    job: str = "last",
    /,
    *,
    cluster: Path | None = None,
    html: Path | None = None,
    csv: Path | None = None,
    json: bool = False,
    lang: Literal["en", "zh"] | None = None,
) -> int:
    """Show how well one job used what it had, where its time went, and what to change.

    Parameters
    ----------
    job
        A job id, a run's name, `last`, or a run's folder on this machine.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    html
        A file for the same as a page.
    csv
        A file for the bars as a table.
    json
        One JSON document.
    lang
        The language; else that of $LC_ALL, $LC_MESSAGES or $LANG.
    """
    from clusterwright.cli import _report_made as made

    return made.show(made.of_job(job, cluster), made.Forms(html, csv, json, lang))


@report.command
def team(
    name: str = "",
    /,
    *,
    month: str = "",
    cluster: Path | None = None,
    html: Path | None = None,
    csv: Path | None = None,
    json: bool = False,
    lang: Literal["en", "zh"] | None = None,
) -> int:
    """Show what a team used in a month, and its users; without a name, all teams.

    Parameters
    ----------
    name
        The team (Slurm's account).
    month
        As 2026-11; this month if left out.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    html
        A file for the same as a page.
    csv
        A file for the teams as a table.
    json
        One JSON document.
    lang
        The language; else that of $LC_ALL, $LC_MESSAGES or $LANG.
    """
    from clusterwright.cli import _report_made as made

    return made.show(made.of_month(cluster, month, team=name), made.Forms(html, csv, json, lang))


@report.command(name="cluster")
def cluster_(
    cluster: Path | None = None,
    /,
    *,
    month: str = "",
    html: Path | None = None,
    csv: Path | None = None,
    json: bool = False,
    lang: Literal["en", "zh"] | None = None,
) -> int:
    """Show how the whole cluster was used in a month.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    month
        As 2026-11; this month if left out.
    html
        A file for the same as a page.
    csv
        A file for the teams as a table.
    json
        One JSON document.
    lang
        The language; else that of $LC_ALL, $LC_MESSAGES or $LANG.
    """
    from clusterwright.cli import _report_made as made

    return made.show(made.of_month(cluster, month), made.Forms(html, csv, json, lang))
