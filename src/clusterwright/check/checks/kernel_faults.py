"""The kernel met no fault."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.faults import seen
from clusterwright.check.verdict import Status, Verdict

_SHOWN = 120  # characters of a line: enough to know it by


@check(
    kernel_log,
    on=("deploy", "periodic", "burn-in"),
    mend="`journalctl -k -b` on the host shows the line and what came before it",
)
def kernel_faults(_want: Want, have: KernelLog) -> Iterator[Verdict]:
    """This boot's kernel log has no stuck CPU, lost disk, broken memory, narrow link or silent file server."""
    if have.missing:
        yield unknown(have.missing)
        return
    found = [each for each in seen(have.lines, have.now_s) if each.fault.severity != "none"]
    for each in found:
        times = f" ({each.times} times)" if each.times > 1 else ""
        hours = "in this boot" if each.fault.hours == "boot" else f"in {each.fault.hours:g} h"
        yield fault(
            saw=f"{each.fault.name}{times}: {each.said[:_SHOWN]}",
            want=f"less than {each.fault.least} {hours} (check/kernel/faults.toml)",
            mend=each.fault.mend,
            otherwise=Status.FAIL if each.fault.severity == "fail" else Status.WARN,
        )
    if not have.source:
        yield skip("a container has no kernel log of its own")
    elif not found:
        yield fine(saw="none", want="no line of check/kernel/faults.toml")
