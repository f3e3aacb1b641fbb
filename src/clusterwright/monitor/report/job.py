"""The report of one job, in the shape that users of jobstats know; and what its run tells beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.monitor.report.job_advice import advice, ledger
from clusterwright.monitor.report.job_facts import GpuUse, HostUse, JobFacts
from clusterwright.monitor.report.job_run import run_parts
from clusterwright.monitor.report.money import Price, cost, energy
from clusterwright.monitor.report.report import (
    Bar,
    Bilingual,
    Figure,
    Part,
    Report,
    clock,
    gib,
    percent,
    ratio,
    span,
)
from clusterwright.monitor.snapshot.visible import visible

MAX_ROWS = 64  # GPUs and hosts that have a line of their own; of more, those that did least


def report(facts: JobFacts, cluster: str, price: Price | None = None, gpu_watts: float = 0.0) -> Report:
    """All that is known; what nobody can say has a dash, and is in `missing` with the reason."""
    record = facts.record
    hours = record.gpus * facts.ran_s / 3600
    title = (
        f"Job {visible(record.id)}, {visible(record.name)}",
        f"任务 {visible(record.id)}, {visible(record.name)}",
    )
    figures = (
        Figure(("GPU use", "GPU 利用率"), percent(facts.gpu)),
        Figure(("processor use", "CPU 利用率"), percent(facts.cpu)),
        Figure(("goodput", "有效产出"), percent(ledger(facts).get("goodput"))),
        Figure(("GPU hours", "GPU 小时"), f"{hours:.1f}"),
    )
    power_readings = [gpu.watts for gpu in facts.gpus if gpu.watts is not None]
    watts = sum(power_readings) if power_readings else gpu_watts * record.gpus
    parts = [
        Part(("The job", "任务"), rows=tuple(_rows(facts, cluster)), heads=(("", ""), ("", ""))),
        Part(("Overall", "总体利用率"), bars=tuple(_overall(facts))),
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
        "Job ID": record.id,
        "User/Account": f"{record.user or '-'}/{record.account or '-'}",
        "Job name": record.name,
        "Run": run,
        "State": record.state,
        "Hosts": f"{record.host_count} {record.hosts}".strip(),
        "CPU cores": str(record.cpus or "-"),
        "CPU memory": gib(record.memory),
        "GPUs": str(record.gpus),
        "QOS/Partition": f"{record.qos or '-'}/{record.partition or '-'}",
        "Cluster": cluster,
        "Waited": span(record.waited_s),
        "Run time": clock(facts.ran_s),
        "Time limit": clock(record.limit_s),
        "Exit code": record.exit_code,
        "Earlier jobs of the run": ", ".join(job.id for job in facts.earlier[-8:]),
    }
    for name, value in rows.items():
        if value:
            yield name, visible(value, 200)


def _overall(facts: JobFacts) -> Iterator[Bar]:
    used, limit = facts.memory
    yield Bar(("CPU utilization", "CPU 利用率"), facts.cpu)
    yield Bar(("CPU memory usage", "内存使用"), ratio(used, limit), f"{gib(used)}/{gib(limit)}")
    if facts.record.gpus or facts.gpus:
        yield Bar(("GPU utilization", "GPU 利用率"), facts.gpu)
        yield Bar(("GPU memory usage, of the fullest", "显存使用 (最满的一块)"), facts.gpu_memory)


def _details(facts: JobFacts) -> Iterator[Part]:
    """A bar for each host and each GPU; of thousands, those that did least."""
    if facts.hosts:
        idlest = sorted(facts.hosts, key=lambda host: _cpu(host, facts) or 0)[:MAX_ROWS]
        yield from _of_hosts(facts.hosts if len(facts.hosts) <= MAX_ROWS else idlest, facts)
    if facts.gpus:
        least = sorted(facts.gpus, key=lambda gpu: gpu.utilisation or 0)[:MAX_ROWS]
        yield from _of_gpus(facts.gpus if len(facts.gpus) <= MAX_ROWS else least)


def _cpu(host: HostUse, facts: JobFacts) -> float | None:
    return ratio(host.cpu_s, (host.cpus or 0) * facts.ran_s)


def _of_hosts(hosts: Sequence[HostUse], facts: JobFacts) -> Iterator[Part]:
    yield Part(
        ("CPU utilization per host (time used/given)", "各主机 CPU 利用率 (已用/可用时间)"),
        tuple(
            Bar(
                _untranslated(host.name),
                _cpu(host, facts),
                f"{clock(host.cpu_s)}/{clock((host.cpus or 0) * facts.ran_s)}",
            )
            for host in hosts
        ),
    )
    yield Part(
        ("CPU memory per host (used/given)", "各主机内存 (已用/可用)"),
        tuple(
            Bar(
                _untranslated(host.name),
                ratio(host.memory, host.memory_limit),
                f"{gib(host.memory)}/{gib(host.memory_limit)}",
            )
            for host in hosts
        ),
    )


def _of_gpus(gpus: Sequence[GpuUse]) -> Iterator[Part]:
    names = [_untranslated(f"{gpu.host} (GPU {gpu.index})") for gpu in gpus]
    yield Part(
        ("GPU utilization per GPU", "各 GPU 利用率"),
        tuple(
            Bar(name, gpu.utilisation, f"{gpu.watts:.0f} W" if gpu.watts else "")
            for name, gpu in zip(names, gpus, strict=True)
        ),
    )
    yield Part(
        ("GPU memory per GPU (most used/total)", "各 GPU 显存 (最大/总量)"),
        tuple(
            Bar(name, ratio(gpu.memory, gpu.memory_total), f"{gib(gpu.memory)}/{gib(gpu.memory_total)}")
            for name, gpu in zip(names, gpus, strict=True)
        ),
    )


def _untranslated(name: str) -> Bilingual:
    text = visible(name)
    return text, text


def _money(hours: float, price: Price | None, energy_line: Bilingual) -> Part:
    lines = [energy_line]
    if price:
        lines.insert(0, cost(hours, price))
    return Part(("Cost and energy", "成本与能耗"), lines=tuple(lines))


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
        "ran_s": facts.ran_s,
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
        "advice": [message[0] for message in advice(facts)],
        "missing": list(facts.missing),
    }
