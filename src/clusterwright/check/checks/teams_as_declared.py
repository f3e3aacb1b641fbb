"""Slurm's accounts are the file's teams."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import Want
from clusterwright.check.facts.associations import Associations, associations
from clusterwright.check.verdict import Verdict


def _counts(want: Want) -> bool:
    return want.is_control and want.cluster.accountant is not None


@check(associations, when=_counts, mend="apply the cluster file again; it names what slurmdbd lacks")
def teams_as_declared(want: Want, have: Associations) -> Verdict:
    """Slurmdbd answers, and knows every team, its shares and every member of the file: others could run no job."""
    number = f"{len(want.cluster.teams)} teams, {len(want.cluster.users)} users"
    if have.silence:
        host = want.cluster.accountant
        return fault(
            saw=f"slurmdbd does not answer: {have.silence}",
            want=number,
            mend=f"on {host.name if host else 'its host'}: journalctl -u slurmdbd -u mariadb",
        )
    missing = list(_missing(want, have))
    return expect(not missing, saw="; ".join(missing) or number, want=number)


def _missing(want: Want, have: Associations) -> Iterator[str]:
    for team, declared in want.cluster.teams.items():
        shares = have.shares.get(team, str(declared.shares))
        if team not in have.members:
            yield f"no team {team}"
        elif shares != str(declared.shares):
            yield f"{team} has {shares} shares, not {declared.shares}"
    for name, user in want.cluster.users.items():
        for team in dict.fromkeys((user.team, *user.also_in)):
            if name not in have.members.get(team, (name,)):
                yield f"{name} is not in {team}"
