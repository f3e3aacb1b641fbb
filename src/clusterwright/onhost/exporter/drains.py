"""Who has drained a node, by its reason; as check/drains has it, whose test holds both together. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Tuple

_BY = re.compile(r"(.*?) \[([\w.$-]+)@(\S+)\]")
_OURS = re.compile(r"(wright: .*) \[([0-9a-f]{8})\]")
_HOOKS = re.compile(r"(Prolog|Epilog) error")
_COMMAND = re.compile(r"wright: (apply|it leaves the cluster|heal #|spare)")
_SLURM = re.compile(
    r"Not responding|Kill task failed|Node unexpectedly rebooted|Low (RealMemory|TmpDisk|CPUs|socket)"
    r"|gres/\w+ count|Duplicate jobid|batch job complete failure|reboot|ResumeTimeout reached|Invalid"
)


def drain(reason: str) -> Tuple[str, str]:
    """Who, of health, hooks, command, slurm and person; and the reason without who and when."""
    found = _BY.fullmatch(reason)
    text = found[1] if found else reason
    ours = _OURS.fullmatch(text)
    if ours and hashlib.sha256(ours[1].encode()).hexdigest()[:8] == ours[2]:
        return "health", ours[1].replace("wright: ", "", 1)
    for pattern, who in ((_HOOKS, "hooks"), (_COMMAND, "command"), (_SLURM, "slurm")):
        if pattern.match(text):
            return who, text
    return "person", text
