"""A spare that waits takes the place of a host that is out."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions.executor import Executor, Order, failed, unless_changed
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import SPARE

COST = "live"
UNDO = f"scontrol update nodename=SPARE state=drain reason='{SPARE}'"


def prepare(order: Order, executor: Executor) -> dict[str, str] | None:
    """The spare's reason; None where it does not wait any more."""
    node = executor.node(order.intent.spare)
    return {"reason": node.signed} if node and node.holder == "spare" else None


def execute(order: Order, prior: Mapping[str, str], executor: Executor) -> str:
    """The spare takes jobs."""
    update = client.line(client.resume(order.intent.spare))
    return failed(executor.slurm(unless_changed(order.intent.spare, prior["reason"]) + update))


def happened(order: Order, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """It does not wait any more."""
    node = executor.node(order.intent.spare)
    return None if node is None else node.holder != "spare"


def undo(order: Order, executor: Executor) -> str:
    """It waits again, if nobody else holds it."""
    node = executor.node(order.intent.spare)
    if node is None or node.holder != "free":
        return "Slurm does not answer" if node is None else f"it is held: {node.reason}"
    host = order.intent.spare
    update = client.line(client.drain(host, SPARE))
    return failed(executor.slurm(unless_changed(host, node.signed) + update))
