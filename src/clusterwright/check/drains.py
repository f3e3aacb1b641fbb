"""Who has drained a node, read from its reason, and what mends it; pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

Who = Literal["health", "hooks", "command", "slurm", "person"]

_BY = re.compile(r"(.*?) \[([\w.$-]+)@(\S+)\]")
_OURS = re.compile(r"(wright: .*) \[([0-9a-f]{8})\]")  # the programs on the host end their reasons with a sum
_HOOKS = re.compile(r"(Prolog|Epilog) error")
_COMMAND = re.compile(r"wright: (apply|it leaves the cluster)")
_HEAL = re.compile(r"wright: (heal #|spare)")
# What slurmctld writes by itself (src/slurmctld/node_mgr.c, job_mgr.c and proc_req.c of 21.08 to 25.05).
_SLURM = re.compile(
    r"Not responding|Kill task failed|Node unexpectedly rebooted|Low (RealMemory|TmpDisk|CPUs|socket)"
    r"|gres/\w+ count|Duplicate jobid|batch job complete failure|reboot|ResumeTimeout reached|Invalid"
    r"|SlurmdSpoolDir is full"
)

# By the first words of what the health program has found (provision/render/hooks).
_MENDS = {
    "gpu-file-missing": "`nvidia-modprobe -c 0` makes a missing device file; `dmesg | grep -i xid` for a lost GPU",
    "gpu-driver": "`nvidia-smi` on the host; reboot it if the driver hangs",
    "gpu-lost": "reboot the host; a GPU that stays away: power off, reseat, replace",
    "gpu-ecc": "reset the GPU (nvidia-smi --gpu-reset -i GPU); replace it if errors come again",
    "gpu-remap": "replace the GPU",
    "gpu-xid": "do what the reason says, then `logger -t clusterwright mended PCI_ADDRESS` on the host, or reboot it",
    "mount-": "`mount -a` on the host; see the file server and the kernel's log",
    "disk-full": "find what fills it with `du -xh --max-depth=2 PATH | sort -h`",
    "munge-": "`systemctl restart munge` on the host, and `journalctl -u munge`",
    "clock-": "`chronyc makestep` on the host, then `chronyc tracking`",
    "link-": "reseat or replace the cable; see the switch's port",
    "rdma-": "`ibstat` on the host: INIT is a missing subnet manager, Polling a cable or a switch's port",
    "network-": "`ip address` on the host; `systemctl restart` of what sets its addresses",
}
_BACK = "the host comes back by itself within 5 minutes"
_RESUME = "then `scontrol update nodename={node} state=resume`"


@dataclass(frozen=True, slots=True)
class Drain:
    """Who drained, in a few words; what was written; what to do."""

    who: Who
    by: str
    reason: str
    mend: str


def drain(node: str, reason: str) -> Drain:
    """What the reason of a node says, as scontrol prints it.

    A reason of the health program that somebody has changed is that person's: the sum at its end no longer fits.
    """
    found = _BY.fullmatch(reason)
    text, user = (found[1], found[2]) if found else (reason, "")
    if ours := _of_health(text):
        return Drain("health", "its health program", ours, f"{fault_mend(ours)}; {_BACK}")
    if _HOOKS.match(text):
        mend = f"`journalctl -t clusterwright -n 20` on the host says why; once that is mended {_BACK}"
        return Drain("hooks", "Slurm, as its prolog or epilog refused", text, mend)
    resume = _RESUME.format(node=node)
    if _HEAL.match(text):
        mend = "`wright heal log` says what is done; the host comes back once its checks pass"
        return Drain("command", "wright heal", text, mend)
    if _COMMAND.match(text):
        mend = f"nothing while that command runs; if it was broken off: {resume.removeprefix('then ')}"
        return Drain("command", "a command of wright", text, mend)
    if _SLURM.match(text):
        return Drain("slurm", "Slurm", text, f"mend the reason, {resume}")
    return Drain("person", user or "a person", text, f"ask {user or 'who drained it'}; {resume}")


def _of_health(text: str) -> str:
    """The faults in a reason of the health program's, or nothing where it is not its own."""
    found = _OURS.fullmatch(text)
    if not found or hashlib.sha256(found[1].encode()).hexdigest()[:8] != found[2]:
        return ""
    return found[1].removeprefix("wright: ")


def fault_mend(faults: str) -> str:
    """What mends the first of some faults that the health program has named."""
    return next((mend for code, mend in _MENDS.items() if faults.startswith(code)), "mend what it says")
