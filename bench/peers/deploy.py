"""A pyinfra deploy of an export's steps, each as a pyinfra operation; run by bench/apply_vs_peers.py."""

import json
from functools import partial
from pathlib import Path

from pyinfra import host
from pyinfra.operations import files, server, systemd

PLAN = json.loads(Path("plan.json").read_text())
changed = {}


def notify(step, operation):
    """Restart or reload the units that read a file, if it changed."""
    for unit in step["notify"]:
        changed.setdefault(unit, []).append(operation)


def any_of(operations):
    """Return whether any of these operations has changed something."""
    return any(operation.did_change() for operation in operations)


for step in host.loop(PLAN["steps"]):
    if host.name not in step["hosts"]:
        continue
    kind, want = step["kind"], step["want"]
    if kind == "file":
        src = step["sources"][host.name]
        notify(step, files.put(name=want["dest"], src=src, **want))
    elif kind == "directory":
        files.directory(name=want["path"], **want)
    elif kind == "symlink":
        files.link(name=want["path"], force=True, **want)
    elif kind == "group":
        server.group(name=f"group {want['group']}", **want)
    elif kind == "user":
        server.user(name=f"user {want['user']}", **want)
    elif kind == "hold":
        server.shell(**want)

for handler in host.loop(PLAN["handlers"]):
    operations = changed.get(handler["name"], [])
    if operations and host.name in handler["hosts"]:
        if handler["command"]:
            server.shell(
                name=handler["name"],
                commands=[handler["command"].replace("HOST", host.name)],
                _if=[partial(any_of, operations)],
            )
        else:
            systemd.service(
                name=handler["name"],
                service=handler["unit"],
                restarted=True,
                _if=[partial(any_of, operations)],
            )

for unit in host.loop(PLAN["units"]):
    if host.name in unit["hosts"]:
        systemd.service(name=unit["unit"], service=unit["unit"], running=True, enabled=True)
