"""Compute hosts have no swap."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.facts.swaps import Swaps, swaps
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import human_size


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts share the swap of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    (memory, swaps),
    when=is_compute,
    unless=_in_lab,
    fix="run `wright apply`, which turns swap off and masks swap.target; remove swap entries from /etc/fstab",
    in_jobs=True,
)
def swap_off(spec: HostSpec, have: Memory, swap_areas: Swaps) -> Verdict:
    """A compute host has no swap: one rank that swaps slows all others down; swap is a warning."""
    if spec.cluster.system.swap:
        return skip(_("system.swap is on in the cluster file"))
    named = "; ".join(
        [_("active: {areas}", areas=", ".join(swap_areas.active))] * bool(swap_areas.active)
        + [_("in /etc/fstab: {areas}", areas=", ".join(swap_areas.fstab))] * bool(swap_areas.fstab)
    )
    return expect(
        not have.swap_bytes,
        observed=_("{size} of swap", size=human_size(have.swap_bytes)) + (f" ({named})" if named else ""),
        expected=_("no swap"),
        otherwise=Status.WARN,
    )
