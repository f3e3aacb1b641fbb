"""Queries of a host's BMC with ipmitool over the kernel's IPMI device."""

from __future__ import annotations

from clusterwright.check.expectation import skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

NO_BMC, NO_DRIVER, NO_TOOL = "no BMC", "no driver", "no ipmitool"  # as the script on the host prints them
# SMBIOS type 38 (IPMI device): present where the board has a BMC, with or without its kernel driver.
_BOARD = "/sys/firmware/dmi/entries/38-0"


def bmc_command(command: str) -> str:
    """Return a shell script that runs the command, or prints NO_BMC, NO_DRIVER or NO_TOOL."""
    return (
        f"ls /dev/ipmi0 /dev/ipmi/0 /dev/ipmidev/0 2>/dev/null | grep -q . || "
        f"{{ [ -d {_BOARD} ] && echo '@ {NO_DRIVER}' || echo '@ {NO_BMC}'; exit 0; }}; "
        f"command -v ipmitool >/dev/null || {{ echo '@ {NO_TOOL}'; exit 0; }}; {command}"
    )


def unavailable_reason(out: str) -> str:
    """Return the reason why the command of `bmc_command` was not run, from its output; empty if it ran."""
    reason = out.strip().removeprefix("@ ")
    return reason if out.startswith("@ ") and reason in (NO_BMC, NO_DRIVER, NO_TOOL) else ""


def in_lab(spec: HostSpec) -> str:
    """Return why the check is skipped in a lab; empty outside a lab."""
    return _("not checked in a lab: its hosts have no BMC") if spec.cluster.lab else ""


def unavailable_verdict(reason: str, expected: str) -> Verdict:
    """Return the verdict for a reason of `unavailable_reason`: skipped without a BMC, else unknown."""
    if reason == NO_BMC:
        return skip(_("this host has no BMC"))
    if reason == NO_DRIVER:
        fix = _("run `modprobe -a ipmi_si ipmi_devintf` on the host")
        return unknown(_("the kernel has no driver for the BMC loaded"), expected=expected, fix=fix)
    return unknown(_("ipmitool is not installed"), expected=expected, fix=_("install ipmitool on the host"))
