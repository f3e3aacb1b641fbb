"""Restart a systemd service of a host."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from clusterwright.edge.slurm import checked
from clusterwright.heal.actions.executor import ActionOrder, Executor, failed

COST = "restart"
UNDO = ""
_LAST_START = "systemctl show -p InvocationID -p ActiveEnterTimestampMonotonic"  # changes at each start


def _last_start_command(unit: str) -> str:
    return f"{_LAST_START} {shlex.quote(unit)}"


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the id and time of the unit's last start, as `since`, by which `happened` recognizes a later one.

    Raises:
        WrightError: the host does not respond.
    """
    host = order.intent.host
    result = checked(executor.query(host, _last_start_command(order.intent.unit)), host, "systemctl")
    return {"since": result.out.strip()}


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Restart the unit unless it was started since `prior` was read; return the error, or an empty text.

    `reset-failed` allows it after too many failed starts.
    """
    unit = shlex.quote(order.intent.unit)
    script = (
        f'[ "$({_last_start_command(order.intent.unit)})" = {shlex.quote(prior["since"])} ] || exit 0\n'
        f"systemctl reset-failed {unit} 2>/dev/null; systemctl restart {unit}"
    )
    return failed(executor.on(order.intent.host, script, timeout_s=120))


def happened(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return whether the unit was started since `prior` was read; None while the host does not respond."""
    result = executor.query(order.intent.host, _last_start_command(order.intent.unit))
    return result.out.strip() != prior["since"] if result.ok else None
