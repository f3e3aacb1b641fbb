"""A job that its user lets Slurm start anew is put back into the queue, and does not get that host again.

Slurm lets a requeued job wait for two minutes; the host may be back by then.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from clusterwright.heal.act.hands import Hands, Order, failed

COST = "restart"
UNDO = ""


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """How often it was started; None where it does not run any more, or must not be started anew."""
    job = hands.job(order.intent.job)
    runs = bool(job) and job.get("JobState") == "RUNNING" and job.get("Requeue") == "1" if job else False
    return {"restarts": job.get("Restarts", "0"), "excluded": _excluded(job)} if job and runs else None


def _excluded(job: Mapping[str, str]) -> str:
    text = job.get("ExcNodeList", "")
    return "" if text == "(null)" else text


def act(order: Order, given: Mapping[str, str], hands: Hands) -> str:
    """Requeued, unless it was started anew since it was looked at."""
    job = shlex.quote(order.intent.job)
    hosts = ",".join(filter(None, (given["excluded"], order.intent.host)))
    script = (
        f"now=$(scontrol show job -o {job}) || exit 0\n"
        f"case $now in *JobState=RUNNING*) ;; *) exit 0 ;; esac\n"
        f"case $now in *' Restarts={given['restarts']} '*) ;; *) exit 0 ;; esac\n"
        f"scontrol requeue {job} || exit\n"
        # One that asked for this very host by name keeps it: Slurm refuses then, and it waits for the host.
        f"scontrol update JobId={job} ExcNodeList={shlex.quote(hosts)} || true"
    )
    return failed(hands.slurm(script))


def happened(order: Order, given: Mapping[str, str], hands: Hands) -> bool | None:
    """It was started anew, or waits, or has ended."""
    job = hands.job(order.intent.job)
    return not job or job.get("JobState") != "RUNNING" or job.get("Restarts", "0") != given["restarts"]
