"""GPU driver hang: every call blocks, nvidia-smi too, XID 119; a reboot or undo ends it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True
refuse = chosen  # raises if there is no such GPU


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Block every call of the host's GPU driver; unlike with a real driver, a blocked process can be killed.

    XID 119 is logged.
    """
    gpu = chosen(lab, host, options)
    gpu.set_driver_values("driver-hang", hangs=1)
    gpu.xid(
        119,
        "Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL).",
    )
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Let blocked calls of the simulated GPU driver return; return the lab's state."""
    chosen(lab, host, options).clear_driver_values("driver-hang")
    return lab
