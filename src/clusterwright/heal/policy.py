"""The policy of heal, from the cluster file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.config.cluster import Cluster

SETTLE_S = 90.0  # as provision/reboot.py: daemons and links settle after a boot
ALWAYS = frozenset({"notify"})
WITH = {"return": "drain"}  # action: allowed with this one, which it undoes


@dataclass(frozen=True, slots=True)
class Policy:
    """The section `heal` of the cluster file; actions may change compute hosts only."""

    mode: Literal["none", "propose", "approve", "act"] = "propose"
    allow: frozenset[str] = frozenset()
    max_unavailable_percent: int = 20
    max_attempts: int = 3
    window_s: float = 86400
    pause_s: float = 600
    action_timeout_s: float = 900
    settle_s: float = 0
    spares: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()

    def may(self, action: str) -> bool:
        """Return True if the cluster file allows the action, with or without approval, or the action is `notify`."""
        needed = WITH.get(action, action)
        return action in ALWAYS or (self.mode in ("approve", "act") and needed in self.allow)

    @property
    def needs_approval(self) -> bool:
        """True if every action requires the approval of an operator."""
        return self.mode == "approve"


def policy_of(cluster: Cluster) -> Policy:
    """Return what the section `heal` of a cluster file permits self-healing to do, as a Policy."""
    ours = cluster.heal
    return Policy(
        mode=ours.mode,
        allow=frozenset(ours.allow),
        max_unavailable_percent=ours.max_unavailable_percent,
        max_attempts=ours.max_attempts,
        window_s=ours.window,
        pause_s=ours.pause,
        action_timeout_s=ours.action_timeout,
        settle_s=min(SETTLE_S, ours.pause),
        spares=ours.spares,
        hosts=frozenset(host.name for host in cluster.hosts("compute")),
    )
