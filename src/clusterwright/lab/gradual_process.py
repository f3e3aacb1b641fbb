"""The process of one gradual fault: `python -m ...gradual_process LAB KIND HOST SINCE`.

Each step reads the journal under the lab's lock, so that none follows an undo, and computes the state of the host from
the time since the injection: after a delayed step the fault is as far as after any other.
"""

from __future__ import annotations

import sys
import time

from clusterwright.lab import faults, state

INTERVAL_S = 2.0


def run(name: str, kind: str, host: str, since: float) -> None:
    """Increase a gradual fault of the host every INTERVAL_S, until it has reached its limit or is undone.

    `since` is when it began; it is undone when the lab's journal no longer has it.
    """
    continues = True
    while continues:
        time.sleep(INTERVAL_S)
        with state.locked(state.folder(name)):
            continues = _step(name, kind, host, since)


def _step(name: str, kind: str, host: str, since: float) -> bool:
    lab = state.read(name)
    if lab is None:
        return False
    for fault in lab.faults:
        if (fault.kind, fault.host, fault.since) == (kind, host, since):
            minutes = (time.time() - since) / 60
            return bool(faults.kinds()[kind].step(lab, lab.layout.host(host), fault.options, minutes))
    return False


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
