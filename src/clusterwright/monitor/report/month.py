"""The report of a team, or of the whole cluster, for a month."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from clusterwright.i18n import N_, _, _n
from clusterwright.monitor.quantile import quantile
from clusterwright.monitor.report.money import Price, cost, energy
from clusterwright.monitor.report.month_figures import Month, Sum
from clusterwright.monitor.report.report import (
    Report,
    ReportBar,
    ReportFigure,
    ReportPart,
    message,
    percent,
    ratio,
    span,
)
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.units import human_number

# Columns of teams and users, in the CSV file as well.
_COLUMNS = (
    N_("jobs"), N_("GPU hours"), N_("share"), N_("GPU use"), N_("idle"), N_("median wait"), N_("90% wait"),
    N_("failed"), N_("lost hours"), N_("GPU cost"), "kWh",
)  # fmt: skip
_CAUSES = {
    "program": N_("the program failed"), "host": N_("a host failed"), "memory": N_("out of memory"),
    "time limit": N_("time limit"),
}  # fmt: skip
USERS = 20
MOSTLY = 0.9  # measured share of the GPU hours below which a note is added
_KWH = 3.6e6


def report(month: Month, cluster: str, label: str, price: Price | None, gpu_watts: float) -> Report:
    """Build the report of a month: use of GPUs, teams, users, failures, cost and energy.

    `label` is the month; `gpu_watts` is the rated power of one GPU, used if none was measured.
    """
    team_suffix = f", {visible(month.span.team)}" if month.span.team else ""
    everything = month.all
    parts = (
        ReportPart(N_("The GPUs"), tuple(_bars(month)), lines=(_queue(everything),)),
        _table(N_("Teams"), N_("team"), month, month.teams, price),
        _table(N_("Users"), N_("user"), month, dict(_most(month.users)), price),
        _failures(month),
        _time_breakdown(month),
        _top(month),
        ReportPart(N_("Cost and energy"), lines=tuple(_money(month, price, gpu_watts))),
    )
    return Report(
        (f"{visible(cluster)}{team_suffix}, {label}", f"{visible(cluster)}{team_suffix}, {label}"),
        (
            ReportFigure(N_("GPU hours allocated"), percent(month.utilisation)),
            ReportFigure(N_("used share of the allocated GPU time"), percent(everything.use)),
            ReportFigure(N_("GPU hours"), human_number(everything.held_h)),
            ReportFigure(N_("median wait"), span(quantile(everything.waits_s, 0.5))),
        ),
        parts,
        tuple(_notes(month)),
        month.missing,
        footer=cluster,
        table=1,
        data=_data(month, label, price),
    )


def _bars(month: Month) -> Iterator[ReportBar]:
    capacity_h, allocated_h = month.span.capacity_h, month.all.held_h
    hours = _(
        "{allocated}/{capacity} GPU h", allocated=human_number(allocated_h), capacity=human_number(capacity_h)
    )
    yield ReportBar(_("allocated to jobs"), month.utilisation, hours)
    yield ReportBar(
        _("GPU hours in which GPUs were busy, of the measured hours"),
        month.all.use,
        _hours(month.all.measured_h),
    )
    yield ReportBar(
        _("GPU hours allocated to jobs but idle, of the measured hours"),
        month.all.idle,
        _hours(month.all.idle_h),
    )
    yield ReportBar(
        _("GPU hours lost in failed jobs"), ratio(month.all.failed_h, allocated_h), _hours(month.all.failed_h)
    )


def _hours(hours: float | None) -> str:
    return "" if hours is None else _("{hours} GPU h", hours=human_number(hours))


def _queue(everything: Sum) -> str:
    middle, most = span(quantile(everything.waits_s, 0.5)), span(quantile(everything.waits_s, 0.9))
    return _n(
        "{count} job started; median wait {median}, 90% waited at most {most}",
        "{count} jobs started; median wait {median}, 90% waited at most {most}",
        len(everything.waits_s),
        median=middle,
        most=most,
    )


def _table(
    title: str, name_heading: str, month: Month, rows: dict[str, Sum], price: Price | None
) -> ReportPart:
    order = sorted(rows, key=lambda name: -rows[name].held_h)
    return ReportPart(
        title,
        heads=(name_heading, *_COLUMNS),
        rows=tuple((visible(name), *_cells(rows[name], month, price)) for name in order),
    )


def _cells(total: Sum, month: Month, price: Price | None) -> tuple[str, ...]:
    return (
        str(total.jobs),
        human_number(total.held_h),
        percent(ratio(total.held_h, month.all.held_h)),
        percent(total.use),
        percent(total.idle),
        span(quantile(total.waits_s, 0.5)),
        span(quantile(total.waits_s, 0.9)),
        str(sum(total.failed.values())),
        human_number(total.failed_h),
        "-" if price is None else f"{total.held_h * price.amount:,.2f} {price.currency}",
        "-" if total.joules is None else human_number(total.joules / _KWH),
    )


def _most(users: dict[str, Sum]) -> list[tuple[str, Sum]]:
    return sorted(users.items(), key=lambda pair: -pair[1].held_h)[:USERS]


def _failures(month: Month) -> ReportPart:
    """Return failures of jobs by Slurm's states, and failures inside runs, most of which a run survives."""
    rows = [
        (_(_CAUSES.get(reason, reason)), "Slurm", str(count))
        for reason, count in month.all.failed.most_common()
    ]
    rows += [(visible(reason), _("run"), str(count)) for reason, count in month.broken.most_common()]
    rows += [(_("other causes"), _("run"), str(month.broken_others))] if month.broken_others else []
    return ReportPart(
        N_("Failures by cause"), heads=(N_("cause"), N_("reported by"), N_("count")), rows=tuple(rows)
    )


def _time_breakdown(month: Month) -> ReportPart:
    total = sum(month.lost_h.values())
    order = sorted(
        (name for name in month.lost_h if month.lost_h[name]), key=lambda name: -month.lost_h[name]
    )
    return ReportPart(
        N_("Where the time of runs went"),
        tuple(
            ReportBar(name, ratio(month.lost_h[name], total), _hours(month.lost_h[name])) for name in order
        ),
    )


def _top(month: Month) -> ReportPart:
    heads = (N_("job"), N_("name"), N_("user"), N_("team"), N_("GPUs"), N_("GPU hours"), N_("state"))
    rows = tuple(
        tuple(
            visible(cell)
            for cell in (
                record.id,
                record.name,
                record.user,
                record.account or "-",
                str(record.gpus),
                human_number(hours),
                record.state,
            )
        )
        for record, hours in month.top
    )
    return ReportPart(N_("The largest jobs"), heads=heads, rows=rows)


def _money(month: Month, price: Price | None, gpu_watts: float) -> Iterator[str]:
    if price:
        yield cost(month.all.held_h, price)
    is_metered = month.joules is not None
    joules = month.joules if month.joules is not None else month.all.held_h * 3600 * gpu_watts
    yield energy(joules, is_metered=is_metered, has_power=is_metered or bool(gpu_watts))


def _notes(month: Month) -> Iterator[str]:
    part = ratio(month.all.measured_h, month.all.held_h)
    if part is not None and part < MOSTLY:
        yield message("measured", part=percent(part))


def _data(month: Month, label: str, price: Price | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "month": label,
        "begin": month.span.begin,
        "end": month.span.end,
        "team": month.span.team or None,
        "gpus": month.span.gpus,
        "gpu_hours": month.span.capacity_h,
        "utilisation": month.utilisation,
        "joules": month.joules,
        "price": asdict(price) if price else None,
        "all": _sum(month.all),
        "teams": {name: _sum(total) for name, total in month.teams.items()},
        "users": {name: _sum(total) for name, total in month.users.items()},
        "broken": dict(month.broken),
        "run_gpu_hours": month.lost_h,
        "top": [{**asdict(record), "gpu_hours": hours} for record, hours in month.top],
        "missing": list(month.missing),
    }


def _sum(total: Sum) -> dict[str, Any]:
    return {
        "jobs": total.jobs,
        "held_h": total.held_h,
        "failed": dict(total.failed),
        "failed_h": total.failed_h,
        "wait_median_s": quantile(total.waits_s, 0.5),
        "wait_p90_s": quantile(total.waits_s, 0.9),
        "use": total.use,
        "idle": total.idle,
        "busy_h": total.busy_h,
        "idle_h": total.idle_h,
        "measured_h": total.measured_h,
        "joules": total.joules,
    }
