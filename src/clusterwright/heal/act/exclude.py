"""A job that waits to be started anew does not get the host that it failed on."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.names import expand, fold
from clusterwright.heal.act.hands import Hands, Order, failed
from clusterwright.slurm import client
from clusterwright.slurm.jobs import job_state_of
from clusterwright.slurm.states import is_pending

COST = "live"
UNDO = "scontrol update jobid=JOB excnodelist=OTHERS"


def _excluded(order: Order, hands: Hands) -> set[str]:
    job = hands.job(order.intent.job)
    return set(expand(job["ExcNodeList"])) if job and job["ExcNodeList"] else set()


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """Who is excluded already; None where the job does not wait any more."""
    job = hands.job(order.intent.job)
    if not job or not is_pending(job_state_of(job)):
        return None
    return {"hosts": fold(sorted(_excluded(order, hands)))}


def act(order: Order, given: Mapping[str, str], hands: Hands) -> str:
    """The host beside those that its user has excluded."""
    hosts = {order.intent.host, *(expand(given["hosts"]) if given["hosts"] else ())}
    return failed(hands.slurm(_update(order, hosts)))


def _update(order: Order, hosts: set[str]) -> str:
    return client.line(client.set_job(order.intent.job, ExcNodeList=fold(sorted(hosts))))


def happened(order: Order, _given: Mapping[str, str], hands: Hands) -> bool | None:
    """It is among those that the job does not get."""
    return order.intent.host in _excluded(order, hands)


def undo(order: Order, hands: Hands) -> str:
    """The job may get it again."""
    return failed(hands.slurm(_update(order, _excluded(order, hands) - {order.intent.host})))
