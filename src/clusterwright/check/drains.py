"""What fixes a drained node, by who drained it; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.i18n import N_, _
from clusterwright.slurm.drain_reasons import DrainReason, Fault, parse_drain_reason

# By the beginning of the code of what the health program has found (provision/render/hooks).
_FIXES = {
    "gpu-file-missing": N_(
        "`nvidia-modprobe -c 0` makes a missing device file; `dmesg | grep -i xid` for a lost GPU"
    ),
    "gpu-driver": N_("`nvidia-smi` on the host; reboot it if the driver hangs"),
    "gpu-lost": N_("reboot the host; a GPU that stays away: power off, reseat, replace"),
    "gpu-ecc": N_("reset the GPU (nvidia-smi --gpu-reset -i GPU); replace it if errors come again"),
    "gpu-remap": N_("replace the GPU"),
    "gpu-xid": N_(
        "do what the reason says, then `logger -t clusterwright repaired PCI_ADDRESS` on the "
        "host, or reboot it"
    ),
    "mount-": N_("`mount -a` on the host; see the file server and the kernel's log"),
    "disk-full": N_("find what fills it with `du -xh --max-depth=2 PATH | sort -h`"),
    "munge-": N_("`systemctl restart munge` on the host, and `journalctl -u munge`"),
    "clock-": N_("`chronyc makestep` on the host, then `chronyc tracking`"),
    "link-": N_("reseat or replace the cable; see the switch's port"),
    "rdma-": N_("`ibstat` on the host: INIT is a missing subnet manager, Polling a cable or a switch's port"),
    "network-": N_("`ip address` on the host; `systemctl restart` of what sets its addresses"),
}
_BACK = N_("the host comes back by itself within 5 minutes")
_RESUME = N_("then `scontrol update nodename={node} state=resume`")


_HEAL = N_("`wright heal log` says what is done; the host comes back once its checks pass")
_POWER = N_("`journalctl -u clusterwright-power` on the control host says why")


@dataclass(frozen=True, slots=True)
class Drain:
    """Who drained, in a few words; what was written; what to do."""

    origin: str
    by: str
    reason: str
    fix: str


def drain(node: str, reason: str) -> Drain:
    """What the reason of a node tells, as scontrol prints it."""
    drain_reason = parse_drain_reason(reason)
    return Drain(drain_reason.origin, *_describe(node, drain_reason))


def _describe(node: str, drain_reason: DrainReason) -> tuple[str, str, str]:
    text, resume = drain_reason.text, _(_RESUME, node=node)
    if drain_reason.origin == "health":
        return _("its health program"), text, f"{fault_fix(drain_reason.faults)}; {_(_BACK)}"
    if drain_reason.origin == "hooks":
        fix = _(
            "`journalctl -t clusterwright -n 20` on the host says why; once that is fixed {back}", back=_BACK
        )
        return _("Slurm, as its prolog or epilog refused"), text, fix
    if drain_reason.command in ("heal", "spare"):
        return "wright heal", text, _(_HEAL)
    if drain_reason.command == "power":
        return _("the power control of wright"), text, f"{_(_POWER)}, {resume}"
    if drain_reason.origin == "command":
        fix = _(
            "nothing while that command runs; if it was broken off: {resume}",
            resume=resume.removeprefix("then "),
        )
        return _("a command of wright"), text, fix
    if drain_reason.origin == "slurm":
        return "Slurm", text, _("fix the reason, {resume}", resume=resume)
    return (
        drain_reason.user or _("a person"),
        text,
        _("ask {user}; {resume}", user=drain_reason.user or "who drained it", resume=resume),
    )


def fault_fix(faults: Sequence[Fault]) -> str:
    """What fixes the first of some faults that the health program has named."""
    fault_code = faults[0].code if faults else ""
    return next(
        (_(fix) for code, fix in _FIXES.items() if fault_code.startswith(code)), _("fix what it says")
    )
