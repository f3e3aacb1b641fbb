"""Host memory has no uncorrectable ECC errors."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.memory_errors import MemoryErrors, memory_errors
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts share the memory of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    memory_errors,
    unless=_in_lab,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host and replace the memory module that `ras-mc-ctl --errors` or `ipmitool sel elist` names",
    in_jobs=True,
)
def memory_health(_spec: HostSpec, have: MemoryErrors) -> Verdict:
    """Host memory has no uncorrectable error since boot; kernel_faults judges corrected errors.

    Skipped where the kernel counts no memory errors (no EDAC driver).
    """
    if not have.uncorrected:
        return skip(_("the kernel has no EDAC driver for this host, so it counts no memory errors"))
    bad = {name: count for name, count in have.uncorrected.items() if count}
    observed = ", ".join(f"{name}: {count}" for name, count in bad.items())
    corrected = sum(have.corrected.values())
    return expect(
        not bad,
        observed=_("uncorrectable errors since boot: {counts}", counts=observed)
        if bad
        else _("no uncorrectable errors; corrected since boot: {count}", count=corrected),
        expected=_("no uncorrectable memory error"),
    )
