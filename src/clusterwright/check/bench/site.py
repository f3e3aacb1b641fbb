"""What a bench gets: the cluster file, the hosts on the stage, and each host's facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.measure import Measurement
from clusterwright.check.bench.stage import Stage
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.networks import Network, NetworkName
from clusterwright.onhost.lib.ports import RUN_PORTS
from clusterwright.plan.learned_network import address_in, has_network_rate

# Each order has ports of its own, since a server of the previous order may still run.
FIRST_PORT, PORTS, PORTS_AN_ORDER = RUN_PORTS[0], RUN_PORTS[1] - RUN_PORTS[0] + 1, 8


@dataclass(frozen=True, slots=True)
class BenchSite:
    """The hosts on the stage, and their facts."""

    cluster: Cluster
    stage: Stage
    facts: Mapping[str, Mapping[str, Any]]
    log: Callable[[str], None] = lambda _text: None
    lasts_s: int = 0  # duration of a burn-in
    check: Callable[[], list[Verdict]] = list  # runs `wright check --on burn-in` on the hosts

    @property
    def network_name(self) -> NetworkName:
        """The name of the network that gradients use: `compute` if it is declared, else `management`."""
        return "compute" if self.cluster.networks.compute else "management"

    @property
    def network(self) -> Network:
        """The network that gradients use, as the cluster file declares it."""
        return self.cluster.networks.named()[self.network_name]

    @property
    def rate_divisor(self) -> int:
        """The factor by which a lab's links are slower than the cluster file declares; 1 on a real cluster."""
        return self.cluster.lab.rate_divisor if self.cluster.lab else 1

    def address(self, host: str) -> str:
        """Return the host's address on the network that gradients use.

        It is that of the cluster file; for an unmanaged cluster the one that the host reports, if any.

        Raises:
            KeyError: neither has one.
        """
        reported = (
            "" if self.cluster.unmanaged is None else address_in(self.facts[host]["interfaces"], self.network)
        )
        return reported or str(self.host(host).addresses[self.network_name])

    @property
    def has_network_rate(self) -> bool:
        """False on a cluster learned from Slurm without the user's facts of the network."""
        return has_network_rate(self.cluster)

    def host(self, name: str) -> Host:
        """Return the host of this name, as the cluster file declares it."""
        return self.cluster.host(name)

    def have(self, tool: str) -> bool:
        """Return True if every host on the stage has this program."""
        return all(self.facts[host]["tools"].get(tool) for host in self.stage.hosts)

    def hosts_missing(self, tool: str) -> tuple[str, ...]:
        """Return the hosts on the stage that lack the program."""
        return tuple(host for host in self.stage.hosts if not self.facts[host]["tools"].get(tool))


def port(order: int) -> int:
    """Return the first TCP port of the run with this number; each run of the workers has eight."""
    return FIRST_PORT + order * PORTS_AN_ORDER % PORTS


@dataclass(frozen=True, slots=True)
class BenchOutcome:
    """The result of a bench."""

    measurements: tuple[Measurement, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = field(default=())
