"""Describe a cluster from Slurm's own records, which any user may read: node groups, partitions, network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any, TypeVar

from clusterwright.catalog.gpus import matching_name
from clusterwright.config.cluster import Cluster, Unmanaged
from clusterwright.config.field import Section
from clusterwright.config.names import expand_valid, fold
from clusterwright.config.networks import Network, Networks
from clusterwright.config.nodes import Cpus, Gpus, NodeGroup
from clusterwright.config.slurm import Partition
from clusterwright.config.storage import Local
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.slurm.nodes import Node, parse_nodes
from clusterwright.slurm.records import gpu_type
from clusterwright.slurm.settings import Partition as SlurmPartition
from clusterwright.slurm.settings import parse_partitions, parse_settings
from clusterwright.units import MiB

SectionModel = TypeVar("SectionModel", bound=Section)

CONTROL = "login"  # the group of the host where Slurm's commands run
_LONGEST_S = 366 * 86400  # for a partition without a limit: the most that a cluster file may set
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")  # the name becomes that of a folder on this machine
_UNSUITED = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class SlurmTexts:
    """What a user reads from Slurm on a login host, as text.

    `addresses`: IPv4 addresses of the nodes, one per line; `host`: the login host's own name.
    """

    config: str
    nodes: str
    partitions: str
    addresses: str
    host: str


def learn(texts: SlurmTexts, shared: str, access: Unmanaged, python: str) -> Cluster:
    """Return the cluster that Slurm describes.

    `shared` contains the folder of runs, `access` is the way to Slurm's commands, `python` starts the ranks where a
    job file sets none.

    Names are Slurm's, whatever they contain, and the rules for cluster files are not applied: the cluster works.

    Raises:
        WrightError: Slurm lists no node or no partition.
    """
    nodes, partitions = parse_nodes(texts.nodes), parse_partitions(texts.partitions)
    settings = parse_settings(texts.config)
    groups, queues = _groups(nodes.values()), _members(partitions, nodes)
    if not groups or not queues:
        raise WrightError.from_code(
            "no-nodes",
            _("Slurm on {host} lists no nodes that a partition has", host=texts.host),
            _("run `sinfo` on that host; your account may see no partition"),
        )
    names = {member: name for name, group in groups.items() for member in group.members}
    control = _model(NodeGroup, _PLAIN_GROUP, role="control", hosts=access.login or texts.host)
    cluster = _model(
        Cluster,
        _PLAIN_CLUSTER,
        name=_UNSAFE.sub("-", settings["ClusterName"]).lstrip(".-") or "slurm",
        networks=_model(Networks, _NETWORKS, management=_network(texts.addresses)),
        nodes={CONTROL: control, **{name: group.node_group() for name, group in groups.items()}},
        partitions={
            partition.name: _partition(partition, tuple(dict.fromkeys(names[node] for node in members)))
            for partition, members in queues
        },
        storage={"shared": _model(Local, {"kind": "local", "path": "/shared"}, path=shared)},
        **_software(settings["SLURM_VERSION"], python),
    )
    return cluster.as_unmanaged(access)


@dataclass(frozen=True, slots=True)
class _Group:
    """Nodes of the same hardware in the same partitions."""

    sample: Node
    members: tuple[str, ...]

    def node_group(self) -> NodeGroup:
        """Return the group as one of a cluster file; its memory is what jobs may allocate."""
        record, gpus = self.sample.record, None
        if self.sample.gpus:
            gres_type = gpu_type(record["Gres"])
            gpus = _model(
                Gpus,
                {"model": "gpu", "count": 1},
                model=_catalog_model(gres_type, record.split("AvailableFeatures")),
                count=self.sample.gpus,
            ).with_gres_type(gres_type)
        reserved = record.number("MemSpecLimit") * MiB
        # A cluster file has the installed memory, of which 31/32 is Slurm's RealMemory.
        installed = -(-self.sample.memory_mib * 32 // 31) * MiB
        return _model(
            NodeGroup,
            _PLAIN_GROUP,
            hosts=fold(self.members),
            cpus=_cpus(self.sample),
            memory=installed,
            memory_reserved=reserved,
            gpus=gpus,
        )


def _cpus(node: Node) -> Cpus:
    """Return the processors; as one socket of plain cores where jobs may allocate fewer CPUs than the threads."""
    names = ("Sockets", "CoresPerSocket", "ThreadsPerCore")
    sockets, cores, threads = (node.record.number(name) or 1 for name in names)
    if sockets * cores * threads != node.cpus_allocatable:
        sockets, cores, threads = 1, max(1, node.cpus_allocatable), 1
    return _model(
        Cpus, {"cores_per_socket": 1}, sockets=sockets, cores_per_socket=cores, threads_per_core=threads
    )


def _catalog_model(gres_type: str, features: Sequence[str]) -> str:
    """Return the GPU model: the GRES type; without one, the GPU of the catalog that the features of the node name."""
    if gres_type:
        return gres_type
    named = [matching_name(" ".join(features)), *map(matching_name, features)]
    return next(filter(None, named), "gpu")


def _groups(nodes: Iterable[Node]) -> dict[str, _Group]:
    """Return nodes grouped by hardware and partitions; a group's name tells the GPUs, or else the CPUs."""
    by_hardware: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        fields = (
            "Sockets",
            "CoresPerSocket",
            "ThreadsPerCore",
            "CPUTot",
            "CPUEfctv",
            "RealMemory",
            "MemSpecLimit",
        )
        gres = f"{node.gpu_model}:{node.gpus}"
        features = "" if node.gpu_model else node.record["AvailableFeatures"]
        key = (gres, features, *(node.record[field] for field in fields), *sorted(node.partitions))
        by_hardware.setdefault(key, []).append(node)
    groups: dict[str, _Group] = {}
    for members in by_hardware.values():
        sample = members[0]
        kind = f"{sample.gpu_model or 'gpu'}-{sample.gpus}" if sample.gpus else f"cpu-{sample.cpus}"
        name = _free(_UNSUITED.sub("-", kind.lower()).strip("-") or "nodes", groups)
        groups[name] = _Group(sample, tuple(node.name for node in members))
    return groups


def _free(name: str, used_names: Mapping[str, object]) -> str:
    candidates = (name, *(f"{name}-{number}" for number in range(2, len(used_names) + 3)))
    return next(candidate for candidate in candidates if candidate not in (*used_names, CONTROL))


def _members(
    partitions: Iterable[SlurmPartition], nodes: Mapping[str, Node]
) -> list[tuple[SlurmPartition, tuple[str, ...]]]:
    """Return each partition that is up with the names of its nodes; a partition without known nodes is left out."""
    pairs = [
        (partition, tuple(node for node in expand_valid(partition.record["Nodes"]) if node in nodes))
        for partition in partitions
        if partition.is_up
    ]
    return [pair for pair in pairs if pair[1]]


def _partition(partition: SlurmPartition, groups: Sequence[str]) -> Partition:
    limit = partition.max_time_s
    return _model(
        Partition,
        {"nodes": ("nodes",)},
        nodes=tuple(groups),
        default=partition.is_default,
        max_time=_LONGEST_S if limit is None else limit,
        max_nodes=partition.max_nodes,
    )


def _network(addresses: str) -> Network:
    """Return the smallest network with the addresses of all nodes; agents use a host's address inside it."""
    subnet = covering([IPv4Address(line) for line in addresses.split()])
    return _model(Network, _NETWORKS["management"], subnet=subnet)


def covering(addresses: Sequence[IPv4Address]) -> IPv4Network:
    """Return the smallest network that contains all addresses; without any, all of IPv4."""
    if not addresses:
        return IPv4Network("0.0.0.0/0")
    low, high = int(min(addresses)), int(max(addresses))
    host_bits = (low ^ high).bit_length()
    return IPv4Network((low >> host_bits << host_bits, 32 - host_bits))


def _software(version: str, python: str) -> dict[str, Any]:
    software = Cluster.model_validate(_PLAIN_CLUSTER).software
    release = ".".join(version.split(".")[:2]) or software.slurm
    return {"software": software.model_copy(update={"slurm": release, "python": python})}


_NETWORKS: dict[str, Any] = {"management": {"subnet": "10.0.0.0/24", "rate": "1Gbit/s"}}
_PLAIN_GROUP: dict[str, Any] = {
    "role": "compute",
    "hosts": "node1",
    "addresses": {},
    "cpus": {"cores_per_socket": 1},
    "memory": "1GiB",
}
_PLAIN_CLUSTER: dict[str, Any] = {
    "name": "slurm",
    "networks": _NETWORKS,
    "nodes": {"nodes": _PLAIN_GROUP},
    "partitions": {"jobs": {"nodes": ("nodes",)}},
}


def _model(section: type[SectionModel], template: Mapping[str, Any], /, **values: Any) -> SectionModel:
    """Return a section with Slurm's values in place of the template's, beyond what a cluster file may write."""
    return section.model_validate(template).model_copy(update=values)
