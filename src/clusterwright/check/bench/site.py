"""What a bench is given: the cluster file, the hosts on stage, and what each said of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.check.bench.measure import Measurement
from clusterwright.check.bench.stage import Stage
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.networks import Network, NetworkName

# Under Linux's ephemeral range (32768), away from Slurm's daemons (6817 to 6819) and its srun ports (60001 on);
# each order has ports of its own, since a server of the one before may still be there.
FIRST_PORT, PORTS, PORTS_AN_ORDER = 20000, 8000, 8


@dataclass(frozen=True, slots=True)
class Site:
    """The hosts on stage, and what is known of them."""

    cluster: Cluster
    stage: Stage
    facts: Mapping[str, Mapping[str, Any]]
    log: Callable[[str], None] = lambda _text: None
    lasts_s: int = 0  # a burn-in
    check: Callable[[], list[Verdict]] = list  # what `wright check --on burn-in` says of the hosts now

    @property
    def network_name(self) -> NetworkName:
        """The network that gradients take."""
        return "compute" if self.cluster.networks.compute else "management"

    @property
    def network(self) -> Network:
        """As the file declares it."""
        return self.cluster.networks.named()[self.network_name]

    @property
    def rate_divisor(self) -> int:
        """How much slower a lab's links are than the file says; 1 elsewhere."""
        return self.cluster.lab.rate_divisor if self.cluster.lab else 1

    def address(self, host: str) -> str:
        """The host's address on that network."""
        return str(self.host(host).addresses[self.network_name])

    def host(self, name: str) -> Host:
        """As the file declares it."""
        return self.cluster.host(name)

    def have(self, tool: str) -> bool:
        """True when every host on stage has the program."""
        return all(self.facts[host]["tools"].get(tool) for host in self.stage.hosts)

    def hosts_missing(self, tool: str) -> tuple[str, ...]:
        """Hosts on stage that lack it."""
        return tuple(host for host in self.stage.hosts if not self.facts[host]["tools"].get(tool))


def port(order: int) -> int:
    """The first of the ports of an order."""
    return FIRST_PORT + order * PORTS_AN_ORDER % PORTS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a bench came to."""

    measurements: tuple[Measurement, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = field(default=())
