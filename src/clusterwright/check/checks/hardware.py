"""CPU topology is as declared."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.slurmd_hardware import Hardware, slurmd_hardware
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts have the CPUs of the lab's machine (config_overrides)")
        if spec.cluster.lab
        else ""
    )


@check(
    slurmd_hardware,
    when=is_compute,
    unless=_in_lab,
    field="nodes.{group}.cpus",
    fix="enable all cores and threads in the BIOS, or correct `cpus` in the cluster file",
)
def hardware(spec: HostSpec, have: Hardware) -> Verdict:
    """Slurmd detects the declared sockets, cores and threads; with fewer Slurm marks the node INVALID_REG."""
    cpus = spec.host.group.cpus
    expected = Hardware(cpus.sockets, cpus.cores_per_socket, cpus.threads_per_core, 0)
    is_match = _shape(have) == _shape(expected)
    return expect(
        is_match,
        observed=_shape(have),
        expected=_("{topology} (nodes.{group}.cpus)", topology=_shape(expected), group=spec.host.group_name),
    )


def _shape(topology: Hardware) -> str:
    return _(
        "{sockets} sockets x {cores_per_socket} cores x {threads_per_core} threads",
        sockets=topology.sockets,
        cores_per_socket=topology.cores_per_socket,
        threads_per_core=topology.threads_per_core,
    )
