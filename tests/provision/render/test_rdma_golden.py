"""What RDMA hosts are given, whole, for a fabric and a distribution of each kind; `--golden` writes it anew."""

from pathlib import Path

import pytest

from clusterwright.provision.render.tree import tree
from clusterwright.provision.resources import Package, Unit
from clusterwright.provision.roles import desired_resources

GOLDEN = Path(__file__).parents[2] / "golden" / "rdma"
OURS = ("rdma", "roce", "opensm", "openmpi", "ucx", "nccl")
MANAGERS = [{"host": "gpu-node1", "priority": 14}, {"host": "gpu-node2", "priority": 13}]
CASES = {
    "roce-debian-12-inbox": {
        "rdma": {"roce": {"priority": 4, "dscp": 34}, "topology_file": True},
        "networks.compute.mtu": 9000, "networks.storage.kind": "roce", "software.driver": "580.95",
    },
    "infiniband-rocky-9-doca": {
        "os": "rocky-9", "software.slurm": "25.11", "software.driver": "580.95", "software.nccl": "2.20",
        "software.repositories": {"site": {"url": "https://packages.example.org/site", "unsigned": True}},
        "networks.compute.kind": "infiniband", "networks.compute.fabric": "rail-optimized",
        "networks.compute.rails": 4, "nodes.a100.nics": ["mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"],
        "jobs.variables": {"NCCL_ALGO": "Tree", "UCX_TLS": "rc,cuda"},
        "rdma": {"driver": "doca-ofed", "driver_version": "3.1", "subnet_managers": MANAGERS, "mpi_default": "pmix"},
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_rdma_host_is_given_this(case, altered, given, golden):
    """Files, packages and units of the first compute host."""
    cluster = altered({"lab": None, **CASES[case]})
    texts = tree(cluster, given)["gpu-node1"]
    found = {path: text for path, text in texts.items() if any(word in path for word in OURS)}
    have = desired_resources(cluster, cluster.host("gpu-node1"), given)
    rows = [f"{one.id} {one.version}".rstrip() for one in have if isinstance(one, Package)]
    rows += [one.id for one in have if isinstance(one, Unit) and any(word in one.id for word in OURS)]
    found["/packages-and-units"] = "\n".join(rows) + "\n"
    place = GOLDEN / case
    if golden:
        for path, text in found.items():
            (place / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            (place / path.lstrip("/")).write_text(text)
    kept = {f"/{file.relative_to(place)}": file.read_text() for file in place.rglob("*") if file.is_file()}

    assert found == kept
