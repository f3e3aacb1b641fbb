"""The software matrix: known-good rows, and what each generation of GPUs needs."""

import pytest

from clusterwright.catalog import gpus, software


@pytest.mark.parametrize("one", software.releases().values(), ids=lambda one: one.torch)
def test_a_row_fits_together(one):
    """Versions compare, the driver is at least what CUDA asks for, and there is a source."""
    assert software.version(one.python_min) < software.version(one.python_max)
    assert software.version(one.driver_min) <= software.version(one.driver)
    assert software.version(one.sm_min) < software.version(one.sm_max)
    assert software.version(one.nccl) >= (2, 14)
    assert "RELEASE.md" in one.source
    assert "release notes" in one.source


def test_newer_releases_have_newer_libraries():
    """Along the default builds of each version."""
    rows = [one for one in software.releases().values() if "+" not in one.torch]

    for column in ("torch", "cuda", "nccl", "driver_min"):
        values = [software.version(getattr(one, column)) for one in rows]
        assert values == sorted(values), column


@pytest.mark.parametrize(
    ("arch", "torch"),
    [("Volta", "2.14.0+cu126"), ("Ampere", "2.14.0"), ("Blackwell", "2.14.0"), ("Pascal", "2.14.0+cu126")],
)
def test_the_newest_release_for_a_generation(arch, torch):
    """CUDA 13 dropped Volta and older; those stay with the CUDA 12.6 build."""
    assert software.newest_for(arch).torch == torch


def test_no_release_is_for_another_vendor():
    """Only NVIDIA's generations are known."""
    assert software.newest_for("CDNA3") is None


@pytest.mark.parametrize(
    ("torch", "arch", "runs"),
    [("2.6.0", "Blackwell", False), ("2.7.1", "Blackwell", False), ("2.7.1+cu128", "Blackwell", True),
     ("2.14.0", "Volta", False), ("2.0.1", "Hopper", True)],
)  # fmt: skip
def test_a_release_runs_on_what_it_holds_kernels_for(torch, arch, runs):
    """The common trap: a new GPU under an old PyTorch says `no kernel image is available`."""
    release, needs = software.releases()[torch], software.generations()[arch]

    assert release.runs_on(needs) is runs


def test_every_nvidia_generation_of_the_catalog_is_known():
    """Each has its least CUDA and driver."""
    archs = {each.arch for each in gpus().values() if each.vendor == "NVIDIA"}

    assert archs == set(software.generations())


@pytest.mark.parametrize(
    ("library", "which", "majors"),
    [
        ("cudnn", "8.5.0", {11}),
        ("cudnn", "8.7.0", {11, 12}),  # between a row for 11 and one for both
        ("cudnn", "9.10.2", {11, 12}),
        ("cudnn", "9.12", {11, 12, 13}),
        ("cudnn", "7.6", None),
        ("cudnn", "10.1", None),
        ("nccl", "2.27.5", {12}),
        ("nccl", "2.28.9", {12, 13}),
    ],
)
def test_a_library_may_be_had_for_some_cudas(library, which, majors):
    """What is not known is not refused."""
    assert software.cuda_majors(library, which) == majors


def test_the_oldest_driver_of_a_cuda():
    """By its major version; of one that is not known, nothing."""
    assert software.oldest_driver("12.9") == "525.60"
    assert software.oldest_driver("13.1") == "580.65"
    assert software.oldest_driver("14.0") == ""


@pytest.mark.parametrize(
    ("model", "arch"),
    [("a100", "Ampere"), ("H100", "Hopper"), ("v100", "Volta"), ("mi300x", None), ("x1", None)],
)
def test_the_generation_of_a_model(model, arch):
    """As the cluster file names it."""
    found = software.generation_of(model)

    assert (found and found.arch) == arch
