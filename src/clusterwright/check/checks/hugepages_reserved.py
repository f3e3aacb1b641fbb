"""The declared huge pages are reserved."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import human_size


def _is_configured(spec: HostSpec) -> bool:
    return spec.is_compute and bool(spec.cluster.system.hugepages)


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts share the memory of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    memory,
    when=_is_configured,
    unless=unmanaged("hugepages", otherwise=_in_lab),
    fix="drain and reboot the host: huge pages are reserved at boot",
)
def hugepages_reserved(spec: HostSpec, have: Memory) -> Verdict:
    """A compute host has reserved the declared huge pages; the kernel may find fewer when memory is fragmented."""
    expected_bytes = spec.cluster.system.hugepages or 0
    return expect(
        have.huge_bytes >= expected_bytes,
        observed=_("{size} of huge pages", size=human_size(have.huge_bytes)),
        expected=_("at least {size} of huge pages (system.hugepages)", size=human_size(expected_bytes)),
    )
