"""The kernel uses a fast clock source."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.machine import HostMachine, machine
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

# Clock sources that a program reads without a system call (Linux, Documentation/timers/timekeeping; vDSO).
_QUICK = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen")


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts have the clock of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    machine,
    unless=_in_lab,
    fix="run `dmesg | grep -i tsc` for the reason why the kernel rejected the TSC; update the BIOS, or boot with "
    "clocksource=tsc",
    in_jobs=True,
)
def fast_clocksource(_spec: HostSpec, have: HostMachine) -> Verdict:
    """The clock source is the CPU's (TSC or similar); with hpet or acpi_pm each time read takes a microsecond.

    Otherwise a warning; unknown if the kernel reports none.
    """
    if not have.clocksource:
        return unknown(_("the kernel reports no clock source"))
    return expect(
        have.clocksource in _QUICK,
        observed=have.clocksource,
        expected=_("one of {names}", names=", ".join(_QUICK)),
        otherwise=Status.WARN,
    )
