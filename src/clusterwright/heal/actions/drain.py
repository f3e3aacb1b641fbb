"""No new job starts on the host; jobs that run there go on."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions.executor import Executor, Order, failed, unless_changed
from clusterwright.heal.observation import HostStatus
from clusterwright.slurm import client

COST = "drain"
UNDO = "scontrol update nodename=HOST state=resume"
FREE = frozenset({"free", "slurm", "hooks"})  # whose word we may put ours in place of


def prepare(order: Order, executor: Executor) -> dict[str, str] | None:
    """The reason that Slurm has now; None where a person or a command has drained it meanwhile."""
    node = executor.node(order.intent.host)
    return {"reason": node.signed} if node and node.holder in FREE else None


def execute(order: Order, prior: Mapping[str, str], executor: Executor) -> str:
    """Drained with our reason, unless the reason has changed since it was read."""
    host = order.intent.host
    update = client.line(client.drain(host, order.reason()))
    return failed(executor.slurm(unless_changed(host, prior["reason"]) + update))


def happened(order: Order, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Its reason has our number."""
    node = executor.node(order.intent.host)
    return None if node is None else is_ours(node, order)


def is_ours(node: HostStatus, order: Order) -> bool:
    """True when it is drained by this order, and by nobody since."""
    return node.drained and node.reason.startswith(order.reason_prefix)


def undo(order: Order, executor: Executor) -> str:
    """It takes jobs again, if the drain is still that one."""
    node = executor.node(order.intent.host)
    if node is None:
        return "Slurm does not answer"
    if not is_ours(node, order):
        return f"it is not drained by #{order.id} any more: {node.reason or 'in service'}"
    host = order.intent.host
    update = client.line(client.resume(host))
    return failed(executor.slurm(unless_changed(host, node.signed) + update))
