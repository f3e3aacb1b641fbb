"""Add hosts to a cluster file or remove them; the addresses of all other hosts are unchanged."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import Hostlist, expand, fold
from clusterwright.config.storage import Nfs
from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _, _n
from clusterwright.provision.change.edit import drop, set_value
from clusterwright.provision.change.fields import ClusterFile

_HOSTLIST: TypeAdapter[str] = TypeAdapter(Hostlist)


def with_hosts(cluster_file: ClusterFile, group_name: str, hosts: tuple[str, ...]) -> str:
    """Return the file's text with these hosts in the node group, no longer `absent`; nothing is written.

    Hosts that the group has already are ignored.

    Raises:
        WrightError: unknown group, or a new host would sort before existing ones and change their addresses.
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
    """Return the file's text without these hosts: removed from the end of a group's list, or listed as `absent`.

    A group retains its first host in the list; hosts that no group has are ignored; nothing is written.
    """
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
    """Refuse to remove hosts that other hosts depend on.

    Raises:
        WrightError: a host is unknown, a control host, the host of slurmdbd, an NFS server, or reserved.
    """
    names = list(hosts)
    require_hosts(cluster, names)
    for name in names:
        if reason := _dependency(cluster, name):
            raise WrightError.from_code("host-needed", *reason, exit_code=EXIT_USAGE)


def require_hosts(cluster: Cluster, names: Iterable[str]) -> None:
    """Raise an error unless the cluster file has all of these hosts.

    Raises:
        WrightError: `no-such-host`, with all that it lacks.
    """
    host_names = [host.name for host in cluster.hosts()]
    existing = set(host_names)
    missing = [name for name in names if name not in existing]
    if not missing:
        return
    values = {"cluster": cluster.name, "hosts": fold(missing)}
    message = _n(
        "cluster `{cluster}` has no host `{hosts}`",
        "cluster `{cluster}` has no hosts `{hosts}`",
        len(missing),
        **values,
    )
    fix = _("choose from {hosts}", hosts=fold(host_names))
    fix = unknown_name_fix(missing[0], host_names, fix) if len(missing) == 1 else fix
    raise WrightError.from_code("no-such-host", message, fix, exit_code=EXIT_USAGE)


def _dependency(cluster: Cluster, name: str) -> tuple[str, str] | None:
    """Return (why other hosts depend on the host, the fix); None if none does.

    Reasons: it is a control host, runs slurmdbd, serves NFS, or is in a reservation.
    """
    if cluster.host(name).group.role == "control":
        return (
            _("{host} is a control host, which runs slurmctld", host=name),
            _("move the host's role to another host in the cluster file first"),
        )
    if cluster.accountant and cluster.accountant.name == name:
        return _("{host} runs slurmdbd", host=name), _("set accounting.host to another host first")
    for folder in cluster.storage.values():
        if isinstance(folder, Nfs) and folder.server == name:
            return (
                _("{host} is the NFS server of {path}", host=name, path=folder.path),
                _("set another server for the folder in the cluster file first"),
            )
    for title, reservation in cluster.reservations.items():
        if name in expand(reservation.hosts):
            return (
                _("{host} is in reservation `{reservation}`", host=name, reservation=title),
                _("remove the host from reservations.{reservation}.hosts first", reservation=title),
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
    return WrightError.from_code(
        "no-such-group",
        _("cluster `{cluster}` has no node group `{group}`", cluster=cluster.name, group=name),
        unknown_name_fix(
            name,
            cluster.nodes,
            _(
                "choose from {groups}; declare hosts of another kind as a new node group in the cluster file",
                groups=", ".join(cluster.nodes),
            ),
        ),
        exit_code=EXIT_USAGE,
    )


def _in_between(group: str, group_hosts: tuple[str, ...], fresh: list[str]) -> WrightError:
    return WrightError.from_code(
        "host-moves-others",
        _(
            "{hosts} would sort before existing hosts of node group `{group}` and change their addresses",
            hosts=fold(fresh),
            group=group,
        ),
        _(
            "choose names that sort after {host}, or declare the new hosts as a node group of their own",
            host=group_hosts[-1],
        ),
        exit_code=EXIT_USAGE,
    )


def hostlist(text: str) -> tuple[str, ...]:
    """Return the hosts of a hostlist from the command line.

    Raises:
        WrightError: the hostlist is invalid or too long.
    """
    try:
        return expand(_HOSTLIST.validate_python(text))
    except ValidationError as error:
        error_context = error.errors()[0].get("ctx", {})
        message, fix = (
            error_context.get("message", str(error)),
            error_context.get("fix", _("write the hostlist as gpu-node[1-8,12]")),
        )
        raise WrightError.from_code("bad-hostlist", message, fix, exit_code=EXIT_USAGE) from error
