"""The lab's switch: a process of this machine that boots and stops hosts of one lab, for its control host alone.

A virtual host cannot boot another one. So the control host finds a socket in a folder of its own, and here listens
who can (lab/switch.py): started by `up`, ended by `down`, and gone by itself with the lab's journal.
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
    """Somebody listens, and the journal knows the process."""
    if boot.is_running(lab.switch):
        return lab
    folder = power_folder(lab, lab.layout.host(control))
    with (folder / "log").open("ab") as log:
        child = subprocess.Popen(
            (sys.executable, "-m", "clusterwright.lab.switch", lab.name, str(folder / "socket")),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
        )  # fmt: skip
    child.returncode = 0  # not ours to wait for
    process = Process(child.pid, boot.started_ticks(child.pid) or 0)
    return state.write(dataclasses.replace(lab, switch=process))


def stop(lab: LabState) -> None:
    """Nobody listens any more, and what was begun is cut short."""
    if lab.switch is not None and boot.is_running(lab.switch):
        os.killpg(lab.switch.pid, signal.SIGKILL)
