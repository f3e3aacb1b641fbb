"""How the host's RoCE ports mark and keep what they send."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class RocePort:
    """One port; None is what the driver or the kernel's tool did not say."""

    network: str
    name: str
    interface: str
    paused: tuple[int, ...] | None
    priorities: dict[int, int] | None  # by DSCP
    ecn: tuple[int, ...] | None  # priorities on which both directions are on
    cnp_dscp: int | None
    tos: int | None
    mtu: int | None


@fact(probe="roce")
def roce_settings(out: str) -> tuple[RocePort, ...]:
    """Of the ports in /etc/clusterwright/rdma-ports: pauses, marks, ECN; none where `apply` wrote no file."""
    return tuple(_port(row) for row in json.loads(out))


def _port(row: dict[str, str]) -> RocePort:
    pauses, priorities = _pairs(row["pfc"]), _pairs(row["dscp"])
    directions = [
        {int(priority) for priority in row[direction].split()}
        for direction in ("np", "rp")
        if row[direction] != "unknown"
    ]
    on = tuple(sorted(set.intersection(*directions))) if directions else None
    return RocePort(
        network=row["network"],
        name=f"{row['device']}:{row['port']}",
        interface=row["interface"],
        paused=tuple(int(key) for key, value in pauses.items() if value == "on") if pauses else None,
        priorities={int(key): int(value) for key, value in priorities.items()} if pauses else None,
        ecn=on,
        cnp_dscp=_number(row["cnp_dscp"]),
        tos=_number(row["tos"]),
        mtu=_number(row["mtu"]),
    )


def _pairs(text: str) -> dict[str, str]:
    """`0:off 3:on`, as dcb-pfc(8) and dcb-app(8) show it."""
    return dict(token.split(":", 1) for token in text.split() if ":" in token)


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
