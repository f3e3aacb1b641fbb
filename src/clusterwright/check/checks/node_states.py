"""Every node can run jobs."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from clusterwright.check.drains import drain, fault_fix
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.facts.slurm_nodes import slurm_nodes
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _
from clusterwright.slurm.drain_reasons import parse_faults
from clusterwright.slurm.nodes import Node

_EXPECTED = N_("a node that can run jobs")
# Node comment that the health check program writes (provision/render/hooks/share).
_BEYOND = "wright: not drained, the share is used up: "


@check(
    slurm_nodes,
    cluster_wide=True,
    when=attrgetter("is_control"),
    fix="fix the reason, then run `scontrol update nodename=NODE state=resume`",
    in_jobs=True,
)
def node_states(cluster: Cluster, have: Mapping[str, tuple[Node, ...]]) -> list[Verdict]:
    """Every compute host is a node in Slurm that can run jobs; a drained or reserved one is a warning.

    The verdict names what drained the node: its health check program (which also resumes it), Slurm, or a user.
    """
    (nodes,) = have.values()
    nodes_by_name = {node.name: node for node in nodes}
    return [_verdict(host.name, nodes_by_name.get(host.name)) for host in cluster.hosts("compute")]


def _verdict(host: str, node: Node | None) -> Verdict:
    if node is None:
        return fault(observed=_("slurmctld has no node of this name"), expected=_(_EXPECTED), subject=host)
    state = node.state
    is_broken = not state.is_usable or state.is_powered_down
    is_unavailable = state.is_drained or state.is_in_maintenance or state.is_rebooting or state.is_reserved
    if not is_broken and not is_unavailable:
        return _in_use(host, node)
    otherwise = Status.FAIL if is_broken else Status.WARN
    if state.is_drained and node.reason:
        drain_info = drain(host, node.reason)
        observed = _(
            "{state}, drained by {by}: {reason}",
            state=node.record["State"],
            by=drain_info.by,
            reason=drain_info.reason,
        )
        return fault(
            observed=observed, expected=_(_EXPECTED), subject=host, fix=drain_info.fix, otherwise=otherwise
        )
    observed = node.record["State"] + (f": {node.reason}" if node.reason else "")
    return fault(observed=observed, expected=_(_EXPECTED), subject=host, otherwise=otherwise)


def _in_use(host: str, node: Node) -> Verdict:
    if not node.comment.startswith(_BEYOND):
        return fine(observed=_("the node can run jobs"), expected=_(_EXPECTED), subject=host)
    faults = node.comment.removeprefix(_BEYOND)
    return fault(
        observed=_(
            "the node runs jobs in spite of a fault, because slurm.max_drained_percent is reached: {faults}",
            faults=faults,
        ),
        expected=_("at most slurm.max_drained_percent of the hosts have a fault"),
        subject=host,
        fix=_(
            "{fix}; if many hosts have this fault, check first what they share",
            fix=fault_fix(parse_faults(faults)),
        ),
    )
