"""The host is made what the cluster file says, again."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.edge.secrets import state_folder
from clusterwright.heal.act.hands import PLACE, Hands, Order, failed
from clusterwright.provision.apply import apply

COST = "restart"
UNDO = "wright rollback"


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """Nothing need be kept: applying twice is as applying once."""
    return {} if hands.is_empty(order.intent.host) else None


def act(order: Order, _given: Mapping[str, str], hands: Hands) -> str:
    """Applied by whoever has the cluster's secrets; to make new ones here would shut the host out of the cluster."""
    if not (state_folder(hands.cluster.name) / "munge.key").exists():
        return "the cluster's secrets are not on this machine: `wright apply` on the one that has them"
    host = order.intent.host
    report = apply(hands.cluster, hands.source, hands.remote, only={host})
    if not report.ok:
        return "; ".join(one.error for one in report.hosts if one.error)[:300] or "not all of it was done"
    return failed(hands.ask(host, f"mkdir -p {PLACE}/{order.id} && touch {PLACE}/{order.id}/applied"))


def happened(order: Order, _given: Mapping[str, str], hands: Hands) -> bool | None:
    """Its mark is there; without it, it was not seen to its end, and is made again."""
    done = hands.ask(order.intent.host, f"test -e {PLACE}/{order.id}/applied && echo yes || echo no")
    return done.out.strip() == "yes" if done.ok else None
