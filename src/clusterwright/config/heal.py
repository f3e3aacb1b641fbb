"""Self-healing: its mode, the allowed actions and their limits."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostName, HostPath
from clusterwright.config.quantities import Duration

# Actions that need permission. `return` comes with `drain`, which it undoes; `tell` is harmless; `restart-in-place` is
# done by the supervisor of a training.
ActionName = Literal[
    "restart-service", "drain", "reset-gpu", "reboot", "reapply", "replace", "requeue", "exclude"
]


class Heal(Section):
    """Self-healing of the cluster. The default mode only proposes actions."""

    mode: Literal["none", "propose", "approve", "act"] = setting(
        "none: off; propose: actions are recorded as proposals; approve: actions run after approval"
        " (`wright heal approve ID`); act: actions run without approval.",
        cost=Cost.RESTART, default="propose", example="act",
    )  # fmt: skip
    allow: tuple[ActionName, ...] = setting(
        "Allowed actions; other actions are only proposed.",
        cost=Cost.RESTART, default=(), example="[restart-service, drain, reboot]",
    )  # fmt: skip
    watch: bool = setting(
        "Run self-healing as a systemd unit on the control host; false: only where a user runs `wright heal watch`.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    # Health programs have their own limit, slurm.max_drained_percent; this one counts hosts down for any reason.
    max_unavailable_percent: int = setting(
        "Maximum percentage of each partition's hosts that may be out of service, for any reason, after a drain by"
        " self-healing; one host always may.",
        cost=Cost.RESTART, default=20, example="10", least=1, most=100,
    )  # fmt: skip
    max_attempts: int = setting(
        "Maximum attempts of the same action on the same host within `window`; then the administrator is notified.",
        cost=Cost.RESTART, default=3, example="2", least=1, most=20,
    )  # fmt: skip
    window: Duration = setting(
        "Time window for counting attempts.", cost=Cost.RESTART, default="24h", example="24h", least=60
    )
    pause: Duration = setting(
        "Pause before the same action on the same host is repeated; doubles with each attempt.",
        cost=Cost.RESTART, default="10m", example="5m", least=1,
    )  # fmt: skip
    poll_interval: Duration = setting(
        "Interval of polls of Slurm.", cost=Cost.RESTART, default="30s", example="30s", least=1, most=3600
    )
    check_interval: Duration = setting(
        "Interval of checks of all hosts; hosts under repair are checked at each poll of Slurm.",
        cost=Cost.RESTART, default="5m", example="5m", least=1, most=86400,
    )  # fmt: skip
    # Equal to the timeout of provision/reboot.py: the POST of a server with 2 TB of memory takes ten minutes.
    action_timeout: Duration = setting(
        "Timeout of an action; the administrator is notified of a host that does not return from a reboot in time.",
        cost=Cost.RESTART, default="15m", example="15m", least=5,
    )  # fmt: skip
    spares: tuple[HostName, ...] = setting(
        "Standby hosts that replace others; they are drained with the reason `wright: spare` until they are needed.",
        cost=Cost.RESTART, default=(), example="[gpu-node8]",
    )  # fmt: skip
    program: HostPath = setting(
        "Path of `wright` on the control host, for `watch`.",
        cost=Cost.RESTART, default="/opt/clusterwright/env/bin/wright", example="/opt/wright/bin/wright",
    )  # fmt: skip
