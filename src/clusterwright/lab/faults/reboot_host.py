"""Orderly reboot of a host; there is nothing to undo."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import boot
from clusterwright.lab.inside import first_of
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = False
SHUTDOWN_LIMIT_S = 100  # systemd kills a stopping unit after 90 s (DefaultTimeoutStopSec)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Reboot the host by systemd's Ctrl-Alt-Del (SIGINT) and wait until it responds to SSH; return the lab's state.

    It needs no network, so an isolated host reboots as well.
    """
    init_pid, keeper = first_of(lab, host), lab.processes[host.name]
    os.kill(init_pid, signal.SIGINT)
    deadline = time.monotonic() + SHUTDOWN_LIMIT_S
    while boot.init_of(keeper) in (init_pid, None):
        if time.monotonic() > deadline:
            raise WrightError.from_code(
                "lab-host-silent",
                _(
                    "{host} did not shut down and boot again within {seconds:.0f} s",
                    host=host.name,
                    seconds=SHUTDOWN_LIMIT_S,
                ),
                _("wright lab fault kill-host"),
            )
        time.sleep(0.05)
    boot.wait_for_ssh(lab, [host.name])
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Do nothing: the rebooted host is up already; return the lab's state."""
    return lab
