"""Rules about users, teams, qualities of service, and the accounting that enforces their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.config.clash import Clash, loops, members, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.people import User
from clusterwright.config.source import Loc, dotted
from clusterwright.errors import closest_name, unknown_name_fix
from clusterwright.i18n import _
from clusterwright.slurm.account_settings import ASSOCIATION_SETTINGS, QOS_SETTINGS


def people(cluster: Cluster) -> Iterator[Clash]:
    """Check that each user's teams exist, and uids and gids are unique.

    Also that users and teams have ids where they need them, and that a team with a user's name has the same id.
    """
    for name, user in cluster.users.items():
        if user.team not in cluster.teams:
            locs = (("users", name, "team"), ("teams",))
            yield unknown(_("user `{name}`", name=name), _("team"), user.team, cluster.teams, locs)
        yield from _additional_teams(cluster, name, user)
        yield from _named_as_a_team(cluster, name, user)
    yield from _without_ids(cluster)
    yield from _shared("users", "uid", cluster.unix_users())
    yield from _shared("teams", "gid", cluster.unix_groups())


def _without_ids(cluster: Cluster) -> Iterator[Clash]:
    """Yield a clash for each user without uid and team without gid; a site's own may lack them, as its LDAP has them.

    But a team with Unix users needs a gid.
    """
    is_of_site = cluster.slurm.is_of_site
    for name, user in cluster.users.items():
        if user.uid is None and not is_of_site:
            yield _missing_id(("users", name, "uid"), "6001", _("user id on every host (uid)"))
    groups = {cluster.users[name].team for name in cluster.unix_users()}
    for name, team in cluster.teams.items():
        if team.gid is None and (name in groups or not is_of_site):
            yield _missing_id(("teams", name, "gid"), "5000", _("group id on every host (gid)"))


def _missing_id(loc: Loc, example: str, meaning: str) -> Clash:
    message = _("{section} has no `{name}`", section=f"`{dotted(loc[:-1])}`", name=loc[-1])
    fix = _("add `{name}: {example}` ({meaning})", name=loc[-1], example=example, meaning=meaning)
    return Clash("missing-key", message, fix, (loc,))


def _additional_teams(cluster: Cluster, name: str, user: User) -> Iterator[Clash]:
    for index, team in enumerate(user.additional_teams):
        loc = ("users", name, "additional_teams", index)
        if team not in cluster.teams:
            yield unknown(_("user `{name}`", name=name), _("team"), team, cluster.teams, (loc, ("teams",)))
        elif team == user.team:
            yield Clash(
                "repeated-item",
                _("user `{user}` has `{team}` both as team and in additional_teams", user=name, team=team),
                _("remove `{team}` from additional_teams", team=team),
                (loc, ("users", name, "team")),
            )


def _named_as_a_team(cluster: Cluster, name: str, user: User) -> Iterator[Clash]:
    """Yield a clash for a team with a user's name but another id: a distribution creates a group for each user."""
    team = cluster.teams.get(name)
    if team and None not in (team.gid, user.uid) and team.gid != user.uid:
        values = {"name": name, "uid": user.uid, "gid": team.gid}
        message = _("`{name}` is both a user with uid {uid} and a team with gid {gid}", **values)
        fix = _("rename the user or the team, or use the same number as uid and gid")
        yield Clash("name-taken", message, fix, (("users", name, "uid"), ("teams", name, "gid")))


def _shared(section: str, field: str, numbers: Mapping[str, int]) -> Iterator[Clash]:
    owners: dict[int, str] = {}
    for name, number in numbers.items():
        if number in owners:
            message = _(
                "`{first}` and `{second}` of `{section}` have the same {field}, {number}",
                first=owners[number],
                second=name,
                section=section,
                field=field,
                number=number,
            )
            free = _free(numbers, number)
            fix = _("set another {field} for `{name}`, e.g. {number}", field=field, name=name, number=free)
            yield Clash("id-taken", message, fix, ((section, owners[number], field), (section, name, field)))
        owners.setdefault(number, name)


def _free(numbers: Mapping[str, int], number: int) -> int:
    used_numbers = set(numbers.values())
    return next(
        candidate
        for candidate in range(number, number + len(used_numbers) + 1)
        if candidate not in used_numbers
    )


def teams(cluster: Cluster) -> Iterator[Clash]:
    """Check that teams have members, parents exist and form no cycle, and the shares of sibling teams are not all 0.

    With a site's own slurm.conf, members and shares are not checked.
    """
    parents = {name: team.parent for name, team in cluster.teams.items() if team.parent is not None}
    for name, parent in parents.items():
        if parent not in cluster.teams:
            locs = (("teams", name, "parent"), ("teams",))
            yield unknown(_("team `{name}`", name=name), _("team"), parent, cluster.teams, locs)
    yield from _loops({name: (parent,) for name, parent in parents.items()})
    if cluster.slurm.is_of_site:  # its accounts are as they are
        return
    yield from _teams_without_members(cluster, set(parents.values()))
    yield from _without_shares(cluster)


def _loops(parents: dict[str, tuple[str, ...]]) -> Iterator[Clash]:
    for loop in loops(parents):
        cycle = " → ".join((*loop, loop[0]))
        message = _("the parents of teams form a cycle without a root: {cycle}", cycle=cycle)
        fix = (
            _("remove the `parent` of one of {names}", names=names(loop))
            if len(loop) > 1
            else _("remove `parent`")
        )
        yield Clash("team-loop", message, fix, tuple(("teams", name, "parent") for name in loop))


_MOST_MISSPELLED = 10  # names of teams that are compared with all teams


def _teams_without_members(cluster: Cluster, parents: set[str]) -> Iterator[Clash]:
    """Yield a clash for each team without members; a parent team needs none."""
    members = {team for user in cluster.users.values() for team in (user.team, *user.additional_teams)}
    unknown_teams = sorted(members - set(cluster.teams))[:_MOST_MISSPELLED]
    members |= {closest_name(team, cluster.teams) or "" for team in unknown_teams}
    for name in cluster.teams:
        if name not in members and name not in parents:
            message = _("team `{name}` has no members, so its share is unused", name=name)
            fix = _(
                "add a user with `team: {name}`, or `additional_teams: [{name}]` to a user, or remove the team",
                name=name,
            )
            yield Clash("team-empty", message, fix, (("teams", name), ("users",)))


def _without_shares(cluster: Cluster) -> Iterator[Clash]:
    siblings_by_parent: dict[str | None, list[str]] = {}
    for name, team in cluster.teams.items():
        siblings_by_parent.setdefault(team.parent, []).append(name)
    for siblings in siblings_by_parent.values():
        if all(cluster.teams[name].shares == 0 for name in siblings):
            message = _("all teams of one parent have shares of 0: {names}", names=names(siblings))
            fix = _("set `shares: 1` or more for at least one team")
            yield Clash("shares-nothing", message, fix, tuple(("teams", name, "shares") for name in siblings))


def team_limits(cluster: Cluster) -> Iterator[Clash]:
    """Check that limits of one user or job are at most the limit of all together, in teams and QOS.

    A site's own slurm.conf is not checked.
    """
    if cluster.slurm.is_of_site:
        return
    for name, team in cluster.teams.items():
        yield from _limit_above_total(
            ("teams", name), "max_gpus_per_user", team.max_gpus_per_user, team.max_gpus
        )
    for name, qos in cluster.qos.items():
        yield from _limit_above_total(("qos", name), "max_gpus_per_user", qos.max_gpus_per_user, qos.max_gpus)
        yield from _limit_above_total(("qos", name), "max_gpus_per_job", qos.max_gpus_per_job, qos.max_gpus)


def _limit_above_total(
    loc: tuple[str, str], field: str, part: int | None, limit: int | None
) -> Iterator[Clash]:
    """Yield a clash if a limit is above max_gpus, unless max_gpus is 0, which closes the team for a while."""
    if part is not None and limit and part > limit:
        values = {"section": ".".join(loc), "field": field, "value": part, "limit": limit}
        message = _("{section}: {field} is {value}, but max_gpus is {limit}", **values)
        fix = _("lower {field} to {limit} or less, or raise max_gpus", field=field, limit=limit)
        yield Clash("limit-over-limit", message, fix, ((*loc, field), (*loc, "max_gpus")))


NORMAL = "normal"  # Slurm creates it with its database


def qos(cluster: Cluster) -> Iterator[Clash]:
    """Check that preempted QOS and teams of a QOS exist, and preemption forms no cycle.

    A site's own slurm.conf may have cycles.
    """
    valid_qos = [NORMAL, *(name for name in cluster.qos if name != NORMAL)]
    for name, quality in cluster.qos.items():
        for index, preempted in enumerate(quality.preempts):
            if preempted not in valid_qos:
                locs = (("qos", name, "preempts", index), ("qos",))
                yield unknown(
                    _("qos `{name}`", name=name), _("quality of service"), preempted, valid_qos, locs
                )
        for index, team in enumerate(quality.teams):
            if team not in cluster.teams:
                locs = (("qos", name, "teams", index), ("teams",))
                yield unknown(_("qos `{name}`", name=name), _("team"), team, cluster.teams, locs)
    if cluster.slurm.is_of_site:
        return
    for loop in loops({name: quality.preempts for name, quality in cluster.qos.items()}):
        cycle = " → ".join((*loop, loop[0]))
        message = _(
            "the `preempts` of qos form a cycle, so their jobs preempt each other forever: {cycle}",
            cycle=cycle,
        )
        fix = _("remove `preempts` from one of {names}", names=names(loop))
        yield Clash("qos-loop", message, fix, tuple(("qos", name, "preempts") for name in loop))


def account_settings(cluster: Cluster) -> Iterator[Clash]:
    """Check that sacctmgr has the additional settings of teams and qualities of service."""
    for section, settings in (("teams", ASSOCIATION_SETTINGS), ("qos", QOS_SETTINGS)):
        for name, entry in getattr(cluster, section).items():
            for key in entry.options:
                if key not in settings:
                    message = _("sacctmgr has no setting `{key}` for this entry", key=key)
                    fix = unknown_name_fix(key, tuple(settings), "")
                    yield Clash("unknown-name", message, fix, ((section, name, "options", key),))


def qos_names(cluster: Cluster) -> Iterator[Clash]:
    """Check that names of qualities of service are lower case, because slurmdbd converts them to it."""
    for name in cluster.qos:
        if name != name.lower():
            message = _("slurmdbd stores qos names in lower case, so `{name}` would not be found", name=name)
            fix = _("rename it to `{name}`, here and in all references", name=name.lower())
            yield Clash("qos-case", message, fix, (("qos", name),))


_ACCOUNTING_FIELDS = (
    ("partitions", ("qos", "headroom_percent")),
    ("teams", ("parent", "max_gpus", "max_gpus_per_user", "max_jobs")),
    ("reservations", ("teams",)),
)
_SWITCH = ("accounting", "enabled")


def accounting(cluster: Cluster) -> Iterator[Clash]:
    """Check that the accounting host is a control host, and limits, QOS and headroom are set only with accounting."""
    host = cluster.accounting.host
    if host is not None:
        yield from _host(cluster, host)
    if cluster.accounting.enabled:
        return
    for loc in _accounting_settings(cluster):
        message = _("{field} needs slurmdbd, but accounting is disabled", field=dotted(loc))
        yield Clash(
            "accounting-off",
            message,
            _("remove the setting, or set accounting.enabled to true"),
            (loc, _SWITCH),
        )


def _host(cluster: Cluster, name: str) -> Iterator[Clash]:
    loc = ("accounting", "host")
    control = list(members(cluster, "control"))
    group = members(cluster).get(name)
    if group is None:
        yield unknown("accounting", _("host"), name, control, (loc, ("nodes",)))
    elif name not in control:
        role = cluster.nodes[group].role
        message = _("accounting.host is `{host}`, whose role is {role}, not control", host=name, role=role)
        fix = _("use one of {hosts}", hosts=", ".join(control)) if control else _("add a control host")
        yield Clash("accounting-host", message, fix, (loc, ("nodes", group, "role")))


def _accounting_settings(cluster: Cluster) -> Iterator[Loc]:
    """Yield the paths of the fields that the file sets and that need accounting; each QOS is one."""
    if cluster.accounting.host is not None:
        yield "accounting", "host"
    yield from (("qos", name) for name in cluster.qos)
    for section, fields in _ACCOUNTING_FIELDS:
        for name, entry in getattr(cluster, section).items():
            for field in fields:
                if getattr(entry, field) != type(entry).model_fields[field].default:
                    yield section, name, field
