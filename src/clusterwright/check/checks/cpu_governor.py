"""CPUs of compute hosts run at full clock."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.governors import governors
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def _as_is(spec: HostSpec) -> str:
    return (
        _("system.governor is `as-is` in the cluster file") if spec.cluster.system.governor == "as-is" else ""
    )


@check(
    governors,
    when=is_compute,
    unless=_as_is,
    fix="run `systemctl restart clusterwright-tuning`; if the governor changes back, check `tuned-adm active`",
    in_jobs=True,
)
def cpu_governor(_spec: HostSpec, have: dict[str, int]) -> Verdict:
    """Every CPU of a compute host has the governor `performance`.

    Otherwise a warning; skipped if the host has no governor.
    """
    if not have:
        return skip(_("the host has no frequency governor: its hypervisor or firmware sets the clocks"))
    observed = ", ".join(f"{name}: {count}" for name, count in sorted(have.items()))
    return expect(
        set(have) == {"performance"},
        observed=_("CPUs by governor: {counts}", counts=observed),
        expected=_("governor performance on all CPUs"),
        otherwise=Status.WARN,
    )
