"""Users, teams, qualities of service, and the accounting that enforces their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.config.clash import Clash, loops, members, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.people import User
from clusterwright.config.source import Loc
from clusterwright.i18n import _


def people(cluster: Cluster) -> Iterator[Clash]:
    """Each user's teams exist, and no two users or teams share a number."""
    for name, user in cluster.users.items():
        if user.team not in cluster.teams:
            locs = (("users", name, "team"), ("teams",))
            yield unknown(_("user `{name}`", name=name), "team", user.team, cluster.teams, locs)
        yield from _also_in(cluster, name, user)
        yield from _named_as_a_team(cluster, name, user)
    yield from _shared("users", "uid", {name: user.uid for name, user in cluster.users.items()})
    yield from _shared("teams", "gid", {name: team.gid for name, team in cluster.teams.items()})


def _also_in(cluster: Cluster, name: str, user: User) -> Iterator[Clash]:
    for index, team in enumerate(user.additional_teams):
        loc = ("users", name, "additional_teams", index)
        if team not in cluster.teams:
            yield unknown(_("user `{name}`", name=name), "team", team, cluster.teams, (loc, ("teams",)))
        elif team == user.team:
            yield Clash(
                "repeated-item",
                _("user `{name}` is of team `{team}` and also in it", name=name, team=team),
                _("take `{team}` out of additional_teams", team=team),
                (loc, ("users", name, "team")),
            )


def _named_as_a_team(cluster: Cluster, name: str, user: User) -> Iterator[Clash]:
    """Distributions give a user a group of the same name and number; ours would have another number."""
    team = cluster.teams.get(name)
    if team and team.gid != user.uid:
        yield Clash(
            "name-taken",
            _(
                "`{name}` is a user with uid {uid} and a team with gid {gid}",
                name=name,
                uid=user.uid,
                gid=team.gid,
            ),
            _("rename one of them, or give both the same number"),
            (("users", name, "uid"), ("teams", name, "gid")),
        )


def _shared(section: str, field: str, numbers: Mapping[str, int]) -> Iterator[Clash]:
    owners: dict[int, str] = {}
    for name, number in numbers.items():
        if number in owners:
            yield Clash(
                "id-taken",
                _(
                    "{section} `{owners}` and `{name}` have the same {field} {number}",
                    section=section,
                    owners=owners[number],
                    name=name,
                    field=field,
                    number=number,
                ),
                _(
                    "give `{name}` a {field} of its own, e.g. {free}",
                    name=name,
                    field=field,
                    free=_free(numbers, number),
                ),
                ((section, owners[number], field), (section, name, field)),
            )
        owners.setdefault(number, name)


def _free(numbers: Mapping[str, int], number: int) -> int:
    used_numbers = set(numbers.values())
    return next(
        candidate
        for candidate in range(number, number + len(used_numbers) + 1)
        if candidate not in used_numbers
    )


def teams(cluster: Cluster) -> Iterator[Clash]:
    """Somebody is in each team, parents exist and end, and the shares of teams side by side add to something."""
    parents = {name: team.parent for name, team in cluster.teams.items() if team.parent is not None}
    for name, parent in parents.items():
        if parent not in cluster.teams:
            locs = (("teams", name, "parent"), ("teams",))
            yield unknown(_("team `{name}`", name=name), "team", parent, cluster.teams, locs)
    yield from _loops({name: (parent,) for name, parent in parents.items()})
    yield from _empty(cluster, set(parents.values()))
    yield from _without_shares(cluster)


def _loops(parents: dict[str, tuple[str, ...]]) -> Iterator[Clash]:
    for loop in loops(parents):
        cycle_text = " of ".join(f"`{name}`" for name in (*loop, loop[0]))
        yield Clash(
            "team-loop",
            _("team {cycle_text}: none of them hangs on the root, where shares begin", cycle_text=cycle_text),
            _("take the `parent` out of one of {names}", names=names(loop))
            if len(loop) > 1
            else _("take `parent` out"),
            tuple(("teams", name, "parent") for name in loop),
        )


def _empty(cluster: Cluster, parents: set[str]) -> Iterator[Clash]:
    """A team that only holds other teams needs nobody of its own."""
    members = {team for user in cluster.users.values() for team in (user.team, *user.additional_teams)}
    for name in cluster.teams:
        if name not in members and name not in parents:
            yield Clash(
                "team-empty",
                _("nobody is in team `{name}`, so its share would be used by nobody", name=name),
                _(
                    "add a user with `team: {name}`, or `additional_teams: [{name}]` to one who is there, or take "
                    "it out",
                    name=name,
                ),
                (("teams", name), ("users",)),
            )


def _without_shares(cluster: Cluster) -> Iterator[Clash]:
    siblings_by_parent: dict[str | None, list[str]] = {}
    for name, team in cluster.teams.items():
        siblings_by_parent.setdefault(team.parent, []).append(name)
    for parent, siblings in siblings_by_parent.items():
        if all(cluster.teams[name].shares == 0 for name in siblings):
            under = f" under `{parent}`" if parent else ""
            yield Clash(
                "shares-nothing",
                _(
                    "the shares of {names}{under} add to 0, so there is nothing to divide",
                    names=names(siblings),
                    under=under,
                ),
                _("give one of them `shares` of 1 or more")
                if len(siblings) > 1
                else _("give it `shares: 1`"),
                tuple(("teams", name, "shares") for name in siblings),
            )


def team_limits(cluster: Cluster) -> Iterator[Clash]:
    """What one member or one job may take is no more than what all may take together."""
    for name, team in cluster.teams.items():
        yield from _over(("teams", name), "max_gpus_per_user", team.max_gpus_per_user, team.max_gpus)
    for name, qos in cluster.qos.items():
        yield from _over(("qos", name), "max_gpus_per_user", qos.max_gpus_per_user, qos.max_gpus)
        yield from _over(("qos", name), "max_gpus_per_job", qos.max_gpus_per_job, qos.max_gpus)


def _over(loc: tuple[str, str], field: str, part: int | None, limit: int | None) -> Iterator[Clash]:
    """A whole of 0 shuts everything for a while, whatever its parts say."""
    if part is not None and limit and part > limit:
        yield Clash(
            "limit-over-limit",
            _(
                "{loc} `{loc2}`: {field} is {part}, but max_gpus of all together is {limit}",
                loc=loc[0],
                loc2=loc[1],
                field=field,
                part=part,
                limit=limit,
            ),
            _("lower {field} to {limit} or less, or raise max_gpus", field=field, limit=limit),
            ((*loc, field), (*loc, "max_gpus")),
        )


NORMAL = "normal"  # Slurm makes it with its database


def qos(cluster: Cluster) -> Iterator[Clash]:
    """What a quality of service preempts exists and never comes back at it, and its teams exist."""
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
                yield unknown(_("qos `{name}`", name=name), "team", team, cluster.teams, locs)
    for loop in loops({name: quality.preempts for name, quality in cluster.qos.items()}):
        cycle_text = ", which preempts ".join(f"`{name}`" for name in (*loop[1:], loop[0]))
        yield Clash(
            "qos-loop",
            _(
                "qos `{loop}` preempts {cycle_text}: their jobs would push each other aside without end",
                loop=loop[0],
                cycle_text=cycle_text,
            ),
            _("take one `preempts` out of {names}", names=names(loop)),
            tuple(("qos", name, "preempts") for name in loop),
        )


def qos_names(cluster: Cluster) -> Iterator[Clash]:
    """Slurm writes names in lower case: two that differ by case would be one, and one not found again."""
    for name in cluster.qos:
        if name != name.lower():
            yield Clash(
                "qos-case",
                _(
                    "slurmdbd keeps names of qualities of service in lower case, and would call `{name}` "
                    "`{name2}`",
                    name=name,
                    name2=name.lower(),
                ),
                _("call it `{name}`, here and where it is named", name=name.lower()),
                (("qos", name),),
            )


_ACCOUNTING_FIELDS = (
    ("partitions", "partition", ("qos", "headroom_percent")),
    ("teams", "team", ("parent", "max_gpus", "max_gpus_per_user", "max_jobs")),
    ("reservations", "reservation", ("teams",)),
)
_SWITCH = ("accounting", "enabled")


def accounting(cluster: Cluster) -> Iterator[Clash]:
    """The host of accounting is a control host; limits, qualities of service and head-room have it on."""
    host = cluster.accounting.host
    if host is not None:
        yield from _host(cluster, host)
    if cluster.accounting.enabled:
        return
    for setting, loc in _accounting_settings(cluster):
        yield Clash(
            "accounting-off",
            _("{setting} is kept by slurmdbd, and accounting is off", setting=setting),
            _("take it out, or set accounting.enabled to true"),
            (loc, _SWITCH),
        )


def _host(cluster: Cluster, name: str) -> Iterator[Clash]:
    loc = ("accounting", "host")
    control = list(members(cluster, "control"))
    group = members(cluster).get(name)
    if group is None:
        yield unknown("accounting", "host", name, control, (loc, ("nodes",)))
    elif name not in control:
        yield Clash(
            "accounting-host",
            _(
                "accounting is to run on `{name}`, whose role is {role}",
                name=name,
                role=cluster.nodes[group].role,
            ),
            _("name a control host: {control}", control=", ".join(control))
            if control
            else _("add a control host"),
            (loc, ("nodes", group, "role")),
        )


def _accounting_settings(cluster: Cluster) -> Iterator[tuple[str, Loc]]:
    """What is asked of accounting, and where."""
    if cluster.accounting.host is not None:
        yield "its host", ("accounting", "host")
    yield from ((f"qos `{name}`", ("qos", name)) for name in cluster.qos)
    for section, kind, fields in _ACCOUNTING_FIELDS:
        for name, entry in getattr(cluster, section).items():
            for field in fields:
                if getattr(entry, field) != type(entry).model_fields[field].default:
                    yield f"{field} of {kind} `{name}`", (section, name, field)
