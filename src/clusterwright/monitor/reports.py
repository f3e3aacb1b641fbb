"""Reports of a job, a team or the cluster, from Slurm's accounting, Prometheus and the folders of runs."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.monitor.fetch import Fetched
    from clusterwright.monitor.report.job_facts import JobFacts
    from clusterwright.monitor.report.money import Price
    from clusterwright.monitor.report.report import Report

_MONTH = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])")


def job_report(name: str, cluster: Cluster, remote: Remote | None = None) -> Report:
    """Report the use of resources, the times and the cost of a job of the cluster, by its id, its run's name or `last`.

    The figures are in `data`: seconds, bytes, GPU hours, and money in the currency that it names.

    Raises:
        WrightError: `no-such-job`: neither Slurm nor the runs folder has it.
    """
    from clusterwright.launch.listing import run_names
    from clusterwright.launch.run import runs_folder
    from clusterwright.monitor.fetch import of_job as fetch_job
    from clusterwright.monitor.report import job as job_page
    from clusterwright.provision.apply import remote_of

    data = fetch_job(cluster, remote or remote_of(cluster), name)
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
    price, watts = _of_gpus(cluster)
    return job_page.report(job_facts, cluster.name, price, watts)


def month_report(
    cluster: Cluster, month: str = "", *, team: str = "", remote: Remote | None = None
) -> Report:
    """Report how the cluster or one team was used in a month, such as `2026-11`; default: the current one, until now.

    The figures are in `data`: GPU hours, and money in the currency that it names.

    Raises:
        WrightError: `bad-month`: not a month, or in the future; `unknown-name`: no team has this name.
    """
    from clusterwright.monitor.fetch import of_month as fetch_month
    from clusterwright.monitor.report import month as month_page
    from clusterwright.monitor.report.month_figures import Span
    from clusterwright.monitor.report.month_figures import month as figures
    from clusterwright.provision.apply import remote_of

    now = time.time()
    label = month or datetime.fromtimestamp(now, UTC).strftime("%Y-%m")
    begin, end = month_bounds(label)
    if begin > now:
        raise WrightError.from_code(
            "bad-month",
            _("month {month} is in the future", month=label),
            _("choose the current or an earlier month"),
            exit_code=EXIT_USAGE,
        )
    data = fetch_month(cluster, remote or remote_of(cluster), begin, min(end, now))
    if team and team not in cluster.teams and all(record.account != team for record in data.records):
        raise WrightError.from_code(
            "unknown-name",
            _("no team has the name `{team}`", team=team),
            unknown_name_fix(team, cluster.teams),
            exit_code=EXIT_USAGE,
        )
    gpus = sum(group.gpus.count * len(group.names()) for group in cluster.nodes.values() if group.gpus)
    span = Span(begin, min(end, now), gpus, team)
    price, watts = _of_gpus(cluster)
    return month_page.report(
        figures(span, data.records, data.runs, data.values, data.missing), cluster.name, label, price, watts
    )


def month_bounds(label: str) -> tuple[float, float]:
    """Return the begin of a month (`2026-11`) and of the next one, in seconds since the epoch (UTC).

    Raises:
        WrightError: the text is not a month.
    """
    match = _MONTH.fullmatch(label)
    if not match:
        raise WrightError.from_code(
            "bad-month",
            _("`{month}` is not a month", month=label),
            _("write the month as 2026-11"),
            exit_code=EXIT_USAGE,
        )
    year, number = int(match[1]), int(match[2])
    month_end = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return datetime(year, number, 1, tzinfo=UTC).timestamp(), month_end.timestamp()


def _of_gpus(cluster: Cluster) -> tuple[Price | None, float]:
    """Return (price of a GPU hour, power limit of a GPU in watts) of the first group with GPUs.

    The price is the cluster file's, else the catalog's on-demand price, else None. In a lab, and for a GPU that the
    catalog lacks, only the cluster file's price, and 0 watts.
    """
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


def local_report(folder: Path) -> Report:
    """Build the report of a run on this machine from its events alone.

    Raises:
        WrightError: no-run, if the folder has no readable events.
    """
    from clusterwright.monitor.report import job as job_page
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
    return job_page.report(job_facts, _("this machine"))
