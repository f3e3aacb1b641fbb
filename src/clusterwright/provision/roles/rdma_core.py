"""RDMA drivers, the kernel modules that jobs need, and the assignment of RDMA ports to networks."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.gpudirect import GpuDirect
from clusterwright.provision.oneshot import oneshot
from clusterwright.provision.rdma_packages import rdma_packages
from clusterwright.provision.render.rdma import FOLDER, find_gpudirect, network_of, rdma_networks
from clusterwright.provision.resources import Derived, File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("repositories", "base")

PORTS = f"{FOLDER}/rdma-ports"
SCRIPT = f"{FOLDER}/rdma-modules.sh"
NAME = "clusterwright-rdma.service"
UNIT = oneshot(
    "Kernel modules for RDMA", SCRIPT, After="systemd-modules-load.service", Before="slurmd.service"
)
LOAD = """# A missing module is logged and the others are loaded; `wright check` reports it.

for module in {modules}; do
  [ -d "/sys/module/$(echo $module | tr - _)" ] || modprobe "$module" || echo "$module is not loaded"
done
exit 0
"""


@alike
def rdma_core(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return RDMA packages and modules for hosts with an InfiniBand or RoCE network; nothing without `rdma`.

    A lab loads no modules.
    """
    networks = rdma_networks(cluster, host)
    if cluster.rdma is None or not networks:
        return ()
    ports = Derived(
        path=PORTS,
        program="rdma_ports",
        header=context.header(),
        params={
            "networks": [network_of(cluster, host, name) for name in networks],
            "driver": cluster.rdma.driver,
            "mpi": cluster.rdma.mpi and host.group.role == "compute",
        },
    )
    return (
        *rdma_packages(cluster, "drivers"),
        *_peer(cluster, host),
        ports,
        *_modules(cluster, host, context),
    )


def _peer(cluster: Cluster, host: Host) -> tuple[Package, ...]:
    method = find_gpudirect(cluster, host)
    return (Package(name=method.package),) if method and method.package else ()


def _modules(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the unit that loads kernel modules at boot and when the list changes; nothing in a lab."""
    if cluster.lab:
        return ()
    kinds = {cluster.networks.named()[name].kind for name in rdma_networks(cluster, host)}
    method = find_gpudirect(cluster, host)
    modules = [
        "ib_uverbs",
        "rdma_ucm",
        *(["ib_umad", "ib_ipoib"] if "infiniband" in kinds else []),
        *([method.module] if method and method.module else []),
    ]
    text = context.header() + _note(cluster, host, method) + LOAD.format(modules=" ".join(modules))
    script = File(path=SCRIPT, content=text, validate=("sh", "-n", "{}"))
    unit = File(path=f"/etc/systemd/system/{NAME}", content=context.header() + UNIT)
    return (script, unit, Unit(name=NAME, restart_on=(script.id, unit.id), reload=True))


def _note(cluster: Cluster, host: Host, method: GpuDirect | None) -> str:
    """Return the comment that names the GPUDirect RDMA method, or that there is none; "" if none is configured."""
    if method is not None:
        return f"# GPUs are reached by {method.name}.\n# {method.source}.\n"
    is_auto = cluster.rdma is not None and cluster.rdma.gpudirect == "auto"
    if not is_auto or host.group.gpus is None or cluster.software.driver is None:
        return ""
    return "# No way to the GPUs' memory with this driver, kernel and rdma.driver: data is copied through the host.\n"
