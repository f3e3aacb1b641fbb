"""The trace of a replay: jobs of sacct's output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from clusterwright.i18n import _
from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.records.sacct import Bad

MAX_BAD_LINES = 5  # bad lines that are reported


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job as requested; `gpus` and `cpus` are per host."""

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
    """Jobs sorted by submission, and counts of skipped lines."""

    jobs: list[TraceJob] = field(default_factory=list)
    steps: int = 0
    never_ran: int = 0
    bad: int = 0
    first_bad: list[Bad] = field(default_factory=list)
    bad_kinds: Counter[str] = field(default_factory=Counter)


def trace(records: Iterable[AccountingRecord | Bad]) -> Trace:
    """Build a trace of jobs by submission time; steps and jobs that never ran are only counted.

    So are bad lines and jobs without a submission time.
    """
    result = Trace()
    for record in records:
        if isinstance(record, Bad):
            _bad(result, record)
        elif "." in record.id:
            result.steps += 1
        elif not record.elapsed_s:
            result.never_ran += 1
        elif record.submit is None:
            _bad(
                result,
                Bad(0, _("job {job} has no submission time", job=record.id[:40]), _("no submission time")),
            )
        else:
            result.jobs.append(_job(record))
    result.jobs.sort(key=lambda job: job.submit)
    return result


def _bad(result: Trace, bad_line: Bad) -> None:
    result.bad += 1
    result.bad_kinds[bad_line.kind or bad_line.reason[:60]] += 1
    if len(result.first_bad) < MAX_BAD_LINES:
        result.first_bad.append(bad_line)


def _job(record: AccountingRecord) -> TraceJob:
    hosts = max(1, record.host_count)
    # Tasks of an array and requeues count as jobs: a replay needs only submission and elapsed time.
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
    """Return the same text; cached, so that equal texts share memory: a million jobs have a few hundred names."""
    return text
