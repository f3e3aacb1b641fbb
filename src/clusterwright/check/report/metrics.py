"""What was found, as Prometheus reads it from a file: the form of node_exporter's textfile collector.

Only what is not well has a line of its own, so that a thousand hosts stay a short file; the rest is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from clusterwright.check.bench.store import Stored
from clusterwright.check.verdict import Status, Verdict

WELL = (Status.OK, Status.SKIPPED)


def metrics(
    cluster: str, verdicts: Sequence[Verdict], benches: Iterable[Stored], *, checked_at: float
) -> str:
    """The text of the file: the verdicts of one pass, taken at that second since 1970, and of the newest benches."""
    registry, benches = CollectorRegistry(), tuple(benches)

    def gauge(name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"clusterwright_{name}", about, ("cluster", *labels), registry=registry)

    when = gauge("check_time_seconds", "When the checks ran, in seconds since 1970.")
    when.labels(cluster).set(checked_at)
    bench_time = gauge("bench_time_seconds", "When the newest bench of each kind ran.", "bench")
    for run in benches:
        bench_time.labels(cluster, run.bench).set(run.time)
    counted = gauge("verdicts", "Verdicts of each check or bench, by status.", "check", "status")
    bad = gauge(
        "not_well",
        "1 for each part that is not well; no part is the whole host.",
        "check",
        "host",
        "part",
        "status",
    )
    for check_verdict in (*verdicts, *(verdict for run in benches for verdict in run.verdicts)):
        counted.labels(cluster, check_verdict.check, check_verdict.status).inc()
        if check_verdict.status not in WELL:
            bad.labels(
                cluster, check_verdict.check, check_verdict.subject, check_verdict.part, check_verdict.status
            ).set(1)
    return generate_latest(registry).decode()
