"""The whole tree: every file of every host, as text."""

from __future__ import annotations

import json

from clusterwright.config.cluster import Cluster
from clusterwright.provision.resources import Derived, File, Given, Resource
from clusterwright.provision.roles import roles

Texts = dict[str, str]


def tree(cluster: Cluster, given: Given) -> dict[str, Texts]:
    """`{host: {path: text}}`; a secret is its name only, as `<secret munge.key>`."""
    found: dict[str, Texts] = {}
    last: dict[tuple[str, str], tuple[tuple[Resource, ...], Texts]] = {}
    for host in cluster.hosts():
        texts = found[host.name] = {}
        for name, role in roles().items():
            answer, place = role(cluster, host, given), (name, host.group_name)
            if place not in last or last[place][0] is not answer:  # most roles answer once for a whole group
                last[place] = (answer, _texts(answer))
            texts.update(last[place][1])
    return found


def _texts(resources: tuple[Resource, ...]) -> Texts:
    return {resource.path: _text(resource) for resource in resources if isinstance(resource, File | Derived)}


def _text(file: File | Derived) -> str:
    if isinstance(file, Derived):
        given = json.dumps(file.given, indent=1, sort_keys=True)
        return f"{file.header}<worked out on the host by {file.program} from what it has and this>\n{given}\n"
    if file.secret:
        return f"<secret {file.secret}>\n"
    return file.content if isinstance(file.content, str) else file.content.decode()
