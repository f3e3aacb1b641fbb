"""Open MPI and UCX on the hosts that run jobs, and on those where users compile."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.rdma_packages import rdma_packages
from clusterwright.provision.render.rdma import rdma_networks, rdma_params
from clusterwright.provision.resources import Derived, File, Resource, RoleContext

DEPENDENCIES = ("rdma_core", "slurm")

PATH = "/etc/openmpi/openmpi-mca-params.conf"
UCX = "/etc/ucx/ucx.conf"
WHY = """# A job's environment takes precedence over these.
"""
TCP = """
# TCP uses only the network of gradients: docker0, virbr0 and the like exist on every host with equal addresses.
btl_tcp_if_include = {data}
oob_tcp_if_include = {control}
"""
# Measured with 4.1.4: without this Open MPI selects libfabric, which ignores the lines above, uses the storage network
# and hangs, because the firewall drops its packets.
BY_TCP = """
# Open MPI's own TCP: libfabric would select any network.
pml = ob1
"""
BY_UCX = """
# RDMA by UCX, and an error if it fails, not a silent fallback to TCP.
pml = ucx
osc = ucx
"""


def mpi(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return Open MPI for compute and login hosts and its settings for compute hosts; nothing unless `rdma.mpi` is on.

    In a lab MPI uses TCP, because lab adapters carry no traffic.
    """
    if cluster.rdma is None or not cluster.rdma.mpi or host.group.role == "control":
        return ()
    packages = rdma_packages(cluster, "mpi")
    if host.group.role != "compute":
        return packages
    path = cluster.platform.path(PATH)
    text = context.header() + WHY + _params(cluster, host)
    ucx = Derived(
        path=UCX,
        program="ucx_conf",
        header=context.header(),
        params={**rdma_params(cluster, host, "UCX_"), "reason": WHY},
    )
    return (*packages, File(path=path, content=text), ucx)


def _params(cluster: Cluster, host: Host) -> str:
    """Return the MCA parameters; networks are selected by subnet, which is equal on all hosts."""
    networks = cluster.networks
    data = networks.compute if networks.compute and "compute" in host.addresses else networks.management
    text = TCP.format(data=data.subnet, control=networks.management.subnet)
    return text + (BY_UCX if "compute" in rdma_networks(cluster, host) and not cluster.lab else BY_TCP)
