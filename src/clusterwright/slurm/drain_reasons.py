"""Parses who drained a node and why, from the reason that Slurm shows."""

import hashlib
import re
from typing import NamedTuple, Tuple

# Prefixes of the reasons of our own commands and services.
HEAL = "wright: heal"
SPARE = "wright: spare"
APPLY = "wright: apply"
REMOVE_HOSTS = "wright: it leaves the cluster"
POWER = "wright: power: "
_COMMANDS = {HEAL: "heal", SPARE: "spare", APPLY: "apply", REMOVE_HOSTS: "remove-hosts", POWER: "power"}
_WORD_END = r"(?!(?<=\w)\w)"  # `wright: healthy again` of an administrator is no reason of `wright: heal`

_SIGNED = re.compile(r"(.*?) \[([\w.$-]+)@(\S+)\]\s*")
_HEALTH = re.compile(
    r"(wright: .*) \[([0-9a-f]{8})\]"
)  # a reason of the health check program: its faults, then a checksum of them
_HOOKS = re.compile(r"(Prolog|Epilog) error|Prolog/Epilog failure|Job env setup error")
# Reasons of slurmctld for a host that registers with less than slurm.conf declares (validate_node_specs and
# gres_node_config_validate in its source). During a rolling change that may be true for a moment.
_MISMATCH = re.compile(
    r"gres/\S+ count|Invalid GRES|Low (RealMemory|TmpDisk|CPUs|socket)|Could not unpack gres"
)
# Other reasons of slurmctld (node_mgr.c, job_mgr.c, proc_req.c, ping_nodes.c and power_save.c of 21.08 to 26.05).
_SLURM = {
    "Not responding": "not-responding",
    "Kill task failed": "kill-task-failed",
    "Node unexpectedly rebooted": "unexpected-reboot",
    "Duplicate jobid": "duplicate-job",
    "batch job complete failure": "batch-job-failed",
    "reboot": "reboot",
    "ResumeTimeout reached": "resume-timeout",
    "Invalid": "invalid",
    "SlurmdSpoolDir is full": "spool-dir-full",
    "POWER_DOWN_ASAP": "power-down",
}
_RULE = re.compile(r"wright: heal #\d+ (\w+)")  # the rule of self-healing that drained the node
_NEXT_FAULT = re.compile(r"; (?=[a-z]+-[a-z-]+ )")  # separates two faults of the health program
_FAULT = re.compile(r"gpu-xid \d+|[a-z]+(?:-[a-z]+)+")  # the beginning of each fault


class DrainFault(NamedTuple):
    """One fault in a reason: a code for programs, and its text."""

    code: str  # gpu-xid-79, not-responding, mismatch ...; for self-healing the name of the rule
    text: str


class DrainReason(NamedTuple):
    """A parsed drain reason: who drained the node (`origin`), the text, and its faults."""

    origin: str  # health, hooks (prolog and epilog), command (ours), slurm (slurmctld) or person
    command: str  # our command that wrote it: heal, spare, apply, remove-hosts or power
    text: str  # without user and time; for the health program its faults only
    user: str
    time: str  # as Slurm prints it
    faults: Tuple[DrainFault, ...] = ()  # empty for a person's reason

    @property
    def code(self) -> str:
        """The code of the first fault in the reason; "" if it names none."""
        return self.faults[0].code if self.faults else ""

    @property
    def is_mismatch(self) -> bool:
        """True if the host registered with less than slurm.conf declares."""
        return self.code == "mismatch"


def parse_drain_reason(reason: str) -> DrainReason:
    """Parse a reason as scontrol or sinfo prints it; one that nothing else claims counts as a person's.

    So does a reason of the health check program that somebody edited: its checksum no longer matches.
    """
    signed = _SIGNED.fullmatch(reason)
    text, user, time = signed.groups() if signed else (reason.strip(), "", "")
    health = _health_text(text)
    if health:
        return DrainReason("health", "", health, user, time, parse_faults(health))
    if _HOOKS.match(text):
        return DrainReason("hooks", "", text, user, time, (DrainFault("hooks", text),))
    command = next((name for begin, name in _COMMANDS.items() if re.match(begin + _WORD_END, text)), "")
    if command:
        rule = _RULE.match(text)
        faults = (DrainFault(rule.group(1).replace("_", "-"), text),) if rule else ()  # type: Tuple[DrainFault, ...]
        return DrainReason("command", command, text, user, time, faults)
    code = next((code for begin, code in _SLURM.items() if text.startswith(begin)), "")
    code = "mismatch" if _MISMATCH.match(text) else code
    faults = (DrainFault(code, text),) if code else ()
    return DrainReason("slurm" if code else "person", "", text, user, time, faults)


def parse_faults(text: str) -> Tuple[DrainFault, ...]:
    """Return the faults in a text of the health check program, which are separated by `; `.

    One of unknown form is `other`.
    """
    parts = [(_FAULT.match(part), part) for part in _NEXT_FAULT.split(text) if part]
    return tuple(
        DrainFault(match.group().replace(" ", "-") if match else "other", part) for match, part in parts
    )


def _health_text(text: str) -> str:
    """Return the faults in a reason of the health check program; "" for another reason or a wrong checksum."""
    match = _HEALTH.fullmatch(text)
    if not match or hashlib.sha256(match.group(1).encode()).hexdigest()[:8] != match.group(2):
        return ""
    return match.group(1)[len("wright: ") :]
