"""Teams and their members, as slurmdbd knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterwright.check.fact import Want, fact


@dataclass(frozen=True, slots=True)
class Associations:
    """Members by team; or slurmdbd's silence, in sacctmgr's words."""

    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    silence: str = ""


def _ask(want: Want) -> Sequence[str]:
    return ("sh", "-c", f"sacctmgr -nP show assoc cluster={want.cluster.name} format=Account,User 2>&1")


@fact(_ask, limit_s=20, codes=(0, 1))  # sacctmgr itself waits MessageTimeout, 10 s by default
def associations(out: str) -> Associations:
    """Every account with its users; none where slurmdbd does not answer."""
    lines = out.strip().splitlines()
    if any(line.startswith("sacctmgr: error:") for line in lines):
        return Associations(silence=lines[-1])
    rows = [line.split("|") for line in lines]
    if not rows or any(len(row) != 2 for row in rows):  # noqa: PLR2004 (team and user)
        raise ValueError(out[:80])
    teams = dict.fromkeys(team for team, _user in rows)
    return Associations({team: tuple(user for one, user in rows if one == team and user) for team in teams})
