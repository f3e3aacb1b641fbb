"""Python environments of teams, made on the control host by one of their members."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.environments import PythonEnvironment
from clusterwright.provision.packages import packages
from clusterwright.provision.resources import Directory, File, Given, Resource, Unit
from clusterwright.provision.roles.training import LIBRARY

AFTER = ("base", "accounts", "shared_folders", "training")

FOLDER = "/opt/clusterwright/environments"


def python_environments(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """A unit each, which stands alone: packages of one team that cannot be had keep nothing from the others."""
    wanted = cluster.environments.python
    if host.name != cluster.control.name or not wanted:
        return ()
    venv = any(one.kind == "venv" for one in wanted.values())
    parents = sorted({str(PurePosixPath(one.path).parent) for one in wanted.values()})
    return (
        *(packages(cluster, "python3-venv") if venv else ()),
        *(Directory(path=parent, mode=0o1777) for parent in parents),
        *(part for name, one in wanted.items() for part in _made(cluster, name, one, given.header())),
    )


def owner(cluster: Cluster, one: PythonEnvironment) -> str | None:
    """Who makes it: as the file says, or the first member of the team."""
    members = [name for name, user in cluster.users.items() if one.team in (user.team, *user.also_in)]
    return one.owner or next(iter(members), None)


def _made(cluster: Cluster, name: str, one: PythonEnvironment, header: str) -> tuple[Resource, ...]:
    told = {"name": name, **one.model_dump(mode="json", exclude={"team", "owner"})}
    said = File(path=f"{FOLDER}/{name}.json", content=json.dumps(told, indent=1) + "\n")
    unit = f"clusterwright-python-{name}.service"
    text = f"""{header}[Unit]
Description=Python environment {name} in {one.path}
RequiresMountsFor={one.path}
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
User={owner(cluster, one)}
Group={one.team}
UMask=0002
Environment=PYTHONPATH={LIBRARY}
ExecStart=/usr/bin/python3 -m clusterwright.onhost.containers.make_python {said.path}

[Install]
WantedBy=multi-user.target
"""
    file = File(path=f"/etc/systemd/system/{unit}", content=text)
    return (said, file, Unit(name=unit, restart_on=(said.id, file.id), alone=True))
