"""Slurm's accounts match the declared teams."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.associations import Associations, associations
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _counts(spec: HostSpec) -> bool:
    return spec.is_control and spec.cluster.accountant is not None


@check(
    associations,
    when=_counts,
    fix="run `wright apply`, which adds the missing accounts and users to slurmdbd",
)
def teams_as_declared(spec: HostSpec, have: Associations) -> Verdict:
    """Slurmdbd answers and has every declared team with its shares and members; users without one cannot run jobs."""
    number = _("teams: {teams}, users: {users}", teams=len(spec.cluster.teams), users=len(spec.cluster.users))
    if have.error:
        host = spec.cluster.accountant
        return fault(
            observed=_("slurmdbd does not answer: {error}", error=have.error),
            expected=number,
            fix=_(
                "read `journalctl -u slurmdbd -u mariadb` on {host}", host=host.name if host else "slurmdbd"
            ),
        )
    missing = list(_missing(spec, have))
    return expect(not missing, observed="; ".join(missing) or number, expected=number)


def _missing(spec: HostSpec, have: Associations) -> Iterator[str]:
    for team, declared in spec.cluster.teams.items():
        shares = have.shares.get(team, str(declared.shares))
        if team not in have.members:
            yield _("slurmdbd has no account {team}", team=team)
        elif shares != str(declared.shares) and not (
            spec.cluster.slurm.is_of_site and "shares" not in declared.model_fields_set
        ):
            yield _(
                "account {team} has {shares} shares instead of {declared}",
                team=team,
                shares=shares,
                declared=declared.shares,
            )
    for name, user in spec.cluster.users.items():
        for team in dict.fromkeys((user.team, *user.additional_teams)):
            if name not in have.members.get(team, (name,)):
                yield _("user {user} is not in account {team}", user=name, team=team)
