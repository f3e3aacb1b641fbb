"""Put a spare host into service in place of a host that is out of service."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions.executor import ActionOrder, Executor, failed, unless_changed
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import SPARE

COST = "live"
UNDO = f"scontrol update nodename=SPARE state=drain reason='{SPARE}'"


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the spare host's drain reason for `execute`; None if it is no spare now, or Slurm does not respond."""
    node = executor.node(order.intent.spare)
    return {"reason": node.signed} if node and node.holder == "spare" else None


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Resume the spare host, unless its drain reason is no longer that of `prior`; return the error, or ""."""
    update = client.line(client.resume(order.intent.spare))
    return failed(executor.slurm(unless_changed(order.intent.spare, prior["reason"]) + update))


def happened(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return True if the spare is no longer drained as a spare, else False; None if Slurm does not respond."""
    node = executor.node(order.intent.spare)
    return None if node is None else node.holder != "spare"


def undo(order: ActionOrder, executor: Executor) -> str:
    """Drain the order's spare with the reason of spares again; return the error, or an empty text.

    An error if the spare is drained, whatever the reason, or if Slurm does not respond.
    """
    node = executor.node(order.intent.spare)
    if node is None or node.holder != "free":
        return (
            _("Slurm does not respond")
            if node is None
            else _("the standby host is drained: {reason}", reason=node.reason)
        )
    host = order.intent.spare
    update = client.line(client.drain(host, SPARE))
    return failed(executor.slurm(unless_changed(host, node.signed) + update))
