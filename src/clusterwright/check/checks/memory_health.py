"""The host's memory is sound."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.memory_errors import MemoryErrors, memory_errors
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts have the memory of the machine beneath") if spec.cluster.lab else ""


@check(
    memory_errors,
    unless=_in_lab,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host; `ras-mc-ctl --errors` or the BMC's log names the module to replace",
)
def memory_health(_spec: HostSpec, have: MemoryErrors) -> Verdict:
    """No error of the host's memory was uncorrectable in this boot; corrected ones are judged by kernel_faults."""
    if not have.uncorrected:
        return skip(_("the kernel counts no memory errors here (no EDAC driver)"))
    bad = {name: count for name, count in have.uncorrected.items() if count}
    observed = ", ".join(_("{count} on {name}", count=count, name=name) for name, count in bad.items())
    corrected = sum(have.corrected.values())
    return expect(
        not bad,
        observed=observed or _("none; {corrected} corrected since boot", corrected=corrected),
        expected=_("no uncorrectable error"),
    )
