"""The kernel log has no host fault."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.faults import find_faults
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_MAX_LINE_CHARS = 120  # ours: enough to identify a line


@check(
    kernel_log,
    on=("deploy", "periodic", "burn-in"),
    fix="run `journalctl -k -b` on the host and read the lines before the reported line",
    in_jobs=True,
)
def kernel_faults(_spec: HostSpec, have: KernelLog) -> Iterator[Verdict]:
    """The kernel log of this boot has no CPU lockup, disk, memory, PCIe or file server fault."""
    if have.missing:
        yield unknown(have.missing)
        return
    occurrences = [
        occurrence
        for occurrence in find_faults(have.lines, have.now_s)
        if occurrence.fault.severity != "none"
    ]
    for occurrence in occurrences:
        least, hours, line = occurrence.fault.least, occurrence.fault.hours, occurrence.line[:_MAX_LINE_CHARS]
        observed = f"{occurrence.fault.name}: {line}"
        yield fault(
            observed=_("{line} ({count} times)", line=observed, count=occurrence.times)
            if occurrence.times > 1
            else observed,
            expected=_("fewer than {count} such kernel log lines in this boot", count=least)
            if hours == "boot"
            else _("fewer than {count} such kernel log lines in {hours:g} h", count=least, hours=hours),
            fix=_(occurrence.fault.fix),
            otherwise=Status.FAIL if occurrence.fault.severity == "fail" else Status.WARN,
        )
    if not have.source:
        yield skip(_("a container has no kernel log"))
    elif not occurrences:
        yield fine(observed=_("no fault"), expected=_("no fault line in the kernel log"))
