"""One cluster for several teams: nodes with headroom, each team's share, and queue waits."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shared:
    """A cluster shared by `teams` teams, each with one training of `job_nodes` nodes at a time."""

    nodes: int
    job_nodes: int
    teams: int
    headroom: float  # share of the nodes that the teams' trainings leave free
    busy: float  # share of the time in which a team has a training to run
    hours: float  # of one training

    @property
    def slots(self) -> int:
        """Number of trainings that run on the cluster at the same time."""
        return self.nodes // self.job_nodes

    @property
    def share(self) -> float:
        """Each team's share of the cluster, its fair-share weight."""
        return 1 / self.teams

    @property
    def load(self) -> float:
        """Share of the nodes that trainings use on average, 0 to 1."""
        return self.teams * self.busy * self.job_nodes / self.nodes

    @property
    def waits(self) -> float:
        """Probability that a training has to wait for nodes."""
        return erlang_c(self.slots, self.teams * self.busy)

    @property
    def wait_hours(self) -> float:
        """Mean queue wait of a training in hours; infinite if the load exceeds the cluster.

        Modeled as M/M/c queue, with random arrivals and durations. Teams that submit together wait longer.
        """
        spare = self.slots - self.teams * self.busy
        return self.waits * self.hours / spare if spare > 0 else math.inf


def with_headroom(nodes: float, headroom: float) -> int:
    """Return the number of nodes of which `nodes` are the share `1 - headroom` (0 to below 1)."""
    return math.ceil(nodes / (1 - headroom) - 1e-9)


def shared(job_nodes: int, hours: float, teams: int, headroom: float, busy: float = 1.0) -> Shared:
    """Compute the nodes for the mean number of trainings of `teams` teams, at least one, and the free share `headroom`.

    Each team has a training of `job_nodes` nodes and `hours` hours for the share `busy` of the time.
    """
    needed = max(job_nodes, teams * busy * job_nodes)
    return Shared(with_headroom(needed, headroom), job_nodes, teams, headroom, busy, hours)


def erlang_c(servers: int, load: float) -> float:
    """Return the probability of waiting in an M/M/c queue with mean load `load` (Erlang 1917); 1 if overloaded."""
    if load >= servers:
        return 1.0
    blocked = 1.0  # Erlang B by its recursion, which does not overflow
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))
