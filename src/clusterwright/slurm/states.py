"""States of jobs and nodes: base states and flags of slurm.h and slurm_protocol_defs.c (21.08 to 26.05)."""

import re
from typing import Dict, FrozenSet, NamedTuple, Set

# A job is in one phase: pending, allocated, or ended. A flag of slurm.h (COMPLETING and those below it) hides the base
# state where squeue prints one word.
_WAITS, _ALLOCATED, _ENDED = "waits", "holds", "ended"
JOB_STATES: Dict[str, str] = {
    "PENDING": _WAITS,
    "RUNNING": _ALLOCATED,
    "SUSPENDED": _ALLOCATED,
    "COMPLETED": _ENDED,
    "CANCELLED": _ENDED,
    "FAILED": _ENDED,
    "TIMEOUT": _ENDED,
    "NODE_FAIL": _ENDED,
    "PREEMPTED": _ENDED,
    "BOOT_FAIL": _ENDED,
    "DEADLINE": _ENDED,
    "OUT_OF_MEMORY": _ENDED,
    "COMPLETING": _ALLOCATED,  # its epilog runs
    "STAGE_OUT": _ALLOCATED,  # its burst buffer is written; the hosts may be free, but to wait for them is safe
    "CONFIGURING": _ALLOCATED,  # its hosts boot
    "RESIZING": _ALLOCATED,
    "STOPPED": _ALLOCATED,  # by SIGSTOP
    "SIGNALING": _ALLOCATED,
    "REQUEUED": _WAITS,
    "REQUEUE_FED": _WAITS,
    "REQUEUE_HOLD": _WAITS,
    "SPECIAL_EXIT": _WAITS,  # requeued and held
    "RESV_DEL_HOLD": _WAITS,
    "EXPEDITING": _WAITS,
    "REVOKED": _ENDED,  # the job runs on another cluster of the federation
    "LAUNCH_FAILED": _ENDED,
    "RECONFIG_FAIL": _ENDED,
}
HOLDING = tuple(name for name, phase in JOB_STATES.items() if phase == _ALLOCATED)
FAILED_BY_HOST = frozenset({"NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL"})
_JOB_STATE = re.compile(r"[A-Z_]+")


def job_state(text: str) -> str:
    """Return the first word of sacct's job state: `CANCELLED` for `CANCELLED by 0`; `UNKNOWN` for no state."""
    match = _JOB_STATE.match(text)
    return match.group() if match else "UNKNOWN"


def is_pending(state: str) -> bool:
    """Return True while the job is pending, held or not."""
    return JOB_STATES.get(state) == _WAITS


def is_allocated(state: str) -> bool:
    """Return True while hosts are allocated to the job: from before its script starts until its epilogs have ended."""
    return JOB_STATES.get(state) == _ALLOCATED


def is_finished(state: str) -> bool:
    """Return True if the job has ended, with any outcome."""
    return JOB_STATES.get(state) == _ENDED


BASES = frozenset({"DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE", "UNKNOWN"})
FLAGS = frozenset({
    "BLOCKED", "CLOUD", "COMPLETING", "DRAIN", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "EXTERNAL", "FAIL",
    "INVALID_REG", "MAINTENANCE", "NOT_RESPONDING", "PERFCTRS", "PLANNED", "POWERED_DOWN",
    "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_DRAIN", "POWER_UP", "REBOOT_CANCEL",
    "REBOOT_ISSUED", "REBOOT_REQUESTED", "RESERVED", "RESUME", "UNDRAIN",
})  # fmt: skip
_FAILED = frozenset({"DOWN", "ERROR", "BOOT_FAIL"})  # bases; the last one in states of single releases
# Flags by the suffix that sinfo appends to a state.
_STATE_SUFFIXES = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "%": "POWERING_DOWN",
    "!": "POWER_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
# sinfo's names for a base with a flag, its compact names (%t), and names of single releases.
_ALIASES = {
    "ALLOC": "ALLOCATED",
    "BLOCK": "BLOCKED",
    "BOOT": "REBOOT_ISSUED",
    "COMP": "COMPLETING",
    "DRNG": "ALLOCATED+DRAIN",
    "FAILG": "ALLOCATED+FAIL",
    "FUTR": "FUTURE",
    "MIX": "MIXED",
    "NPC": "PERFCTRS",
    "PLND": "PLANNED",
    "POW_DN": "POWERED_DOWN",
    "POW_UP": "POWERING_UP",
    "RESV": "RESERVED",
    "INVALID": "IDLE+INVALID_REG",
    "DRAINED": "IDLE+DRAIN",
    "DRAINING": "ALLOCATED+DRAIN",
    "FAILING": "ALLOCATED+FAIL",
    "INVAL": "IDLE+INVALID_REG",
    "MAINT": "MAINTENANCE",
    "REBOOT": "REBOOT_REQUESTED",
    "POWERED_OFF": "POWERED_DOWN",
    "UNK": "UNKNOWN",
}
_NODE_STATE = re.compile(r"[A-Za-z_]+[*~#%!$@^-]*(?:\+[A-Za-z_]+[*~#%!$@^-]*)*\+?")
# node_state_string_complete of slurm_protocol_defs.c: words, and no suffixes besides that of DOWN.
_COMPLETE_STATE = re.compile(r"(?:DOWN\*|[A-Z_]+)(?:\+[A-Z_]+)*")
_BROKEN = frozenset({"FAIL", "INVALID_REG", "NOT_RESPONDING"})
_WITHHELD = frozenset({"DRAIN", "MAINTENANCE", "POWERING_DOWN", "POWER_DOWN", "REBOOT_ISSUED"})
# Flags that override the base, by precedence; the last two only on an idle node.
_ACTIVITIES = (
    ("INVALID_REG", "inval"),
    ("POWERED_DOWN", "powered_down"),
    ("POWERING_DOWN", "powering_down"),
    ("POWER_DOWN", "powering_down"),
    ("POWERING_UP", "powering_up"),
    ("POWER_UP", "powering_up"),
    ("REBOOT_ISSUED", "rebooting"),
    ("REBOOT_REQUESTED", "rebooting"),
    ("NOT_RESPONDING", "not_responding"),
    ("MAINTENANCE", "maint"),
    ("COMPLETING", "completing"),
    ("RESERVED", "reserved"),
    ("PLANNED", "planned"),
)
_OF_IDLE = ("reserved", "planned")


class NodeState(NamedTuple):
    """A node's base state and flags."""

    base: str
    flags: FrozenSet[str]

    @property
    def is_drained(self) -> bool:
        """True if the node is drained or draining: it gets no new jobs; jobs may still run."""
        return "DRAIN" in self.flags

    @property
    def is_down(self) -> bool:
        """True if slurmctld has set the node DOWN."""
        return self.base == "DOWN"

    @property
    def is_known(self) -> bool:
        """True if releases print this base and these flags; other words of this form are no states."""
        return self.base in BASES | _FAILED and self.flags <= FLAGS

    @property
    def has_failed(self) -> bool:
        """True if slurmctld has set the node DOWN, or its state is an error."""
        return self.base in _FAILED

    @property
    def has_failed_to_start(self) -> bool:
        """True if the node has failed while power saving had it down, or powered it up or down."""
        return self.has_failed and bool(self.flags & {"POWERED_DOWN", "POWERING_UP", "POWERING_DOWN"})

    @property
    def is_responding(self) -> bool:
        """True if slurmd responds to slurmctld."""
        return "NOT_RESPONDING" not in self.flags

    @property
    def is_up(self) -> bool:
        """True if slurmd has registered and responds."""
        return self.is_responding and self.base not in ("DOWN", "UNKNOWN")

    @property
    def is_invalid(self) -> bool:
        """True if slurmd registered with less than slurm.conf declares (INVALID_REG)."""
        return "INVALID_REG" in self.flags

    @property
    def is_in_maintenance(self) -> bool:
        """True in a maintenance reservation."""
        return "MAINTENANCE" in self.flags

    @property
    def is_powered_down(self) -> bool:
        """True if power saving has powered the node down."""
        return "POWERED_DOWN" in self.flags

    @property
    def is_powering_up(self) -> bool:
        """True while the node boots for power saving."""
        return "POWERING_UP" in self.flags

    @property
    def is_waking(self) -> bool:
        """True while the node boots for power saving, or is about to."""
        return bool(self.flags & {"POWERING_UP", "POWER_UP"})

    @property
    def is_power_down_requested(self) -> bool:
        """True if Slurm was requested to power the node down."""
        return "POWER_DOWN" in self.flags

    @property
    def is_off(self) -> bool:
        """True if the node is powered down, powering down, or about to."""
        return bool(self.flags & {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"})

    @property
    def is_switching(self) -> bool:
        """True while power saving powers the node up or down, or is about to."""
        return self.is_waking or bool(self.flags & {"POWERING_DOWN", "POWER_DOWN"})

    @property
    def is_power_saving(self) -> bool:
        """True if the node is powered down, or powers up or down."""
        return self.is_off or self.is_waking

    @property
    def is_rebooting(self) -> bool:
        """True from the request of a reboot through Slurm to its end."""
        return bool(self.flags & {"REBOOT_REQUESTED", "REBOOT_ISSUED"})

    @property
    def is_reserved(self) -> bool:
        """True if the node is in a reservation and runs no job."""
        return "RESERVED" in self.flags

    @property
    def is_out_of_service(self) -> bool:
        """True if the node is down, drained or failing."""
        return self.is_down or bool(self.flags & {"DRAIN", "FAIL"})

    @property
    def is_withheld(self) -> bool:
        """True if a flag (drain, fail, invalid, maintenance, reserved) keeps jobs away even from a powered-up node."""
        return bool(self.flags & {"DRAIN", "FAIL", "INVALID_REG", "MAINTENANCE", "RESERVED"})

    @property
    def is_usable(self) -> bool:
        """True if the node is up and no flag reports a fault; it may be drained or powered down."""
        return self.base in ("IDLE", "MIXED", "ALLOCATED") and not self.flags & _BROKEN

    @property
    def is_available(self) -> bool:
        """True if Slurm starts jobs on the node; a powered-down node boots for them."""
        return self.is_usable and not self.flags & _WITHHELD

    @property
    def activity(self) -> str:
        """What the node does, in one lower-case word, regardless of a drain; `down` before all others."""
        if self.is_down:
            return "down"
        activities = (activity for flag, activity in _ACTIVITIES if flag in self.flags)
        return next(
            (activity for activity in activities if activity not in _OF_IDLE or self.base == "IDLE"),
            self.base.lower(),
        )

    @property
    def short_state(self) -> str:
        """The state as sinfo's lower-case word: `drained`, `draining`, `fail`, else the activity."""
        if self.is_down or self.is_invalid or not self.flags & {"FAIL", "DRAIN"}:
            return self.activity
        if "FAIL" in self.flags:
            return "fail"
        is_busy = self.base in ("ALLOCATED", "MIXED") or "COMPLETING" in self.flags
        return "draining" if is_busy else "drained"

    @property
    def text(self) -> str:
        """The base and the flags in alphabetical order: `DOWN+DRAIN+NOT_RESPONDING`."""
        return "+".join([self.base, *sorted(self.flags)])


def is_node_state(text: str) -> bool:
    """Return True if the text has the form of scontrol's or sinfo's state, also of one that no release has yet."""
    return bool(_NODE_STATE.fullmatch(text))


def is_complete_state(text: str) -> bool:
    """Return True if the text has the form of scontrol's state: words, of which all but the first are flags."""
    return bool(_COMPLETE_STATE.fullmatch(text))


def parse_node_state(text: str) -> NodeState:
    """Parse scontrol's `IDLE+DRAIN` or sinfo's `drained*`; an unknown first word is the base, later ones are flags.

    Without a base: IDLE with flags, else UNKNOWN.
    """
    base = ""
    flags: Set[str] = set()
    for part in text.strip().upper().split("+"):
        state_name = part.rstrip("".join(_STATE_SUFFIXES))
        flags.update(_STATE_SUFFIXES[suffix] for suffix in part[len(state_name) :])
        for name in filter(None, _ALIASES.get(state_name, state_name).split("+")):
            if not base and (name in BASES or name not in FLAGS):
                base = name
            elif name != base:
                flags.add(name)
    if text.endswith("+"):  # sinfo's `allocated+`
        flags.add("COMPLETING")
    return NodeState(base or ("IDLE" if flags else "UNKNOWN"), frozenset(flags))
