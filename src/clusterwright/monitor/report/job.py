"""The report of one job in the layout of jobstats, with parts about its run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.i18n import N_, _, bilingual
from clusterwright.monitor.report.job_advice import advice, ledger
from clusterwright.monitor.report.job_facts import GpuUse, HostUse, JobFacts
from clusterwright.monitor.report.job_run import run_parts
from clusterwright.monitor.report.money import Price, cost, energy
from clusterwright.monitor.report.report import (
    Report,
    ReportBar,
    ReportFigure,
    ReportPart,
    clock,
    percent,
    ratio,
    size,
    span,
)
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.units import human_number

MAX_ROWS = 64  # bars of GPUs and of hosts; of more, those with the lowest utilization


def report(facts: JobFacts, cluster: str, price: Price | None = None, gpu_watts: float = 0.0) -> Report:
    """Build the report of a job: use, times, advice and cost; unknown values are dashes, `missing` has the reasons.

    `price` None: without the cost. `gpu_watts`: rated power of a GPU, which counts if no power was measured; 0: not
    known.
    """
    record = facts.record
    hours = record.gpus * facts.run_s / 3600
    title = bilingual("Job {job}, {name}", job=visible(record.id), name=visible(record.name))
    figures = (
        ReportFigure(N_("GPU use"), percent(facts.gpu)),
        ReportFigure(N_("CPU use"), percent(facts.cpu)),
        ReportFigure(N_("goodput"), percent(ledger(facts).get("goodput"))),
        ReportFigure(N_("GPU hours"), human_number(hours)),
    )
    power_readings = [gpu.watts for gpu in facts.gpus if gpu.watts is not None]
    watts = sum(power_readings) if power_readings else gpu_watts * record.gpus
    parts = [
        ReportPart(N_("The job"), rows=tuple(_rows(facts, cluster)), heads=("", "")),
        ReportPart(N_("Overall utilization"), bars=tuple(_overall(facts))),
        *_details(facts),
        *run_parts(facts),
        _money(
            hours, price, energy(watts * facts.ran_s, is_metered=bool(power_readings), has_power=bool(watts))
        ),
    ]
    return Report(
        title,
        figures,
        tuple(parts),
        tuple(advice(facts)),
        facts.missing,
        footer=cluster,
        table=1,
        data=_data(facts, hours, price, watts),
    )


def _rows(facts: JobFacts, cluster: str) -> Iterator[tuple[str, str]]:
    record = facts.record
    run = str((facts.run.get("status") or {}).get("run", ""))
    rows = {
        _("Job ID"): record.id,
        _("User/Account"): f"{record.user or '-'}/{record.account or '-'}",
        _("Job name"): record.name,
        _("Run"): run,
        _("State"): facts.state,
        _("State in Slurm"): record.state if record.state != facts.state else "",
        _("Hosts"): f"{record.host_count} {record.hosts}".strip(),
        _("CPU cores"): str(record.cpus or "-"),
        _("CPU memory"): size(record.memory),
        _("GPUs"): str(record.gpus),
        _("QOS/Partition"): f"{record.qos or '-'}/{record.partition or '-'}",
        _("Cluster"): cluster,
        _("Waited"): span(record.waited_s),
        _("Run time"): clock(facts.run_s),
        _("Time limit"): clock(record.limit_s),
        _("Exit code"): record.exit_code,
        _("Earlier jobs of the run"): ", ".join(job.id for job in facts.earlier[-8:]),
    }
    for name, value in rows.items():
        if value:
            yield name, visible(value, 200)


def _overall(facts: JobFacts) -> Iterator[ReportBar]:
    used, limit = facts.memory
    yield ReportBar(_("CPU utilization"), facts.cpu)
    yield ReportBar(_("CPU memory usage"), ratio(used, limit), f"{size(used)}/{size(limit)}")
    if facts.record.gpus or facts.gpus:
        yield ReportBar(_("GPU utilization"), facts.gpu)
        yield ReportBar(_("GPU memory usage, fullest GPU"), facts.gpu_memory)


def _details(facts: JobFacts) -> Iterator[ReportPart]:
    """Yield a bar for each host and each GPU; of more than MAX_ROWS only those with the lowest utilization.

    Unknown utilization counts as 0.
    """
    if facts.hosts:
        idlest = sorted(facts.hosts, key=lambda host: _cpu(host, facts) or 0)[:MAX_ROWS]
        yield from _of_hosts(facts.hosts if len(facts.hosts) <= MAX_ROWS else idlest, facts)
    if facts.gpus:
        least = sorted(facts.gpus, key=lambda gpu: gpu.utilisation or 0)[:MAX_ROWS]
        yield from _of_gpus(facts.gpus if len(facts.gpus) <= MAX_ROWS else least)


def _cpu(host: HostUse, facts: JobFacts) -> float | None:
    return ratio(host.cpu_s, (host.cpus or 0) * facts.ran_s)


def _of_hosts(hosts: Sequence[HostUse], facts: JobFacts) -> Iterator[ReportPart]:
    yield ReportPart(
        N_("CPU utilization per host (time used/allocated)"),
        tuple(
            ReportBar(
                visible(host.name),
                _cpu(host, facts),
                f"{clock(host.cpu_s)}/{clock((host.cpus or 0) * facts.ran_s)}",
            )
            for host in hosts
        ),
    )
    yield ReportPart(
        N_("CPU memory per host (used/allocated)"),
        tuple(
            ReportBar(
                visible(host.name),
                ratio(host.memory, host.memory_limit),
                f"{size(host.memory)}/{size(host.memory_limit)}",
            )
            for host in hosts
        ),
    )


def _of_gpus(gpus: Sequence[GpuUse]) -> Iterator[ReportPart]:
    names = [visible(f"{gpu.host} (GPU {gpu.index})") for gpu in gpus]
    yield ReportPart(
        N_("GPU utilization per GPU"),
        tuple(
            ReportBar(name, gpu.utilisation, f"{gpu.watts:.0f} W" if gpu.watts else "")
            for name, gpu in zip(names, gpus, strict=True)
        ),
    )
    yield ReportPart(
        N_("GPU memory per GPU (most used/total)"),
        tuple(
            ReportBar(
                name, ratio(gpu.memory, gpu.memory_total), f"{size(gpu.memory)}/{size(gpu.memory_total)}"
            )
            for name, gpu in zip(names, gpus, strict=True)
        ),
    )


def _money(hours: float, price: Price | None, energy_line: str) -> ReportPart:
    lines = [energy_line]
    if price:
        lines.insert(0, cost(hours, price))
    return ReportPart(N_("Cost and energy"), lines=tuple(lines))


def _data(facts: JobFacts, hours: float, price: Price | None, watts: float) -> dict[str, Any]:
    used, limit = facts.memory
    status = {
        name: value
        for name, value in (facts.run.get("status") or {}).items()
        if name not in ("metrics", "table")
    }
    return {
        "schema": 1,
        "job": asdict(facts.record),
        "state": facts.state,
        "ran_s": facts.run_s,
        "waited_s": facts.record.waited_s,
        "cpu_ratio": facts.cpu,
        "gpu_ratio": facts.gpu,
        "gpu_memory_ratio": facts.gpu_memory,
        "memory_used_bytes": used,
        "memory_given_bytes": limit,
        "gpu_hours": hours,
        "cost": None if price is None else hours * price.amount,
        "currency": price.currency if price else None,
        "joules": watts * facts.ran_s if watts else None,
        "hosts": [asdict(host) for host in facts.hosts],
        "gpus": [asdict(gpu) for gpu in facts.gpus],
        "run": status or None,
        "slow": [list(row) for row in facts.run.get("slow") or ()],
        "advice": advice(facts),
        "missing": list(facts.missing),
    }
