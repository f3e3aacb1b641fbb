"""Who took a node out of service, by the reason that Slurm shows."""

import hashlib
import re
from typing import NamedTuple

# How the reasons of our own commands and services begin.
HEAL = "wright: heal"
SPARE = "wright: spare"
APPLY = "wright: apply"
REMOVE_HOSTS = "wright: it leaves the cluster"
POWER = "wright: power: "
_COMMANDS = {HEAL: "heal", SPARE: "spare", APPLY: "apply", REMOVE_HOSTS: "remove-hosts", POWER: "power"}

_SIGNED = re.compile(r"(.*?) \[([\w.$-]+)@(\S+)\]\s*")
_HEALTH = re.compile(r"(wright: .*) \[([0-9a-f]{8})\]")  # the health program ends its reasons with a checksum
_HOOKS = re.compile(r"(Prolog|Epilog) error|Prolog/Epilog failure|Job env setup error")
# What slurmctld writes when a host registers with less than slurm.conf declares (validate_node_specs and
# gres_node_config_validate of its source). While files change host by host, that may be true for a moment.
_MISMATCH = re.compile(
    r"gres/\S+ count|Invalid GRES|Low (RealMemory|TmpDisk|CPUs|socket)|Could not unpack gres"
)
# What slurmctld writes otherwise (node_mgr.c, job_mgr.c, proc_req.c, ping_nodes.c and power_save.c of 21.08 to 26.05).
_SLURM = re.compile(
    r"Not responding|Kill task failed|Node unexpectedly rebooted|Duplicate jobid|batch job complete failure|reboot"
    r"|ResumeTimeout reached|Invalid|SlurmdSpoolDir is full|POWER_DOWN_ASAP"
)


class DrainReason(NamedTuple):
    """Who wrote a reason, and what."""

    who: str  # health, hooks, command, slurm or person
    command: str  # of ours that wrote it: heal, spare, apply, remove-hosts or power
    text: str  # without user and time; of the health program its faults alone
    user: str
    time: str  # as Slurm prints it
    is_mismatch: bool = False  # the host registered with less than slurm.conf declares


def parse_drain_reason(reason: str) -> DrainReason:
    """Of a reason as scontrol or sinfo prints it.

    A reason of the health program that somebody has changed is that person's: the checksum no longer fits.
    """
    signed = _SIGNED.fullmatch(reason)
    text, user, time = signed.groups() if signed else (reason.strip(), "", "")
    faults = _parse_faults(text)
    if faults:
        return DrainReason("health", "", faults, user, time)
    if _HOOKS.match(text):
        return DrainReason("hooks", "", text, user, time)
    command = next((name for begin, name in _COMMANDS.items() if text.startswith(begin)), "")
    if command:
        return DrainReason("command", command, text, user, time)
    is_mismatch = bool(_MISMATCH.match(text))
    is_slurm = is_mismatch or _SLURM.match(text)
    return DrainReason("slurm" if is_slurm else "person", "", text, user, time, is_mismatch)


def _parse_faults(text: str) -> str:
    """The faults in a reason of the health program; empty where it is not its own."""
    match = _HEALTH.fullmatch(text)
    if not match or hashlib.sha256(match.group(1).encode()).hexdigest()[:8] != match.group(2):
        return ""
    return match.group(1)[len("wright: ") :]
