"""GPUs of a cluster learned from Slurm: which of the catalog they are, what plans assume, and what jobs request."""

from dataclasses import replace

import pytest
from tests.launch.unmanaged.conftest import wright

from clusterwright.catalog.gpus import gpus, matching_name
from clusterwright.config.cluster import Unmanaged
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.script import script
from clusterwright.launch.unmanaged.learn import learn
from clusterwright.plan.learned_network import NetworkFacts, with_gpu, with_network
from clusterwright.plan.machines import machine_of
from clusterwright.units import GB

JOB = Job.model_validate(
    {"name": "t", "command": ["t.py"], "gpus_per_node": 1, "time": "1h", "partition": "gpu"}, strict=False
)


@pytest.fixture
def of_gres(learned_texts):
    """`of_gres(gres, features)`: the cluster whose node g1 has this Gres and these AvailableFeatures."""

    def make(gres, features="(null)"):
        nodes = learned_texts.nodes.replace("Gres=gpu:a100:4", f"AvailableFeatures={features} Gres={gres}")
        return learn(replace(learned_texts, nodes=nodes), "/home/bob/wright", Unmanaged(), "python3")

    return make


# GRES types of published job scripts and cluster pages; AutoDetect=nvml writes those that begin with nvidia_.
@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("a100", "a100-sxm-80gb"), ("A100", "a100-sxm-80gb"), ("nvidia_a100", "a100-sxm-80gb"),
        ("nvidia_a100-sxm4-40gb", "a100-sxm-40gb"), ("nvidia_a100-sxm4-80gb", "a100-sxm-80gb"),
        ("nvidia_a100-pcie-40gb", "a100-pcie-40gb"), ("nvidia_a100_80gb_pcie", "a100-pcie-80gb"),
        ("a100_80gb", "a100-sxm-80gb"), ("nvidia_h100_80gb_hbm3", "h100-sxm-80gb"), ("h100", "h100-sxm-80gb"),
        ("nvidia_h100_pcie", "h100-pcie-80gb"), ("nvidia_h100_nvl", "h100-nvl-94gb"),
        ("nvidia_h200", "h200-sxm-141gb"), ("nvidia_h200_nvl", "h200-nvl-141gb"), ("l40s", "l40s"),
        ("nvidia_a40", "a40"), ("nvidia_a30", "a30"), ("nvidia_l40s", "l40s"), ("tesla_t4", "t4"),
        ("tesla_v100-sxm2-32gb", "v100-sxm2-32gb"), ("v100", "v100-sxm2-32gb"),
        ("nvidia_geforce_rtx_3090", "rtx-3090"), ("rtx3090", "rtx-3090"), ("nvidia_rtx_a6000", "rtx-a6000"),
        ("rtx_6000_ada", "rtx-6000-ada"), ("nvidia_geforce_rtx_2080_ti", "rtx-2080-ti"),
    ],
)  # fmt: skip
def test_published_types_are_found_in_the_catalog(of_gres, spelling, name):
    """By rules on words, not by a list of spellings."""
    cluster = of_gres(f"gpu:{spelling}:8(S:0-1)")
    assert machine_of(cluster, None, gpus().values()).gpu.name == name
    assert f"--gres=gpu:{spelling}:1 " in script(JOB, cluster, "/home/bob/wright/runs/t")


@pytest.mark.parametrize(
    "slice_type",
    ["nvidia_a100_3g.20gb", "a100_1g.5gb", "1g.10gb", "nvidia_h100_80gb_hbm3_1g.10gb.me", "nvidia_h200_2g.35gb",
     "nvidia_a100-sxm4-40gb_1c.3g.20gb", "shard", "gpu"],
)  # fmt: skip
def test_a_slice_is_no_gpu(slice_type):
    """A MIG slice has neither the memory nor the speed of the GPU that its name begins with."""
    assert matching_name(slice_type) is None


def test_a_slice_runs_trainings_and_no_plans(of_gres):
    """The job requests Slurm's type; the plan names what it lacks and the option."""
    cluster = of_gres("gpu:nvidia_a100_3g.20gb:2(S:0)")
    assert "--gres=gpu:nvidia_a100_3g.20gb:1 " in script(JOB, cluster, "/home/bob/wright/runs/t")
    with pytest.raises(WrightError, match=r"no GPU like `nvidia_a100_3g\.20gb`") as error:
        machine_of(cluster, None, gpus().values())

    assert "--gpu" in error.value.findings[0].fix
    assert machine_of(with_gpu(cluster, "a100-sxm-40gb"), None, gpus().values()).gpu.name == "a100-sxm-40gb"


@pytest.mark.parametrize(
    ("features", "name"),
    [("ib,a100,rome", "a100-sxm-80gb"), ("GPU_GEN:AMP,GPU_SKU:A100_SXM4,GPU_MEM:40GB", "a100-sxm-40gb"),
     ("v100,32gb,cascadelake", "v100-sxm2-32gb"), ("intel,skylake", None), ("(null)", None)],
)  # fmt: skip
def test_gpus_without_a_type_are_named_by_features(of_gres, features, name):
    """Jobs then request no type, as Slurm has none."""
    cluster = of_gres("gpu:4", features)
    assert "--gres=gpu:1 " in script(JOB, cluster, "/home/bob/wright/runs/t")
    assert (cluster.host("g1").group.gpus.count, cluster.host("g1").group.gpus.gres_type) == (4, "")
    if name:
        assert machine_of(cluster, None, gpus().values()).gpu.name == name
    else:
        with pytest.raises(WrightError, match="plan-no-gpus"):
            machine_of(cluster, None, gpus().values())


def test_the_network_is_the_vendors_unless_it_is_named(learned_texts):
    """Two nodes of four A100s; NVLink as the catalog has it for the form."""
    node = next(line for line in learned_texts.nodes.splitlines() if line.startswith("NodeName=g1"))
    texts = replace(
        learned_texts,
        nodes=learned_texts.nodes + node.replace("NodeName=g1", "NodeName=g2") + "\n",
        partitions=learned_texts.partitions.replace("Nodes=g1", "Nodes=g[1-2]"),
    )
    cluster = learn(texts, "/home/bob/wright", Unmanaged(), "python3")
    machine = machine_of(cluster, None, gpus().values())
    named = machine_of(with_network(cluster, NetworkFacts("infiniband", 2, 200 * GB)), None, gpus().values())

    assert (machine.gpus, machine.nvlink_domain, machine.network.nic_bytes_per_s > 1e9) == (8, 4, True)
    assert (named.network.nics, named.network.nic_bytes_per_s, named.network.kind) == (2, 25e9, "infiniband")


def test_plans_take_the_cluster_of_this_machine(user):
    """What is expected of its GPUs, and the layout of a model on them; an assumed network is noted."""
    expected = wright("plan", "expect", "--cluster", "here")
    assert expected.returncode == 0, expected.stderr
    assert "a100-4" in expected.stdout
    assert "pass --network, --nics and --nic-rate" in expected.stderr
    search = (
        "plan",
        "search",
        "--model",
        "llama-3-8b",
        "--seq",
        "4096",
        "--global-batch",
        "32",
        "--cluster",
        "here",
    )
    for command in (
        search,
        ("plan", "fabric", "--cluster", "here", "--nics", "4", "--nic-rate", "200Gbit/s"),
    ):
        result = wright(*command)
        assert "unmanaged-cluster" not in result.stderr, command
        assert "no-cluster-file" not in result.stderr, command
        assert "a100" in result.stdout + result.stderr, result.stderr
    assert user.home.exists()
