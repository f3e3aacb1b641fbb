"""The lab's power switch: a process of this machine that boots and stops hosts of one lab for its control host.

A virtual host cannot boot another one. So the control host has a socket in a folder of its own, on which a process
of the machine listens (lab/switch.py): started by `up`, ended by `down`, and by itself when the journal is removed.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys

from clusterwright.lab import boot, state
from clusterwright.lab.host import power_folder
from clusterwright.lab.state import LabState, Process


def start(lab: LabState, control: str) -> LabState:
    """Start the process of the lab's power switch, unless it runs; return the lab's state with it, also journaled.

    `control` is the host that gets its socket.
    """
    if boot.is_running(lab.switch):
        return lab
    folder = power_folder(lab, lab.layout.host(control))
    with (folder / "log").open("ab") as log:
        child = subprocess.Popen(
            (sys.executable, "-P", "-m", "clusterwright.lab.switch", lab.name, str(folder / "socket")),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
        )  # fmt: skip
    child.returncode = 0  # this process does not wait for it
    process = Process(child.pid, boot.started_ticks(child.pid) or 0)
    return state.write(dataclasses.replace(lab, switch=process))


def stop(lab: LabState) -> None:
    """Kill the process of the lab's power switch, with its running requests; nothing happens if it does not run."""
    if lab.switch is not None and boot.is_running(lab.switch):
        os.killpg(lab.switch.pid, signal.SIGKILL)
