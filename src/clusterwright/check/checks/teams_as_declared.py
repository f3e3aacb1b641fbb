"""Slurm's accounts are the file's teams."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.associations import Associations, associations
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _counts(spec: HostSpec) -> bool:
    return spec.is_control and spec.cluster.accountant is not None


@check(associations, when=_counts, fix="apply the cluster file again; it names what slurmdbd lacks")
def teams_as_declared(spec: HostSpec, have: Associations) -> Verdict:
    """Slurmdbd answers, and knows every team, its shares and every member of the file: others could run no job."""
    number = _("{count} teams, {count2} users", count=len(spec.cluster.teams), count2=len(spec.cluster.users))
    if have.error:
        host = spec.cluster.accountant
        return fault(
            observed=_("slurmdbd does not answer: {error}", error=have.error),
            expected=number,
            fix=_("on {host}: journalctl -u slurmdbd -u mariadb", host=host.name if host else "its host"),
        )
    missing = list(_missing(spec, have))
    return expect(not missing, observed="; ".join(missing) or number, expected=number)


def _missing(spec: HostSpec, have: Associations) -> Iterator[str]:
    for team, declared in spec.cluster.teams.items():
        shares = have.shares.get(team, str(declared.shares))
        if team not in have.members:
            yield _("no team {team}", team=team)
        elif shares != str(declared.shares):
            yield _(
                "{team} has {shares} shares, not {shares2}", team=team, shares=shares, shares2=declared.shares
            )
    for name, user in spec.cluster.users.items():
        for team in dict.fromkeys((user.team, *user.additional_teams)):
            if name not in have.members.get(team, (name,)):
                yield _("{name} is not in {team}", name=name, team=team)
