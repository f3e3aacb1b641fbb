"""Slurm is told of no more memory than there is."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.slurmd_hardware import Hardware, slurmd_hardware
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.provision.render.slurm_nodes import usable_memory_mib
from clusterwright.units import MiB


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's host only claims its memory (config_overrides)") if spec.cluster.lab else ""


@check(
    slurmd_hardware,
    when=is_compute,
    unless=_in_lab,
    fix="`dmidecode -t memory` shows a module that is missing; else lower `memory` in the cluster file",
)
def real_memory(spec: HostSpec, have: Hardware) -> Verdict:
    """Slurmd finds at least the RealMemory of slurm.conf; with less Slurm drains the host."""
    declared_mib, actual_mib = usable_memory_mib(spec.host.group), have.memory_bytes // MiB
    return expect(
        actual_mib >= declared_mib,
        observed=_("{actual_mib} MiB", actual_mib=actual_mib),
        expected=_(
            "{declared_mib} MiB (nodes.{group_name}.memory)",
            declared_mib=declared_mib,
            group_name=spec.host.group_name,
        ),
    )
