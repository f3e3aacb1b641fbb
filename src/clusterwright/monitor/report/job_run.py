"""What a job's run tells: where its time went, what broke, who was waited for, what checkpoints cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterwright.i18n import _
from clusterwright.monitor.report.job_advice import ledger
from clusterwright.monitor.report.job_facts import JobFacts
from clusterwright.monitor.report.report import Bar, Bilingual, Part, percent, ratio, span
from clusterwright.monitor.snapshot.visible import visible

_FAILURES: tuple[Bilingual, ...] = (("cause", "原因"), ("count", "次数"), ("first seen", "最初现象"))
_SLOW: tuple[Bilingual, ...] = (
    ("rank", "rank"), ("host", "主机"), ("times the others", "为其他 rank 的倍数"), ("lost a step", "每步损失"),
    ("from step", "起始步"), ("still", "仍在持续"),
)  # fmt: skip
_COMMUNICATION = {
    "measured": (
        "communication that nothing hid: {share} of the time in steps",
        "未被计算掩盖的通信: 占训练步骤时间的 {share}",
    ),
    "bounded": (
        "rank 0 waited {share} of the time in steps for gradients of others, slower ranks in it",
        "rank 0 等待其他 rank 的梯度 (含等待慢 rank): 占训练步骤时间的 {share}",
    ),
    "alone": (
        "communication: -, one rank has nobody to communicate with",
        "通信: -, 只有一个 rank, 无需通信",
    ),
    "sharded": (
        "communication: -, not measured of a sharded model, which waits in the middle of its computing",
        "通信: -, 分片模型在计算过程中等待通信, 无法测量",
    ),
    "stages": (
        "communication: -, not measured of a pipeline, whose stages wait in the middle of their computing",
        "通信: -, 流水线各级在计算过程中互相等待, 无法测量",
    ),
    "other": (
        "communication: -, measured only where DistributedDataParallel adds gradients up",
        "通信: -, 仅在由 DistributedDataParallel 汇总梯度时测量",
    ),
    "": ("communication: -, the run does not say so", "通信: -, 该训练没有记录"),
}
_SAVES: tuple[Bilingual, ...] = (
    ("read", "已读事件"), ("stall each", "每次停顿"), ("interval", "间隔"), ("best interval", "最佳间隔"),
)  # fmt: skip


def run_parts(facts: JobFacts) -> Iterator[Part]:
    """None where there is no run."""
    accounting = ledger(facts)
    if accounting:
        yield _time(accounting, communication(facts))
        yield _failures(accounting, (facts.run.get("status") or {}).get("failures") or ())
        yield _slow(facts)
        yield _checkpoints(facts, accounting)


def _time(accounting: dict[str, Any], communicated: Bilingual) -> Part:
    bins: dict[str, float] = {
        name: float(value) for name, value in (accounting.get("gpu_s") or {}).items() if value
    }
    total = sum(bins.values())
    order = sorted(bins, key=lambda name: -bins[name])
    count = len(accounting.get("failures") or ())
    ettr, goodput, mttr = (
        percent(accounting.get("ettr")),
        percent(accounting.get("goodput")),
        span(accounting.get("mttr_s")),
    )
    return Part(
        ("Where the time went", "时间去向"),
        tuple(
            Bar((name, name), ratio(bins[name], total), _("{bins:.2f} GPU h", bins=bins[name] / 3600))
            for name in order
        ),
        lines=(
            (
                f"ETTR {ettr}, goodput {goodput}, {count} failures, MTTR {mttr}",
                f"ETTR {ettr}, 有效产出 {goodput}, 故障 {count} 次, MTTR {mttr}",
            ),
            communicated,
        ),
    )


def communication(facts: JobFacts) -> Bilingual:
    """What of the time in steps it was; a dash with the reason where nobody measured it."""
    stats = facts.run.get("communication") or {}
    kind = str(stats.get("known") or "")
    if "share" not in stats:
        kind = "" if kind in ("measured", "bounded") else kind
    english, chinese = _COMMUNICATION.get(kind, _COMMUNICATION[""])
    share = percent(stats.get("share"))
    return english.format(share=share), chinese.format(share=share)


def _failures(accounting: dict[str, Any], failures: Any) -> Part:
    first_symptoms: dict[str, str] = {}
    for failure in failures:
        first_symptoms.setdefault(str(failure.get("reason")), str(failure.get("first") or ""))
    rows = tuple(
        (visible(reason), str(count), visible(first_symptoms.get(reason, ""), 160))
        for reason, count in (accounting.get("failures_by_kind") or {}).items()
    )
    return Part(("Failures by cause", "按原因分类的故障"), heads=_FAILURES, rows=rows)


def _slow(facts: JobFacts) -> Part:
    rows = tuple(
        (
            str(rank),
            visible(str(host)),
            f"{float(times):.2f}",
            f"{float(lost_s) * 1000:.3g} ms",
            str(step),
            "-" if end else "yes",
        )
        for rank, host, times, _, end, step, lost_s in facts.run.get("slow") or ()
    )
    return Part(("Ranks that all others waited for", "拖慢整体的 rank"), heads=_SLOW, rows=rows)


def _checkpoints(facts: JobFacts, accounting: dict[str, Any]) -> Part:
    saves, checkpoint = facts.run.get("saves") or (), accounting.get("checkpoint") or {}
    spans = (span(checkpoint.get(name)) for name in ("stall_s", "interval_s", "best_interval_s"))
    rows = ((str(len(saves)), *spans),) if saves else ()
    return Part(("Checkpoints", "检查点"), heads=_SAVES, rows=rows)
