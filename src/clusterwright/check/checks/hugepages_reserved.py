"""Memory is kept as huge pages where the file says so."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import GiB


def _is_configured(spec: HostSpec) -> bool:
    return spec.is_compute and bool(spec.cluster.system.hugepages)


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts share the pages of their machine") if spec.cluster.lab else ""


@check(
    memory,
    when=_is_configured,
    unless=_in_lab,
    fix="drain the host and reboot it: huge pages are taken at boot",
)
def hugepages_reserved(spec: HostSpec, have: Memory) -> Verdict:
    """A compute host has taken the huge pages that the file asks for; the kernel may have found fewer."""
    expected_bytes = spec.cluster.system.hugepages or 0
    return expect(
        have.huge_bytes >= expected_bytes,
        observed=_("{huge_bytes:.4g} GiB", huge_bytes=have.huge_bytes / GiB),
        expected=_("{expected_bytes:.4g} GiB (system.hugepages)", expected_bytes=expected_bytes / GiB),
    )
