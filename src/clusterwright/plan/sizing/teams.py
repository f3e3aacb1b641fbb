"""One cluster for several teams: nodes with head-room, each team's share, and how long jobs wait."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shared:
    """A cluster that `teams` teams share, each with one training of `job_nodes` nodes at a time."""

    nodes: int
    job_nodes: int
    teams: int
    headroom: float  # share of the nodes that the teams' own work leaves free
    busy: float  # share of the time in which a team has a training to run
    hours: float  # of one training

    @property
    def slots(self) -> int:
        """Trainings that run side by side."""
        return self.nodes // self.job_nodes

    @property
    def share(self) -> float:
        """Each team's part of the cluster: its fair-share weight, and what it is sure of."""
        return 1 / self.teams

    @property
    def load(self) -> float:
        """Nodes that work, of all."""
        return self.teams * self.busy * self.job_nodes / self.nodes

    @property
    def waits(self) -> float:
        """Probability that a training has to wait for nodes."""
        return erlang_c(self.slots, self.teams * self.busy)

    @property
    def wait_hours(self) -> float:
        """Mean wait of a training in the queue, in hours; infinite where the work is more than the cluster does.

        An M/M/c queue: trainings come at random and last as long as they do. Teams that start together wait longer.
        """
        spare = self.slots - self.teams * self.busy
        return self.waits * self.hours / spare if spare > 0 else math.inf


def with_headroom(nodes: float, headroom: float) -> int:
    """Nodes of which so many are `1 - headroom` (0 to below 1); the rest is left free."""
    return math.ceil(nodes / (1 - headroom) - 1e-9)


def shared(job_nodes: int, hours: float, teams: int, headroom: float, busy: float = 1.0) -> Shared:
    """The nodes for `teams` teams: all may train at once, and that leaves the head-room free."""
    needed = max(job_nodes, teams * busy * job_nodes)
    return Shared(with_headroom(needed, headroom), job_nodes, teams, headroom, busy, hours)


def erlang_c(servers: int, load: float) -> float:
    """Probability to wait with so many servers at `load` of them busy on average (Erlang 1917); 1 at too much load."""
    if load >= servers:
        return 1.0
    blocked = 1.0  # Erlang B by its recursion, which does not overflow
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))
