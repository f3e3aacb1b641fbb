"""Slurm can use every node."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from clusterwright.check.drains import drain, fault_mend
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.facts.slurm_nodes import SlurmNode, slurm_nodes
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster

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
_DRAINED = {"DRAIN", "DRAINED", "DRAINING"}
_HELD = {*_DRAINED, "MAINT", "RESERVED", "REBOOT_ISSUED", "REBOOT_REQUESTED"}
_WANT = "a node that takes jobs"
_BEYOND = "wright: not drained, the share is used up: "  # the health program's comment (provision/render/hooks/share)


@check(
    slurm_nodes,
    together=True,
    when=attrgetter("is_control"),
    mend="mend the reason, then `scontrol update nodename=NODE state=resume`",
)
def node_states(cluster: Cluster, have: Mapping[str, tuple[SlurmNode, ...]]) -> list[Verdict]:
    """Slurmctld has every compute host as a node that takes jobs; one that is held back is a warning.

    It says who has drained a node: its own health program, which gives it back, Slurm, or a person.
    """
    ((_, nodes),) = have.items()
    known = {node.name: node for node in nodes}
    return [_verdict(host.name, known.get(host.name)) for host in cluster.hosts("compute")]


def _verdict(host: str, node: SlurmNode | None) -> Verdict:
    if node is None:
        return fault(saw="slurmctld has no such node", want=_WANT, subject=host)
    flags = {flag.strip("*~#!%$@^-") for flag in node.state}
    bad = flags & _BAD or any(flag.endswith("*") for flag in node.state)  # *: not responding
    if not bad and not flags & _HELD:
        return _in_use(host, node)
    state, otherwise = "+".join(node.state), Status.FAIL if bad else Status.WARN
    if flags & _DRAINED and node.reason:
        found = drain(host, node.reason)
        saw = f"{state}, drained by {found.by}: {found.reason}"
        return fault(saw=saw, want=_WANT, subject=host, mend=found.mend, otherwise=otherwise)
    saw = state + (f": {node.reason}" if node.reason else "")
    return fault(saw=saw, want=_WANT, subject=host, otherwise=otherwise)


def _in_use(host: str, node: SlurmNode) -> Verdict:
    if not node.comment.startswith(_BEYOND):
        return fine(saw="takes jobs", want=_WANT, subject=host)
    faults = node.comment.removeprefix(_BEYOND)
    return fault(
        saw=f"takes jobs in spite of a fault, as enough hosts are drained already: {faults}",
        want="at most slurm.most_drained_percent of the hosts with faults",
        subject=host,
        mend=f"{fault_mend(faults)}; where many hosts say the same, see first what they have in common",
    )
