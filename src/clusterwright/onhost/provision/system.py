"""Users, groups, sysctls, kernel modules and hardware of a host.

Standard library only, Python 3.6 or later.
"""

import grp
import os
import pwd
from typing import Dict, List, Optional

from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.host import ChangeError, Json, LocalHost, must, read

EXPIRED = "1"  # shadow(5): the day since 1970 on which the account expires; not 0, which has two meanings

MIB = 2**20


def plan_group(_host: LocalHost, resource: Json) -> Optional[Json]:
    """Return the change that creates a missing group; None if it exists.

    Raises:
        ChangeError: another group has its gid, or it has another gid and is no `system` group (files store gids).
    """
    try:
        gid = grp.getgrnam(resource["name"]).gr_gid
    except KeyError:
        owners = [group.gr_name for group in grp.getgrall() if group.gr_gid == resource["gid"]]
        refuse_used_id(resource["gid"], owners)
        return new_change(f"create with id {resource['gid']}", Verb.ADD)
    if gid != resource["gid"] and not resource["system"]:
        raise ChangeError(
            f"id {gid} on this host, {resource['gid']} in the cluster file. Change one by hand", "host"
        )
    return None


def refuse_used_id(number: int, names: List[str]) -> None:
    """Raise ChangeError if `names` (users or groups of this host) have the id, because files on disk store it."""
    if names:
        message = f"{names[0]} has id {number} on this host. Give {names[0]} and its files another id"
        raise ChangeError(message, "host")


def do_group(_host: LocalHost, resource: Json) -> None:
    """Create the Unix group of the resource by groupadd, as planned."""
    kind = ["--system"] if resource["system"] else []
    must(["groupadd", *kind, "--gid", str(resource["gid"]), resource["name"]])


def plan_user(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return the change that creates a missing user, or changes groups, expiry and password lock; None if none is due.

    Raises:
        ChangeError: the user has another uid than desired, or another user has that uid.
    """
    try:
        entry = pwd.getpwnam(resource["name"])
    except KeyError:
        refuse_used_id(
            resource["uid"],
            [account.pw_name for account in pwd.getpwall() if account.pw_uid == resource["uid"]],
        )
        groups = ", ".join([resource["group"], *resource["groups"]])
        return new_change(f"create with id {resource['uid']} in {groups}", Verb.ADD)
    if resource["system"]:
        return None  # the daemon's package created it
    if entry.pw_uid != resource["uid"]:
        raise ChangeError(
            f"id {entry.pw_uid} on this host, {resource['uid']} in the cluster file. Change one by hand",
            "host",
        )
    everyone = grp.getgrall()
    primary = [group.gr_name for group in everyone if group.gr_gid == entry.pw_gid]
    differences = (
        [] if resource["group"] in primary else [f"primary group {' '.join(primary)} -> {resource['group']}"]
    )
    differences += [f"add to {name}" for name in missing_groups(resource)]
    differences += [f"remove from {name}" for name in left_groups(resource)]
    shadow = shadow_of(host).get(resource["name"], ["!", ""])
    differences += ["unlock"] if shadow[1] == EXPIRED else []
    differences += (
        ["lock the password"] if not resource["password"] and shadow[0][:1] not in ("!", "*") else []
    )
    return new_change(", ".join(differences), Verb.MODIFY) if differences else None


def missing_groups(resource: Json) -> List[str]:
    """Return the desired supplementary groups that the user is not in on this host."""
    members = {group.gr_name: group.gr_mem for group in grp.getgrall()}
    return [name for name in resource["groups"] if resource["name"] not in members.get(name, ())]


def left_groups(resource: Json) -> List[str]:
    """Return the groups of teams (`not_in`) that the user is in on this host, but not in the cluster file."""
    members = {group.gr_name: group.gr_mem for group in grp.getgrall()}
    return [name for name in resource["not_in"] if resource["name"] in members.get(name, ())]


def shadow_of(host: LocalHost) -> Dict[str, List[str]]:
    """Return password field and expiry day by account, from shadow(5)."""
    rows = [line.split(":") for line in (read(host.resolve_path("/etc/shadow")) or b"").decode().splitlines()]
    return {row[0]: [row[1], row[7]] for row in rows if len(row) > 7}


def do_user(host: LocalHost, resource: Json) -> None:
    """Make the planned change: create the user by useradd, without a password, or change it by usermod.

    A change also unlocks an expired user, locks the password unless one is desired, and removes the user from groups of
    teams that it is no longer in.
    """
    name, groups = resource["name"], ",".join(resource["groups"])
    try:
        pwd.getpwnam(name)
    except KeyError:
        more = ["--groups", groups] if groups else []
        kind = ["--create-home" if resource["home"] else "--no-create-home", "--shell", "/bin/bash"]
        if resource["system"]:
            kind = ["--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"]
        must(["useradd", *kind, "--uid", str(resource["uid"]), "--gid", resource["group"], *more, name])
        return
    more = ["--append", "--groups", groups] if groups else []
    shadow = shadow_of(host).get(name, ["!", ""])
    more += ["--expiredate", ""] if shadow[1] == EXPIRED else []
    more += ["--lock"] if not resource["password"] and shadow[0][:1] not in ("!", "*") else []
    must(["usermod", "--gid", resource["group"], *more, name])
    for group in left_groups(resource):
        must(["gpasswd", "--delete", name, group])


def plan_user_removals(host: LocalHost) -> List[Json]:
    """Return the changes that lock users of earlier applies who left the cluster file; none is deleted."""
    desired_ids = {resource["id"] for resource in host.resources}
    previous_ids = [name for name in host.receipt.get("wanted", {}) if name.startswith("user:")]
    shadow = shadow_of(host)
    names = [name.partition(":")[2] for name in sorted(previous_ids) if name not in desired_ids]
    rows = [name for name in names if name in shadow and shadow[name][1] != EXPIRED]
    return [dict(new_change("lock", Verb.LOCK), id="gone-user:" + name) for name in rows]


def lock_user(name: str) -> None:
    """Lock password and login of the user; files and running processes stay."""
    must(["usermod", "--lock", "--expiredate", EXPIRED, name])


def plan_sysctl(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return the change that sets the desired value; None if it is set, or, with a note, if this host cannot set it."""
    path = host.resolve_path("/proc/sys/" + resource["key"].replace(".", "/"))
    current = read(path)
    now = None if current is None else " ".join(current.decode().split())
    if now == resource["value"]:
        return None
    if now is None or not os.access(path, os.W_OK):
        reason = "this kernel does not have it" if now is None else f"it is {now} and read-only on this host"
        host.notes.append(f"{resource['key']} is not set to {resource['value']}: {reason}")
        return None
    return new_change(f"{now or 'empty'} -> {resource['value']}", Verb.SET)


def do_sysctl(host: LocalHost, resource: Json) -> None:
    """Make the planned change: write the value below /proc/sys, as sysctl(8) does."""
    with open(host.resolve_path("/proc/sys/" + resource["key"].replace(".", "/")), "w") as file:
        file.write(resource["value"])


def plan_module(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return the change that loads the kernel module; None if /sys/module has it."""
    loaded = os.path.isdir(host.resolve_path("/sys/module/" + resource["name"].replace("-", "_")))
    return None if loaded else new_change("load", Verb.LOAD)


def do_module(_host: LocalHost, resource: Json) -> None:
    """Load the kernel module of the resource by modprobe, as planned."""
    must(["modprobe", resource["name"]])


def check_hardware(host: LocalHost, resource: Json) -> None:
    """Add a note for missing GPU device files, and one for less memory than Slurm's configuration has."""
    devices = resource["devices"]
    missing = [path for path in devices if not os.path.exists(host.resolve_path(path))]
    if missing:
        host.notes.append(
            f"{len(devices) - len(missing)} of {len(devices)} GPU device files exist, {', '.join(missing)} "
            f"missing: Slurm drains a node with fewer GPUs than its configuration. Read `nvidia-smi` and "
            f"`dmesg`, or correct nodes.{resource['group']}.gpus"
        )
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB  # as slurmd reads it
    if memory_mib < resource["memory_mib"]:
        host.notes.append(
            f"the kernel has {memory_mib} MiB of memory, Slurm's configuration {resource['memory_mib']} MiB: "
            f"Slurm drains a node with less memory than its configuration. Read `dmidecode -t memory`, or correct "
            f"nodes.{resource['group']}.memory"
        )
