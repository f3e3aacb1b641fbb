"""Slurm's RealMemory does not exceed the host's memory."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.slurmd_hardware import Hardware, slurmd_hardware
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import MiB


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts share the memory of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    slurmd_hardware,
    when=is_compute,
    unless=_in_lab,
    fix="find the missing module with `dmidecode -t memory`, or lower `memory` in the cluster file",
)
def real_memory(spec: HostSpec, have: Hardware) -> Verdict:
    """Slurmd detects at least the RealMemory of slurm.conf; with less Slurm drains the node."""
    declared_mib, actual_mib = spec.host.group.usable_memory_mib, have.memory_bytes // MiB
    return expect(
        actual_mib >= declared_mib,
        observed=_("slurmd detects {size} MiB", size=actual_mib),
        expected=_(
            "at least RealMemory={size} (MiB, from nodes.{group}.memory)",
            size=declared_mib,
            group=spec.host.group_name,
        ),
    )
