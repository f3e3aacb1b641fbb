"""One resource as a task for Ansible: modules of ansible-core, and its `command` where it has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterwright.provision.resources import (
    Directory,
    File,
    Group,
    Hold,
    Module,
    Resource,
    Symlink,
    Unit,
    User,
)

BUILTIN = "ansible.builtin"
Task = dict[str, Any]


def task_of(resource: Resource, source: str) -> Task | None:
    """Return the Ansible task of a resource; None for kinds handled elsewhere or not at all.

    `source` is the path of a file on the machine that runs Ansible.
    """
    if isinstance(resource, File):
        return _file(resource, source)
    make = _KINDS.get(type(resource))
    return make(resource) if make else None


def _file(file: File, source: str) -> Task:
    copy = {
        "src": source,
        "dest": file.path,
        "owner": file.owner,
        "group": file.group,
        "mode": _mode(file.mode),
    }
    if file.validate:
        copy["validate"] = " ".join(file.validate).replace("{}", "%s")
    task: Task = {"name": file.path, f"{BUILTIN}.copy": copy}
    return task | {"no_log": True} if file.secret else task


def _directory(folder: Directory) -> Task:
    rights = {"owner": folder.owner, "group": folder.group, "mode": _mode(folder.mode)}
    return {"name": folder.path, f"{BUILTIN}.file": {"path": folder.path, "state": "directory", **rights}}


def _symlink(link: Symlink) -> Task:
    module_args = {"dest": link.path, "src": link.target, "state": "link", "force": True}
    return {"name": link.path, f"{BUILTIN}.file": module_args}


def _group(group: Group) -> Task:
    if group.system:
        return _create_if_missing("group", group.name, f"groupadd --system --gid {group.gid} {group.name}")
    return {"name": f"group {group.name}", f"{BUILTIN}.group": {"name": group.name, "gid": group.gid}}


def _user(user: User) -> Task:
    if user.system:
        home = "--no-create-home --home-dir /nonexistent --shell /bin/false"
        command = f"useradd --system {home} --uid {user.uid} --gid {user.group} {user.name}"
        return _create_if_missing("passwd", user.name, command)
    module_args = {"name": user.name, "uid": user.uid, "group": user.group, "shell": "/bin/bash"}
    if user.groups:
        module_args |= {"groups": list(user.groups), "append": True}
    return {"name": f"user {user.name}", f"{BUILTIN}.user": module_args}


def _create_if_missing(database: str, name: str, command: str) -> Task:
    """Return the Ansible task that runs `command` if getent knows no such entry (a package may have made it)."""
    text = f"getent {database} {name} >/dev/null || {{ {command} && echo made; }}"
    shell = {"name": f"{database} entry {name}", f"{BUILTIN}.shell": text, "register": "entry"}
    return shell | {"changed_when": "'made' in entry.stdout"}


def _package_hold(packages: Hold) -> Task:
    newly = "held.stdout is search('(?m)^(\\\\S+ set on hold|Adding versionlock)')"
    task = {"name": "packages that are held", f"{BUILTIN}.shell": hold_command(packages), "register": "held"}
    return task | {"changed_when": newly}


def hold_command(packages: Hold) -> str:
    """Return the command that holds packages (apt-mark or versionlock) and prints newly held ones."""
    patterns = " ".join(f"'{pattern}'" for pattern in packages.patterns)
    listed = f"dpkg-query --show --showformat '${{db:Status-Status}} ${{Package}}\\n' {patterns} 2>/dev/null"
    apt = f"{listed} | sed -n 's/^installed //p' | xargs --no-run-if-empty apt-mark hold"
    return f"if command -v dnf >/dev/null; then dnf -q versionlock add {patterns}; else {apt}; fi"


def _module(module: Module) -> Task:
    sys_path = f"/sys/module/{module.name.replace('-', '_')}"
    command = {"argv": ["modprobe", module.name], "creates": sys_path}
    return {"name": f"kernel module {module.name}", f"{BUILTIN}.command": command}


_KINDS: dict[type, Callable[[Any], Task]] = {
    Directory: _directory,
    Symlink: _symlink,
    Group: _group,
    User: _user,
    Module: _module,
    Hold: _package_hold,
}


def running(unit: Unit) -> list[Task]:
    """Return the tasks that enable and start the unit, then stop and disable the units that it replaces."""
    module_args = {"name": unit.name, "enabled": True, "state": "started"}
    tasks: list[Task] = [{"name": unit.name, f"{BUILTIN}.systemd_service": module_args}]
    for replaced_unit in unit.replaces:
        stop_args = {"name": replaced_unit, "enabled": False, "state": "stopped"}
        absent = "there is failed and 'Could not find' not in there.msg"
        task = {"name": f"{replaced_unit} off", f"{BUILTIN}.systemd_service": stop_args, "register": "there"}
        tasks.append(task | {"failed_when": absent})
    return tasks


def restart(unit: Unit) -> Task:
    """Return the Ansible handler that restarts or reloads a unit."""
    if unit.reload:
        command = {"argv": ["systemctl", "reload-or-restart", "--", unit.name]}
        return {"name": restart_name(unit), f"{BUILTIN}.command": command}
    return {
        "name": restart_name(unit),
        f"{BUILTIN}.systemd_service": {"name": unit.name, "state": "restarted"},
    }


def restart_name(unit: Unit) -> str:
    """Return the name of the unit's handler, which tasks notify."""
    return f"{'reload' if unit.reload else 'restart'} {unit.name}"


def _mode(mode: int) -> str:
    return f"{mode:04o}"
