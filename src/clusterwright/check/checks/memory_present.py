"""Host memory has the declared size."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import human_size

_SHARE = 0.95  # azurehpc-health-checks: within 5 %; the kernel takes 1 to 2 %


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts share the memory of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    memory,
    unless=_in_lab,
    field="nodes.{group}.memory",
    on=("deploy", "periodic", "boot"),
    fix="find the missing module with `dmidecode -t memory`, or correct `memory` in the cluster file",
    in_jobs=True,
)
def memory_present(spec: HostSpec, have: Memory) -> Verdict:
    """The kernel reports at least 95 % of the declared memory."""
    declared = spec.host.group.memory
    observed, expected = (
        _("{size} of memory", size=human_size(have.total_bytes)),
        _(
            "at least 95% of {size} of memory (nodes.{group}.memory)",
            size=human_size(declared),
            group=spec.host.group_name,
        ),
    )
    return expect(have.total_bytes >= _SHARE * declared, observed=observed, expected=expected)
