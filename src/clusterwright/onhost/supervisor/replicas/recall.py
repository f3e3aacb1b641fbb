"""Choose the in-memory checkpoint to resume from, by the agents' reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Sequence, Set, Tuple

from clusterwright.onhost.supervisor.peers import Peer
from clusterwright.onhost.supervisor.wire import Message


def chosen(peers: Mapping[str, Peer], newest_on_disk: int) -> Optional[Choice]:
    """Return the in-memory checkpoint that a generation would resume from now, by the agents' reports; None without.

    `newest_on_disk` is the newest step on storage.
    """
    reports = {host: peer.facts["memory"] for host, peer in peers.items() if peer.facts.get("memory")}
    return choose(reports, newest_on_disk)


def memory_message(peers: Mapping[str, Peer], hosts: Sequence[str], choice: Optional[Choice]) -> Message:
    """Return the memory part of a start message: holders of the state, and each host's peer for replicas."""
    places = {
        host: (peer.address, int(peer.facts["copies"]))
        for host, peer in peers.items()
        if "copies" in peer.facts
    }
    following: Dict[str, Sequence[object]] = {}
    for index, host in enumerate(hosts):
        next_host = hosts[(index + 1) % len(hosts)]
        if next_host != host and next_host in places:
            following[host] = list(places[next_host])
    return {"memory": choice.message(places) if choice else None, "next": following}


@dataclass(frozen=True)
class Choice:
    """A complete in-memory checkpoint, and for each rank the hosts that hold its part."""

    generation: int
    step: int
    world_size: int
    holders: Tuple[Tuple[str, ...], ...]

    def message(self, places: Mapping[str, Tuple[str, int]]) -> Message:
        """Return the part of the start message that tells agents where to read; `places`: address and port by host."""
        return {
            "generation": self.generation,
            "step": self.step,
            "world_size": self.world_size,
            "places": [[list(places[host]) for host in hosts] for hosts in self.holders],
        }


def choose(reports: Mapping[str, Message], newest_on_disk: int = -1) -> Optional[Choice]:
    """Return the newest step with every rank's part in memory; None if storage has a newer one, or none is complete.

    Parts of different steps, generations or world sizes never mix. Parts of an older generation beyond the step from
    which a later one resumed are invalid, also on a host that does not know of it.
    """
    fence = (0, 0)
    sets: Dict[Tuple[int, int, int], Dict[int, Set[str]]] = {}
    for host, report in reports.items():
        generation, step = report["fence"]
        fence = max(fence, (generation, step))
        for generation, step, world_size, rank in report["parts"]:
            holders = sets.setdefault((step, generation, world_size), {})
            holders.setdefault(rank, set()).add(host)
    for (step, generation, world_size), ranks in sorted(sets.items(), reverse=True):
        void = generation < fence[0] and step > fence[1]
        if not void and step >= newest_on_disk and ranks.keys() >= set(range(world_size)):
            holders_of = tuple(_spread(ranks[rank], rank) for rank in range(world_size))
            return Choice(generation, step, world_size, holders_of)
    return None


def _spread(hosts: Set[str], rank: int) -> Tuple[str, ...]:
    """Return the hosts sorted and rotated by rank, so that not all parts are read from the same host."""
    ordered = sorted(hosts)
    offset = rank % len(ordered)
    return tuple(ordered[offset:] + ordered[:offset])
