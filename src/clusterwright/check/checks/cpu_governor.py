"""CPUs run at full clocks where jobs run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.governors import governors
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def _as_is(spec: HostSpec) -> str:
    return _("system.governor leaves it as it is") if spec.cluster.system.governor == "as-is" else ""


@check(
    governors,
    when=is_compute,
    unless=_as_is,
    fix="systemctl restart clusterwright-tuning; if it does not stay, another program sets it: see tuned-adm active",
)
def cpu_governor(_spec: HostSpec, have: dict[str, int]) -> Verdict:
    """Every CPU of a compute host has the governor `performance`."""
    if not have:
        return skip(
            _("the host has no frequency governors: the machine beneath, or the firmware, sets the clocks")
        )
    observed = ", ".join(
        _("{count} CPUs {name}", count=count, name=name) for name, count in sorted(have.items())
    )
    return expect(
        set(have) == {"performance"}, observed=observed, expected="performance", otherwise=Status.WARN
    )
