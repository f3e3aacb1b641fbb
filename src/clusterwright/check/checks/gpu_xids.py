"""The NVIDIA driver logged no Xid that needs action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.kernel_log import KernelLog, kernel_log
from clusterwright.check.kernel.events import events
from clusterwright.check.kernel.judge import KernelFinding, judge
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("no Xid that needs action in the kernel log")
_STATUS = {"fail": Status.FAIL, "warn": Status.WARN}


@check(
    kernel_log,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in"),
    fix="follow the action for the Xid in src/clusterwright/check/kernel/xids.toml; "
    "`journalctl -k -b | grep -i xid` shows the lines",
    in_jobs=True,
)
def gpu_xids(_spec: HostSpec, have: KernelLog) -> Iterator[Verdict]:
    """No Xid in the kernel log of this boot requires a reset, a repair or an inspection."""
    if have.missing:
        yield unknown(have.missing, expected=_(_EXPECTED))
        return
    findings = judge(events(have.lines), have.now_s)
    asking = [finding for finding in findings if finding.severity != "none"]
    for finding in asking:
        part = f"nvswitch {finding.pci}" if finding.switch else have.gpu(finding.pci)
        observed = f"{_times(finding)}: {_(finding.meaning)} ({finding.pci or _('PCI address not logged')})"
        fix = _(
            "{action}; after the repair run `systemd-run --unit=clusterwright-repair"
            " -p SyslogIdentifier=clusterwright echo repaired {address}` on the host",
            action=_(finding.action),
            address=finding.pci,
        )
        status = _STATUS[finding.severity]
        yield fault(
            observed=observed,
            expected=_(_EXPECTED),
            part=part,
            fix=fix,
            otherwise=status,
            codes=(finding.code,),
        )
    if not have.source:
        yield skip(_("a container has no kernel log"))
    elif not asking:
        yield fine(observed=_quiet(findings), expected=_(_EXPECTED))


def _times(finding: KernelFinding) -> str:
    return (
        finding.name
        if finding.times == 1
        else _("{xid} ({count} times)", xid=finding.name, count=finding.times)
    )


def _quiet(findings: Sequence[KernelFinding]) -> str:
    """Describe the logged Xids that are not GPU faults, with the reasons."""
    if not findings:
        return _("no Xid")
    reasons = dict.fromkeys(
        f"{finding.name} ({finding.reason or _(finding.meaning)})" for finding in findings
    )
    return _("only Xids that are not GPU faults: {xids}", xids=", ".join(reasons))
