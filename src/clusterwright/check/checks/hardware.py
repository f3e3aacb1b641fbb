"""The hardware is the declared one."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want, is_compute
from clusterwright.check.facts.slurmd_hardware import Hardware, slurmd_hardware
from clusterwright.check.verdict import Verdict


def _in_lab(want: Want) -> str:
    return (
        "a lab's host only claims its CPUs (config_overrides): slurmd sees the machine beneath"
        if want.cluster.lab
        else ""
    )


@check(
    slurmd_hardware,
    when=is_compute,
    unless=_in_lab,
    field="nodes.{group}.cpus",
    mend="see the BIOS for cores or threads switched off, or correct `cpus` in the cluster file",
)
def hardware(want: Want, have: Hardware) -> Verdict:
    """Slurmd finds the declared sockets, cores and threads; with fewer Slurm calls the node invalid."""
    cpus = want.host.group.cpus
    wanted = Hardware(cpus.sockets, cpus.cores_per_socket, cpus.threads_per_core, 0)
    same = _shape(have) == _shape(wanted)
    return expect(same, saw=_shape(have), want=f"{_shape(wanted)} (nodes.{want.host.group_name}.cpus)")


def _shape(found: Hardware) -> str:
    return f"{found.sockets} sockets x {found.cores_per_socket} cores x {found.threads_per_core} threads"
