"""The whole tree: every file of every host, as text."""

from __future__ import annotations

import json

from clusterwright.config.cluster import Cluster
from clusterwright.provision.resources import Derived, File, Resource, RoleContext
from clusterwright.provision.roles import managed_roles

Texts = dict[str, str]


def tree(cluster: Cluster, context: RoleContext) -> dict[str, Texts]:
    """Return `{host: {path: text}}` of the files that roles write; a secret is shown as its name: `<secret munge.key>`.

    A file that the host computes is shown as the inputs of its program.
    """
    texts_by_host: dict[str, Texts] = {}
    last: dict[tuple[str, str], tuple[tuple[Resource, ...], Texts]] = {}
    for host in cluster.hosts():
        texts = texts_by_host[host.name] = {}
        for name, role in managed_roles(cluster).items():
            answer, key = role(cluster.on(host), host, context), (name, host.group_name)
            if key not in last or last[key][0] is not answer:  # most roles answer once for a whole group
                last[key] = (answer, _texts(answer))
            texts.update(last[key][1])
    return texts_by_host


def _texts(resources: tuple[Resource, ...]) -> Texts:
    return {resource.path: _text(resource) for resource in resources if isinstance(resource, File | Derived)}


def _text(file: File | Derived) -> str:
    if isinstance(file, Derived):
        params = json.dumps(file.params, indent=1, sort_keys=True)
        return (
            f"{file.header}<worked out on the host by {file.program} from what it has and this>\n{params}\n"
        )
    if file.secret:
        return f"<secret {file.secret}>\n"
    return file.content if isinstance(file.content, str) else file.content.decode()
