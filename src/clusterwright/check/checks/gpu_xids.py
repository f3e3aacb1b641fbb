"""The driver logged no error of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.events import events
from clusterwright.check.kernel.judge import Finding, judge
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict

_WANT = "no XID that asks for something (check/kernel/xids.toml)"
_STATUS = {"fail": Status.FAIL, "warn": Status.WARN}


@check(
    kernel_log,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    mend="what check/kernel/xids.toml says of the number; `journalctl -k -b | grep -i xid` shows the lines",
)
def gpu_xids(_want: Want, have: KernelLog) -> Iterator[Verdict]:
    """No XID of a GPU in this boot's kernel log asks for a reset, a repair or a look."""
    if have.missing:
        yield unknown(have.missing, want=_WANT)
        return
    found = judge(events(have.lines), have.now_s)
    asking = [each for each in found if each.severity != "none"]
    for each in asking:
        part = f"nvswitch {each.pci}" if each.switch else have.gpu(each.pci)
        saw = f"{_times(each)}: {each.meaning} ({each.pci or 'address not logged'})"
        mend = f"{each.action}; once it is mended: logger -t clusterwright mended {each.pci}"
        status = _STATUS[each.severity]
        yield fault(saw=saw, want=_WANT, part=part, mend=mend, otherwise=status, codes=(each.code,))
    if not have.source:
        yield skip("a container has no kernel log of its own")
    elif not asking:
        yield fine(saw=_quiet(found), want=_WANT)


def _times(each: Finding) -> str:
    return each.name if each.times == 1 else f"{each.name}, {each.times} times"


def _quiet(found: Sequence[Finding]) -> str:
    """What was logged but is no fault of a GPU, and why not."""
    if not found:
        return "no XID"
    told = dict.fromkeys(f"{each.name} ({each.why or each.meaning})" for each in found)
    return f"only what is no fault of a GPU: {', '.join(told)}"
