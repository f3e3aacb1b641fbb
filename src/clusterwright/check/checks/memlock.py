"""Jobs have an unlimited memlock limit."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.slurmd_limits import UNLIMITED, slurmd_limits
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import human_size

_NAME = "Max locked memory"


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts cannot raise the limits of the lab's machine")
        if spec.cluster.lab
        else ""
    )


@check(
    slurmd_limits,
    when=is_compute,
    unless=_in_lab,
    fix="set LimitMEMLOCK=infinity in slurmd.service, then run `systemctl restart slurmd`",
    in_jobs=True,
)
def memlock(_spec: HostSpec, have: dict[str, int]) -> Verdict:
    """Jobs inherit an unlimited memlock limit from slurmd; RDMA locks registered memory (ibv_reg_mr(3))."""
    limit = have.get(_NAME)
    observed = (
        _("slurmd has no memlock limit in /proc/PID/limits")
        if limit is None
        else _("memlock limit of slurmd: unlimited")
        if limit == UNLIMITED
        else _("memlock limit of slurmd: {size}", size=human_size(limit))
    )
    return expect(limit == UNLIMITED, observed=observed, expected=_("memlock limit of slurmd: unlimited"))
