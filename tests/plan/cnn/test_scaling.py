"""Data-parallel iterations: what is added to a GPU's own work, and what is left of many nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.cnn import network
from clusterwright.catalog.gpus import gpu
from clusterwright.plan.cnn import CnnJob, Feed, scaling, step
from clusterwright.plan.prediction import Bound
from clusterwright.plan.run import Machine, Network

NODE = Machine(gpu("a100-sxm-80gb"), 4, 4, 4, Network("none"))
JOB = CnnJob(network("resnet50"), NODE, 128)


def ethernet(gbits):
    """One port a node."""
    return Network("ethernet", 1, gbits * 125e6)


@given(st.floats(1, 400), st.floats(1, 8), st.floats(8, 512), st.sampled_from([2, 4, 16, 64]))
def test_a_faster_network_scales_no_worse(gbits, times_faster, batch, nodes):
    """Efficiency grows with the rate, and stays at or below one."""
    job = replace(JOB, batch=batch)
    slow = scaling(job, [nodes], ethernet(gbits))[0]
    fast = scaling(job, [nodes], ethernet(gbits * times_faster))[0]

    assert slow.efficiency <= fast.efficiency * (1 + 1e-9) <= 1 + 1e-9


def test_thin_ethernet_is_what_limits_a_small_batch():
    """25GbE under four A100 loses much of ResNet-50, 200 Gb/s of InfiniBand little."""
    job = replace(JOB, batch=32)
    thin = scaling(job, [1, 2, 4], ethernet(25))
    wide = scaling(job, [1, 2, 4], Network("infiniband", 4, 25e9))

    assert [point.nodes for point in thin] == [1, 2, 4]
    assert thin[0].efficiency == 1
    assert thin[2].efficiency < 0.7 < wide[2].efficiency
    assert thin[2].step.bound is Bound.DATA_PARALLEL


def test_a_slow_node_hides_the_network():
    """A node that was measured at 1280 images/s has time to exchange gradients while it computes."""
    usual = scaling(JOB, [2, 4], ethernet(25))
    slow = scaling(JOB, [2, 4], ethernet(25), node_images_per_s=1280.0)

    assert slow[0].efficiency > usual[0].efficiency
    assert slow[0].images_per_s / slow[0].speedup == pytest.approx(1280.0, rel=0.01)


def test_a_hungry_gpu_waits_for_its_images():
    """Eight cores decode 100 images/s each, whatever the GPUs could do."""
    found = step(replace(JOB, feed=Feed(cores=8, images_per_core_s=100)))

    assert found.images_per_s == pytest.approx(800)
    assert found.bound is Bound.INPUT


def test_parts_add_up():
    """The total is the sum of what is shown."""
    found = step(replace(JOB, machine=replace(NODE, gpus=16, network=ethernet(25))))
    parts = (found.compute, found.launch, found.optimizer, found.communication, found.jitter, found.input)

    assert found.total == pytest.approx(sum(parts))
    assert found.images_per_s == pytest.approx(128 * 16 / found.total)


def test_one_gpu_exchanges_nothing():
    """No communication, no jitter."""
    found = step(replace(JOB, machine=replace(NODE, gpus=1, gpus_per_node=1)))

    assert found.communication == found.jitter == 0


def test_storage_feeds_by_the_size_of_an_image():
    """An NFS server of 110 MB/s brings a thousand JPEGs of ImageNet."""
    assert Feed(storage_bytes_per_s=110e6).images_per_s == pytest.approx(1000)
