"""Exclude a host from a pending job that failed on it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.names import expand, fold
from clusterwright.heal.actions.executor import ActionOrder, Executor, failed
from clusterwright.slurm import client
from clusterwright.slurm.jobs import job_state_of
from clusterwright.slurm.states import is_pending

COST = "live"
UNDO = "scontrol update jobid=JOB excnodelist=OTHERS"


def _excluded(order: ActionOrder, executor: Executor) -> set[str]:
    job = executor.job(order.intent.job)
    return set(expand(job["ExcNodeList"])) if job and job["ExcNodeList"] else set()


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the hosts that the job already excludes; None if the job is no longer pending."""
    job = executor.job(order.intent.job)
    if not job or not is_pending(job_state_of(job)):
        return None
    return {"hosts": fold(sorted(_excluded(order, executor)))}


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Add the host to the excluded hosts of the job."""
    hosts = {order.intent.host, *(expand(prior["hosts"]) if prior["hosts"] else ())}
    return failed(executor.slurm(_update(order, hosts)))


def _update(order: ActionOrder, hosts: set[str]) -> str:
    return client.line(client.set_job(order.intent.job, ExcNodeList=fold(sorted(hosts))))


def happened(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return True if the pending job excludes the host."""
    return order.intent.host in _excluded(order, executor)


def undo(order: ActionOrder, executor: Executor) -> str:
    """Remove the host from the excluded hosts of the job."""
    return failed(executor.slurm(_update(order, _excluded(order, executor) - {order.intent.host})))
