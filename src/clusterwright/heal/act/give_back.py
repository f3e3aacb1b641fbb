"""The host takes jobs again, from a drain of our own alone."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.act import drain
from clusterwright.heal.act.hands import Hands, Order, failed, unless_changed
from clusterwright.slurm import client

COST = "live"
UNDO = "scontrol update nodename=HOST state=drain reason=WHY"


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """The reason of our drain; None where it is not ours any more."""
    node = hands.node(order.intent.host)
    return {"reason": node.signed} if node and node.holder == "heal" else None


def act(order: Order, given: Mapping[str, str], hands: Hands) -> str:
    """Resumed, unless somebody has changed the reason since it was read."""
    host = order.intent.host
    update = client.line(client.resume(host))
    return failed(hands.slurm(unless_changed(host, given["reason"]) + update))


def happened(order: Order, _given: Mapping[str, str], hands: Hands) -> bool | None:
    """The drain of ours is gone."""
    node = hands.node(order.intent.host)
    return None if node is None else node.holder != "heal"


def undo(order: Order, hands: Hands) -> str:
    """Drained as before."""
    given = drain.before(order, hands)
    return "somebody else holds it" if given is None else drain.act(order, given, hands)
