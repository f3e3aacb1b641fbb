"""Object storage against a demand."""

import pytest

from clusterwright.plan.storage import Workload, demand, object_options

SHARDS = demand(Workload(6.7e9, 20e12, 1.2e9, 20_000, files=200_000))
FILES = demand(Workload(6.7e9, 2e12, 20e6, 20_000))


def test_a_gateway_gets_as_many_servers_as_the_demand_takes():
    """Twelve servers of 100 Gbit/s read 111 GiB/s, which is what was measured; writes cost twice the bytes."""
    twelve = demand(Workload(1e9, 32e12, 1e6, 0.9999 * 111 * 2**30 / 32e6, files=1e6))
    gateway, _cloud = object_options(twelve, 64)

    assert gateway.name == "Ceph RGW"
    assert gateway.servers == 12
    assert gateway.read_bytes_per_s == pytest.approx(111 * 2**30)
    assert gateway.write_bytes_per_s == pytest.approx(gateway.read_bytes_per_s / 2)
    assert "111 GiB/s" in gateway.source


def test_small_files_are_refused_with_shards():
    """No rate of small requests was published, and none is guessed."""
    gateway, cloud = object_options(FILES, 8)

    assert not gateway.enough
    assert "shards (tar, Parquet)" in gateway.reason
    assert "4 prefixes for 20,000 requests/s" in cloud.reason
    assert object_options(SHARDS, 8)[0].enough


def test_a_cloud_is_limited_by_the_nodes_and_by_requests_of_a_prefix():
    """5,500 GET requests a second for each prefix, 8 GB/s for each node."""
    _gateway, cloud = object_options(SHARDS, 8)
    assert (cloud.enough, cloud.servers) == (True, 0)
    assert cloud.read_bytes_per_s == pytest.approx(8 * 8.003e9)
    fast = demand(Workload(6.7e9, 20e15, 1e6, 100))
    assert not object_options(fast, 8)[1].enough
