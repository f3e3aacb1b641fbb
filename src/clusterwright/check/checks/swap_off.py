"""Swap is off where jobs run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.memory import Memory, memory
from clusterwright.check.facts.swaps import Swaps, swaps
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import GiB


def _in_lab(spec: HostSpec) -> str:
    return _("swap is the machine's, not the lab host's") if spec.cluster.lab else ""


@check(
    (memory, swaps),
    when=is_compute,
    unless=_in_lab,
    fix="apply the cluster file again: it switches swap off and masks swap.target; fix /etc/fstab by hand",
)
def swap_off(spec: HostSpec, have: Memory, swap_areas: Swaps) -> Verdict:
    """A compute host has no swap: one rank that swaps holds up all the others."""
    if spec.cluster.system.swap:
        return skip(_("system.swap allows it"))
    named = "; ".join(
        [_("on {active}", active=", ".join(swap_areas.active))] * bool(swap_areas.active)
        + [_("/etc/fstab names {fstab}", fstab=", ".join(swap_areas.fstab))] * bool(swap_areas.fstab)
    )
    return expect(
        not have.swap_bytes,
        observed=_(
            "{swap_bytes:.3g} GiB of swap{value}",
            swap_bytes=have.swap_bytes / GiB,
            value=f" ({named})" if named else "",
        ),
        expected="none",
        otherwise=Status.WARN,
    )
