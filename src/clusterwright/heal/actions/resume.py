"""Resume a node that heal itself drained."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions import drain
from clusterwright.heal.actions.executor import ActionOrder, Executor, failed, unless_changed
from clusterwright.i18n import _
from clusterwright.slurm import client

COST = "live"
UNDO = "scontrol update nodename=HOST state=drain reason=WHY"


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the reason of heal's drain; None if the node is not drained by heal, or Slurm does not respond."""
    node = executor.node(order.intent.host)
    return {"reason": node.signed} if node and node.holder == "heal" else None


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Resume the node, unless its drain reason is no longer that of `prior`; return the error, or an empty text."""
    host = order.intent.host
    update = client.line(client.resume(host))
    return failed(executor.slurm(unless_changed(host, prior["reason"]) + update))


def happened(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return True if the node is not drained by heal, else False; None if Slurm does not respond."""
    node = executor.node(order.intent.host)
    return None if node is None else node.holder != "heal"


def undo(order: ActionOrder, executor: Executor) -> str:
    """Drain the node again, with heal's reason; return the error, or an empty text.

    Nothing, which is an error, too, if another user or program drained it or Slurm does not respond.
    """
    prior = drain.prepare(order, executor)
    return (
        _("another user or program drained the host")
        if prior is None
        else drain.execute(order, prior, executor)
    )
