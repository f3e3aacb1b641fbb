"""Slurm can use every node."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from clusterwright.check.drains import drain, fault_mend
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.facts.slurm_nodes import slurm_nodes
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.slurm.drain_reasons import parse_faults
from clusterwright.slurm.nodes import Node

_WANT = "a node that takes jobs"
_BEYOND = "wright: not drained, the share is used up: "  # the health program's comment (provision/render/hooks/share)


@check(
    slurm_nodes,
    together=True,
    when=attrgetter("is_control"),
    mend="fix the reason, then `scontrol update nodename=NODE state=resume`",
)
def node_states(cluster: Cluster, have: Mapping[str, tuple[Node, ...]]) -> list[Verdict]:
    """Slurmctld has every compute host as a node that takes jobs; one that is held back is a warning.

    It says who has drained a node: its own health program, which gives it back, Slurm, or a person.
    """
    ((_, nodes),) = have.items()
    known = {node.name: node for node in nodes}
    return [_verdict(host.name, known.get(host.name)) for host in cluster.hosts("compute")]


def _verdict(host: str, node: Node | None) -> Verdict:
    if node is None:
        return fault(saw="slurmctld has no such node", want=_WANT, subject=host)
    state = node.state
    is_broken = not state.is_usable or state.is_powered_down
    is_held = state.is_drained or state.is_in_maintenance or state.is_rebooting or state.is_reserved
    if not is_broken and not is_held:
        return _in_use(host, node)
    otherwise = Status.FAIL if is_broken else Status.WARN
    if state.is_drained and node.reason:
        found = drain(host, node.reason)
        saw = f"{node.record['State']}, drained by {found.by}: {found.reason}"
        return fault(saw=saw, want=_WANT, subject=host, mend=found.mend, otherwise=otherwise)
    saw = node.record["State"] + (f": {node.reason}" if node.reason else "")
    return fault(saw=saw, want=_WANT, subject=host, otherwise=otherwise)


def _in_use(host: str, node: Node) -> Verdict:
    if not node.comment.startswith(_BEYOND):
        return fine(saw="takes jobs", want=_WANT, subject=host)
    faults = node.comment.removeprefix(_BEYOND)
    return fault(
        saw=f"takes jobs in spite of a fault, as enough hosts are drained already: {faults}",
        want="at most slurm.most_drained_percent of the hosts with faults",
        subject=host,
        mend=f"{fault_mend(parse_faults(faults))}; where many hosts say the same, see first what they have in common",
    )
