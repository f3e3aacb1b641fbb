"""`wright report job|team|cluster`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from clusterwright.cli._connection import (
    LOCAL_RUNS,
    connection_to,
    find_cluster,
    has_only_local_runs,
    local_run,
    no_run,
    run_names,
)
from clusterwright.cli._live_names import RUNS, TEAMS
from clusterwright.cli._show import show_json, show_message, show_text
from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
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
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
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
    return show(job_report(job, find_cluster(cluster)), Forms(html, csv, json))


@report.command
def team(
    name: Annotated[str, TEAMS] = "",
    /,
    *,
    month: str = "",
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
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
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
    month: str = "",
    html: Path | None = None,
    csv: Path | None = None,
    json: bool = False,
) -> int:
    """Report how the cluster was used in a month.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
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
    """Write the requested files; print JSON if requested, else the text report if no file was; return 0.

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
        show_text(text.text(result))
    return 0


def of_job(name: str, file: Path | None) -> Report:
    """Build the report of a job of the cluster, or of a run if `name` is a folder with job.json on this machine.

    Raises:
        WrightError: neither Slurm nor the runs folder has the job.
    """
    from clusterwright.launch.run import runs_folder
    from clusterwright.monitor.fetch import of_job as fetch_job
    from clusterwright.monitor.report import job as job_report

    if folder := local_run(name, file):
        return _local_report(folder)
    if has_only_local_runs(file):
        raise no_run(name, None, str(LOCAL_RUNS.absolute()))
    cluster = find_cluster(file)
    data = fetch_job(cluster, connection_to(cluster), name)
    job_facts = _facts(data)
    if job_facts is None:
        reasons = "; ".join(data.missing) or _("neither Slurm nor the runs folder has this job")
        raise WrightError.from_code(
            "no-such-job",
            _("no job or run has the name `{name}`: {reasons}", name=name, reasons=reasons),
            unknown_name_fix(
                name, run_names(cluster, runs_folder(cluster)), _("choose a job that wright jobs lists")
            ),
            exit_code=EXIT_USAGE,
        )
    price, watts = of_gpus(cluster)
    return job_report.report(job_facts, cluster.name, price, watts)


def of_month(file: Path | None, label: str, team: str = "") -> Report:
    """Build the report of the cluster or one team.

    Raises:
        WrightError: the month is invalid, or the team does not exist.
    """
    from clusterwright.monitor.fetch import of_month as fetch_month
    from clusterwright.monitor.report import month as month_report
    from clusterwright.monitor.report.month_figures import Span
    from clusterwright.monitor.report.month_figures import month as figures

    cluster = find_cluster(file)
    now = time.time()
    label = label or datetime.fromtimestamp(now, UTC).strftime("%Y-%m")
    begin, end = bounds(label)
    if begin > now:
        raise WrightError.from_code(
            "bad-month",
            _("month {month} is in the future", month=label),
            _("choose the current or an earlier month"),
            exit_code=EXIT_USAGE,
        )
    data = fetch_month(cluster, connection_to(cluster), begin, min(end, now))
    if team and team not in cluster.teams and all(record.account != team for record in data.records):
        raise WrightError.from_code(
            "unknown-name",
            _("no team has the name `{team}`", team=team),
            unknown_name_fix(team, cluster.teams),
            exit_code=EXIT_USAGE,
        )
    gpus = sum(group.gpus.count * len(group.names()) for group in cluster.nodes.values() if group.gpus)
    span = Span(begin, min(end, now), gpus, team)
    price, watts = of_gpus(cluster)
    return month_report.report(
        figures(span, data.records, data.runs, data.values, data.missing), cluster.name, label, price, watts
    )


def bounds(label: str) -> tuple[float, float]:
    """Return the begin of a month and of the next one, in seconds since the epoch (UTC).

    Raises:
        WrightError: the text is not a month.
    """
    match = _MONTH.fullmatch(label)
    if not match:
        raise WrightError.from_code(
            "bad-month",
            _("`{month}` is not a month", month=label),
            _("write it as 2026-11"),
            exit_code=EXIT_USAGE,
        )
    year, number = int(match[1]), int(match[2])
    month_end = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return datetime(year, number, 1, tzinfo=UTC).timestamp(), month_end.timestamp()


def of_gpus(cluster: Cluster) -> tuple[Price | None, float]:
    """Return the price of a GPU hour and the power limit of a GPU in watts (0: not known), of the first kind of GPU."""
    from clusterwright.catalog.gpus import gpus
    from clusterwright.catalog.prices import price
    from clusterwright.catalog.records import Deal
    from clusterwright.monitor.report.money import Price
    from clusterwright.plan.machines import gpu_like

    accounting = cluster.accounting
    gpu_price = (
        Price(accounting.gpu_hour, accounting.currency, _("accounting.gpu_hour of the cluster file"))
        if accounting.gpu_hour
        else None
    )
    gpu_config = next((group.gpus for group in cluster.nodes.values() if group.gpus), None)
    try:
        gpu = gpu_like(gpu_config, gpus().values()) if gpu_config else None
    except WrightError:  # the catalog lacks this GPU
        gpu = None
    if gpu is None or cluster.lab:
        return gpu_price, 0.0
    market = price(gpu.name, Deal.ON_DEMAND)
    if gpu_price is None and market is not None:
        source = _("on-demand rental of {item}, {date}", item=market.item, date=market.date)
        gpu_price = Price(market.likely, market.currency, source)
    return gpu_price, gpu.power_w


def _facts(data: Fetched) -> JobFacts | None:
    from clusterwright.monitor.report.job_facts import facts

    return facts(data.records, data.steps, data.values, data.run, now=data.now, missing=data.missing)


def _local_report(folder: Path) -> Report:
    """Build the report of a run on this machine from its events alone."""
    from clusterwright.monitor.report import job as job_report
    from clusterwright.monitor.report.job_facts import facts
    from clusterwright.onhost.snapshot import history

    snapshot: dict[str, Any] = {"silent": {}}
    run = history.run_of(snapshot, str(folder))
    missing = (
        *snapshot["silent"].values(),
        _("a folder has no data of Slurm and Prometheus: CPU and GPU utilization are not known"),
    )
    job_facts = facts((), (), {}, run, now=time.time(), missing=missing)
    if job_facts is None:
        raise WrightError.from_code(
            "no-run",
            _("{folder} has no readable events: {error}", folder=folder, error=missing[0]),
            _("choose a run that wright jobs lists"),
        )
    return job_report.report(job_facts, _("this machine"))
