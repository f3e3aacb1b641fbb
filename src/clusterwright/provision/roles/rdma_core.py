"""RDMA drivers, the modules that jobs need, and which port is on which network."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.gpudirect import GpuDirect
from clusterwright.provision.oneshot import oneshot
from clusterwright.provision.rdma_packages import rdma_packages
from clusterwright.provision.render.rdma import FOLDER, network_of, rdma_networks, way_to_gpus
from clusterwright.provision.resources import Derived, File, Given, Package, Resource, Unit

AFTER = ("repositories", "base")

PORTS = f"{FOLDER}/rdma-ports"
SCRIPT = f"{FOLDER}/rdma-modules.sh"
NAME = "clusterwright-rdma.service"
UNIT = oneshot(
    "Kernel modules for RDMA", SCRIPT, After="systemd-modules-load.service", Before="slurmd.service"
)
LOAD = """# One that is not there is named in the journal, and the others are loaded; `wright check` says what misses.

for module in {modules}; do
  [ -d "/sys/module/$(echo $module | tr - _)" ] || modprobe "$module" || echo "$module is not loaded"
done
exit 0
"""


@alike
def rdma_core(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """On hosts with an InfiniBand or RoCE network; a lab's kernel is its machine's, so no module is loaded there."""
    networks = rdma_networks(cluster, host)
    if cluster.rdma is None or not networks:
        return ()
    ports = Derived(
        path=PORTS,
        program="rdma_ports",
        header=given.header(),
        given={
            "networks": [network_of(cluster, host, name) for name in networks],
            "driver": cluster.rdma.driver,
            "mpi": cluster.rdma.mpi and host.group.role == "compute",
        },
    )
    return (*rdma_packages(cluster, "drivers"), *_peer(cluster, host), ports, *_modules(cluster, host, given))


def _peer(cluster: Cluster, host: Host) -> tuple[Package, ...]:
    way = way_to_gpus(cluster, host)
    return (Package(name=way.package),) if way and way.package else ()


def _modules(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """Loaded at boot and when the list changes."""
    if cluster.lab:
        return ()
    kinds = {cluster.networks.named()[name].kind for name in rdma_networks(cluster, host)}
    way = way_to_gpus(cluster, host)
    modules = [
        "ib_uverbs",
        "rdma_ucm",
        *(["ib_umad", "ib_ipoib"] if "infiniband" in kinds else []),
        *([way.module] if way and way.module else []),
    ]
    text = given.header() + _note(cluster, host, way) + LOAD.format(modules=" ".join(modules))
    script = File(path=SCRIPT, content=text, validate=("sh", "-n", "{}"))
    unit = File(path=f"/etc/systemd/system/{NAME}", content=given.header() + UNIT)
    return (script, unit, Unit(name=NAME, restart_on=(script.id, unit.id), reload=True))


def _note(cluster: Cluster, host: Host, way: GpuDirect | None) -> str:
    """How the GPUs' memory is reached, or that it is not."""
    if way is not None:
        return f"# GPUs are reached by {way.name}.\n# {way.source}.\n"
    asked = cluster.rdma is not None and cluster.rdma.gpudirect == "auto"
    if not asked or host.group.gpus is None or cluster.software.driver is None:
        return ""
    return "# No way to the GPUs' memory with this driver, kernel and rdma.driver: data is copied through the host.\n"
