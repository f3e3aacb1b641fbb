"""Requeue a job that was submitted with --requeue, and exclude the host from it.

Slurm delays a requeued job for two minutes; the host may be back by then.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions.executor import ActionOrder, Executor, failed
from clusterwright.slurm import client
from clusterwright.slurm.jobs import job_state_of

COST = "restart"
UNDO = ""


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the job's number of restarts and its excluded hosts; None if it no longer runs or must not be requeued."""
    job = executor.job(order.intent.job)
    if not job or job_state_of(job) != "RUNNING" or job["Requeue"] != "1":
        return None
    return {"restarts": str(job.number("Restarts")), "excluded": job["ExcNodeList"]}


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Requeue the job, and exclude the host from it; nothing if it no longer runs or restarted since `prior` was read.

    Return the error, or an empty text; that the host cannot be excluded is none.
    """
    job = order.intent.job
    hosts = ",".join(filter(None, (prior["excluded"], order.intent.host)))
    script = (
        f"now=$({client.line(client.show_job(job))}) || exit 0\n"
        f"case $now in *JobState=RUNNING*) ;; *) exit 0 ;; esac\n"
        f"case $now in *' Restarts={prior['restarts']} '*) ;; *) exit 0 ;; esac\n"
        f"{client.line(client.requeue(job))} || exit\n"
        # Slurm rejects this for a job that requires the host by name; the job then waits for the host.
        f"{client.line(client.set_job(job, ExcNodeList=hosts))} || true"
    )
    return failed(executor.slurm(script))


def happened(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return True if the job restarted since `prior`, does not run, or is unknown to Slurm; False if it still runs."""
    job = executor.job(order.intent.job)
    return not job or job_state_of(job) != "RUNNING" or str(job.number("Restarts")) != prior["restarts"]
