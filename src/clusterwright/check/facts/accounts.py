"""The users of the cluster, as the host knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact


@dataclass(frozen=True, slots=True)
class Account:
    """One account."""

    uid: int
    gid: int


def _names(spec: HostSpec) -> Sequence[str]:
    return sorted(spec.cluster.users)


@fact("getent", "passwd", _names, codes=(0, 2))  # 2: one of them is not there
def accounts(out: str) -> dict[str, Account]:
    """By name, whatever source the host takes users from; one that is not there is left out."""
    rows = (line.split(":") for line in out.splitlines())
    return {name: Account(int(uid), int(gid)) for name, _, uid, gid, *_ in rows}
