"""Slurm is told of no more memory than there is."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want, is_compute
from clusterwright.check.facts.slurmd_hardware import Hardware, slurmd_hardware
from clusterwright.check.verdict import Verdict
from clusterwright.provision.render.slurm_nodes import usable_memory_mib
from clusterwright.units import MiB


def _in_lab(want: Want) -> str:
    return "a lab's host only claims its memory (config_overrides)" if want.cluster.lab else ""


@check(
    slurmd_hardware,
    when=is_compute,
    unless=_in_lab,
    mend="`dmidecode -t memory` shows a module that is missing; else lower `memory` in the cluster file",
)
def real_memory(want: Want, have: Hardware) -> Verdict:
    """Slurmd finds at least the RealMemory of slurm.conf; with less Slurm drains the host."""
    told, found = usable_memory_mib(want.host.group), have.memory_bytes // MiB
    return expect(found >= told, saw=f"{found} MiB", want=f"{told} MiB (nodes.{want.host.group_name}.memory)")
