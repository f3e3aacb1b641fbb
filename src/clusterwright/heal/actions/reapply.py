"""Apply the cluster file to a host again."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.edge.secrets import state_folder
from clusterwright.heal.actions.executor import RUN_FOLDER, ActionOrder, Executor, failed
from clusterwright.i18n import _
from clusterwright.provision.apply import apply

COST = "restart"
UNDO = "wright rollback"


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return an empty prior state, as applying is idempotent; None if the host has jobs or may get some."""
    return {} if executor.is_empty(order.intent.host) else None


def execute(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> str:
    """Apply the cluster file to the host and leave a marker file on it; return the error, or an empty text.

    Refused without the cluster's secrets on this machine, as new ones lock the host out.
    """
    if not (state_folder(executor.cluster.name) / "munge.key").exists():
        return _("the cluster's secrets are not on this machine; run wright apply where they are stored")
    host = order.intent.host
    report = apply(executor.cluster, executor.source, executor.remote, only={host})
    if not report.ok:
        errors = "; ".join(host_report.error for host_report in report.hosts if host_report.error)
        return errors[:300] or _("`wright apply` did not complete on the host")
    return failed(
        executor.query(host, f"mkdir -p {RUN_FOLDER}/{order.id} && touch {RUN_FOLDER}/{order.id}/applied")
    )


def happened(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return whether the action's marker file exists; without it, apply did not finish and runs again.

    None while the host does not respond.
    """
    result = executor.query(
        order.intent.host, f"test -e {RUN_FOLDER}/{order.id}/applied && echo yes || echo no"
    )
    return result.out.strip() == "yes" if result.ok else None
