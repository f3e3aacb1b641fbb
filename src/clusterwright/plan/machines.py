"""The `Machine` that a plan is computed for: from a GPU model and a count, or from a cluster file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.catalog.gpus import matching_name
from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean
from clusterwright.i18n import _
from clusterwright.plan.learned_network import has_network_rate
from clusterwright.plan.run import Machine, Network

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.catalog.records import Gpu
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.nodes import Gpus

GBIT_BYTES = 125e6  # bytes/s of 1 Gbit/s, one direction
RACK_GPUS = 72  # GB200 and GB300 NVL72: one NVLink domain of 18 trays (NVIDIA, "GB200 NVL72" data sheet)
TRAY_GPUS = 4  # of one compute tray of an NVL72 rack
NODE_GPUS = 8  # HGX and OAM boards

# Ports per node and Gbit/s per port of the vendor's reference system (data sheets of DGX-1, DGX A100, DGX H100,
# DGX B200, DGX B300, GB200 NVL72 and GB300 NVL72); others get Network's defaults.
REFERENCE_PORTS = {
    ("Volta", NODE_GPUS): (4, 100),
    ("Ampere", NODE_GPUS): (8, 200),
    ("Hopper", NODE_GPUS): (8, 400),
    ("Blackwell", NODE_GPUS): (8, 400),
    ("Blackwell Ultra", NODE_GPUS): (8, 800),
    ("Blackwell", TRAY_GPUS): (4, 400),
    ("Blackwell Ultra", TRAY_GPUS): (4, 800),
}


@dataclass(frozen=True, slots=True)
class Wiring:
    """User settings of node size, NVLink and network; None means as in the vendor's reference system."""

    gpus_per_node: int | None = None
    nvlink_domain: int | None = None
    network: str | None = None  # infiniband, roce, ethernet
    nics: float | None = None  # ports of one node
    nic_bits_per_s: float | None = None
    oversubscription: float = 1.0


def machine(gpu: Gpu, gpus: int, wiring: Wiring | None = None) -> Machine:
    """Return the `Machine` of `gpus` GPUs in nodes of the usual size, wired as in `wiring`, else the reference system.

    GPUs that fit into one node have no network, whatever `wiring` has.
    """
    options = wiring or Wiring()
    per_node = options.gpus_per_node or usual_node(gpu)
    network = Network() if gpus > per_node else Network(kind="none")
    ports = REFERENCE_PORTS.get((gpu.arch, per_node))
    if ports and gpus > per_node:
        network = replace(network, nics=ports[0], nic_bytes_per_s=ports[1] * GBIT_BYTES)
    if gpus > per_node:
        network = _with_wiring(network, options)
    domain = options.nvlink_domain or nvlink_domain(gpu, per_node)
    return Machine(gpu, gpus, per_node, domain, network)


def _with_wiring(network: Network, wiring: Wiring) -> Network:
    rate = network.nic_bytes_per_s if wiring.nic_bits_per_s is None else wiring.nic_bits_per_s / 8
    nics = network.nics if wiring.nics is None else wiring.nics
    kind = wiring.network or network.kind
    return replace(
        network, kind=kind, nics=nics, nic_bytes_per_s=rate, oversubscription=wiring.oversubscription
    )


def usual_node(gpu: Gpu) -> int:
    """Return the usual number of GPUs per node: 4 for superchips, else 8."""
    return TRAY_GPUS if gpu.form == "superchip" else NODE_GPUS


def nvlink_domain(gpu: Gpu, gpus_per_node: int) -> int:
    """Return how many GPUs NVLink (or xGMI, NeuronLink) connects: a rack of superchips, else the node, or 1 without."""
    if gpu.form == "superchip":
        return RACK_GPUS
    linked = gpu.link_bytes_per_s > 0 or gpu.form.startswith(("SXM", "OAM"))
    return gpus_per_node if linked else 1


def machine_of(cluster: Cluster, group: str | None, gpus: Iterable[Gpu]) -> Machine:
    """Return the `Machine` of all hosts in one node group of a cluster file; `group` None: the group with most GPUs.

    Its network is `compute`, or `management` without one; on a learned cluster that of the vendor's reference system,
    unless the user named it.

    Raises:
        WrightError: no such group, no GPUs in it, or a model that is not in `gpus`.
    """
    name = group or _largest(cluster)
    if name not in cluster.nodes or cluster.nodes[name].gpus is None:
        groups = ", ".join(n for n, g in cluster.nodes.items() if g.gpus) or _("none")
        message = _(
            "cluster `{cluster}` has no node group `{name}` with GPUs", cluster=cluster.name, name=name
        )
        fix = _("choose a node group with GPUs: {groups}", groups=groups)
        raise WrightError.from_code("plan-no-gpus", message, fix, exit_code=EXIT_USAGE)
    node_group = cluster.nodes[name]
    assert node_group.gpus is not None  # noqa: S101 (checked above)
    gpu, hosts = _gpu_of(cluster, name, node_group.gpus, gpus), len(node_group.names())
    compute = cluster.networks.compute or cluster.networks.management
    network = Network(compute.kind, compute.rails, compute.rate / 8, name=compute.fabric)
    if not has_network_rate(cluster):
        count = node_group.gpus.count
        network = machine(gpu, hosts * count, Wiring(gpus_per_node=count)).network
    domain = (
        nvlink_domain(gpu, node_group.gpus.count)
        if node_group.gpus.nvlink or gpu.form == "superchip" or cluster.unmanaged
        else 1
    )
    return Machine(gpu, hosts * node_group.gpus.count, node_group.gpus.count, domain, network)


def _gpu_of(cluster: Cluster, group: str, spec: Gpus, gpus: Iterable[Gpu]) -> Gpu:
    """Return the catalog GPU of a group; on a learned cluster the one that Slurm's model name matches, if there is one.

    Raises:
        WrightError: plan-no-gpus, if the catalog has no such GPU.
    """
    rows = list(gpus)
    name = matching_name(spec.model) if cluster.unmanaged else None
    try:
        return next((gpu for gpu in rows if gpu.name == name), None) or gpu_like(spec, rows)
    except WrightError as error:
        if cluster.unmanaged is None:
            raise
        message = _(
            "the catalog has no GPU like `{model}`, which Slurm reports of `{group}`",
            model=spec.model,
            group=group,
        )
        fix = _("pass a whole GPU of the catalog, such as --gpu h100-sxm-80gb; MIG slices cannot be planned")
        raise WrightError.from_code("plan-no-gpus", message, fix, exit_code=EXIT_USAGE) from error


def gpu_like(spec: Gpus, gpus: Iterable[Gpu]) -> Gpu:
    """Return the catalog GPU of that model which differs least in memory and NVLink from those of a cluster file.

    GPUs whose name has the model as a whole part come before those that only contain it.

    Raises:
        WrightError: no name in the catalog contains that model.
    """
    rows = list(gpus)
    model = spec.model.lower()
    named = [gpu for gpu in rows if model == gpu.name or model in gpu.name.split("-")]
    named = named or [gpu for gpu in rows if model in gpu.name]
    if not named and (name := matching_name(spec.model)):
        named = [gpu for gpu in rows if gpu.name == name]
    if not named:
        message = _("the catalog has no GPU `{model}`", model=spec.model)
        suggestion = did_you_mean(model, [gpu.name for gpu in rows], 0.4)
        fix = suggestion + _("use a name from the catalog, e.g. h100, or add the GPU to your catalog.toml")
        raise WrightError.from_code("plan-no-gpus", message, fix, exit_code=EXIT_USAGE)
    return min(named, key=lambda gpu: _unlike(gpu, spec))


def _unlike(gpu: Gpu, spec: Gpus) -> tuple[float, bool, str]:
    memory = abs(gpu.memory_bytes - spec.memory) if spec.memory else 0.0
    return memory, spec.nvlink != (nvlink_domain(gpu, 8) > 1), gpu.name


def _largest(cluster: Cluster) -> str:
    counts = {name: len(g.names()) * g.gpus.count for name, g in cluster.nodes.items() if g.gpus}
    return max(counts, key=lambda name: counts[name]) if counts else ""
