"""Fetch the data of a report with one SSH command, or locally on the control host."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.edge.answers import evaluating, parse_answer
from clusterwright.edge.bundler import HISTORY
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.i18n import N_, _, _n
from clusterwright.monitor.gather.gather import PROMETHEUS, control_remote
from clusterwright.monitor.records import jobcomp, sacct
from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.records.sacct import Bad
from clusterwright.provision.render.slurm_settings import LOGS

LIMIT_S = 60.0  # of each query: sacct reads a month of a large site in half a minute
PARTS = {
    "sacct": N_("Slurm's accounting"), "jobcomp": N_("slurmctld's job completion log"), "queue": N_("the queue"),
    "prometheus": "Prometheus", "run": N_("the run's folder"),
    "runs": N_("the run folders of all users"),
}  # fmt: skip
Values = dict[str, list[tuple[dict[str, str], float]]]

IDLE = 0.05  # GPU utilization below which a GPU counts as idle, as in the alert on idle allocated GPUs
SHORTEST_S, POINTS = 15, 400  # minimum step of a PromQL subquery in seconds, and its points per time range
FEW_GPUS = 2000
GPU_JOB_INFO = "max by (node, gpu, account) (clusterwright_gpu_job_info)"


@dataclass(frozen=True)
class Fetched:
    """Records of jobs and steps, metrics, and runs; `missing` has one line for each part that could not be queried."""

    now: float
    records: tuple[AccountingRecord, ...] = ()
    steps: tuple[AccountingRecord, ...] = ()
    values: Values = field(default_factory=dict)
    run: dict[str, Any] | None = None
    runs: tuple[dict[str, Any], ...] = ()
    missing: tuple[str, ...] = ()


def of_month(cluster: Cluster, remote: Remote, begin: float, end: float) -> Fetched:
    """Fetch all jobs with an allocation between two times (epoch seconds), and the sums of their GPUs' metrics.

    Raises:
        WrightError: the control host does not answer.
    """
    gpus = sum(group.gpus.count * len(group.names()) for group in cluster.nodes.values() if group.gpus)
    return _query(cluster, remote, "", begin, end, month_queries(begin, end, gpus))


def of_job(cluster: Cluster, remote: Remote, job: str) -> Fetched:
    """Fetch one job, or a run with all its jobs; metrics are those of its newest job that started.

    They follow in a second query, once the time of the job is known, and are left out if no job started or Prometheus
    is not enabled.

    Raises:
        WrightError: the control host does not answer.
    """
    base = _query(cluster, remote, job, 0.0, 0.0, {})
    job_gpus = [record for record in base.records if record.start is not None]
    if not job_gpus or not cluster.monitoring.prometheus:
        return base
    last = job_gpus[-1]
    begin, end = last.start or 0.0, last.end or base.now
    details = _query(cluster, remote, last.id, begin, end, job_queries(last.id, begin, end))
    missing = dict.fromkeys((*base.missing, *details.missing))
    return Fetched(base.now, base.records, base.steps, details.values, base.run, missing=tuple(missing))


def _query(
    cluster: Cluster, remote: Remote, job: str, begin: float, end: float, prometheus_queries: dict[str, str]
) -> Fetched:
    host = cluster.control.name
    request = {
        "job": job,
        "begin": begin,
        "end": end,
        "fields": sacct.FIELDS,
        "mark": sacct.SEPARATOR,
        "limit_s": LIMIT_S,
        "runs": f"{cluster.shared_folder}/runs" if cluster.shared_folder else "",
        "prometheus": PROMETHEUS,
        "queries": prometheus_queries if cluster.monitoring.prometheus else {},
        "accounting": cluster.accounting.enabled,
        "jobcomp": f"{LOGS}/jobcomp.log",
    }
    control = Host(control_remote(cluster, remote), host)
    result = control.run_program(HISTORY, json.dumps(request), timeout_s=5 * LIMIT_S)
    document = parse_answer(checked(result, host, "python3"), host)
    with evaluating(result, host):
        return fetched(document, cluster)


def fetched(document: dict[str, Any], cluster: Cluster) -> Fetched:
    """Parse the JSON document that the program on the control host printed.

    `missing` gets a sentence for what it lacks. Lines of Slurm's records that cannot be parsed are counted there, not
    raised.
    """
    missing = [
        _("{part} could not be read: {reason}", part=_(PARTS.get(part, part)), reason=reason)
        for part, reason in document.get("silent", {}).items()
    ]
    if not cluster.monitoring.prometheus:
        missing.append(_("metrics of GPUs and CPUs: Prometheus is not enabled (`monitoring.prometheus`)"))
    records, bad = _records(document)
    if bad:
        missing.append(
            _n(
                "{count} line of Slurm's records cannot be parsed: line {line}: {reason}",
                "{count} lines of Slurm's records cannot be parsed, the first: line {line}: {reason}",
                len(bad),
                line=bad[0].line,
                reason=bad[0].reason,
            )
        )
    values = {
        name: [(dict(labels), float(value)) for labels, value in rows]
        for name, rows in document.get("values", {}).items()
    }
    return Fetched(
        float(document.get("now") or 0),
        tuple(record for record in records if "." not in record.id),
        tuple(record for record in records if "." in record.id),
        values,
        document.get("run"),
        tuple(document.get("runs") or ()),
        tuple(missing),
    )


def _records(document: dict[str, Any]) -> tuple[list[AccountingRecord], list[Bad]]:
    """Return (records by start time, lines that cannot be parsed) of all texts, jobs and steps.

    Times of the job completion log are in the host's time zone and are moved to UTC.
    """
    rows: list[AccountingRecord | Bad] = []
    for name in ("sacct", "queue"):
        text = str(document.get(name) or "")
        if text.strip():
            rows += sacct.read(text.split("\n"), sacct.SEPARATOR)
    zone_s = float(document.get("zone_s") or 0)
    for row in jobcomp.read(str(document.get("jobcomp") or "").split("\n")):
        rows.append(row if isinstance(row, Bad) else row.moved(-zone_s))
    records = [row for row in rows if isinstance(row, AccountingRecord)]
    return sorted(records, key=lambda record: record.start or 0.0), [
        row for row in rows if isinstance(row, Bad)
    ]


def job_queries(job: str, begin: float, end: float) -> dict[str, str]:
    """Return PromQL queries by name about one job's hosts and GPUs from `begin` to `end` (epoch seconds)."""
    lasts_s = max(60, int(end - begin))
    step_s = max(SHORTEST_S, lasts_s // POINTS)
    selector = f"{{job={json.dumps(job)}}}"
    held = f"max by (node, gpu) (clusterwright_gpu_job_info{selector})"

    def gpu_statistic(how: str, family: str) -> str:
        return f"{how}((max by (node, gpu) ({family}) and on (node, gpu) {held})[{lasts_s}s:{step_s}s] @ {int(end)})"

    def host_maximum(family: str) -> str:
        return f"max by (node) (max_over_time({family}{selector}[{lasts_s}s] @ {int(end)}))"

    return {
        "gpu_utilisation": gpu_statistic("avg_over_time", "gpu:utilisation:ratio"),
        "gpu_memory": gpu_statistic("max_over_time", "gpu:memory_used:bytes"),
        "gpu_memory_total": gpu_statistic("max_over_time", "gpu:memory_total:bytes"),
        "gpu_watts": gpu_statistic("avg_over_time", "gpu:power:watts"),
        "cpu_seconds": host_maximum("clusterwright_job_cpu_seconds_total"),
        "cpus": host_maximum("clusterwright_job_cpus"),
        "memory": host_maximum("clusterwright_job_memory_bytes"),
        "memory_limit": host_maximum("clusterwright_job_memory_limit_bytes"),
        "oom_kills": host_maximum("clusterwright_job_oom_kills_total"),
    }


def month_queries(begin: float, end: float, gpus: int) -> dict[str, str]:
    """Return PromQL queries of GPU seconds (measured, busy, idle) and joules by account, and of all joules.

    Samples are 5 minutes apart, an hour with more than FEW_GPUS.
    """
    lasts_s = int(end - begin)
    step_s = 300 if gpus <= FEW_GPUS else 3600
    span = f"[{lasts_s}s:{step_s}s] @ {int(end)}"

    def by_account(metric: str) -> str:
        joined = f"{metric} * on (node, gpu) group_left(account) {GPU_JOB_INFO}"
        return f"{step_s} * sum by (account) (sum_over_time(({joined}){span}))"

    use = "max by (node, gpu) (gpu:utilisation:ratio)"
    watts = "max by (node, gpu) (gpu:power:watts)"
    return {
        "busy_s": by_account(use),
        "idle_s": by_account(f"({use} < bool {IDLE})"),
        "measured_s": by_account(f"({use} * 0 + 1)"),
        "joules": by_account(watts),
        "all_joules": f"{step_s} * sum(sum_over_time(({watts}){span}))",
    }
