"""How to return a drained node to service, by what drained it; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.i18n import N_, _
from clusterwright.slurm.drain_reasons import DrainFault, DrainReason, parse_drain_reason

# By prefix of the fault code that the health check program (provision/render/hooks) wrote into the drain reason.
_FIXES = {
    "gpu-file-missing": N_(
        "run `nvidia-modprobe -c 0` to create a missing device file; `dmesg | grep -i xid` shows a lost GPU"
    ),
    "gpu-driver": N_("run `nvidia-smi` on the host; reboot the host if it hangs"),
    "gpu-lost": N_(
        "reboot the host; if the GPU is still missing, power the host off and reseat or replace the GPU"
    ),
    "gpu-ecc": N_("reset the GPU with `nvidia-smi --gpu-reset -i GPU`; replace the GPU if the errors return"),
    "gpu-remap": N_("replace the GPU"),
    "gpu-xid": N_(
        "follow the drain reason, then reboot the host or run `systemd-run --unit=clusterwright-repair"
        " -p SyslogIdentifier=clusterwright echo repaired PCI_ADDRESS` on it"
    ),
    "mount-": N_("run `mount -a` on the host; check the file server and `dmesg`"),
    "disk-full": N_("find the largest folders with `du -xh --max-depth=2 PATH | sort -h` and free space"),
    "munge-": N_("run `systemctl restart munge` on the host and read `journalctl -u munge`"),
    "clock-": N_("run `chronyc makestep` on the host, then `chronyc tracking`"),
    "link-": N_("reseat or replace the cable of the link, and check the switch port"),
    "rdma-": N_(
        "run `ibstat` on the host: Initializing means no subnet manager, Polling a bad cable or switch port"
    ),
    "isolation-": N_("run `nft -f /etc/clusterwright/isolation.nft` on the host, then `wright apply`"),
    "leftover-": N_(
        "run `ps -o pid,stat,wchan:30,args -U USER` on the host: reboot it if the processes do not end"
    ),
    "network-": N_(
        "run `ip address` on the host to find the interface without its address, and restart the network service"
    ),
}
_BACK = N_("{fix}; the health check program then resumes the node within 5 minutes")
_HEAL = N_("read `wright heal log`; heal resumes the node when its checks pass")
_POWER = N_("read `journalctl -u clusterwright-power` on the control host, then run `{resume}`")
_HOOK = N_("read `journalctl -t clusterwright -n 20` on the host and fix what it reports")
_COMMAND = N_("wait for the command to end; if it was interrupted, run `{resume}`")


@dataclass(frozen=True, slots=True)
class Drain:
    """A drain: its origin (as DrainReason has it), what drained the node in words, the reason text, and the fix."""

    origin: str
    by: str
    reason: str
    fix: str


def drain(node: str, reason: str) -> Drain:
    """Return who drained a node and why, with the fix, from its drain reason as `scontrol show node` prints it."""
    drain_reason = parse_drain_reason(reason)
    return Drain(drain_reason.origin, *_describe(node, drain_reason))


def _describe(node: str, drain_reason: DrainReason) -> tuple[str, str, str]:
    text, user = drain_reason.text, drain_reason.user
    resume = f"scontrol update nodename={node} state=resume"
    if drain_reason.origin == "health":
        return _("the host's health check program"), text, _(_BACK, fix=fault_fix(drain_reason.faults))
    if drain_reason.origin == "hooks":
        return _("Slurm because its prolog or epilog failed"), text, _(_BACK, fix=_(_HOOK))
    if drain_reason.command in ("heal", "spare"):
        return "wright heal", text, _(_HEAL)
    if drain_reason.command == "power":
        return _("wright power control"), text, _(_POWER, resume=resume)
    if drain_reason.origin == "command":
        return _("a wright command"), text, _(_COMMAND, resume=resume)
    if drain_reason.origin == "slurm":
        return "Slurm", text, _("fix the reason, then run `{resume}`", resume=resume)
    if user:
        return user, text, _("ask {user}, then run `{resume}`", user=user, resume=resume)
    return _("an administrator"), text, _("ask who drained the node, then run `{resume}`", resume=resume)


def fault_fix(faults: Sequence[DrainFault]) -> str:
    """Return the fix of the first fault that the health check program reported; a general one if unknown."""
    fault_code = faults[0].code if faults else ""
    fixes = (_(fix) for code, fix in _FIXES.items() if fault_code.startswith(code))
    return next(fixes, _("fix the fault that the reason names"))
