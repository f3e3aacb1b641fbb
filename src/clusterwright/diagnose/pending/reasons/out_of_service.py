"""Nodes that it needs are down or drained."""

from __future__ import annotations

from clusterwright.config.names import fold
from clusterwright.diagnose.pending.capacity import fitting, need
from clusterwright.diagnose.pending.facts import Facts, usable
from clusterwright.diagnose.pending.saying import admin, starts, update
from clusterwright.diagnose.pending.waiting import Change, Message, Waiting
from clusterwright.slurm.records import Record


def out(facts: Facts) -> Waiting | None:
    """Nodes that it needs take no jobs: why, and who can give them back."""
    request = need(facts.job)
    names = facts.requested_nodes or tuple(fitting(facts, request, now=False))
    bad = {
        name: node for name in names if (node := facts.all_nodes.get(name)) is not None and not usable(node)
    }
    if not bad or (not facts.requested_nodes and len(names) - len(bad) >= request.nodes):
        return None
    states = tuple(f"{name}: {node['State']} {node['Reason']}".rstrip() for name, node in bad.items())
    return Waiting(
        "nodes-out",
        Message(
            f"It needs {fold(list(bad))}, which take no jobs: {'; '.join(states[:3])}.",
            f"它需要的节点 {fold(list(bad))} 不接受作业: {'; '.join(states[:3])}。",
        ),
        starts(facts, Message("when they are back", "这些节点恢复之后")),
        _elsewhere(facts) or _resume(bad),
        states,
        tuple(("scontrol show node", node.quoted("NodeName", "State", "Reason")) for node in bad.values()),
    )


def _elsewhere(facts: Facts) -> Change | None:
    """Other nodes, where the job has named these and others would do."""
    return (
        update(facts, "ReqNodeList=", Message("take any nodes", "接受任意节点"))
        if facts.requested_nodes and sum(map(usable, facts.nodes.values())) >= need(facts.job).nodes
        else None
    )


def _resume(bad: dict[str, Record]) -> Change:
    description = Message("give them back once their trouble is fixed", "排除故障之后恢复这些节点")
    return admin(f"scontrol update nodename={fold(list(bad))} state=RESUME", description)
