"""How a host's management controller (BMC) is asked: by ipmitool, over the kernel's own door to it."""

from __future__ import annotations

from clusterwright.check.expectation import skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.verdict import Verdict

NO_BMC, NO_DRIVER, NO_TOOL = "no BMC", "no driver", "no ipmitool"
# SMBIOS, type 38: the board says that it has a controller, whether or not the kernel has its driver.
_BOARD = "/sys/firmware/dmi/entries/38-0"


def ask(command: str) -> str:
    """A shell's words that run the command, or print one of the three reasons why there is nobody to ask."""
    return (
        f"ls /dev/ipmi0 /dev/ipmi/0 /dev/ipmidev/0 2>/dev/null | grep -q . || "
        f"{{ [ -d {_BOARD} ] && echo '@ {NO_DRIVER}' || echo '@ {NO_BMC}'; exit 0; }}; "
        f"command -v ipmitool >/dev/null || {{ echo '@ {NO_TOOL}'; exit 0; }}; {command}"
    )


def silence(out: str) -> str:
    """The reason that was printed, or no text where somebody answered."""
    word = out.strip().removeprefix("@ ")
    return word if out.startswith("@ ") and word in (NO_BMC, NO_DRIVER, NO_TOOL) else ""


def in_lab(want: Want) -> str:
    """Why a lab's hosts are not asked."""
    return "a lab's hosts have no board" if want.cluster.lab else ""


def nobody(silent: str, want: str) -> Verdict:
    """The verdict where there is nobody to ask, for that reason."""
    if silent == NO_BMC:
        return skip("this board has no BMC")
    mend = "modprobe ipmi_si ipmi_devintf; install ipmitool"
    return unknown(f"the board has a BMC, but {silent} to ask it", want=want, mend=mend)
