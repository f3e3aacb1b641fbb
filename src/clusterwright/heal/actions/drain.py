"""Drain a host: no new job starts on it, running jobs continue."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions.executor import ActionOrder, Executor, failed, unless_changed
from clusterwright.heal.observation import HostStatus
from clusterwright.i18n import _
from clusterwright.slurm import client

COST = "drain"
UNDO = "scontrol update nodename=HOST state=resume"
FREE = frozenset({"free", "slurm", "hooks"})  # holders of a drain whose reason heal may replace


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the node's current drain reason for `execute`, "" if none; None without an answer, or if not heal's.

    Heal replaces the reasons of Slurm and of its prolog and epilog, not those of people or commands.
    """
    node = executor.node(order.intent.host)
    return {"reason": node.signed} if node and node.holder in FREE else None


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Drain the node with heal's reason, unless its reason is no longer that of `prior`.

    Return the error, or an empty text.
    """
    host = order.intent.host
    update = client.line(client.drain(host, order.reason()))
    return failed(executor.slurm(unless_changed(host, prior["reason"]) + update))


def happened(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return whether this action has drained the node, by its reason; None if Slurm does not respond."""
    node = executor.node(order.intent.host)
    return None if node is None else is_ours(node, order)


def is_ours(node: HostStatus, order: ActionOrder) -> bool:
    """Return True if this action drained the node and no one changed the reason since."""
    return node.drained and node.reason.startswith(order.reason_prefix)


def undo(order: ActionOrder, executor: Executor) -> str:
    """Resume the node; return an empty text, or the error if Slurm refuses or does not respond.

    A node that this action no longer drains is left as it is, which is an error, too.
    """
    node = executor.node(order.intent.host)
    if node is None:
        return _("Slurm does not respond")
    if not is_ours(node, order):
        return _(
            "heal's action #{id} no longer drains the host; its drain reason or state is now: {state}",
            id=order.id,
            state=node.reason or _("in service"),
        )
    host = order.intent.host
    update = client.line(client.resume(host))
    return failed(executor.slurm(unless_changed(host, node.signed) + update))
