"""Verdicts as Prometheus metrics, in the format of node_exporter's textfile collector.

Only problems have a line each, so that the file of a thousand hosts stays short; the other verdicts are counted.
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
    """Return the metrics of one pass's verdicts and of the newest benchmarks in Prometheus's text format.

    `checked_at`: Unix time of the pass.
    """
    registry, benches = CollectorRegistry(), tuple(benches)

    def gauge(name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"clusterwright_{name}", about, ("cluster", *labels), registry=registry)

    when = gauge("check_time_seconds", "Unix time of the checks.")
    when.labels(cluster).set(checked_at)
    bench_time = gauge("bench_time_seconds", "Unix time of the newest benchmark of each kind.", "bench")
    for run in benches:
        bench_time.labels(cluster, run.bench).set(run.time)
    counted = gauge(
        "verdicts", "Number of verdicts of each check or benchmark, by status.", "check", "status"
    )
    bad = gauge(
        "not_well",
        "1 for each part with a problem; an empty part is the whole host.",
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
