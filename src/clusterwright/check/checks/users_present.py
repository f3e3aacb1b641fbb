"""The users are known."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.accounts import Account, accounts
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _has_users(spec: HostSpec) -> bool:
    return bool(spec.cluster.users)


@check(
    accounts,
    when=_has_users,
    fix="apply the cluster file again; an account with another uid was made by hand: move its files first",
)
def users_present(spec: HostSpec, have: dict[str, Account]) -> Verdict:
    """Every user has the declared uid and the team's gid everywhere; shared files carry the numbers."""
    wrong = list(_wrong(spec, have))
    count = len(spec.cluster.users)
    return expect(
        not wrong,
        observed="; ".join(wrong) or _("{count} users", count=count),
        expected=_("{count} users with uid and gid as in users and teams", count=count),
    )


def _wrong(spec: HostSpec, have: dict[str, Account]) -> Iterator[str]:
    for name, user in spec.cluster.users.items():
        account, gid = have.get(name), spec.cluster.teams[user.team].gid
        if account is None:
            yield _("no user {name}", name=name)
        elif (account.uid, account.gid) != (user.uid, gid):
            yield _(
                "{name} is {uid}:{gid}, not {uid2}:{gid2}",
                name=name,
                uid=account.uid,
                gid=account.gid,
                uid2=user.uid,
                gid2=gid,
            )
