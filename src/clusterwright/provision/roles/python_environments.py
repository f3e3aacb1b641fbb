"""Python environments of teams, created on the control host under the account of a member."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.environments import PythonEnvironment
from clusterwright.provision.packages import packages
from clusterwright.provision.resources import Directory, File, Resource, RoleContext, Unit
from clusterwright.provision.roles.training import LIBRARY

DEPENDENCIES = ("base", "accounts", "shared_folders", "training")

FOLDER = "/opt/clusterwright/environments"


def python_environments(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the Python environments, for the first control host only; nothing without any.

    Each has a unit of its own: one team's failing packages do not block other teams.
    """
    environments = cluster.environments.python
    if host.name != cluster.control.name or not environments:
        return ()
    venv = any(environment.kind == "venv" for environment in environments.values())
    parents = sorted({str(PurePosixPath(environment.path).parent) for environment in environments.values()})
    return (
        *(packages(cluster, "python3-venv") if venv else ()),
        *(Directory(path=parent, mode=0o1777) for parent in parents),
        *(
            part
            for name, environment in environments.items()
            for part in _environment_resources(cluster, name, environment, context.header())
        ),
    )


def owner(cluster: Cluster, environment: PythonEnvironment) -> str | None:
    """Return the account that creates the environment: its `owner`, else the first member of its team.

    None without one.
    """
    members = [
        name
        for name, user in cluster.users.items()
        if environment.team in (user.team, *user.additional_teams)
    ]
    return environment.owner or next(iter(members), None)


def _environment_resources(
    cluster: Cluster, name: str, environment: PythonEnvironment, header: str
) -> tuple[Resource, ...]:
    document = {"name": name, **environment.model_dump(mode="json", exclude={"team", "owner"})}
    spec_file = File(path=f"{FOLDER}/{name}.json", content=json.dumps(document, indent=1) + "\n")
    unit = f"clusterwright-python-{name}.service"
    text = f"""{header}[Unit]
Description=Python environment {name} in {environment.path}
RequiresMountsFor={environment.path}
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
User={owner(cluster, environment)}
Group={environment.team}
UMask=0002
Environment=PYTHONPATH={LIBRARY}
ExecStart=/usr/bin/python3 -m clusterwright.onhost.containers.make_python {spec_file.path}

[Install]
WantedBy=multi-user.target
"""
    file = File(path=f"/etc/systemd/system/{unit}", content=text)
    return (spec_file, file, Unit(name=unit, restart_on=(spec_file.id, file.id), independent=True))
