"""The driver logged no error of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.events import events
from clusterwright.check.kernel.judge import Finding, judge
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("no XID that asks for something (check/kernel/xids.toml)")
_STATUS = {"fail": Status.FAIL, "warn": Status.WARN}


@check(
    kernel_log,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="what check/kernel/xids.toml says of the number; `journalctl -k -b | grep -i xid` shows the lines",
)
def gpu_xids(_spec: HostSpec, have: KernelLog) -> Iterator[Verdict]:
    """No XID of a GPU in this boot's kernel log asks for a reset, a repair or a look."""
    if have.missing:
        yield unknown(have.missing, expected=_EXPECTED)
        return
    findings = judge(events(have.lines), have.now_s)
    asking = [finding for finding in findings if finding.severity != "none"]
    for finding in asking:
        part = f"nvswitch {finding.pci}" if finding.switch else have.gpu(finding.pci)
        observed = f"{_times(finding)}: {finding.meaning} ({finding.pci or 'address not logged'})"
        fix = _(
            "{action}; once it is fixed: logger -t clusterwright repaired {pci}",
            action=finding.action,
            pci=finding.pci,
        )
        status = _STATUS[finding.severity]
        yield fault(
            observed=observed, expected=_EXPECTED, part=part, fix=fix, otherwise=status, codes=(finding.code,)
        )
    if not have.source:
        yield skip(_("a container has no kernel log of its own"))
    elif not asking:
        yield fine(observed=_quiet(findings), expected=_EXPECTED)


def _times(finding: Finding) -> str:
    return (
        finding.name
        if finding.times == 1
        else _("{finding}, {times} times", finding=finding.name, times=finding.times)
    )


def _quiet(findings: Sequence[Finding]) -> str:
    """What was logged but is no fault of a GPU, and why not."""
    if not findings:
        return _("no XID")
    reasons = dict.fromkeys(f"{finding.name} ({finding.reason or finding.meaning})" for finding in findings)
    return _("only what is no fault of a GPU: {reasons}", reasons=", ".join(reasons))
