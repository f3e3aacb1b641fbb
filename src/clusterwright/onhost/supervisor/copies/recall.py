"""What the supervisor makes of what its agents hold in memory."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Sequence

from clusterwright.onhost.supervisor.copies.choice import Choice, choose
from clusterwright.onhost.supervisor.peers import Peer
from clusterwright.onhost.supervisor.wire import Message


def chosen(here: Mapping[str, Peer], newest_on_disk: int) -> Optional[Choice]:
    """The step in memory that a generation would begin with now, if there is one."""
    reports = {host: peer.facts["memory"] for host, peer in here.items() if peer.facts.get("memory")}
    return choose(reports, newest_on_disk)


def told(here: Mapping[str, Peer], hosts: Sequence[str], found: Optional[Choice]) -> Message:
    """What the agents of a generation's hosts are told: where its state lies, and who keeps whose second copy."""
    places = {
        host: (peer.address, int(peer.facts["copies"]))
        for host, peer in here.items()
        if "copies" in peer.facts
    }
    following: Dict[str, Sequence[object]] = {}
    for place, host in enumerate(hosts):
        after = hosts[(place + 1) % len(hosts)]
        if after != host and after in places:
            following[host] = list(places[after])
    return {"memory": found.message(places) if found else None, "next": following}
