"""Exclude a host from a pending job that failed on it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.names import expand_valid, fold
from clusterwright.heal.actions.executor import ActionOrder, Executor, failed
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.jobs import job_state_of
from clusterwright.slurm.records import Record
from clusterwright.slurm.states import is_pending

COST = "live"
UNDO = "scontrol update jobid=JOB excnodelist=OTHERS"


def _excluded(job: Record | None) -> set[str] | None:
    """Return the hosts that a job excludes; None if its list, which its user writes, is invalid or too long.

    Empty without a job or a list.
    """
    text = job["ExcNodeList"] if job else ""
    hosts = set(expand_valid(text))
    return hosts if hosts or not text else None


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the hosts that the job already excludes; None if the job is no longer pending or has an invalid list."""
    job = executor.job(order.intent.job)
    excluded = _excluded(job)
    if excluded is None or not job or not is_pending(job_state_of(job)):
        return None
    return {"hosts": fold(sorted(excluded))}


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Add the host to the excluded hosts of the job, those in `prior` included; return the error, or an empty text."""
    hosts = {order.intent.host, *expand_valid(prior["hosts"])}
    return failed(executor.slurm(_update(order, hosts)))


def _update(order: ActionOrder, hosts: set[str]) -> str:
    return client.line(client.set_job(order.intent.job, ExcNodeList=fold(sorted(hosts))))


def happened(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return True if the job excludes the host; False if not, if Slurm has no such job, or if its list is invalid."""
    return order.intent.host in (_excluded(executor.job(order.intent.job)) or ())


def undo(order: ActionOrder, executor: Executor) -> str:
    """Remove the host from the hosts that the job excludes, if it is among them; return the error, or an empty text.

    Of an invalid list nothing is removed, which is an error.
    """
    job = order.intent.job
    excluded = _excluded(executor.job(job))
    if excluded is None:
        return _("the list of hosts that job {job} excludes is invalid", job=job)
    if order.intent.host not in excluded:
        return ""
    return failed(executor.slurm(_update(order, excluded - {order.intent.host})))
