"""A host without jobs is booted anew: by itself, or by its power switch where it does not answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from clusterwright.errors import WrightError
from clusterwright.heal.act.hands import Hands, Order, failed
from clusterwright.onhost.provision.reboots import BOOT_ID
from clusterwright.provision.reboot import BY_SYSTEMD
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import HEAL

COST = "reboot"
UNDO = ""
_ON_THE_WAY = frozenset({"stopping", "initializing", "starting"})  # systemctl(1), is-system-running


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """Which boot it is in; None where a job is there.

    Raises:
        WrightError: the host does not answer and has no power control: there is nothing to begin.
    """
    host, saving = order.intent.host, hands.cluster.slurm.power_saving
    if not hands.is_empty(host):
        return None
    done = hands.ask(host, f"cat {BOOT_ID}")
    if not done.ok and (saving is None or saving.provider is None):
        raise WrightError.of(
            "unreachable",
            f"{host} does not answer and has no power control",
            "set slurm.power_saving.provider",
        )
    return {"boot": done.out.strip() if done.ok else ""}


def act(order: Order, given: Mapping[str, str], hands: Hands) -> str:
    """Booted, unless it is in another boot already."""
    if not given["boot"]:
        return _by_switch(order, hands)
    script = f'[ "$(cat {BOOT_ID})" = {shlex.quote(given["boot"])} ] || exit 0\n{BY_SYSTEMD}'
    return failed(hands.on(order.intent.host, script))


def _by_switch(order: Order, hands: Hands) -> str:
    """Slurm's own way off and on; who drained it stays so."""
    off = client.set_state(order.intent.host, "POWER_DOWN_FORCE", order.reason())
    return failed(hands.slurm(client.line(off)))


def happened(order: Order, given: Mapping[str, str], hands: Hands) -> bool | None:
    """It answers, in another boot, and has come up; one that Slurm has off is switched on again."""
    done = hands.ask(order.intent.host, f"cat {BOOT_ID}; systemctl is-system-running")
    boot, _, state = done.out.strip().partition("\n")
    if boot:
        return None if state.strip() in _ON_THE_WAY else boot != given["boot"]
    node = hands.node(order.intent.host)
    if node is not None and node.state.is_powered_down and node.reason.startswith(HEAL):
        hands.slurm(client.line(client.set_state(order.intent.host, "POWER_UP")))
    return None
