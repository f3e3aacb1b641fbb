"""The memory is the declared one."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import GiB

_SHARE = 0.95  # azurehpc-health-checks: within 5 %; the kernel's own part is 1 to 2 %


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts share the machine's memory") if spec.cluster.lab else ""


@check(
    memory,
    unless=_in_lab,
    field="nodes.{group}.memory",
    on=("deploy", "periodic", "boot"),
    fix="`dmidecode -t memory` shows a module that is missing; else correct `memory` in the cluster file",
)
def memory_present(spec: HostSpec, have: Memory) -> Verdict:
    """The kernel has the declared memory, less at most 5 %."""
    declared = spec.host.group.memory
    observed, expected = (
        _("{total_bytes:.4g} GiB", total_bytes=have.total_bytes / GiB),
        _(
            "95 % of {declared:.4g} GiB (nodes.{group_name}.memory)",
            declared=declared / GiB,
            group_name=spec.host.group_name,
        ),
    )
    return expect(have.total_bytes >= _SHARE * declared, observed=observed, expected=expected)
