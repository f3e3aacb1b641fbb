"""Jobs may lock memory."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.slurmd_limits import UNLIMITED, slurmd_limits
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

_NAME = "Max locked memory"


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's host cannot raise its machine's limits") if spec.cluster.lab else ""


@check(
    slurmd_limits,
    when=is_compute,
    unless=_in_lab,
    fix="LimitMEMLOCK=infinity in slurmd's unit, then systemctl restart slurmd",
)
def memlock(_spec: HostSpec, have: dict[str, int]) -> Verdict:
    """Jobs inherit an unlimited memlock from slurmd: RDMA registers memory by locking it (ibv_reg_mr(3))."""
    limit = have.get(_NAME)
    observed = (
        _("{limit} bytes", limit=limit)
        if limit not in (UNLIMITED, None)
        else "unlimited"
        if limit is not None
        else _("no such limit shown")
    )
    return expect(limit == UNLIMITED, observed=observed, expected="unlimited")
