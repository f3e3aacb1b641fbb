"""GPUs run with all PCIe lanes and their PCIe generation."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_WORKING = (
    50.0  # ours: percent; an idle GPU may lower its link's generation to save power (nvidia-smi's help)
)


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.pcie_width and gpu.pcie_width_most and gpu.pcie_width < gpu.pcie_width_most:
        yield (
            _(
                "GPU {gpu} has {lanes} of {most} PCIe lanes",
                gpu=gpu.index,
                lanes=gpu.pcie_width,
                most=gpu.pcie_width_most,
            ),
            Status.FAIL,
        )
    working = (gpu.load_percent or 0.0) >= _WORKING
    if working and gpu.pcie_gen and gpu.pcie_gen_most and gpu.pcie_gen < gpu.pcie_gen_most:
        yield (
            _(
                "GPU {gpu} runs at PCIe {generation}.0 under load instead of {most}.0",
                gpu=gpu.index,
                generation=gpu.pcie_gen,
                most=gpu.pcie_gen_most,
            ),
            Status.FAIL,
        )
    if gpu.pcie_gen_most and gpu.pcie_gen_of_gpu and gpu.pcie_gen_most < gpu.pcie_gen_of_gpu:
        observed = _(
            "GPU {gpu} supports PCIe {generation}.0 but its slot only {most}.0",
            gpu=gpu.index,
            generation=gpu.pcie_gen_of_gpu,
            most=gpu.pcie_gen_most,
        )
        yield (
            observed,
            Status.WARN,
            _("check the slot's link speed in the BIOS; if all hosts show this, the slot supports no more"),
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="drain the host; reseat the GPU or its riser; compare with the same slot of another host",
    in_jobs=True,
)
def gpu_pcie(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """Every GPU has all PCIe lanes of its slot and, under load, the slot's PCIe generation."""
    expected = _("the width and generation of pcie.link.width.max and pcie.link.gen.max in `nvidia-smi`")
    unsupported = _("this driver does not report the PCIe link width")
    return gpu_verdicts(
        spec, have, _wrong, expected=expected, read_value=lambda gpu: gpu.pcie_width, unsupported=unsupported
    )
