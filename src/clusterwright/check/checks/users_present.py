"""The declared users exist with their uid and gid."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.accounts import Account, accounts
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _, _n


def _has_users(spec: HostSpec) -> bool:
    return bool(spec.cluster.unix_users())


@check(
    accounts,
    when=_has_users,
    fix="run `wright apply`; for an account with another uid, change the owner of its files first",
)
def users_present(spec: HostSpec, have: dict[str, Account]) -> Verdict:
    """Every user has the declared uid and the team's gid on every host; shared files store these numbers."""
    wrong = list(_wrong(spec, have))
    count = len(spec.cluster.unix_users())
    return expect(
        not wrong,
        observed="; ".join(wrong) or _n("{count} user present", "{count} users present", count),
        expected=_("all users with uid and gid as in `users` and `teams`"),
    )


def _wrong(spec: HostSpec, have: dict[str, Account]) -> Iterator[str]:
    for name, uid in spec.cluster.unix_users().items():
        account, gid = have.get(name), spec.cluster.teams[spec.cluster.users[name].team].gid
        if account is None:
            yield _("user {user} does not exist", user=name)
        elif (account.uid, account.gid) != (uid, gid):
            yield _(
                "user {user} has uid:gid {ids} instead of {declared}",
                user=name,
                ids=f"{account.uid}:{account.gid}",
                declared=f"{uid}:{gid}",
            )
