"""PFC, DSCP and ECN settings of the host's RoCE ports."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class RocePort:
    """Settings of one RoCE port; None where the driver or `dcb` does not report a value."""

    network: str
    name: str
    interface: str
    paused: tuple[int, ...] | None
    priorities: dict[int, int] | None  # by DSCP
    ecn: tuple[int, ...] | None  # priorities with ECN in both directions
    cnp_dscp: int | None
    tos: int | None
    mtu: int | None


@fact(probe="roce")
def roce_settings(out: str) -> tuple[RocePort, ...]:
    """PFC, DSCP and ECN of the ports in /etc/clusterwright/rdma-ports; empty where apply wrote no such file."""
    return tuple(_port(row) for row in parse_document(out))


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
    """Parse `0:off 3:on`, the format of dcb-pfc(8) and dcb-app(8)."""
    return dict(token.split(":", 1) for token in text.split() if ":" in token)


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
