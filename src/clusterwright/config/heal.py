"""How far the cluster may repair itself."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostName, HostPath
from clusterwright.config.quantities import Duration

# What needs to be allowed. `return` goes with `drain`, whose undo it is; `tell` harms nobody; `restart-in-place` is
# what the supervisor of a training does by itself.
ActionName = Literal[
    "restart-service", "drain", "reset-gpu", "reboot", "reapply", "replace", "requeue", "exclude"
]


class Heal(Section):
    """How far the cluster may repair itself. Nothing is done to a cluster that nobody has allowed."""

    mode: Literal["none", "propose", "approve", "act"] = setting(
        "none: nothing is looked at; propose: what would be done is written down; approve: it is done once a person"
        " has said so (`wright heal approve ID`); act: it is done.",
        cost=Cost.RESTART, default="propose", example="act",
    )  # fmt: skip
    allow: tuple[ActionName, ...] = setting(
        "What may be done; all else is proposed.",
        cost=Cost.RESTART, default=(), example="[restart-service, drain, reboot]",
    )  # fmt: skip
    watch: bool = setting(
        "A unit on the control host looks after the cluster; else `wright heal watch` does, where somebody runs it.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    # Health programs stop at slurm.max_drained_percent by themselves; this counts whoever is out, for any reason.
    max_unavailable_percent: int = setting(
        "Of each partition's hosts, so many percent may be out of service after a drain of ours, whoever took the"
        " others out; one may be in any case.",
        cost=Cost.RESTART, default=20, example="10", least=1, most=100,
    )  # fmt: skip
    max_attempts: int = setting(
        "The same action on the same host so many times within `window`; then a person is told.",
        cost=Cost.RESTART, default=3, example="2", least=1, most=20,
    )  # fmt: skip
    window: Duration = setting(
        "How long an action counts.", cost=Cost.RESTART, default="24h", example="24h", least=60
    )
    pause: Duration = setting(
        "Pause before the same action on the same host; twice as long before each further one.",
        cost=Cost.RESTART, default="10m", example="5m", least=1,
    )  # fmt: skip
    poll_interval: Duration = setting(
        "How often Slurm is asked.", cost=Cost.RESTART, default="30s", example="30s", least=1, most=3600
    )
    check_interval: Duration = setting(
        "How often all hosts are checked; hosts under repair are checked each time that Slurm is asked.",
        cost=Cost.RESTART, default="5m", example="5m", least=1, most=86400,
    )  # fmt: skip
    # As long as provision/reboot.py waits: a server with 2 TB of memory tests itself for ten minutes before it boots.
    action_timeout: Duration = setting(
        "Time for an action to end: a host that is not back then from its reboot is a person's to look at.",
        cost=Cost.RESTART, default="15m", example="15m", least=5,
    )  # fmt: skip
    spares: tuple[HostName, ...] = setting(
        "Hosts that stand in for others: those of them that are drained with the reason `wright: spare`.",
        cost=Cost.RESTART, default=(), example="[gpu-node8]",
    )  # fmt: skip
    program: HostPath = setting(
        "The program `wright` on the control host, for `watch`.",
        cost=Cost.RESTART, default="/opt/clusterwright/env/bin/wright", example="/opt/wright/bin/wright",
    )  # fmt: skip
