"""A job that waits to be started anew does not get the host that it failed on."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.names import expand, fold
from clusterwright.heal.actions.executor import Executor, Order, failed
from clusterwright.slurm import client
from clusterwright.slurm.jobs import job_state_of
from clusterwright.slurm.states import is_pending

COST = "live"
UNDO = "scontrol update jobid=JOB excnodelist=OTHERS"


def _excluded(order: Order, executor: Executor) -> set[str]:
    job = executor.job(order.intent.job)
    return set(expand(job["ExcNodeList"])) if job and job["ExcNodeList"] else set()


def prepare(order: Order, executor: Executor) -> dict[str, str] | None:
    """Who is excluded already; None where the job does not wait any more."""
    job = executor.job(order.intent.job)
    if not job or not is_pending(job_state_of(job)):
        return None
    return {"hosts": fold(sorted(_excluded(order, executor)))}


def execute(order: Order, prior: Mapping[str, str], executor: Executor) -> str:
    """The host beside those that its user has excluded."""
    hosts = {order.intent.host, *(expand(prior["hosts"]) if prior["hosts"] else ())}
    return failed(executor.slurm(_update(order, hosts)))


def _update(order: Order, hosts: set[str]) -> str:
    return client.line(client.set_job(order.intent.job, ExcNodeList=fold(sorted(hosts))))


def happened(order: Order, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """It is among those that the job does not get."""
    return order.intent.host in _excluded(order, executor)


def undo(order: Order, executor: Executor) -> str:
    """The job may get it again."""
    return failed(executor.slurm(_update(order, _excluded(order, executor) - {order.intent.host})))
