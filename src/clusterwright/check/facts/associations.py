"""Slurm accounts with their members and shares in slurmdbd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterwright.check.fact import HostSpec, fact
from clusterwright.slurm import client
from clusterwright.slurm.records import split_lines


@dataclass(frozen=True, slots=True)
class Associations:
    """Members and shares by Slurm account; or sacctmgr's error."""

    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    error: str = ""
    shares: dict[str, str] = field(default_factory=dict)


def _command(spec: HostSpec) -> Sequence[str]:
    argv = client.associations(f"cluster={spec.cluster.slurm_name}", "Account,User,Fairshare")
    return ("sh", "-c", f"{client.line(argv)} 2>&1")


@fact(_command, limit_s=20, codes=(0, 1))  # sacctmgr itself waits MessageTimeout, 10 s by default
def associations(out: str) -> Associations:
    """Users and shares of every Slurm account; an error where slurmdbd does not answer."""
    lines = split_lines(out.strip())
    if any(line.startswith("sacctmgr: error:") for line in lines):
        return Associations(error=lines[-1])
    rows = [line.split("|") for line in lines]
    if not rows or any(len(row) != 3 for row in rows):
        raise ValueError(out[:80])
    members: dict[str, tuple[str, ...]] = {}
    for team, user, _shares in rows:
        members[team] = (*members.get(team, ()), *([user] if user else []))
    return Associations(members, shares={team: shares for team, user, shares in rows if not user})
