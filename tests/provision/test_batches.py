"""Which hosts are changed together, and in what order."""

import pytest

from clusterwright.config.field import Cost
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.batches import batch_size, plan_batches
from clusterwright.provision.report import Change, HostReport

ALL = ["control", "gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]


def to_do(costs=(), *, default=Cost.RESTART):
    """What each host needs; all hosts the same unless said otherwise."""
    chosen = dict.fromkeys(ALL, default) | dict(costs)
    return {
        host: HostReport(host, (Change("file:/x", "rewrite", "", cost, (Verb.REWRITE,)),))
        for host, cost in chosen.items()
    }


def test_the_control_host_is_first_then_one_compute_host_then_batches(cluster):
    """A change that breaks slurmd breaks one."""
    assert plan_batches(cluster, to_do(), "2") == (
        ("control",),
        ("gpu-node1",),
        ("gpu-node2", "gpu-node3"),
        ("gpu-node4",),
    )


def test_a_part_is_of_the_hosts_that_restart_and_rounded_up(cluster):
    """A quarter of four is one."""
    assert plan_batches(cluster, to_do(), "25%")[1:] == (
        ("gpu-node1",),
        ("gpu-node2",),
        ("gpu-node3",),
        ("gpu-node4",),
    )
    assert plan_batches(cluster, to_do(), "51%")[1:] == (
        ("gpu-node1",),
        ("gpu-node2", "gpu-node3", "gpu-node4"),
    )


def test_a_small_cluster_is_one_batch_after_its_first_host(cluster):
    """Four rounds of one host would only be slower."""
    assert plan_batches(cluster, to_do())[1:] == (("gpu-node1",), ("gpu-node2", "gpu-node3", "gpu-node4"))


def test_what_restarts_nothing_goes_at_once_and_last(cluster):
    """Reading files again, too; and a bare host, where units only start."""
    costs = {"gpu-node2": Cost.DRAIN, "gpu-node3": Cost.RECONFIGURE}

    assert plan_batches(cluster, to_do(costs, default=Cost.LIVE)) == (
        ("control",),
        ("gpu-node2",),
        ("gpu-node1", "gpu-node3", "gpu-node4"),
    )


def test_file_servers_come_before_all_others(altered):
    """Mounts of a folder that is not exported yet would fail."""
    nfs = altered({"storage.shared": {"kind": "nfs", "path": "/shared", "server": "gpu-node4"}, "lab": None})

    assert plan_batches(nfs, to_do(default=Cost.RECONFIGURE)) == (
        ("gpu-node4",),
        ("control",),
        ("gpu-node1", "gpu-node2", "gpu-node3"),
    )
    assert plan_batches(nfs, to_do(default=Cost.LIVE))[0] == ("gpu-node4",)


def test_where_nothing_that_runs_is_touched_nobody_waits(cluster):
    """A bare cluster is built at once."""
    assert plan_batches(cluster, to_do(default=Cost.LIVE)) == (tuple(ALL),)


def test_hosts_that_need_nothing_are_in_no_wave(cluster):
    """Only those that are given."""
    assert plan_batches(cluster, {"gpu-node2": to_do()["gpu-node2"]}) == (("gpu-node2",),)
    assert plan_batches(cluster, {}) == ()


@pytest.mark.parametrize(
    ("batch", "hosts", "size"),
    [
        ("4", 100, 4),
        ("25%", 100, 25),
        ("25%", 3, 1),
        ("100%", 7, 7),
        ("", 4, 8),
        ("", 1000, 250),
        ("1%", 10, 1),
    ],
)
def test_the_size_of_a_batch(batch, hosts, size):
    """A number, a part, or a quarter and at least eight."""
    assert batch_size(batch, hosts) == size


@pytest.mark.parametrize("batch", ["0", "-1", "0%", "101%", "four", "25 %", "%", "1.5", "²"])
def test_what_is_no_size_is_refused(batch):
    """With both forms shown."""
    with pytest.raises(WrightError, match="--batch 25%") as error:
        batch_size(batch, 10)

    assert error.value.findings[0].code == "apply-batch"
