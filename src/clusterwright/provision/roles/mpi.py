"""Open MPI and UCX on the hosts that run jobs, and on those where users compile."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.rdma_packages import rdma_packages
from clusterwright.provision.render.rdma import rdma_networks, rdma_params
from clusterwright.provision.resources import Derived, File, Resource, RoleContext

DEPENDENCIES = ("rdma_core", "slurm")

PATH = "/etc/openmpi/openmpi-mca-params.conf"
UCX = "/etc/ucx/ucx.conf"
WHY = """# A job's own environment wins over these.
"""
TCP = """
# TCP goes over the network of the gradients alone: docker0, virbr0 and the like are on every host, with one address.
btl_tcp_if_include = {data}
oob_tcp_if_include = {control}
"""
# Seen with 4.1.4: without this Open MPI takes libfabric, which knows nothing of the lines above, went over the
# storage network and hung there, since the firewall keeps jobs off it.
BY_TCP = """
# By Open MPI's own TCP: libfabric would take whichever network it likes.
pml = ob1
"""
BY_UCX = """
# RDMA by UCX, and an error where it cannot: not TCP without a word.
pml = ucx
osc = ucx
"""


def mpi(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return Open MPI and its settings; in a lab MPI uses TCP, because lab adapters carry no traffic."""
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
