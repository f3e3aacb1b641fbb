"""Packages, accounts and kernel settings on a host.

Standard library only, Python 3.6 or later.
"""

import grp
import os
import pwd
from typing import List, Optional

from clusterwright.build.agent.host import ChangeError, Host, Json, must, read, run

INSTALL_S = 900  # a driver package builds its module for minutes


def look_group(_host: Host, resource: Json) -> Optional[Json]:
    """Missing; another id is not ours to change, because files carry it."""
    try:
        gid = grp.getgrnam(resource["name"]).gr_gid
    except KeyError:
        return {"what": f"create with id {resource['gid']}", "diff": "", "cost": "live"}
    if gid != resource["gid"]:
        raise ChangeError(f"it has id {gid} here, {resource['gid']} in the file: change one by hand")
    return None


def do_group(_host: Host, resource: Json) -> None:
    """By groupadd."""
    must(["groupadd", "--gid", str(resource["gid"]), resource["name"]])


def look_user(_host: Host, resource: Json) -> Optional[Json]:
    """Missing, or in another primary group; another id is not ours to change, because files carry it."""
    try:
        entry = pwd.getpwnam(resource["name"])
    except KeyError:
        what = f"create with id {resource['uid']} in {resource['group']}"
        return {"what": what, "diff": "", "cost": "live"}
    if entry.pw_uid != resource["uid"]:
        raise ChangeError(f"it has id {entry.pw_uid} here, {resource['uid']} in the file: change one by hand")
    groups = [group.gr_name for group in grp.getgrall() if group.gr_gid == entry.pw_gid]
    if resource["group"] in groups:
        return None
    what = f"primary group {groups[0] if groups else entry.pw_gid} -> {resource['group']}"
    return {"what": what, "diff": "", "cost": "live"}


def do_user(_host: Host, resource: Json) -> None:
    """By useradd, with a home; or by usermod."""
    try:
        pwd.getpwnam(resource["name"])
    except KeyError:
        ids = ["--uid", str(resource["uid"]), "--gid", resource["group"]]
        must(["useradd", "--create-home", "--shell", "/bin/bash", *ids, resource["name"]])
    else:
        must(["usermod", "--gid", resource["group"], resource["name"]])


def look_sysctl(host: Host, resource: Json) -> Optional[Json]:
    """Another value; a setting that cannot be changed here is a note, not a change that never ends."""
    path = host.at("/proc/sys/" + resource["key"].replace(".", "/"))
    current = read(path)
    now = None if current is None else " ".join(current.decode().split())
    if now == resource["value"]:
        return None
    if now is None or not os.access(path, os.W_OK):
        why = "this kernel has none" if now is None else f"it is {now} and read-only here"
        host.notes.append(f"{resource['key']} is not set to {resource['value']}: {why}")
        return None
    return {"what": f"{now or 'empty'} -> {resource['value']}", "diff": "", "cost": "live"}


def do_sysctl(host: Host, resource: Json) -> None:
    """Written as sysctl(8) does."""
    with open(host.at("/proc/sys/" + resource["key"].replace(".", "/")), "w") as file:
        file.write(resource["value"])


def look_module(host: Host, resource: Json) -> Optional[Json]:
    """Not loaded, as far as /sys tells."""
    loaded = os.path.isdir(host.at("/sys/module/" + resource["name"].replace("-", "_")))
    return None if loaded else {"what": "load", "diff": "", "cost": "live"}


def do_module(_host: Host, resource: Json) -> None:
    """By modprobe."""
    must(["modprobe", resource["name"]])


def missing_packages(names: List[str]) -> List[str]:
    """Those that are not installed, asked in one call."""
    if not names:
        return []
    done = run(["dpkg-query", "--show", "--showformat", "${db:Status-Abbrev} ${Package}\\n", *names])
    if done.returncode not in (0, 1):  # 1: some are not known
        raise ChangeError(f"packages can be read only from dpkg so far: {done.stdout.strip()}")
    rows = [line.split() for line in done.stdout.splitlines()]
    installed = {row[1] for row in rows if len(row) == 2 and row[0] == "ii"}  # noqa: PLR2004 (status and name)
    return [name for name in names if name not in installed]


def install_packages(names: List[str]) -> None:
    """All in one call of apt; with fresh lists only when the ones at hand do not do."""
    if not names:
        return
    ours = ["-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=120"]
    options = ["-y", "--no-install-recommends", *ours]
    if run(["apt-get", "install", *options, *names], INSTALL_S).returncode != 0:
        must(["apt-get", "update"], INSTALL_S)
        must(["apt-get", "install", *options, *names], INSTALL_S)
