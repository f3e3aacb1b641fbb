"""The one who holds the switch reaches every host that may be switched off."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from clusterwright.config.cluster import Cluster
from clusterwright.config.power_saving import Ipmi, LabPower, PowerSaving, Redfish
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._unknown import unknown

_AT = ("slurm", "power_saving")
_BMC = (*_AT, "provider", "bmc")


def power_provider(cluster: Cluster) -> Iterator[Clash]:
    """A lab's switch is a lab's; each group has its management controllers; some hosts are left to switch off."""
    saving = cluster.slurm.power_saving
    if saving is None or saving.provider is None:
        return
    if isinstance(saving.provider, LabPower) and cluster.lab is None:
        yield Clash(
            "power-not-a-lab",
            "the lab's own switch is to hold the power of hosts that are no lab's",
            "name another provider, such as kind: redfish; or add a `lab:` section",
            ((*_AT, "provider", "kind"),),
        )
    if isinstance(saving.provider, Redfish | Ipmi):
        yield from _controllers(cluster, saving, saving.provider)
    switched = sum(len(cluster.nodes[name].names()) for name in _switched(cluster, saving))
    if saving.spares > switched:
        yield Clash(
            "power-spares",
            f"{saving.spares} idle hosts are to be kept on, and {switched} are ever switched off",
            f"lower it to {switched}",
            ((*_AT, "spares"),),
        )


def _switched(cluster: Cluster, saving: PowerSaving) -> list[str]:
    return [
        name for name, group in cluster.nodes.items() if group.role == "compute" and name not in saving.keep
    ]


def _controllers(cluster: Cluster, saving: PowerSaving, provider: Redfish | Ipmi) -> Iterator[Clash]:
    switched = _switched(cluster, saving)
    for name in provider.bmc:
        if name not in cluster.nodes:
            yield unknown("power_saving", "node group", name, switched, ((*_BMC, name), ("nodes",)))
    for name in switched:
        if name not in provider.bmc:
            yield Clash(
                "power-no-controller",
                f"hosts of `{name}` are switched off, and their management controllers are not named",
                f"add the address of its first host's: bmc: {{{name}: ADDRESS}}; or keep `{name}` on",
                (_BMC, ("nodes", name)),
            )
    yield from _shared(cluster, provider)


def _shared(cluster: Cluster, provider: Redfish | Ipmi) -> Iterator[Clash]:
    """No two hosts have one management controller, and none has the address of a host."""
    taken: dict[IPv4Address, str] = {
        address: f"host {host}"
        for name, group in cluster.nodes.items()
        for index, host in group.places()
        for address in [first + index for first in group.addresses.values()]
    }
    for name in [name for name in provider.bmc if name in cluster.nodes]:
        for index, host in cluster.nodes[name].places():
            address = provider.bmc[name] + index
            if address in taken:
                yield Clash(
                    "power-controller-taken",
                    f"{address} would be the management controller of {host}, and is that of {taken[address]}",
                    "give each group a first address with room for its hosts, in the controllers' own network",
                    ((*_BMC, name), ("nodes", name)),
                )
                break
            taken[address] = host
