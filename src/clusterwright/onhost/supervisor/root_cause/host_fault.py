"""Decide whether a rank failed because of its host rather than its program. Pure: message and codes in, answer out.

A host at fault is excluded from the next generation like a lost one. The list holds faults that the same
program would not meet on another host; any other failure counts as the program's.
"""

from __future__ import annotations

import re
import signal
from typing import Any, Mapping, Tuple

from clusterwright.onhost.supervisor.decide import NOT_RETRYABLE, RankExit
from clusterwright.onhost.supervisor.root_cause.error_lines import is_consequence

# A page of memory, or of a mapped file on a dying disk, could not be read (signal(7)).
SIGNALS = frozenset({int(signal.SIGBUS)})
CORRUPT_HOST = "corrupt-host"  # as in runtime/codes.py
_FAULT_PATTERN = re.compile(
    r"uncorrectable (?:ECC|NVLink)|ECC error|\bECC_UNCORRECTABLE|double[- ]bit"  # memory of a GPU
    r"|no CUDA-capable device|CUDA-capable device\(s\) is/are busy|CUDA_ERROR_NO_DEVICE|cudaErrorDevicesUnavailable"
    r"|No CUDA GPUs are available|device (?:has )?fallen off the bus|GPU is lost|cudaErrorSystemNotReady"
    r"|system not yet initialized|system has unsupported display driver|driver/library version mismatch|\bXid\b"
    r"|hardware stack error|cudaErrorHardwareStackError|cudaErrorUncorrectable|CUDA_ERROR_UNCONTAINED"
    r"|ibv_(?:open_device|create_(?:cq|qp)|reg_mr|modify_qp)\S* (?:failed|error)|local catastrophic error"
    r"|Input/output error|Read-only file system|Stale file handle|Transport endpoint is not connected"
    r"|Bus error|machine check",
    re.IGNORECASE,
)


def is_host_fault(message: str, number: int = 0, cause: str = "") -> bool:
    """Return True if a rank's error message, signal or error code (`cause`) indicates a broken host."""
    return cause == CORRUPT_HOST or number in SIGNALS or bool(_FAULT_PATTERN.search(message))


def classify_exit(message: Mapping[str, Any]) -> Tuple[str, RankExit]:
    """Return the kind of event for `decide` (`broken`: the host's fault, else `failed`) and how the rank failed."""
    code, error, cause = message["code"], str(message["message"]), message.get("cause", "")
    kind = "broken" if is_host_fault(error, -code, cause) else "failed"
    from_outside = code < 0 or is_consequence(error)
    signature = "" if from_outside else f"{message['local_rank']} {error}"
    return kind, RankExit(error, signature, retryable=cause not in NOT_RETRYABLE)
