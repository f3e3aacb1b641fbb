"""The accounts of the cluster's users on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact


@dataclass(frozen=True, slots=True)
class Account:
    """The uid and primary gid of one account."""

    uid: int
    gid: int


def _names(spec: HostSpec) -> Sequence[str]:
    return sorted(spec.cluster.unix_users())


@fact("getent", "passwd", _names, codes=(0, 2))  # 2: one of them does not exist
def accounts(out: str) -> dict[str, Account]:
    """Account by user name, from every source of nsswitch.conf; missing users are left out."""
    rows = (line.split(":") for line in out.splitlines())
    return {name: Account(int(uid), int(gid)) for name, _, uid, gid, *_ in rows}
