"""What jobs import: our agent, runtime and recipes, at the same place on every host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Given, Resource

AFTER = ("base",)

LIBRARY = "/opt/clusterwright/lib"


@alike
def training(_cluster: Cluster, _host: Host, given: Given) -> tuple[Resource, ...]:
    """Plain files that running jobs have already read: changing them costs nothing."""
    return tuple(File(path=f"{LIBRARY}/{path}", content=text) for path, text in sorted(given.payload.items()))
