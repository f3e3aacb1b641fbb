"""What distributions call things: packages, units and paths by the name that we use for them.

The name is Debian's; a table tells where another distribution differs. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.spec.cluster import Cluster

Family = Literal["debian", "rhel"]


@dataclass(frozen=True, slots=True)
class Distribution:
    """One distribution and release, as the cluster file's `os` names it: `ubuntu-22.04`."""

    name: str

    @property
    def family(self) -> Family:
        """Which package manager, which names."""
        return "rhel" if self.name.split("-")[0] in {"rocky", "alma"} else "debian"


def distribution(cluster: Cluster) -> Distribution:
    """The one that the cluster's hosts run."""
    return Distribution(cluster.os)
