"""The host takes jobs again, from a drain of our own alone."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions import drain
from clusterwright.heal.actions.executor import Executor, Order, failed, unless_changed
from clusterwright.slurm import client

COST = "live"
UNDO = "scontrol update nodename=HOST state=drain reason=WHY"


def prepare(order: Order, executor: Executor) -> dict[str, str] | None:
    """The reason of our drain; None where it is not ours any more."""
    node = executor.node(order.intent.host)
    return {"reason": node.signed} if node and node.holder == "heal" else None


def execute(order: Order, prior: Mapping[str, str], executor: Executor) -> str:
    """Resumed, unless somebody has changed the reason since it was read."""
    host = order.intent.host
    update = client.line(client.resume(host))
    return failed(executor.slurm(unless_changed(host, prior["reason"]) + update))


def happened(order: Order, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """The drain of ours is gone."""
    node = executor.node(order.intent.host)
    return None if node is None else node.holder != "heal"


def undo(order: Order, executor: Executor) -> str:
    """Drained as before."""
    prior = drain.prepare(order, executor)
    return "somebody else holds it" if prior is None else drain.execute(order, prior, executor)
