"""A spare that waits takes the place of a host that is out."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.act.hands import Hands, Order, failed, unless_changed
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import SPARE

COST = "live"
UNDO = f"scontrol update nodename=SPARE state=drain reason='{SPARE}'"


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """The spare's reason; None where it does not wait any more."""
    node = hands.node(order.intent.spare)
    return {"reason": node.signed} if node and node.holder == "spare" else None


def act(order: Order, given: Mapping[str, str], hands: Hands) -> str:
    """The spare takes jobs."""
    update = client.line(client.resume(order.intent.spare))
    return failed(hands.slurm(unless_changed(order.intent.spare, given["reason"]) + update))


def happened(order: Order, _given: Mapping[str, str], hands: Hands) -> bool | None:
    """It does not wait any more."""
    node = hands.node(order.intent.spare)
    return None if node is None else node.holder != "spare"


def undo(order: Order, hands: Hands) -> str:
    """It waits again, if nobody else holds it."""
    node = hands.node(order.intent.spare)
    if node is None or node.holder != "free":
        return "Slurm does not answer" if node is None else f"it is held: {node.reason}"
    host = order.intent.spare
    update = client.line(client.drain(host, SPARE))
    return failed(hands.slurm(unless_changed(host, node.signed) + update))
