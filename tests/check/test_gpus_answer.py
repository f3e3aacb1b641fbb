"""GPUs are held against the file, and where it is silent against what the planner expects of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.check.checks.gpus_answer import gpus_answer
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster
from clusterwright.units import GiB

EXAMPLE = Path(__file__).parents[2] / "examples/hgx/cluster.yaml"
EIGHT = Path(__file__).parent / "facts/gpus/eight_with_faults.txt"


@pytest.fixture
def judged(tmp_path):
    """The check's verdicts on a host of eight H100 whose memory the file does not say, with one GPU's given."""
    path = tmp_path / "cluster.yaml"
    path.write_text(EXAMPLE.read_text().replace(", memory: 80GiB", ""))
    cluster = load_cluster(path)
    host = next(host for host in cluster.hosts() if host.group.gpus)
    assert host.group.gpus.memory is None
    eight = gpus.parse(EIGHT.read_text()).gpus

    def judge(memory_bytes):
        odd = replace(eight[3], memory_bytes=memory_bytes)
        return list(gpus_answer.judge(HostSpec(cluster, host), Driver((*eight[:3], odd, *eight[4:]), ())))

    return judge


def test_a_gpu_smaller_than_the_catalog_says_fails(judged):
    """An A100 of 40 GiB among H100 is found without anyone having written 80 in the file."""
    count, small = judged(40 * GiB)

    assert (count.status, small.status, small.part) == (Status.OK, Status.FAIL, "gpu 3")
    assert small.observed == "GPU 3 has 40 GiB of memory"


def test_the_memory_that_drivers_report_is_enough(judged):
    """81,559 MiB are an H100's 80 GB."""
    assert [each.status for each in judged(81559 * 2**20)] == [Status.OK]
