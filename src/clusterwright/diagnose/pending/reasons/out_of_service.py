"""Explain that nodes which the job needs are down or drained."""

from __future__ import annotations

from clusterwright.config.names import fold
from clusterwright.diagnose.pending.capacity import fitting, need
from clusterwright.diagnose.pending.changes import admin, starts, update
from clusterwright.diagnose.pending.facts import Facts, usable
from clusterwright.diagnose.pending.waiting import StartCommand, Waiting
from clusterwright.i18n import _
from clusterwright.slurm.records import Record


def out(facts: Facts) -> Waiting | None:
    """Explain that too few nodes which the job needs are in service, with their states; None if enough are."""
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
        _(
            "The job needs {hosts}, on which no job can start: {states}.",
            hosts=fold(list(bad)),
            states="; ".join(states[:3]),
        ),
        starts(facts, _("when these nodes are back in service")),
        _accept_any_nodes(facts) or _resume(bad),
        states,
        tuple(("scontrol show node", node.quoted("NodeName", "State", "Reason")) for node in bad.values()),
    )


def _accept_any_nodes(facts: Facts) -> StartCommand | None:
    """Return the command that removes the job's list of nodes.

    None if the job names no nodes, or if fewer nodes than it needs are in service.
    """
    return (
        update(facts, "ReqNodeList=", _("accept any nodes"))
        if facts.requested_nodes and sum(map(usable, facts.nodes.values())) >= need(facts.job).nodes
        else None
    )


def _resume(bad: dict[str, Record]) -> StartCommand:
    description = _("resume the nodes once they are repaired")
    return admin(f"scontrol update nodename={fold(list(bad))} state=RESUME", description)
