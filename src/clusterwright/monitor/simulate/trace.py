"""The jobs that are replayed: those of sacct's text, as far as a line tells what its job needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from clusterwright.monitor.records.record import Record
from clusterwright.monitor.records.sacct import Bad

MAX_BAD_LINES = 5  # bad lines that are named


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job as it was asked for; `gpus` and `cpus` of each of its hosts."""

    id: str
    team: str
    user: str
    submit: float
    run_s: float
    limit_s: float | None = None
    hosts: int = 1
    gpus: int = 0
    cpus: int = 1
    partition: str = ""
    qos: str = ""


@dataclass(slots=True)
class Trace:
    """All jobs by the time of their submission, and what of the text was none."""

    jobs: list[TraceJob] = field(default_factory=list)
    steps: int = 0
    never_ran: int = 0
    bad: int = 0
    first_bad: list[Bad] = field(default_factory=list)
    bad_kinds: Counter[str] = field(default_factory=Counter)


def trace(records: Iterable[Record | Bad]) -> Trace:
    """Jobs without their steps, and without those that never ran."""
    result = Trace()
    for record in records:
        if isinstance(record, Bad):
            _bad(result, record)
        elif "." in record.id:
            result.steps += 1
        elif not record.elapsed_s:
            result.never_ran += 1
        elif record.submit is None:
            _bad(result, Bad(0, f"job {record.id[:40]} has no time of submission", "no time of submission"))
        else:
            result.jobs.append(_job(record))
    result.jobs.sort(key=lambda job: job.submit)
    return result


def _bad(result: Trace, bad_line: Bad) -> None:
    result.bad += 1
    result.bad_kinds[bad_line.kind or bad_line.reason[:60]] += 1
    if len(result.first_bad) < MAX_BAD_LINES:
        result.first_bad.append(bad_line)


def _job(record: Record) -> TraceJob:
    hosts = max(1, record.host_count)
    # An array's tasks, a requeued job: each ran by itself. Elapsed and submission are all that a replay needs.
    return TraceJob(
        record.id,
        _intern(record.account or "nobody"),
        _intern(record.user or "nobody"),
        record.submit or 0.0,
        record.elapsed_s or 0.0,
        record.limit_s,
        hosts,
        -(-record.gpus // hosts),
        max(1, -(-record.cpus // hosts)),
        _intern(record.partition),
        _intern(record.qos),
    )


@lru_cache(maxsize=65536)
def _intern(text: str) -> str:
    """One text for all that are alike: a million jobs have some hundred names."""
    return text
