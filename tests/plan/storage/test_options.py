"""Kinds of storage against a demand."""

from hypothesis import given
from hypothesis import strategies as some

from clusterwright.plan.storage import Workload, demand, options, staging
from clusterwright.plan.storage.options import SYSTEMS

SMALL = demand(Workload(6.7e9, 2e12, 1.2e6, 50, checkpoint_every_s=3600))
LARGE = demand(Workload(70e9, 100e12, 1e9, 200_000, checkpoint_every_s=1800))


def named(found, name):
    """The option of that name."""
    return next(each for each in found if each.name == name)


def test_nfs_is_enough_for_a_small_group_and_not_for_a_large_one():
    """One server feeds 50 samples/s; 200,000 opens a second it does not."""
    assert named(options(SMALL, 4), "NFS").enough
    assert not named(options(LARGE, 128), "NFS").enough
    assert "opens/s" in named(options(LARGE, 128), "NFS").reason


def test_parallel_file_systems_grow_until_they_are_enough():
    """Lustre, Storage Scale and CephFS give what is wanted with as many servers as it takes."""
    for name in ("Lustre", "Storage Scale", "CephFS"):
        made = named(options(LARGE, 128), name)

        assert made.enough
        assert made.read_bytes_per_s >= LARGE.read_bytes_per_s
        assert made.write_bytes_per_s >= LARGE.write_bytes_per_s
        assert made.opens_per_s >= LARGE.opens_per_s


@given(some.floats(1, 1e6), some.floats(1, 10))
def test_more_reading_never_takes_fewer_servers(rate, more):
    """Servers are monotone in samples a second."""
    few, many = (options(demand(Workload(1e9, 1e13, 1e7, samples)), 8) for samples in (rate, rate * more))

    assert all(a.servers <= b.servers for a, b in zip(few, many, strict=True))


def test_local_disks_are_never_the_only_storage():
    """What is on a node is lost with it."""
    local = named(options(SMALL, 4), "local NVMe")

    assert not local.enough
    assert "lost with its node" in local.reason
    assert "does not fit" in named(options(LARGE, 4), "local NVMe").reason


def test_staging_pays_where_the_shared_system_is_too_slow():
    """A million small files from NFS for a hundred epochs: copy them once."""
    need = demand(Workload(25e6, 150e9, 1.28e6, 100_000))
    nfs = named(options(need, 8), "NFS")

    made = staging(need, nfs, 8, epochs=100)

    assert made.fits_node
    assert made.pays
    assert made.share_bytes == need.dataset_bytes
    assert "stage the data set on every node" in made.reason


def test_staging_does_not_pay_where_the_shared_system_keeps_up():
    """NFS feeds the small group: nothing is waited for."""
    made = staging(SMALL, named(options(SMALL, 4), "NFS"), 4)

    assert not made.pays
    assert "is fast enough" in made.reason


def test_staging_for_one_short_epoch_does_not_pay():
    """Copying 150 GB takes longer than a single epoch waits: pack the files instead."""
    need = demand(Workload(25e6, 150e9, 1.28e6, 70_000))
    made = staging(need, named(options(need, 8), "NFS"), 8, epochs=1)

    assert not made.pays
    assert "pack the files" in made.reason


def test_a_dataset_that_no_node_holds_is_shared_out():
    """20 TB on eight nodes of 15 TB: 2.5 TB each; 500 TB fit nowhere."""
    need = demand(Workload(1e9, 20e12, 1e9, 1e6))
    lustre = named(options(need, 8), "Lustre")
    huge = demand(Workload(1e9, 500e12, 1e9, 1e6))

    assert staging(need, lustre, 8).share_bytes == 2.5e12
    assert not staging(huge, lustre, 8).fits_node


def test_every_system_has_a_source():
    """No figure without where it comes from."""
    assert all(len(system.source) > 40 for system in SYSTEMS)
