"""Parts of a job's report from its run: goodput accounting, failures, stragglers and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterwright.i18n import N_, _, _n
from clusterwright.monitor.report.job_advice import ledger
from clusterwright.monitor.report.job_facts import JobFacts
from clusterwright.monitor.report.report import ReportBar, ReportPart, percent, ratio, span
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.units import human_number

_FAILURES = (N_("cause"), N_("count"), N_("first symptom"))
_SLOW = ("rank", N_("host"), N_("times the others"), N_("lost per step"), N_("from step"), N_("still slow"))
_COMMUNICATION = {  # by how it was measured, see onhost/supervisor/goodput/communication.py
    "measured": N_("communication not overlapped with computation: {share} of the time in steps"),
    "bounded": N_(
        "rank 0 waited {share} of the time in steps for gradients of other ranks, slower ranks included"
    ),
    "alone": N_("communication: -, a single rank does not communicate"),
    "sharded": N_(
        "communication: -, not measured for a sharded model, which communicates during its computation"
    ),
    "stages": N_(
        "communication: -, not measured for pipeline stages, which communicate during their computation"
    ),
    "other": N_("communication: -, measured only where DistributedDataParallel reduces the gradients"),
    "": N_("communication: -, the run has no record of it"),
}
_SAVES = (N_("saves"), N_("stall each"), N_("interval"), N_("best interval"))


def run_parts(facts: JobFacts) -> Iterator[ReportPart]:
    """Yield the parts of the report about the job's run; none without its goodput accounting."""
    accounting = ledger(facts)
    if accounting:
        yield _time(accounting, communication(facts))
        yield _failures(accounting, (facts.run.get("status") or {}).get("failures") or ())
        yield _slow(facts)
        yield _checkpoints(facts, accounting)


def _time(accounting: dict[str, Any], communicated: str) -> ReportPart:
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
    return ReportPart(
        N_("Where the time went"),
        tuple(
            ReportBar(
                name, ratio(bins[name], total), _("{hours} GPU h", hours=human_number(bins[name] / 3600))
            )
            for name in order
        ),
        lines=(
            _n(
                "ETTR {ettr}, goodput {goodput}, {count} failure, MTTR {mttr}",
                "ETTR {ettr}, goodput {goodput}, {count} failures, MTTR {mttr}",
                count,
                ettr=ettr,
                goodput=goodput,
                mttr=mttr,
            ),
            communicated,
        ),
    )


def communication(facts: JobFacts) -> str:
    """Return the share of communication in the time of steps, or why it is not known, as a text."""
    stats = facts.run.get("communication") or {}
    kind = str(stats.get("status") or "")
    if "share" not in stats:
        kind = "" if kind in ("measured", "bounded") else kind
    return _(_COMMUNICATION.get(kind, _COMMUNICATION[""]), share=percent(stats.get("share")))


def _failures(accounting: dict[str, Any], failures: Any) -> ReportPart:
    first_symptoms: dict[str, str] = {}
    for failure in failures:
        first_symptoms.setdefault(str(failure.get("reason")), str(failure.get("first_failure") or ""))
    rows = tuple(
        (visible(reason), str(count), visible(first_symptoms.get(reason, ""), 160))
        for reason, count in (accounting.get("failures_by_kind") or {}).items()
    )
    return ReportPart(N_("Failures by cause"), heads=_FAILURES, rows=rows)


def _slow(facts: JobFacts) -> ReportPart:
    rows = tuple(
        (
            str(rank),
            visible(str(host)),
            f"{float(times):.2f}",
            span(float(lost_s)),
            str(step),
            "-" if end else _("yes"),
        )
        for rank, host, times, _begin, end, step, lost_s in facts.run.get("slow") or ()
    )
    return ReportPart(N_("Ranks for which all others waited"), heads=_SLOW, rows=rows)


def _checkpoints(facts: JobFacts, accounting: dict[str, Any]) -> ReportPart:
    saves, checkpoint = facts.run.get("saves") or (), accounting.get("checkpoint") or {}
    spans = (span(checkpoint.get(name)) for name in ("stall_s", "interval_s", "best_interval_s"))
    rows = ((str(len(saves)), *spans),) if saves else ()
    return ReportPart(N_("Checkpoints"), heads=_SAVES, rows=rows)
