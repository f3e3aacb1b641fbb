"""A GPU's own work on a convolutional network: counted, and monotone in what it should be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.cnn import network
from clusterwright.catalog.gpus import gpu
from clusterwright.plan.cnn.coefficients import die, stored
from clusterwright.plan.cnn.products import PASSES
from clusterwright.plan.cnn.work import peak, work

A100 = gpu("a100-sxm-80gb")
NETWORKS = st.sampled_from(
    ["resnet18", "resnet50", "resnet152", "vgg16", "efficientnet-b0", "resnext50-32x4d"]
)
PRECISIONS = st.sampled_from(["fp16", "fp32"])


def time(name, chip=A100, precision="fp16", batch=128.0, software="mxnet"):
    """Seconds of one image."""
    c = stored()
    return work(network(name), chip, precision, batch, c.software[software], c).total


def test_resnet50_is_counted_as_published():
    """25.557 million parameters and 4.09 GMACs at 224 pixels (torchvision's own figures)."""
    found = network("resnet50")

    assert found.parameters == pytest.approx(25.557e6, rel=1e-4)
    assert 4.08e9 < found.flops / 2 < 4.12e9


@given(NETWORKS, PRECISIONS, st.floats(1.0, 4.0))
def test_faster_memory_or_matrix_units_are_never_slower(name, precision, times_faster):
    """Time falls with bandwidth and with peak."""
    wide = replace(A100, memory_bytes_per_s=A100.memory_bytes_per_s * times_faster)
    strong = replace(A100, peak={name: value * times_faster for name, value in A100.peak.items()})
    usual = time(name, precision=precision)

    assert time(name, wide, precision) <= usual
    assert time(name, strong, precision) <= usual


@given(NETWORKS, PRECISIONS)
def test_it_is_never_faster_than_the_datasheet(name, precision):
    """FLOPs at half as much again as the peak (clocks above nominal, Winograd) are the limit."""
    least = network(name).flops * (PASSES - 1) / peak(A100, precision) / 1.5

    assert time(name, precision=precision) > least


@given(NETWORKS, st.floats(1, 256), st.floats(1.1, 8))
def test_a_larger_batch_reads_the_weights_less_often(name, batch, times_more):
    """Time of an image falls with the batch."""
    assert time(name, batch=batch * times_more) <= time(name, batch=batch)


def test_full_precision_is_slower():
    """fp32 on V100 has no tensor cores; tf32 on A100 has them, and twice the traffic of fp16."""
    v100 = gpu("v100-sxm2-16gb")

    assert time("resnet50", v100, "fp32") > 1.8 * time("resnet50", v100)
    assert time("resnet50", A100, "fp32") > 1.4 * time("resnet50", A100)


def test_channels_first_costs_transposes():
    """PyTorch without channels-last is the slowest way, MXNet's fused norms the fastest."""
    by = [time("resnet50", software=name) for name in ("mxnet", "pytorch", "pytorch-nchw")]

    assert by == sorted(by)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a100-sxm-80gb", "Ampere"),
        ("a30", "Ampere"),
        ("rtx-3090", "Ampere graphics"),
        ("b300", "Hopper"),
        ("t4", "Ampere graphics"),
    ],
)
def test_dies_are_told_apart_by_their_peaks(name, kind):
    """Graphics dies have little more matrix than vector throughput."""
    assert die(gpu(name)) == kind


def test_a_small_power_limit_slows_it():
    """An A30 is half an A100 by its peaks, and slower than that."""
    assert time("resnet50", replace(A100, power_w=100.0)) > 1.2 * time("resnet50")


def test_vgg_computes_and_efficientnet_waits_for_memory():
    """Wide 3x3 convolutions reuse what they read, depthwise ones do not."""
    c = stored()
    vgg, thin = (
        work(network(name), A100, "fp16", 128, c.software["mxnet"], c)
        for name in ("vgg16", "efficientnet-b0")
    )

    assert vgg.compute > vgg.memory
    assert thin.memory > thin.compute


@given(st.sampled_from(["fp16", "fp32"]))
def test_squeezing_costs_more_where_it_is_not_fused(precision):
    """The same network with squeeze and excitation: PyTorch goes over its input more often than a compiler."""

    def share(software):
        plain, squeezed = (
            time(name, precision=precision, software=software)
            for name in ("resnext101-32x4d", "se-resnext101-32x4d")
        )
        return squeezed / plain

    assert share("pytorch") > share("tensorflow-xla") > 1


def test_narrow_groups_read_slowly():
    """Without it EfficientNet, all depthwise, gains much, and ResNet-50, all dense, nothing."""
    c = stored()
    free = replace(c, group_width=0.0)

    def gain(name):
        slow, fast = (
            work(network(name), A100, "fp16", 128, c.software["mxnet"], each).total for each in (c, free)
        )
        return slow / fast

    assert gain("resnet50") == 1
    assert gain("efficientnet-b0") > gain("resnext101-32x4d") > 1


def test_tf32_keeps_a_smaller_share_of_its_peak():
    """Its operands are twice as wide as fp16's."""
    assert stored().rate["tf32"] < 1 < stored().rate["fp32"]
