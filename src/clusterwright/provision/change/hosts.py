"""A cluster file with hosts more or fewer: the addresses of all others stay as they are."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import Hostlist, expand, fold
from clusterwright.config.storage import Nfs
from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean
from clusterwright.provision.change.edit import drop, put
from clusterwright.provision.change.fields import Said

_HOSTLIST: TypeAdapter[str] = TypeAdapter(Hostlist)


def with_hosts(said: Said, group_name: str, hosts: tuple[str, ...]) -> str:
    """The file's text with these hosts in the group; those that are there already are no change.

    Raises:
        WrightError: no such group, or a new host's name would come before another's and move its address.
    """
    group = said.cluster.nodes.get(group_name)
    if group is None:
        raise _no_group(said.cluster, group_name)
    known = group.all_names()
    fresh = [host for host in hosts if host not in known]
    everyone = expand(fold([*known, *fresh]))
    if everyone[: len(known)] != known:
        raise _in_between(group_name, known, fresh)
    gone = [host for host in expand(group.absent) if host not in hosts] if group.absent else []
    return _written(said.source.text, group_name, (known, everyone), gone)


def without_hosts(said: Said, hosts: Iterable[str]) -> str:
    """The file's text without these hosts: from the end of a group's list, or else as `absent`."""
    text, leaving = said.source.text, frozenset(hosts)
    for name, group in said.cluster.nodes.items():
        known = group.all_names()
        if not leaving.intersection(known):
            continue
        gone = leaving.intersection(known) | frozenset(expand(group.absent) if group.absent else ())
        kept = list(known)
        while len(kept) > 1 and kept[-1] in gone:
            kept.pop()
        text = _written(text, name, (known, tuple(kept)), [host for host in kept if host in gone])
    return text


def refuse_to_remove(cluster: Cluster, hosts: Iterable[str]) -> None:
    """Hosts on which others lean are not taken out by this way.

    Raises:
        WrightError: one of them is unknown, a control host, a file server, or reserved; by name.
    """
    for name in hosts:
        known = {host.name: host for host in cluster.hosts()}
        if name not in known:
            raise no_host(cluster, name)
        if why := _leaned_on(cluster, name):
            raise WrightError.of("host-needed", f"{name} {why[0]}", why[1], exit_code=EXIT_USAGE)


def no_host(cluster: Cluster, name: str) -> WrightError:
    """The file has no such host."""
    close = did_you_mean(name, [host.name for host in cluster.hosts()])
    hint = f"; did you mean {close}?" if close else ""
    return WrightError.of(
        "no-such-host",
        f"cluster `{cluster.name}` has no host `{name}`{hint}",
        f"name hosts of {fold([host.name for host in cluster.hosts()])}",
        exit_code=EXIT_USAGE,
    )


def _leaned_on(cluster: Cluster, name: str) -> tuple[str, str] | None:
    """What others need the host for, and the mend."""
    if cluster.host(name).group.role == "control":
        return (
            "is a control host: Slurm itself runs there",
            "move its tasks to another host in the file first",
        )
    if cluster.accountant and cluster.accountant.name == name:
        return "holds the accounting", "name another host in accounting.host first"
    for folder in cluster.storage.values():
        if isinstance(folder, Nfs) and folder.server == name:
            return f"serves {folder.path}", "move the folder to another server in the file first"
    for title, reservation in cluster.reservations.items():
        if name in expand(reservation.hosts):
            return f"is in reservation `{title}`", f"take it out of reservations.{title}.hosts first"
    return None


def _written(
    text: str, group: str, lists: tuple[tuple[str, ...], tuple[str, ...]], gone: Iterable[str]
) -> str:
    before, after = lists
    if before != after:
        text = put(text, ("nodes", group, "hosts"), fold(after))
    absent = fold([host for host in gone if host in after])
    if absent:
        return put(text, ("nodes", group, "absent"), absent, after="hosts")
    return drop(text, ("nodes", group, "absent"))


def _no_group(cluster: Cluster, name: str) -> WrightError:
    close = did_you_mean(name, cluster.nodes)
    hint = f"; did you mean `{close}`?" if close else ""
    return WrightError.of(
        "no-such-group",
        f"cluster `{cluster.name}` has no node group `{name}`{hint}",
        f"node groups: {', '.join(cluster.nodes)}; a new kind of host is a new group in the file",
        exit_code=EXIT_USAGE,
    )


def _in_between(group: str, known: tuple[str, ...], fresh: list[str]) -> WrightError:
    return WrightError.of(
        "host-moves-others",
        f"{fold(fresh)} would come before other hosts of `{group}`, and their addresses would move",
        f"name hosts that sort behind {known[-1]}, or give the new ones a node group of their own",
        exit_code=EXIT_USAGE,
    )


def hostlist(text: str) -> tuple[str, ...]:
    """The hosts of a hostlist from the command line.

    Raises:
        WrightError: it is none, or too long.
    """
    try:
        return expand(_HOSTLIST.validate_python(text))
    except ValidationError as why:
        told = why.errors()[0].get("ctx", {})
        message, mend = told.get("message", str(why)), told.get("mend", "write it as gpu-node[1-8,12]")
        raise WrightError.of("bad-hostlist", message, mend, exit_code=EXIT_USAGE) from why
