"""The kernel met no fault."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.faults import find_faults
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_MAX_LINE_CHARS = 120  # characters of a line: enough to know it by


@check(
    kernel_log,
    on=("deploy", "periodic", "burn-in"),
    fix="`journalctl -k -b` on the host shows the line and what came before it",
)
def kernel_faults(_spec: HostSpec, have: KernelLog) -> Iterator[Verdict]:
    """This boot's kernel log has no stuck CPU, lost disk, broken memory, narrow link or silent file server."""
    if have.missing:
        yield unknown(have.missing)
        return
    occurrences = [
        occurrence
        for occurrence in find_faults(have.lines, have.now_s)
        if occurrence.fault.severity != "none"
    ]
    for occurrence in occurrences:
        times = _(" ({times} times)", times=occurrence.times) if occurrence.times > 1 else ""
        hours = (
            _("in this boot")
            if occurrence.fault.hours == "boot"
            else _("in {hours:g} h", hours=occurrence.fault.hours)
        )
        yield fault(
            observed=f"{occurrence.fault.name}{times}: {occurrence.line[:_MAX_LINE_CHARS]}",
            expected=_(
                "less than {least} {hours} (check/kernel/faults.toml)",
                least=occurrence.fault.least,
                hours=hours,
            ),
            fix=occurrence.fault.fix,
            otherwise=Status.FAIL if occurrence.fault.severity == "fail" else Status.WARN,
        )
    if not have.source:
        yield skip(_("a container has no kernel log of its own"))
    elif not occurrences:
        yield fine(observed="none", expected=_("no line of check/kernel/faults.toml"))
