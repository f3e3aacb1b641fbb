"""The report of a team, or of the whole cluster, for a month."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from clusterwright.i18n import _
from clusterwright.monitor.report.money import Price, cost, energy
from clusterwright.monitor.report.month_figures import Month, Sum, quantile
from clusterwright.monitor.report.report import (
    Bar,
    Bilingual,
    Figure,
    Part,
    Report,
    message,
    percent,
    ratio,
    span,
)
from clusterwright.monitor.snapshot.visible import visible

# Names of what is said of each team and user; the CSV file has the same columns.
_COLUMNS: tuple[Bilingual, ...] = (
    ("jobs", "任务数"), ("GPU hours", "GPU 小时"), ("share", "占比"), ("GPU use", "GPU 利用率"),
    ("idle", "占用但空闲"), ("wait", "排队中位数"), ("9 of 10", "九成低于"),
    ("failed", "失败任务"), ("lost hours", "失败损失"), ("cost", "成本"), ("kWh", "千瓦时"),
)  # fmt: skip
_CAUSES: dict[str, Bilingual] = {
    "program": ("the program failed", "程序失败"), "host": ("a host failed", "主机故障"),
    "memory": ("out of memory", "内存不足"), "time limit": ("time limit", "达到时限"),
}  # fmt: skip
USERS = 20
MOSTLY = 0.9  # what is left out of less than this is worth a word
_KWH = 3.6e6


def report(month: Month, cluster: str, label: str, price: Price | None, gpu_watts: float) -> Report:
    """`label` is the month; `gpu_watts` the power that one GPU may draw, for what was not measured."""
    team_suffix = f", {visible(month.span.team)}" if month.span.team else ""
    everything = month.all
    parts = (
        Part(("The GPUs", "GPU 使用"), tuple(_bars(month)), lines=tuple(_queue(everything))),
        _table(("Teams", "团队"), ("team", "团队"), month, month.teams, price),
        _table(("Users", "用户"), ("user", "用户"), month, dict(_most(month.users)), price),
        _failures(month),
        _time_breakdown(month),
        _top(month),
        Part(("Cost and energy", "成本与能耗"), lines=tuple(_money(month, price, gpu_watts))),
    )
    return Report(
        (f"{visible(cluster)}{team_suffix}, {label}", f"{visible(cluster)}{team_suffix}, {label}"),
        (
            Figure(("of the GPU hours were held", "GPU 占用率"), percent(month.utilisation)),
            Figure(("of these GPUs worked", "占用期间的利用率"), percent(everything.use)),
            Figure(("GPU hours", "GPU 小时"), f"{everything.held_h:,.0f}"),
            Figure(("wait, median", "排队中位数"), span(quantile(everything.waits_s, 0.5))),
        ),
        parts,
        tuple(_notes(month)),
        month.missing,
        footer=cluster,
        table=1,
        data=_data(month, label, price),
    )


def _bars(month: Month) -> Iterator[Bar]:
    capacity_h, allocated_h = month.span.capacity_h, month.all.held_h
    yield Bar(
        ("held by jobs", "被任务占用"),
        month.utilisation,
        _("{allocated_h:,.1f}/{capacity_h:,.1f} GPU h", allocated_h=allocated_h, capacity_h=capacity_h),
    )
    yield Bar(
        ("worked, of those measured", "实际工作 (实测部分)"),
        month.all.use,
        _("{measured_h:,.1f} GPU h", measured_h=month.all.measured_h or 0),
    )
    yield Bar(
        ("held and idle, of those measured", "占用但空闲 (实测部分)"),
        month.all.idle,
        _("{idle_h:,.1f} GPU h", idle_h=month.all.idle_h or 0),
    )
    yield Bar(
        ("lost in jobs that failed", "失败任务的损失"),
        ratio(month.all.failed_h, allocated_h),
        _("{failed_h:,.1f} GPU h", failed_h=month.all.failed_h),
    )


def _queue(everything: Sum) -> Iterator[Bilingual]:
    middle, most = span(quantile(everything.waits_s, 0.5)), span(quantile(everything.waits_s, 0.9))
    count = len(everything.waits_s)
    yield (
        f"{count} jobs began; half of them waited less than {middle}, nine of ten less than {most}",
        f"{count} 个任务开始运行; 半数排队少于 {middle}, 九成少于 {most}",
    )


def _table(
    title: Bilingual, name_heading: Bilingual, month: Month, rows: dict[str, Sum], price: Price | None
) -> Part:
    order = sorted(rows, key=lambda name: -rows[name].held_h)
    return Part(
        title,
        heads=(name_heading, *_COLUMNS),
        rows=tuple((visible(name), *_cells(rows[name], month, price)) for name in order),
    )


def _cells(total: Sum, month: Month, price: Price | None) -> tuple[str, ...]:
    return (
        str(total.jobs),
        f"{total.held_h:,.1f}",
        percent(ratio(total.held_h, month.all.held_h)),
        percent(total.use),
        percent(total.idle),
        span(quantile(total.waits_s, 0.5)),
        span(quantile(total.waits_s, 0.9)),
        str(sum(total.failed.values())),
        f"{total.failed_h:,.1f}",
        "-" if price is None else f"{total.held_h * price.amount:,.2f} {price.currency}",
        "-" if total.joules is None else f"{total.joules / _KWH:,.1f}",
    )


def _most(users: dict[str, Sum]) -> list[tuple[str, Sum]]:
    return sorted(users.items(), key=lambda pair: -pair[1].held_h)[:USERS]


def _failures(month: Month) -> Part:
    """Of jobs, as Slurm says; of runs, which survive most of what breaks, as their own events say."""
    rows = [
        ("/".join(_CAUSES.get(reason, (reason, reason))), "Slurm", str(count))
        for reason, count in month.all.failed.most_common()
    ]
    rows += [(visible(reason), "run", str(count)) for reason, count in month.broken.most_common()]
    heads: tuple[Bilingual, ...] = (("cause", "原因"), ("seen by", "来源"), ("count", "次数"))
    return Part(("Failures by cause", "按原因分类的故障"), heads=heads, rows=tuple(rows))


def _time_breakdown(month: Month) -> Part:
    total = sum(month.lost_h.values())
    order = sorted(
        (name for name in month.lost_h if month.lost_h[name]), key=lambda name: -month.lost_h[name]
    )
    return Part(
        ("Where the time of runs went", "训练任务的时间去向"),
        tuple(
            Bar(
                (name, name),
                ratio(month.lost_h[name], total),
                _("{lost_h:,.2f} GPU h", lost_h=month.lost_h[name]),
            )
            for name in order
        ),
    )


def _top(month: Month) -> Part:
    heads: tuple[Bilingual, ...] = (
        ("job", "任务"), ("name", "名称"), ("user", "用户"), ("team", "团队"), ("GPUs", "GPU"),
        ("GPU hours", "GPU 小时"), ("state", "状态"),
    )  # fmt: skip
    rows = tuple(
        tuple(
            visible(cell)
            for cell in (
                record.id,
                record.name,
                record.user,
                record.account or "-",
                str(record.gpus),
                f"{hours:,.1f}",
                record.state,
            )
        )
        for record, hours in month.top
    )
    return Part(("The largest jobs", "最大的任务"), heads=heads, rows=rows)


def _money(month: Month, price: Price | None, gpu_watts: float) -> Iterator[Bilingual]:
    if price:
        yield cost(month.all.held_h, price)
    is_metered = month.joules is not None
    joules = month.joules if month.joules is not None else month.all.held_h * 3600 * gpu_watts
    yield energy(joules, is_metered=is_metered, has_power=is_metered or bool(gpu_watts))


def _notes(month: Month) -> Iterator[Bilingual]:
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
