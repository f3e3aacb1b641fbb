"""The users are known."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.accounts import Account, accounts
from clusterwright.check.verdict import Verdict


def _has_users(want: Want) -> bool:
    return bool(want.cluster.users)


@check(
    accounts,
    when=_has_users,
    mend="apply the cluster file again; an account with another uid was made by hand: move its files first",
)
def users_present(want: Want, have: dict[str, Account]) -> Verdict:
    """Every user has the declared uid and the team's gid everywhere; shared files carry the numbers."""
    wrong = list(_wrong(want, have))
    count = len(want.cluster.users)
    return expect(
        not wrong,
        saw="; ".join(wrong) or f"{count} users",
        want=f"{count} users with uid and gid as in users and teams",
    )


def _wrong(want: Want, have: dict[str, Account]) -> Iterator[str]:
    for name, user in want.cluster.users.items():
        found, gid = have.get(name), want.cluster.teams[user.team].gid
        if found is None:
            yield f"no user {name}"
        elif (found.uid, found.gid) != (user.uid, gid):
            yield f"{name} is {found.uid}:{found.gid}, not {user.uid}:{gid}"
