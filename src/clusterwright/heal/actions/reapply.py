"""The host is made what the cluster file says, again."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.edge.secrets import state_folder
from clusterwright.heal.actions.executor import RUN_FOLDER, Executor, Order, failed
from clusterwright.provision.apply import apply

COST = "restart"
UNDO = "wright rollback"


def prepare(order: Order, executor: Executor) -> dict[str, str] | None:
    """Nothing need be kept: applying twice is as applying once."""
    return {} if executor.is_empty(order.intent.host) else None


def execute(order: Order, _prior: Mapping[str, str], executor: Executor) -> str:
    """Applied by whoever has the cluster's secrets; to make new ones here would shut the host out of the cluster."""
    if not (state_folder(executor.cluster.name) / "munge.key").exists():
        return "the cluster's secrets are not on this machine: `wright apply` on the one that has them"
    host = order.intent.host
    report = apply(executor.cluster, executor.source, executor.remote, only={host})
    if not report.ok:
        return (
            "; ".join(host_report.error for host_report in report.hosts if host_report.error)[:300]
            or "not all of it was done"
        )
    return failed(
        executor.query(host, f"mkdir -p {RUN_FOLDER}/{order.id} && touch {RUN_FOLDER}/{order.id}/applied")
    )


def happened(order: Order, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Its mark is there; without it, it was not seen to its end, and is made again."""
    result = executor.query(
        order.intent.host, f"test -e {RUN_FOLDER}/{order.id}/applied && echo yes || echo no"
    )
    return result.out.strip() == "yes" if result.ok else None
