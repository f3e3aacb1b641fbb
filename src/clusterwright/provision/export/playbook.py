"""The playbook for Ansible: what `wright apply` does, in the same order, with modules of ansible-core alone.

All hosts run one task before any runs the next, so a service runs before its clients start. Unlike `wright apply`,
the playbook does not test Slurm's daemons with the new files first, drain hosts, save files for a rollback, or remove
what has left the cluster file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.provision.export.accounts import SCRIPT
from clusterwright.provision.export.fold import ALL
from clusterwright.provision.export.inventory import group_of
from clusterwright.provision.export.places import Places
from clusterwright.provision.export.steps import ExportStep, of_kind, widest
from clusterwright.provision.export.tasks import BUILTIN, restart, restart_name, running, task_of
from clusterwright.provision.resources import Directory, File, Package, Sysctl, Unit
from clusterwright.provision.roles.training import LIBRARY

Task = dict[str, Any]

_DATABASE = ("mariadb.service", "slurmdbd.service")
_EXISTING_FOLDERS = {"/etc", "/etc/default", "/etc/systemd/system"}  # on every host of any distribution
SYSCTL_FOLDER, HOST_NAME, UNIT_FOLDER = "/etc/sysctl.d/", "/etc/hostname", "/etc/systemd/system/"
NAMED, LOADED = "set the host's name", "load the kernel's settings"
RELOAD_UNIT_FILES = "read the unit files again"


def playbook(cluster: Cluster, all_steps: Sequence[ExportStep], files: Places) -> list[Task]:
    """Return Ansible's site.yaml: one play with packages, resources by role, restarts, units, and the library."""
    units = [unit for _step, unit in of_kind(all_steps, Unit)]
    early_steps = [step for step in all_steps if getattr(step.resource, "early", False)]
    late_steps = [step for step in all_steps if step not in early_steps]
    tasks = [
        *_folders(cluster, all_steps),
        *_resources(cluster, early_steps, files, units),
        *_packages(cluster, early_steps),
        *_packages(cluster, late_steps),
        *_resources(cluster, late_steps, files, units),
        *_accounts(cluster, all_steps),
        {"name": "restart what reads what has changed", "meta": "flush_handlers"},
        *_units(cluster, all_steps),
        *_limits(cluster),
        *_library(),
    ]
    play = {"name": f"cluster {cluster.name}", "hosts": "all", "gather_facts": False}
    return [play | {"tasks": tasks, "handlers": _handlers(cluster, all_steps)}]


def _packages(cluster: Cluster, all_steps: Sequence[ExportStep]) -> list[Task]:
    """Return the tasks that install packages: one for each set of hosts, with all packages that exactly these need."""
    dnf = cluster.platform.package_manager == "dnf"
    rows: dict[tuple[str, ...], list[str]] = {}
    for step, package in of_kind(all_steps, Package):
        rows.setdefault(step.hosts, []).append(package.name + _version(package, dnf=dnf))
    lean = {"install_weak_deps": False} if dnf else {"install_recommends": False}
    return [
        {
            "name": "packages",
            f"{BUILTIN}.{'dnf' if dnf else 'apt'}": {"name": names, "state": "present", **lean},
            **_condition(cluster, hosts),
            "tags": ["packages"],
        }
        for hosts, names in rows.items()
    ]


def _version(package: Package, *, dnf: bool) -> str:
    """Return what follows a package's name for its version, such as `=24.11*` (apt) or `-24.11*` (dnf); "" for any.

    For apt it matches any epoch of packages in a set, because some vendor packages have one.
    """
    if not package.version:
        return ""
    built_for = f"{package.built_for}*" if package.built_for else ""
    epoch = "*" if package.set_name and not dnf else ""
    return f"{'-' if dnf else '='}{epoch}{package.version}*{built_for}"


def _folders(cluster: Cluster, all_steps: Sequence[ExportStep]) -> list[Task]:
    """Return the tasks that create parent folders that no role declares, because Ansible's copy creates none."""
    role_folders = {folder.path for _step, folder in of_kind(all_steps, Directory)}
    rows: dict[tuple[str, ...], dict[str, None]] = {}
    for step, file in of_kind(all_steps, File):
        folder = str(PurePosixPath(file.path).parent)
        if folder not in role_folders | _EXISTING_FOLDERS:
            rows.setdefault(step.hosts, {})[folder] = None
    return [
        {
            "name": "folders",
            f"{BUILTIN}.command": {"argv": ["mkdir", "--parents", *folders]},
            "changed_when": False,
            **_condition(cluster, hosts),
        }
        for hosts, folders in rows.items()
    ]


def _resources(
    cluster: Cluster, all_steps: Sequence[ExportStep], files: Places, units: Sequence[Unit]
) -> list[Task]:
    tasks = []
    for step in all_steps:
        task = task_of(step.resource, files.source(step.resource))
        if task is not None:
            notified = [restart_name(unit) for unit in units if step.resource.id in unit.restart_on]
            notified += _settings(step)
            tasks.append(task | _condition(cluster, step.hosts) | ({"notify": notified} if notified else {}))
    return tasks


def _settings(step: ExportStep) -> list[str]:
    """Return the name of the handler that a host name, sysctl or unit file notifies, in a list.

    Empty for other resources.
    """
    if not isinstance(step.resource, File):
        return []
    path = step.resource.path
    for prefix, handler in ((HOST_NAME, NAMED), (SYSCTL_FOLDER, LOADED), (UNIT_FOLDER, RELOAD_UNIT_FILES)):
        if path.startswith(prefix):
            return [handler]
    return []


def _accounts(cluster: Cluster, all_steps: Sequence[ExportStep]) -> list[Task]:
    """Return the tasks that start munge, MariaDB and slurmdbd, then create the names of accounting.

    They run before slurmctld starts, which exits if slurmdbd is down or a name is unknown.
    """
    if cluster.accountant is None:
        return []
    database_steps = [
        step for step in all_steps if isinstance(step.resource, Unit) and step.resource.name in _DATABASE
    ]
    read = {"name": "new units", f"{BUILTIN}.systemd_service": {"daemon_reload": True}}
    script = {"name": "names of accounts", f"{BUILTIN}.script": f"{SCRIPT} names", "changed_when": False}
    condition = _condition(cluster, [cluster.accountant.name])
    return [read | condition, *_units(cluster, [*_munge(all_steps), *database_steps]), script | condition]


def _limits(cluster: Cluster) -> list[Task]:
    """Return the task that sets limits in accounting, in a list; it runs after slurmctld has registered its TRES.

    Empty without accounting.
    """
    if cluster.accountant is None:
        return []
    script = {"name": "accounts", f"{BUILTIN}.script": SCRIPT, "changed_when": False}
    return [script | _condition(cluster, [cluster.accountant.name])]


def _munge(all_steps: Sequence[ExportStep]) -> list[ExportStep]:
    """Return the steps with munge's unit; slurmdbd needs munge to authenticate clients."""
    return [
        step
        for step in all_steps
        if isinstance(step.resource, Unit) and step.resource.name == "munge.service"
    ]


def _units(cluster: Cluster, all_steps: Sequence[ExportStep]) -> list[Task]:
    """Return the tasks that enable and start units; handlers have started most of them already."""
    return [
        task | _condition(cluster, step.hosts)
        for step, unit in of_kind(all_steps, Unit)
        for task in running(unit)
    ]


def _library() -> list[Task]:
    """Return the task for the library that `wright train` uses on hosts."""
    folder = {"path": LIBRARY, "state": "directory", "owner": "root", "group": "root", "mode": "0755"}
    unpacked = {"src": "library.tar", "dest": LIBRARY, "owner": "root", "group": "root"}
    return [
        {"name": LIBRARY, f"{BUILTIN}.file": folder, "tags": ["library"]},
        {"name": "library", f"{BUILTIN}.unarchive": unpacked, "tags": ["library"]},
    ]


def _handlers(cluster: Cluster, all_steps: Sequence[ExportStep]) -> list[Task]:
    """Return the handlers in execution order: host name, kernel settings, daemon-reload, then units in role order."""
    name = {"name": NAMED, f"{BUILTIN}.command": {"argv": ["hostname", "{{ inventory_hostname }}"]}}
    files = [
        f"{file.path}" for _step, file in of_kind(all_steps, File) if file.path.startswith(SYSCTL_FOLDER)
    ]
    command = {"argv": ["sysctl", "--quiet", "--load", *files]}
    loaded = {"name": LOADED, f"{BUILTIN}.command": command, "failed_when": False}  # a kernel may lack one
    units = [restart(unit) | _condition(cluster, step.hosts) for step, unit in of_kind(all_steps, Unit)]
    read = {"name": RELOAD_UNIT_FILES, f"{BUILTIN}.systemd_service": {"daemon_reload": True}}
    return [name, *([loaded] if of_kind(all_steps, Sysctl) and files else []), read, *units]


def _condition(cluster: Cluster, hosts: Sequence[str]) -> Task:
    """Return the condition `when` of an Ansible task, which selects exactly these hosts; {} for all hosts."""
    places = widest(cluster, hosts)
    if places == (ALL,):
        return {}
    groups = [scope for scope in places if not scope.startswith("hosts/")]
    conditions = [f"'{group_of(cluster, scope)}' in group_names" for scope in groups]
    host_names = [scope.removeprefix("hosts/") for scope in places if scope.startswith("hosts/")]
    conditions += [f"inventory_hostname in {host_names}"] if host_names else []
    return {"when": " or ".join(conditions)}
