"""An XID of a chosen number is logged, without other effects; there is nothing to undo."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_number
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu", "xid")
LASTS = False
_DEFAULT, _BELOW = 31, 1000
# The driver's texts (docs.nvidia.com/deploy/xid-errors has the meanings); other numbers have none here.
_MESSAGES = {
    13: "Graphics Exception: ESR 0x504730=0x0",
    31: "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x0. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    43: "Ch 00000008",
    45: "Ch 00000008",
    64: "Row Remapper: Failed to remap row",
    92: "High single-bit ECC error rate detected",
    94: "Contained: CE User Channel (0x9). RST: No, D-RST: No",
    95: "Uncontained: LTC TAG. RST: Yes, D-RST: No",
    109: "CTX SWITCH TIMEOUT, Info 0x1c014",
    154: "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
}


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if there is no such GPU, or the XID is invalid."""
    chosen(lab, host, options)
    _number(options)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Report the XID of the options in the host's kernel log and in NVML's events; return the lab's state."""
    number = _number(options)
    chosen(lab, host, options).xid(number, _MESSAGES.get(number, "simulated"))
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Do nothing: the log entry of an XID stays; return the lab's state."""
    return lab


def _number(options: Mapping[str, str]) -> int:
    return parse_number(options, "xid", _DEFAULT, _BELOW)
