"""A cluster file with hosts more or fewer: the addresses of all others stay as they are."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import Hostlist, expand, fold
from clusterwright.config.storage import Nfs
from clusterwright.errors import EXIT_USAGE, WrightError, closest_name
from clusterwright.i18n import _
from clusterwright.provision.change.edit import drop, set_value
from clusterwright.provision.change.fields import ClusterFile

_HOSTLIST: TypeAdapter[str] = TypeAdapter(Hostlist)


def with_hosts(cluster_file: ClusterFile, group_name: str, hosts: tuple[str, ...]) -> str:
    """The file's text with these hosts in the group; those that are there already are no change.

    Raises:
        WrightError: no such group, or a new host's name would come before another's and move its address.
    """
    group = cluster_file.cluster.nodes.get(group_name)
    if group is None:
        raise _no_group(cluster_file.cluster, group_name)
    group_hosts = group.all_names()
    fresh = [host for host in hosts if host not in group_hosts]
    everyone = expand(fold([*group_hosts, *fresh]))
    if everyone[: len(group_hosts)] != group_hosts:
        raise _in_between(group_name, group_hosts, fresh)
    absent_hosts = [host for host in expand(group.absent) if host not in hosts] if group.absent else []
    return _written(cluster_file.source.text, group_name, (group_hosts, everyone), absent_hosts)


def without_hosts(cluster_file: ClusterFile, hosts: Iterable[str]) -> str:
    """The file's text without these hosts: from the end of a group's list, or else as `absent`."""
    text, leaving = cluster_file.source.text, frozenset(hosts)
    for name, group in cluster_file.cluster.nodes.items():
        group_hosts = group.all_names()
        if not leaving.intersection(group_hosts):
            continue
        absent_hosts = leaving.intersection(group_hosts) | frozenset(
            expand(group.absent) if group.absent else ()
        )
        listed_hosts = list(group_hosts)
        while len(listed_hosts) > 1 and listed_hosts[-1] in absent_hosts:
            listed_hosts.pop()
        text = _written(
            text,
            name,
            (group_hosts, tuple(listed_hosts)),
            [host for host in listed_hosts if host in absent_hosts],
        )
    return text


def refuse_to_remove(cluster: Cluster, hosts: Iterable[str]) -> None:
    """Hosts on which others lean are not taken out by this way.

    Raises:
        WrightError: one of them is unknown, a control host, a file server, or reserved; by name.
    """
    for name in hosts:
        hosts_by_name = {host.name: host for host in cluster.hosts()}
        if name not in hosts_by_name:
            raise no_host(cluster, name)
        if reason := _leaned_on(cluster, name):
            raise WrightError.from_code("host-needed", f"{name} {reason[0]}", reason[1], exit_code=EXIT_USAGE)


def no_host(cluster: Cluster, name: str) -> WrightError:
    """The file has no such host."""
    close = closest_name(name, [host.name for host in cluster.hosts()])
    hint = _("; did you mean {close}?", close=close) if close else ""
    return WrightError.from_code(
        "no-such-host",
        _("cluster `{cluster}` has no host `{name}`{hint}", cluster=cluster.name, name=name, hint=hint),
        _("name hosts of {fold}", fold=fold([host.name for host in cluster.hosts()])),
        exit_code=EXIT_USAGE,
    )


def _leaned_on(cluster: Cluster, name: str) -> tuple[str, str] | None:
    """What others need the host for, and the fix."""
    if cluster.host(name).group.role == "control":
        return (
            _("is a control host: Slurm itself runs there"),
            _("move its tasks to another host in the file first"),
        )
    if cluster.accountant and cluster.accountant.name == name:
        return _("holds the accounting"), _("name another host in accounting.host first")
    for folder in cluster.storage.values():
        if isinstance(folder, Nfs) and folder.server == name:
            return _("serves {path}", path=folder.path), _(
                "move the folder to another server in the file first"
            )
    for title, reservation in cluster.reservations.items():
        if name in expand(reservation.hosts):
            return _("is in reservation `{title}`", title=title), _(
                "take it out of reservations.{title}.hosts first", title=title
            )
    return None


def _written(
    text: str, group: str, lists: tuple[tuple[str, ...], tuple[str, ...]], absent_hosts: Iterable[str]
) -> str:
    old_hosts, new_hosts = lists
    if old_hosts != new_hosts:
        text = set_value(text, ("nodes", group, "hosts"), fold(new_hosts))
    absent = fold([host for host in absent_hosts if host in new_hosts])
    if absent:
        return set_value(text, ("nodes", group, "absent"), absent, previous_key="hosts")
    return drop(text, ("nodes", group, "absent"))


def _no_group(cluster: Cluster, name: str) -> WrightError:
    close = closest_name(name, cluster.nodes)
    hint = _("; did you mean `{close}`?", close=close) if close else ""
    return WrightError.from_code(
        "no-such-group",
        _("cluster `{cluster}` has no node group `{name}`{hint}", cluster=cluster.name, name=name, hint=hint),
        _(
            "node groups: {nodes}; a new kind of host is a new group in the file",
            nodes=", ".join(cluster.nodes),
        ),
        exit_code=EXIT_USAGE,
    )


def _in_between(group: str, group_hosts: tuple[str, ...], fresh: list[str]) -> WrightError:
    return WrightError.from_code(
        "host-moves-others",
        _(
            "{fold} would come before other hosts of `{group}`, and their addresses would move",
            fold=fold(fresh),
            group=group,
        ),
        _(
            "name hosts that sort behind {group_hosts}, or give the new ones a node group of their own",
            group_hosts=group_hosts[-1],
        ),
        exit_code=EXIT_USAGE,
    )


def hostlist(text: str) -> tuple[str, ...]:
    """The hosts of a hostlist from the command line.

    Raises:
        WrightError: it is none, or too long.
    """
    try:
        return expand(_HOSTLIST.validate_python(text))
    except ValidationError as error:
        error_context = error.errors()[0].get("ctx", {})
        message, fix = (
            error_context.get("message", str(error)),
            error_context.get("fix", _("write it as gpu-node[1-8,12]")),
        )
        raise WrightError.from_code("bad-hostlist", message, fix, exit_code=EXIT_USAGE) from error
