"""How a host's management controller (BMC) is asked: by ipmitool, over the kernel's own door to it."""

from __future__ import annotations

from clusterwright.check.expectation import skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import N_, _

NO_BMC, NO_DRIVER, NO_TOOL = N_("no BMC"), N_("no driver"), N_("no ipmitool")
# SMBIOS, type 38: the board says that it has a controller, whether or not the kernel has its driver.
_BOARD = "/sys/firmware/dmi/entries/38-0"


def bmc_command(command: str) -> str:
    """A shell's words that run the command, or print one of the three reasons why there is nobody to ask."""
    return (
        f"ls /dev/ipmi0 /dev/ipmi/0 /dev/ipmidev/0 2>/dev/null | grep -q . || "
        f"{{ [ -d {_BOARD} ] && echo '@ {NO_DRIVER}' || echo '@ {NO_BMC}'; exit 0; }}; "
        f"command -v ipmitool >/dev/null || {{ echo '@ {NO_TOOL}'; exit 0; }}; {command}"
    )


def unavailable_reason(out: str) -> str:
    """The reason that was printed, or no text where somebody answered."""
    reason = out.strip().removeprefix("@ ")
    return reason if out.startswith("@ ") and reason in (NO_BMC, NO_DRIVER, NO_TOOL) else ""


def in_lab(spec: HostSpec) -> str:
    """Why a lab's hosts are not asked."""
    return _("a lab's hosts have no board") if spec.cluster.lab else ""


def unavailable_verdict(reason: str, expected: str) -> Verdict:
    """The verdict where there is nobody to ask, for that reason."""
    if reason == NO_BMC:
        return skip(_("this board has no BMC"))
    fix = _("modprobe ipmi_si ipmi_devintf; install ipmitool")
    return unknown(
        _("the board has a BMC, but {reason} to ask it", reason=reason), expected=expected, fix=fix
    )
