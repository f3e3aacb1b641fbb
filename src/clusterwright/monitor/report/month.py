"""The report of a team, or of the whole cluster, for a month."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from clusterwright.monitor.picture.visible import visible
from clusterwright.monitor.report.money import Price, cost, energy
from clusterwright.monitor.report.month_figures import Month, Sum, quantile
from clusterwright.monitor.report.report import Bar, Both, Figure, Part, Report, percent, ratio, said, span

# Names of what is said of each team and user; the CSV file has the same columns.
_COLUMNS: tuple[Both, ...] = (
    ("jobs", "任务数"), ("GPU hours", "GPU 小时"), ("share", "占比"), ("GPU use", "GPU 利用率"),
    ("idle", "占用但空闲"), ("wait", "排队中位数"), ("9 of 10", "九成低于"),
    ("failed", "失败任务"), ("lost hours", "失败损失"), ("cost", "成本"), ("kWh", "千瓦时"),
)  # fmt: skip
_CAUSES: dict[str, Both] = {
    "program": ("the program failed", "程序失败"), "host": ("a host failed", "主机故障"),
    "memory": ("out of memory", "内存不足"), "time limit": ("time limit", "达到时限"),
}  # fmt: skip
USERS = 20
MOSTLY = 0.9  # what is left out of less than this is worth a word
_KWH = 3.6e6


def report(found: Month, cluster: str, label: str, price: Price | None, gpu_watts: float) -> Report:
    """`label` is the month; `gpu_watts` the power that one GPU may draw, for what was not measured."""
    whose = f", {visible(found.span.team)}" if found.span.team else ""
    everything = found.all
    parts = (
        Part(("The GPUs", "GPU 使用"), tuple(_bars(found)), said=tuple(_queue(everything))),
        _table(("Teams", "团队"), ("team", "团队"), found, found.teams, price),
        _table(("Users", "用户"), ("user", "用户"), found, dict(_most(found.users)), price),
        _failures(found),
        _lost(found),
        _top(found),
        Part(("Cost and energy", "成本与能耗"), said=tuple(_money(found, price, gpu_watts))),
    )
    return Report(
        (f"{visible(cluster)}{whose}, {label}", f"{visible(cluster)}{whose}, {label}"),
        (
            Figure(("of the GPU hours were held", "GPU 占用率"), percent(found.utilisation)),
            Figure(("of these GPUs worked", "占用期间的利用率"), percent(everything.use)),
            Figure(("GPU hours", "GPU 小时"), f"{everything.held_h:,.0f}"),
            Figure(("wait, median", "排队中位数"), span(quantile(everything.waits_s, 0.5))),
        ),
        parts,
        tuple(_notes(found)),
        found.missing,
        footer=cluster,
        table=1,
        data=_data(found, label, price),
    )


def _bars(found: Month) -> Iterator[Bar]:
    room, held = found.span.room_h, found.all.held_h
    yield Bar(("held by jobs", "被任务占用"), found.utilisation, f"{held:,.1f}/{room:,.1f} GPU h")
    yield Bar(
        ("worked, of those measured", "实际工作 (实测部分)"),
        found.all.use,
        f"{found.all.measured_h or 0:,.1f} GPU h",
    )
    yield Bar(
        ("held and idle, of those measured", "占用但空闲 (实测部分)"),
        found.all.idle,
        f"{found.all.idle_h or 0:,.1f} GPU h",
    )
    yield Bar(
        ("lost in jobs that failed", "失败任务的损失"),
        ratio(found.all.failed_h, held),
        f"{found.all.failed_h:,.1f} GPU h",
    )


def _queue(everything: Sum) -> Iterator[Both]:
    middle, most = span(quantile(everything.waits_s, 0.5)), span(quantile(everything.waits_s, 0.9))
    count = len(everything.waits_s)
    yield (
        f"{count} jobs began; half of them waited less than {middle}, nine of ten less than {most}",
        f"{count} 个任务开始运行; 半数排队少于 {middle}, 九成少于 {most}",
    )


def _table(title: Both, of: Both, found: Month, rows: dict[str, Sum], price: Price | None) -> Part:
    order = sorted(rows, key=lambda name: -rows[name].held_h)
    return Part(
        title,
        heads=(of, *_COLUMNS),
        rows=tuple((visible(name), *_cells(rows[name], found, price)) for name in order),
    )


def _cells(each: Sum, found: Month, price: Price | None) -> tuple[str, ...]:
    return (
        str(each.jobs),
        f"{each.held_h:,.1f}",
        percent(ratio(each.held_h, found.all.held_h)),
        percent(each.use),
        percent(each.idle),
        span(quantile(each.waits_s, 0.5)),
        span(quantile(each.waits_s, 0.9)),
        str(sum(each.failed.values())),
        f"{each.failed_h:,.1f}",
        "-" if price is None else f"{each.held_h * price.amount:,.2f} {price.currency}",
        "-" if each.joules is None else f"{each.joules / _KWH:,.1f}",
    )


def _most(users: dict[str, Sum]) -> list[tuple[str, Sum]]:
    return sorted(users.items(), key=lambda pair: -pair[1].held_h)[:USERS]


def _failures(found: Month) -> Part:
    """Of jobs, as Slurm says; of runs, which survive most of what breaks, as their own events say."""
    rows = [
        ("/".join(_CAUSES.get(why, (why, why))), "Slurm", str(count))
        for why, count in found.all.failed.most_common()
    ]
    rows += [(visible(why), "run", str(count)) for why, count in found.broken.most_common()]
    heads: tuple[Both, ...] = (("cause", "原因"), ("seen by", "来源"), ("count", "次数"))
    return Part(("Failures by cause", "按原因分类的故障"), heads=heads, rows=tuple(rows))


def _lost(found: Month) -> Part:
    total = sum(found.lost_h.values())
    order = sorted(
        (name for name in found.lost_h if found.lost_h[name]), key=lambda name: -found.lost_h[name]
    )
    return Part(
        ("Where the time of runs went", "训练任务的时间去向"),
        tuple(
            Bar((name, name), ratio(found.lost_h[name], total), f"{found.lost_h[name]:,.2f} GPU h")
            for name in order
        ),
    )


def _top(found: Month) -> Part:
    heads: tuple[Both, ...] = (
        ("job", "任务"), ("name", "名称"), ("user", "用户"), ("team", "团队"), ("GPUs", "GPU"),
        ("GPU hours", "GPU 小时"), ("state", "状态"),
    )  # fmt: skip
    rows = tuple(
        tuple(
            visible(cell)
            for cell in (
                each.id,
                each.name,
                each.user,
                each.account or "-",
                str(each.gpus),
                f"{hours:,.1f}",
                each.state,
            )
        )
        for each, hours in found.top
    )
    return Part(("The largest jobs", "最大的任务"), heads=heads, rows=rows)


def _money(found: Month, price: Price | None, gpu_watts: float) -> Iterator[Both]:
    if price:
        yield cost(found.all.held_h, price)
    measured = found.joules is not None
    joules = found.joules if found.joules is not None else found.all.held_h * 3600 * gpu_watts
    yield energy(joules, measured=measured, known=measured or bool(gpu_watts))


def _notes(found: Month) -> Iterator[Both]:
    part = ratio(found.all.measured_h, found.all.held_h)
    if part is not None and part < MOSTLY:
        yield said("measured", part=percent(part))


def _data(found: Month, label: str, price: Price | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "month": label,
        "begin": found.span.begin,
        "end": found.span.end,
        "team": found.span.team or None,
        "gpus": found.span.gpus,
        "gpu_hours": found.span.room_h,
        "utilisation": found.utilisation,
        "joules": found.joules,
        "price": asdict(price) if price else None,
        "all": _sum(found.all),
        "teams": {name: _sum(each) for name, each in found.teams.items()},
        "users": {name: _sum(each) for name, each in found.users.items()},
        "broken": dict(found.broken),
        "run_gpu_hours": found.lost_h,
        "top": [{**asdict(each), "gpu_hours": hours} for each, hours in found.top],
        "missing": list(found.missing),
    }


def _sum(each: Sum) -> dict[str, Any]:
    return {
        "jobs": each.jobs,
        "held_h": each.held_h,
        "failed": dict(each.failed),
        "failed_h": each.failed_h,
        "wait_median_s": quantile(each.waits_s, 0.5),
        "wait_p90_s": quantile(each.waits_s, 0.9),
        "use": each.use,
        "idle": each.idle,
        "busy_h": each.busy_h,
        "idle_h": each.idle_h,
        "measured_h": each.measured_h,
        "joules": each.joules,
    }
