"""What Prometheus is asked: how much GPUs did, by job or by team. Names are those of decision 0010. Pure."""

from __future__ import annotations

import json

IDLE = 0.05  # of its time; below it a GPU counts as doing nothing (the alert of GPUs that are held idle has the same)
SHORTEST_S, POINTS = 15, 400  # of a subquery's step, and how many of them a time is cut into
FEW_GPUS = 2000
HELD = "max by (node, gpu, account) (clusterwright_gpu_job_info)"


def of_job(job: str, begin: float, end: float) -> dict[str, str]:
    """Of one job's hosts and GPUs, from its begin to its end."""
    lasts_s = max(60, int(end - begin))
    step_s = max(SHORTEST_S, lasts_s // POINTS)
    mine = f"{{job={json.dumps(job)}}}"
    held = f"max by (node, gpu) (clusterwright_gpu_job_info{mine})"

    def over(how: str, family: str) -> str:
        return f"{how}((max by (node, gpu) ({family}) and on (node, gpu) {held})[{lasts_s}s:{step_s}s] @ {int(end)})"

    def whole(family: str) -> str:
        return f"max by (node) (max_over_time({family}{mine}[{lasts_s}s] @ {int(end)}))"

    return {
        "gpu_utilisation": over("avg_over_time", "gpu:utilisation:ratio"),
        "gpu_memory": over("max_over_time", "gpu:memory_used:bytes"),
        "gpu_memory_total": over("max_over_time", "gpu:memory_total:bytes"),
        "gpu_watts": over("avg_over_time", "gpu:power:watts"),
        "cpu_seconds": whole("clusterwright_job_cpu_seconds_total"),
        "cpus": whole("clusterwright_job_cpus"),
        "memory": whole("clusterwright_job_memory_bytes"),
        "memory_limit": whole("clusterwright_job_memory_limit_bytes"),
        "oom_kills": whole("clusterwright_job_oom_kills_total"),
    }


def of_month(begin: float, end: float, gpus: int) -> dict[str, str]:
    """GPU seconds that were measured, busy and idle, and joules, by account; all joules by nobody."""
    lasts_s = int(end - begin)
    step_s = 300 if gpus <= FEW_GPUS else 3600
    span = f"[{lasts_s}s:{step_s}s] @ {int(end)}"

    def by_account(what: str) -> str:
        joined = f"{what} * on (node, gpu) group_left(account) {HELD}"
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
