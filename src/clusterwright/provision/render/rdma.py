"""Settings of programs for a host's RDMA networks, and its GPUDirect RDMA method."""

from __future__ import annotations

from typing import Any

from clusterwright.catalog.gpus import takes_open_modules
from clusterwright.catalog.software import version
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.networks import NetworkName
from clusterwright.provision.gpudirect import GpuDirect, gpudirect
from clusterwright.units import GB

RDMA_KINDS = ("infiniband", "roce")
FOLDER = "/etc/clusterwright"
TOPOLOGY = f"{FOLDER}/nccl-topology.xml"


def rdma_networks(cluster: Cluster, host: Host) -> tuple[NetworkName, ...]:
    """Return the names of the host's networks of kind infiniband or roce."""
    networks = cluster.networks.named()
    return tuple(name for name in host.addresses if networks[name].kind in RDMA_KINDS)


def network_of(cluster: Cluster, host: Host, name: NetworkName) -> dict[str, Any]:
    """Return a network in the form that the programs of onhost/provision/derive read."""
    networks = cluster.networks.named()
    network = networks[name]
    return {
        "name": name,
        "kind": network.kind,
        "subnet": str(network.subnet),
        "rails": network.rails,
        "gbits": network.rate / GB,
        "mtu": network.mtu,
        "fabric": network.fabric,
        "others": [str(other_network.subnet) for key, other_network in networks.items() if key != name],
        "nics": list(host.group.nics) if name == "compute" else [],
        "group": host.group_name,
    }


def rdma_params(cluster: Cluster, host: Host, prefix: str) -> dict[str, Any]:
    """Return the inputs for NCCL's and UCX's settings; `prefix` selects their variables.

    What the cluster file or the host lacks is None or empty.
    """
    rdma = cluster.rdma
    networks = rdma_networks(cluster, host)
    network_names = [name for name in ("compute", "management") if name in host.addresses]
    return {
        "network": network_of(cluster, host, "compute") if "compute" in networks else None,
        "addresses": {name: str(host.addresses[name]) for name in network_names},
        "variables": {name: text for name, text in cluster.jobs.variables.items() if name.startswith(prefix)},
        "roce": rdma.roce.model_dump(mode="json") if rdma else {},
        "topology": TOPOLOGY if rdma and rdma.topology_file else "",
        "nccl": list(version(cluster.software.nccl)) if cluster.software.nccl else [],
    }


def find_gpudirect(cluster: Cluster, host: Host) -> GpuDirect | None:
    """Return the host's GPUDirect RDMA method: the one that the file names, else the best supported one.

    None without GPUs, driver or RDMA network, or if `auto` finds no supported one.
    """
    rdma, driver = cluster.rdma, cluster.software.driver
    if rdma is None or driver is None or host.group.gpus is None or not rdma_networks(cluster, host):
        return None
    if rdma.gpudirect != "auto":
        return next((method for method in gpudirect() if method.name == rdma.gpudirect), None)
    return next((method for method in gpudirect() if _is_supported(cluster, host, method)), None)


def _is_supported(cluster: Cluster, host: Host, method: GpuDirect) -> bool:
    """Return whether NVIDIA driver, kernel and RDMA drivers support the method; False without `rdma`, driver or GPUs.

    DMA-BUF needs open kernel modules.
    """
    rdma, software, gpus = cluster.rdma, cluster.software, host.group.gpus
    if rdma is None or software.driver is None or gpus is None:
        return False
    closed = software.nvidia is not None and software.nvidia.kernel_modules == "proprietary"
    if method.name == "dma-buf" and (closed or not takes_open_modules(gpus.model)):
        return False
    return method.supports_driver(software.driver) and method.offered(cluster.platform, rdma.driver)
