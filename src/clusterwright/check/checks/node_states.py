"""Slurm can use every node."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.facts.slurm_nodes import SlurmNode, slurm_nodes
from clusterwright.check.verdict import Status, Verdict
from clusterwright.spec.cluster import Cluster

# scontrol(1), NODE STATES: with these no job starts there.
_BAD = {
    "DOWN",
    "FAIL",
    "FAILING",
    "INVAL",
    "INVALID_REG",
    "NOT_RESPONDING",
    "ERROR",
    "UNKNOWN",
    "FUTURE",
    "POWERED_DOWN",
}
_HELD = {"DRAIN", "DRAINED", "DRAINING", "MAINT", "RESERVED", "REBOOT_ISSUED", "REBOOT_REQUESTED"}


@check(
    slurm_nodes,
    together=True,
    when=attrgetter("is_control"),
    mend="mend the reason, then `scontrol update nodename=NODE state=resume`",
)
def node_states(cluster: Cluster, have: Mapping[str, tuple[SlurmNode, ...]]) -> list[Verdict]:
    """Slurmctld has every compute host as a node that takes jobs; one that is held back is a warning."""
    ((_, nodes),) = have.items()
    known = {node.name: node for node in nodes}
    return [_verdict(host.name, known.get(host.name)) for host in cluster.hosts("compute")]


def _verdict(host: str, node: SlurmNode | None) -> Verdict:
    if node is None:
        return fault(saw="slurmctld has no such node", want="a node that takes jobs", subject=host)
    flags = {flag.strip("*~#!%$@^-") for flag in node.state}
    bad = flags & _BAD or any(flag.endswith("*") for flag in node.state)  # *: not responding
    saw = "+".join(node.state) + (f": {node.reason}" if node.reason else "")
    otherwise = Status.FAIL if bad else Status.WARN
    return expect(
        not bad and not flags & _HELD,
        saw=saw if bad or flags & _HELD else "takes jobs",
        want="a node that takes jobs",
        subject=host,
        otherwise=otherwise,
    )
