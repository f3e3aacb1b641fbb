"""The host is not overrun."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.load import Load, load
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_A_THREAD = 1.2  # NVIDIA/deepops: 300 on a DGX, which has 256 threads


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts share the load of the machine beneath") if spec.cluster.lab else ""


@check(
    load,
    unless=_in_lab,
    fix="`ps -eo stat,pid,user,args | grep '^[RD]'`: those in D wait for a disk or a file server; the others are "
    "more than their jobs asked for, see ConstrainCores in cgroup.conf",
)
def cpu_load(_spec: HostSpec, have: Load) -> Verdict:
    """No more processes ran or waited for a disk in the last 15 minutes than the host has hardware threads for."""
    most = _A_THREAD * have.threads
    return expect(
        have.quarter_hour <= most,
        observed=_(
            "{quarter_hour:.0f} at {threads} threads", quarter_hour=have.quarter_hour, threads=have.threads
        ),
        expected=_("{most:.0f} at most (NVIDIA/deepops: 300 at 256 threads)", most=most),
        otherwise=Status.WARN,
    )
