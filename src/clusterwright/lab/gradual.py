"""Gradual faults: a process of this machine changes the host step by step (gradual_process.py).

It is in a control group of the lab, outside of the host's: it outlives a reboot of the host, and not the lab. It ends
by itself when the fault is undone.
"""

from __future__ import annotations

import subprocess
import sys

from clusterwright.lab import cgroups
from clusterwright.lab.state import Fault, LabState

GROUP = "faults."  # no host name ends with a dot
LOG = "faults.log"  # in the lab's folder: errors of the processes


def start(lab: LabState, fault: Fault) -> None:
    """Start a process that increases a gradual fault on a host of the lab, and return at once.

    The caller holds the lab's lock, so that `down` cannot miss the process.
    """
    module = "clusterwright.lab.gradual_process"
    with (lab.folder / LOG).open("ab") as log:
        child = subprocess.Popen(
            (sys.executable, "-P", "-m", module, lab.name, fault.kind, fault.host, repr(fault.since)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    cgroups.join(lab.name, GROUP, child.pid)
    child.returncode = 0  # this process does not wait for it
