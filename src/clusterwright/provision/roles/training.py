"""The library that jobs import: agent, runtime and recipes, at the same path on every host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Resource, RoleContext

DEPENDENCIES = ("base",)

LIBRARY = "/opt/clusterwright/lib"


@alike
def training(_cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the files of the library that jobs import. Running jobs have loaded them, so a change costs nothing."""
    return tuple(
        File(path=f"{LIBRARY}/{path}", content=text) for path, text in sorted(context.payload.items())
    )
