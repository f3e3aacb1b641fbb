"""`wright bench` on a cluster learned from Slurm: what runs as it is, and what the user has to add."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.launch.unmanaged.conftest import wright

from clusterwright.check.bench.kinds.network import MOST_STREAMS, network
from clusterwright.check.bench.site import BenchSite
from clusterwright.config.cluster import Unmanaged
from clusterwright.config.load import load_cluster
from clusterwright.launch.unmanaged.learn import learn
from clusterwright.plan.learned_network import NetworkFacts, has_network_rate, with_network
from clusterwright.units import GB

LAB = Path(__file__).parents[3] / "examples/lab/cluster.yaml"


def test_a_bench_runs_in_the_users_allocation(user):
    """On an idle node; without a partner or an expected rate there is nothing to judge by, but figures are stored."""
    result = wright("bench", "storage", "--cluster", "here", "--nodes", "1", "--account", "physics", "--json")
    document = json.loads(result.stdout)

    assert result.returncode in (0, 1), result.stderr
    assert document["hosts"] == ["n1"]
    assert document["measurements"]
    assert {row["subject"] for row in document["verdicts"]} == {"n1"}
    job = (user.home / "job.sh").read_text()
    assert "#SBATCH --exclusive\n" in job
    assert "#SBATCH --account=physics\n" in job
    assert (user.home / "canceled").read_text() == "7\n"
    assert json.loads(wright("bench", "list", "--cluster", "here", "--json").stdout)[0]["bench"] == "storage"


@pytest.mark.parametrize("kind", ["collectives", "training", "rdma"])
def test_what_needs_the_network_names_the_options(user, kind):
    """One sentence, before a job is submitted."""
    result = wright("bench", kind, "--cluster", "here")

    assert result.returncode == 2
    assert "network-unknown" in result.stderr
    assert "--nic-rate 400Gbit/s" in result.stderr
    assert not (user.home / "job.sh").exists()


def test_the_users_facts_become_the_network_of_gradients(tiny):
    """Of a learned cluster that network has no rate otherwise; in a file's place they override."""
    facts = NetworkFacts("infiniband", 8, 400 * GB)
    compute = with_network(tiny, facts).networks.compute

    assert (compute.kind, compute.rails, compute.rate) == ("infiniband", 8, 400 * GB)
    assert compute.subnet == tiny.networks.management.subnet
    assert (has_network_rate(tiny), has_network_rate(with_network(tiny, facts))) == (False, True)
    assert with_network(tiny, NetworkFacts("infiniband", 8)) is tiny
    file = load_cluster(LAB)
    assert with_network(file, NetworkFacts(rate_bits_per_s=GB)).networks.compute.rate == GB


def test_hosts_are_compared_with_each_other_where_no_rate_is_known(tiny):
    """Addresses are those that the hosts report inside the network of Slurm's addresses."""
    asked = []

    class Stage:
        hosts = ("n1", "n2", "n3")
        lost_hosts = ()

        def do(self, parts):
            asked.extend(parts.values())
            return {}

    facts = {
        name: {
            "tools": {"iperf3": "x"},
            "versions": {},
            "interfaces": {"127.0.0.1": "lo", f"10.0.0.{number}": "eth0"},
        }
        for number, name in enumerate(Stage.hosts, 1)
    }
    site = BenchSite(tiny, Stage(), facts)
    network(site)

    assert site.address("n2") == "10.0.0.2"
    assert {part.given["streams"] for part in asked} == {MOST_STREAMS}
    assert {part.given["address"] for part in asked} <= {"10.0.0.1", "10.0.0.2", "10.0.0.3"}


def test_a_clusters_name_is_no_path(learned_texts):
    """It becomes the name of a folder on the user's machine, and a login host could report any."""
    for name, expected in (("../../evil", "evil"), ("Physics_HPC", "Physics_HPC"), ("..", "slurm")):
        config = learned_texts.config.replace("tiny", name)
        found = learn(replace(learned_texts, config=config), "/home/bob/wright", Unmanaged(), "python3").name
        assert found.replace("-", "") == expected


def test_tuning_needs_the_network_and_writes_no_file(user):
    """One sentence each, before a job is submitted."""
    (user.home / "job.yaml").write_text("name: t\ncommand: [t.py]\nnodes: 1\ntime: 30m\n")
    for command in (("network",), ("training", "job.yaml")):
        result = wright("tune", *command, "--cluster", "here")
        assert (result.returncode, "network-unknown" in result.stderr) == (2, True), result.stderr
    result = wright("tune", "network", "--cluster", "here", "--nic-rate", "100Gbit/s", "--write")

    assert result.returncode == 2
    assert "--write has no cluster file to write to" in result.stderr
    assert not (user.home / "job.sh").exists()
