"""Memory is kept as huge pages where the file says so."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.verdict import Verdict
from clusterwright.units import GiB


def _wanted(want: Want) -> bool:
    return want.is_compute and bool(want.cluster.system.hugepages)


def _in_lab(want: Want) -> str:
    return "a lab's hosts share the pages of their machine" if want.cluster.lab else ""


@check(
    memory, when=_wanted, unless=_in_lab, mend="drain the host and reboot it: huge pages are taken at boot"
)
def hugepages_kept(want: Want, have: Memory) -> Verdict:
    """A compute host has taken the huge pages that the file asks for; the kernel may have found fewer."""
    wanted = want.cluster.system.hugepages or 0
    return expect(
        have.huge_bytes >= wanted,
        saw=f"{have.huge_bytes / GiB:.4g} GiB",
        want=f"{wanted / GiB:.4g} GiB (system.hugepages)",
    )
