"""The whole tree: every file of every host, as text."""

from __future__ import annotations

from clusterwright.build.resources import File, Given
from clusterwright.build.roles import wanted
from clusterwright.spec.cluster import Cluster


def tree(cluster: Cluster, given: Given) -> dict[str, dict[str, str]]:
    """`{host: {path: text}}`; a secret is its name only, as `<secret munge.key>`."""
    return {
        host.name: {
            resource.path: _text(resource)
            for resource in wanted(cluster, host, given)
            if isinstance(resource, File)
        }
        for host in cluster.hosts()
    }


def _text(file: File) -> str:
    if file.secret:
        return f"<secret {file.secret}>\n"
    return file.content if isinstance(file.content, str) else file.content.decode()
