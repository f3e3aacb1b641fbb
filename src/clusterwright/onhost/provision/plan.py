"""Computes every change that a host needs; changes nothing.

Standard library only, Python 3.6 or later.
"""

import hashlib
from typing import Callable, Container, Dict, List, Optional

from clusterwright.onhost.provision import drift, files, packages, records, system, units
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.derive import derived
from clusterwright.onhost.provision.host import ChangeError, Json, LocalHost, read
from clusterwright.onhost.provision.storage import disks, mountpoint
from clusterwright.onhost.provision.timings import step

Planner = Callable[[LocalHost, Json], Optional[Json]]

PLANNERS: Dict[str, Planner] = {
    "file": files.plan_file,
    "directory": files.plan_directory,
    "symlink": files.plan_symlink,
    "group": system.plan_group,
    "user": system.plan_user,
    "sysctl": system.plan_sysctl,
    "module": system.plan_module,
    "hold": packages.plan_hold,
    "hardware": system.check_hardware,
    "mountpoint": lambda host, resource: mountpoint.check_mountpoint(host, resource),  # noqa: PLW0108 (the module loads on first use)
    "disks": lambda host, resource: disks.plan_disks(host, resource),  # noqa: PLW0108 (the module loads on first use)
}

# Units of the system, which we only reload: without sshd the host would be unreachable.
ALWAYS = ("ssh.service", "sshd.service", "systemd-journald.service")
READ_UNIT_FILES = dict(new_change("reload systemd's unit files", Verb.DAEMON_RELOAD), id="systemd")


def plan(host: LocalHost) -> List[Json]:
    """Return every change in the order of an apply: packages, resources, removals, units, records."""
    if of_kinds(host, ("derived",)):  # most hosts have none, and do not load the modules
        with step("derived files"):
            derived.work_out(host)
    with step("read records"):
        queries = records.begin(host) if of_kinds(host, ("records",)) else {}
    early = [resource for resource in of_kinds(host, ("file",)) if resource["early"]]
    with step("compare packages"):
        of_packages = packages.plan_packages(host) or packages.plan_interrupted(host)
    changes = plan_resources(host, early) + of_packages
    changes += plan_resources(
        host, [resource for resource in of_kinds(host, PLANNERS) if resource not in early]
    )
    if host.bundle.get(
        "removes", True
    ):  # with `manage`, roles that are no longer managed keep what they have
        changes += system.plan_user_removals(host) + plan_unit_removals(host) + plan_file_removals(host)
    changes += unit_changes(host, of_kinds(host, ("unit",)), changes)
    for resource in of_kinds(host, ("records",)):
        changes += [dict(change, id=resource["id"]) for change in records.plan_rows(host, resource, queries)]
    now = drift.digests(host)
    return [dict(change, drift=drift.cause(host, change, now)) for change in changes]


def of_kinds(host: LocalHost, kinds: Container[str]) -> List[Json]:
    """Return the host's desired resources of these kinds, in the bundle's order."""
    return [resource for resource in host.resources if resource["kind"] in kinds]


def plan_resources(host: LocalHost, resources: List[Json]) -> List[Json]:
    """Return the changes that these resources need, in their order."""
    rows = [(resource["id"], plan_resource(host, resource)) for resource in resources]
    return [dict(change, id=name) for name, change in rows if change]


def plan_resource(host: LocalHost, resource: Json) -> Optional[Json]:
    """Return the change that a resource needs, None without.

    Raises:
        ChangeError: it cannot be planned; `host` as the place of the fault, since the cause is on this host.
    """
    try:
        return PLANNERS[resource["kind"]](host, resource)
    except (
        ChangeError,
        OSError,
    ) as error:  # the cause is on this host: an account with another id, say
        raise ChangeError(f"{resource['id']}: {error}", "host") from error


@step("compare units")
def unit_changes(host: LocalHost, desired_units: List[Json], prior_changes: List[Json]) -> List[Json]:
    """Return the daemon-reload if systemd has old unit files loaded, then the change of each unit that needs one.

    A unit's inputs include files that the last apply had and the cluster file no longer has.
    """
    changed = {change["id"].replace("gone:", "file:", 1) for change in prior_changes} | host.owed
    gentle = {change["id"] for change in prior_changes if change["cost"] == "reconfigure"} | host.owed_reloads
    gentle -= host.owed - host.owed_reloads
    replaced_units = [name for unit in desired_units for name in unit.get("replaces", ())]
    states = host.states = units.show([unit["name"] for unit in desired_units] + replaced_units)
    unread = any(state.get("NeedDaemonReload") == "yes" for state in states.values())
    unread = unread or any(change["id"].startswith("gone:/etc/systemd/system/") for change in prior_changes)
    changes = [READ_UNIT_FILES] if unread else []
    for unit in desired_units:
        old = host.receipt.get("readers", {}).get(unit["name"], {}).get("restart_on", [])
        inputs = unit["restart_on"] + [name for name in old if name not in unit["restart_on"]]
        change = units.plan_unit(
            dict(unit, restart_on=inputs), states[unit["name"]], changed, gentle, units.replaced(unit, states)
        )
        if change:
            changes.append(dict(change, id=unit["id"]))
    return changes


def plan_unit_removals(host: LocalHost) -> List[Json]:
    """Return changes that stop and disable units of earlier applies that are no longer desired.

    A unit that another one replaces is left to that one's change.
    """
    desired_names = {
        name for unit in of_kinds(host, ("unit",)) for name in (unit["name"], *unit.get("replaces", ()))
    }
    ours = host.receipt["units"] + [name for name in host.started if name not in host.receipt["units"]]
    obsolete_units = [
        name for name in ours if name not in (*desired_names, *ALWAYS) and units.is_loaded(name)
    ]
    stop = new_change("stop, disable", Verb.STOP, Verb.DISABLE, cost="restart")
    return [dict(stop, id="gone-unit:" + name) for name in obsolete_units]


def plan_file_removals(host: LocalHost) -> List[Json]:
    """Return changes that remove files of earlier applies that are no longer desired.

    A file edited since stays, with a note.
    """
    desired_paths = {file["path"] for file in of_kinds(host, ("file",))}
    changes = []
    for path in sorted({*host.receipt["files"], *host.written} - desired_paths):
        content = read(host.resolve_path(path))
        if content is None:
            continue
        ours = (host.receipt["files"].get(path, {}).get("sha256"), host.written.get(path))
        if hashlib.sha256(content).hexdigest() in ours:
            changes.append(dict(new_change("remove", Verb.REMOVE), id="gone:" + path))
        else:
            host.notes.append(
                f"{path} is no longer desired, but was edited after the last apply: not removed"
            )
    return changes
