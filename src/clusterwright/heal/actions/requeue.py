"""A job that its user lets Slurm start anew is put back into the queue, and does not get that host again.

Slurm lets a requeued job wait for two minutes; the host may be back by then.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions.executor import Executor, Order, failed
from clusterwright.slurm import client
from clusterwright.slurm.jobs import job_state_of

COST = "restart"
UNDO = ""


def prepare(order: Order, executor: Executor) -> dict[str, str] | None:
    """How often it was started; None where it does not run any more, or must not be started anew."""
    job = executor.job(order.intent.job)
    if not job or job_state_of(job) != "RUNNING" or job["Requeue"] != "1":
        return None
    return {"restarts": str(job.number("Restarts")), "excluded": job["ExcNodeList"]}


def execute(order: Order, prior: Mapping[str, str], executor: Executor) -> str:
    """Requeued, unless it was started anew since it was looked at."""
    job = order.intent.job
    hosts = ",".join(filter(None, (prior["excluded"], order.intent.host)))
    script = (
        f"now=$({client.line(client.show_job(job))}) || exit 0\n"
        f"case $now in *JobState=RUNNING*) ;; *) exit 0 ;; esac\n"
        f"case $now in *' Restarts={prior['restarts']} '*) ;; *) exit 0 ;; esac\n"
        f"{client.line(client.requeue(job))} || exit\n"
        # One that asked for this very host by name keeps it: Slurm refuses then, and it waits for the host.
        f"{client.line(client.set_job(job, ExcNodeList=hosts))} || true"
    )
    return failed(executor.slurm(script))


def happened(order: Order, prior: Mapping[str, str], executor: Executor) -> bool | None:
    """It was started anew, or waits, or has ended."""
    job = executor.job(order.intent.job)
    return not job or job_state_of(job) != "RUNNING" or str(job.number("Restarts")) != prior["restarts"]
