"""Stores each file of many hosts once, at the widest scope that shares it: cluster, role, node group or host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from clusterwright.config.cluster import Host

T = TypeVar("T")

ALL = "all"


def places(host: Host) -> tuple[str, str, str, str]:
    """Return the four places (export folders) with files of the host, the widest first: all, role, group, host."""
    return (ALL, f"roles/{host.group.role}", f"groups/{host.group_name}", f"hosts/{host.name}")


def fold_files(files: Mapping[str, Mapping[str, T]], hosts: Sequence[Host]) -> dict[str, dict[str, T]]:
    """Return `{host: {path: file}}` as `{place: {path: file}}`: a file is in the widest place that shares it.

    A host's files are those of its four places (`places`), and no path is in two of them.
    """
    files_by_scope: dict[str, dict[str, T]] = {}
    for path in dict.fromkeys(path for host in hosts for path in files[host.name]):
        _fold_path(files_by_scope, path, files, hosts, 0)
    return files_by_scope


def _fold_path(
    files_by_scope: dict[str, dict[str, T]],
    path: str,
    files: Mapping[str, Mapping[str, T]],
    hosts: Sequence[Host],
    level: int,
) -> None:
    """Store the file of a path at the widest place (all, role, group, host) below which all hosts have an equal file.

    `level` is the index of the place in `places`; if its hosts differ, the function recurses one level down.
    """
    rows = [files[host.name] for host in hosts]
    having = [row[path] for row in rows if path in row]
    if not having:
        return
    if len(having) == len(hosts) and having.count(having[0]) == len(having):
        files_by_scope.setdefault(places(hosts[0])[level], {})[path] = having[0]
        return
    below: dict[str, list[Host]] = {}
    for host in hosts:
        below.setdefault(places(host)[level + 1], []).append(host)
    for some in below.values():
        _fold_path(files_by_scope, path, files, some, level + 1)
