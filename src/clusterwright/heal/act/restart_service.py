"""A service of the host is started anew."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from clusterwright.edge.slurm import checked
from clusterwright.heal.act.hands import Hands, Order, failed

COST = "restart"
UNDO = ""
_SINCE = "systemctl show -p InvocationID -p ActiveEnterTimestampMonotonic"  # another at each start


def _since(unit: str) -> str:
    return f"{_SINCE} {shlex.quote(unit)}"


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """Which start of it is the last.

    Raises:
        WrightError: the host does not answer.
    """
    host = order.intent.host
    done = checked(hands.ask(host, _since(order.intent.unit)), host, "systemctl")
    return {"since": done.out.strip()}


def act(order: Order, given: Mapping[str, str], hands: Hands) -> str:
    """Started, unless it was since it was looked at; a unit that systemd has given up is let start again."""
    unit = shlex.quote(order.intent.unit)
    script = (
        f'[ "$({_since(order.intent.unit)})" = {shlex.quote(given["since"])} ] || exit 0\n'
        f"systemctl reset-failed {unit} 2>/dev/null; systemctl restart {unit}"
    )
    return failed(hands.on(order.intent.host, script, timeout_s=120))


def happened(order: Order, given: Mapping[str, str], hands: Hands) -> bool | None:
    """It has been started since."""
    done = hands.ask(order.intent.host, _since(order.intent.unit))
    return done.out.strip() != given["since"] if done.ok else None
