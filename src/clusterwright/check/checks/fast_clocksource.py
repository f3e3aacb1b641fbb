"""Asking for the time takes no time."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.machine import Machine, machine
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

# Those that a program reads without a call into the kernel (Linux, Documentation/timers/timekeeping; vdso).
_QUICK = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen")


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts have the clock of the machine beneath") if spec.cluster.lab else ""


@check(
    machine,
    unless=_in_lab,
    fix="`dmesg | grep -i tsc` says why the kernel left the TSC: mostly a BIOS to update; clocksource=tsc at boot",
)
def fast_clocksource(_spec: HostSpec, have: Machine) -> Verdict:
    """The kernel counts time by the processor: with hpet or acpi_pm each look at the clock costs a microsecond."""
    if not have.clocksource:
        return unknown(_("the kernel does not say its clocksource"))
    return expect(
        have.clocksource in _QUICK,
        observed=have.clocksource,
        expected=_("one of {quick}", quick=", ".join(_QUICK)),
        otherwise=Status.WARN,
    )
