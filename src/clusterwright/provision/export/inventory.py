"""The inventory for Ansible: every host once, in a group for its node group, those in one for their role."""

from __future__ import annotations

import re
from typing import Any

from clusterwright.config.cluster import Cluster

Tree = dict[str, Any]


def inventory(cluster: Cluster) -> Tree:
    """Return Ansible's inventory: a group per role, in it one per node group; addresses are host variables."""
    roles = {group.role: {"children": {}} for group in cluster.nodes.values()}  # type: dict[str, Tree]
    groups = {}  # type: Tree
    for name, group in cluster.nodes.items():
        roles[group.role]["children"][group_of(cluster, f"groups/{name}")] = {}
        hosts = {
            host.name: {f"address_{net}": str(address) for net, address in host.addresses.items()}
            for host in cluster.hosts()
            if host.group_name == name
        }
        groups[group_of(cluster, f"groups/{name}")] = {
            "vars": {"node_group": name, "node_role": group.role},
            "hosts": hosts,
        }
    named = {f"role_{role}": children for role, children in roles.items()}
    return {"all": {"vars": _access(cluster), "children": named | groups}}


def group_of(cluster: Cluster, scope: str) -> str:
    """Return the name of the Ansible group for `roles/ROLE` or for a node group: letters, digits and `_`.

    Node groups whose names would be equal get a number.
    """
    kind, _, name = scope.partition("/")
    if kind == "roles":
        return f"role_{name}"
    safe_names = {group_name: re.sub(r"[^A-Za-z0-9]", "_", group_name) for group_name in cluster.nodes}
    alike = [group_name for group_name, safe_name in safe_names.items() if safe_name == safe_names[name]]
    return f"group_{safe_names[name]}" + (f"_{alike.index(name) + 1}" if alike[1:] else "")


def _access(cluster: Cluster) -> Tree:
    """Return Ansible's variables for SSH logins and sudo that match the cluster file."""
    access: Tree = {"ansible_user": "root" if cluster.lab else cluster.ssh.user}
    if cluster.ssh_config:
        access["ansible_ssh_common_args"] = f"-F {cluster.ssh_config}"
    elif cluster.ssh.port != 22:
        access["ansible_port"] = cluster.ssh.port
    access["ansible_become"] = access["ansible_user"] != "root"
    access["ansible_python_interpreter"] = "/usr/bin/python3"
    return access
