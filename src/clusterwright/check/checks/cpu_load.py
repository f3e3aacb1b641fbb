"""The load average does not exceed the hardware threads."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.load import Load, load
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_A_THREAD = 1.2  # NVIDIA/deepops: 300 on a DGX, which has 256 threads


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts share the load of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    load,
    unless=_in_lab,
    fix="run `ps -eo stat,pid,user,args | grep '^[RD]'`: processes in D wait for a disk or file server; if too "
    "many are in R, set ConstrainCores=yes in cgroup.conf",
    in_jobs=True,
)
def cpu_load(_spec: HostSpec, have: Load) -> Verdict:
    """The 15-minute load average does not exceed 1.2 per hardware thread.

    Otherwise a warning.
    """
    most = _A_THREAD * have.threads
    return expect(
        have.quarter_hour <= most,
        observed=_(
            "load average {load:.0f} on {count} hardware threads", load=have.quarter_hour, count=have.threads
        ),
        expected=_("load average of at most {most:.0f} (NVIDIA/deepops: 300 on 256 threads)", most=most),
        otherwise=Status.WARN,
    )
