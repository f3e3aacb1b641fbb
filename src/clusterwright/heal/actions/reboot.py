"""Reboot a host without jobs: through systemd, or through Slurm's power control if it does not respond."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from clusterwright.errors import WrightError
from clusterwright.heal.actions.executor import ActionOrder, Executor, failed
from clusterwright.i18n import _
from clusterwright.onhost.provision.reboots import BOOT_ID
from clusterwright.provision.reboot import BY_SYSTEMD
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import HEAL

COST = "reboot"
UNDO = ""
_BOOTING = frozenset({"stopping", "initializing", "starting"})  # systemctl(1), is-system-running


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return the host's boot id, empty if it does not respond but has power control; None if the host has jobs.

    Raises:
        WrightError: the host does not respond and has no power control.
    """
    host, saving = order.intent.host, executor.cluster.slurm.power_saving
    if not executor.is_empty(host):
        return None
    result = executor.query(host, f"cat {BOOT_ID}")
    if not result.ok and (saving is None or saving.provider is None):
        raise WrightError.from_code(
            "unreachable",
            _("{host} does not respond and has no power control", host=host),
            _("set slurm.power_saving.provider"),
        )
    return {"boot": result.out.strip() if result.ok else ""}


def execute(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> str:
    """Reboot the host unless its boot id changed since `prepare`; if it did not respond then, Slurm powers it down.

    A host that was powered down is powered up by `happened`. Return the error, or an empty text.
    """
    if not prior["boot"]:
        return _by_switch(order, executor)
    script = f'[ "$(cat {BOOT_ID})" = {shlex.quote(prior["boot"])} ] || exit 0\n{BY_SYSTEMD}'
    return failed(executor.on(order.intent.host, script))


def _by_switch(order: ActionOrder, executor: Executor) -> str:
    """Power the host down through Slurm and its power control, with this action's reason; return the error, or ""."""
    off = client.set_state(order.intent.host, "POWER_DOWN_FORCE", order.reason())
    return failed(executor.slurm(client.line(off)))


def happened(order: ActionOrder, prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return whether the host has a boot id other than that of `prior`; None while it does not respond or still boots.

    Powers up a host that does not respond, is powered down, and has a drain reason of heal.
    """
    result = executor.query(order.intent.host, f"cat {BOOT_ID}; systemctl is-system-running")
    boot, _, state = result.out.strip().partition("\n")
    if boot:
        return None if state.strip() in _BOOTING else boot != prior["boot"]
    node = executor.node(order.intent.host)
    if node is not None and node.state.is_powered_down and node.reason.startswith(HEAL):
        executor.slurm(client.line(client.set_state(order.intent.host, "POWER_UP")))
    return None
