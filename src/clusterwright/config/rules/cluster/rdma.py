"""What the `rdma` section asks can be had on these networks, with these drivers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rdma import Rdma, Roce
from clusterwright.config.rules._clash import Clash

_KINDS = ("infiniband", "roce")


def rdma(cluster: Cluster) -> Iterator[Clash]:
    """Drivers come from somewhere, packets fit the switches, settings of RoCE have a network, nics are one a rail."""
    yield from _nics(cluster)
    if cluster.rdma is not None:
        yield from _packages(cluster, cluster.rdma)
        yield from _packets(cluster, cluster.rdma)
        yield from _roce(cluster, cluster.rdma)


def _packages(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    if rdma.driver == "inbox" and rdma.driver_version is not None:
        yield Clash(
            "ofed-version",
            f"the distribution's own RDMA drivers are to be of version {rdma.driver_version}, and they have its "
            "kernel's",
            "leave driver_version out, or set rdma.driver to doca-ofed",
            (("rdma", "driver_version"), ("rdma", "driver")),
        )
    if rdma.driver != "inbox" and not cluster.software.repositories:
        yield Clash(
            "ofed-repository",
            f"{rdma.driver} comes from a repository of NVIDIA's or a copy of it, and the file names none",
            "add it to software.repositories, or set rdma.driver to inbox",
            (("rdma", "driver"), ("software", "repositories")),
        )


def _packets(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    for name, network in cluster.networks.named().items():
        if network.kind == "roce" and rdma.switch_mtu is not None and network.mtu > rdma.switch_mtu:
            yield Clash(
                "mtu-over-switch",
                f"packets of {network.mtu} bytes on the {name} network are larger than the {rdma.switch_mtu} that "
                "its switches carry",
                f"lower it to {rdma.switch_mtu}",
                (("networks", name, "mtu"), ("rdma", "switch_mtu")),
            )


def _roce(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    if rdma.roce != Roce() and all(one.kind != "roce" for one in cluster.networks.named().values()):
        yield Clash(
            "roce-unused",
            "rdma.roce says how RoCE is marked, and no network is RoCE",
            "take it out, or set `kind: roce` on the network that is",
            (("rdma", "roce"), ("networks",)),
        )


def _nics(cluster: Cluster) -> Iterator[Clash]:
    """Named devices are those of the compute network, one for each of its rails."""
    compute = cluster.networks.compute
    for name, group in cluster.nodes.items():
        if not group.nics:
            continue
        if compute is None or compute.kind not in _KINDS or "compute" not in group.addresses:
            kind = "no compute network" if compute is None else f"one of kind {compute.kind}"
            yield Clash(
                "nics-rails",
                f"group `{name}` names RDMA devices of the compute network, and the group has {kind}",
                "take nics out, or give the group an address on a compute network of kind infiniband or roce",
                (("nodes", name, "nics"), ("networks", "compute") if compute else ("networks",)),
            )
        elif len(group.nics) != compute.rails:
            yield Clash(
                "nics-rails",
                f"group `{name}` names {len(group.nics)} RDMA devices, and "
                f"networks.compute.rails is {compute.rails}",
                "name each rail's device once, in the order of the rails",
                (("nodes", name, "nics"), ("networks", "compute", "rails")),
            )
