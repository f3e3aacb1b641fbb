"""The model has the settings that a cluster gets."""

import re
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.monitor.simulate import settings as known
from clusterwright.provision.render.slurm_conf import slurm_conf

BENCH = Path(__file__).parents[3] / "bench" / "simulate.yaml"


@pytest.fixture
def cluster(tmp_path):
    """`cluster("max_time: 7d", "max_time: 2d")`: the five teams' file with changes."""

    def make(*change):
        text = BENCH.read_text()
        for old, new in zip(change[::2], change[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1)
        file = tmp_path / "cluster.yaml"
        file.write_text(text)
        return load_cluster(file)

    return make


def test_weights_and_windows_are_those_of_slurm_conf(cluster):
    """What is rendered is what is modelled."""
    made = cluster()
    text = slurm_conf(made, "")
    found = known.of_cluster(made, "x")
    weights = {name: int(re.search(rf"PriorityWeight{key}=(\d+)", text)[1]) for name, key in (
        ("qos", "QOS"), ("fairshare", "Fairshare"), ("age", "Age"), ("size", "JobSize"),
    )}  # fmt: skip

    assert weights == known.WEIGHTS
    assert f"bf_max_job_test={known.TESTS}" in text
    assert f"bf_window={found.window_s / 60:.0f}" in text
    assert "PriorityMaxAge=7-0" in text
    assert known.MAX_AGE_S == 7 * 86400
    assert (found.gpus, found.cpus, found.half_life_s) == (64, 1024, 14 * 86400)


def test_partitions_teams_and_head_room(cluster):
    """As the file says."""
    found = known.of_cluster(
        cluster(
            "default_time: 4h", "default_time: 4h, headroom_percent: 30, exclusive: true, priority: 3",
            "shares: 30}", "shares: 30, max_gpus: 8, max_jobs: 2, max_gpus_per_user: 4}",
        ), "x",
    )  # fmt: skip
    queue, team = found.queues["train"], found.accounts["vision"]

    assert (queue.most_billed, queue.exclusive, queue.tier, queue.default_s) == (4400, True, 3, 14400)
    assert (team.shares, team.max_gpus, team.max_jobs, team.max_gpus_per_user) == (30, 8, 2, 4)


def test_without_accounting_first_come_is_first_served(cluster):
    """And nobody has a share."""
    found = known.of_cluster(cluster("users:", "accounting: {enabled: false}\nusers:"), "x")

    assert found.fifo
    assert found.accounts == {}


def test_slurm_s_own_defaults(cluster):
    """Whole hosts, no limits of time, first come first served."""
    found = known.slurm_default(known.of_cluster(cluster(), "x"))
    (queue,) = found.queues.values()

    assert (found.fifo, queue.exclusive, found.has_time_limits, found.accounts) == (True, True, False, {})
    assert queue.max_s >= 365 * 86400
