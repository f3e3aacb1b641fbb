"""The GPUs have all their PCIe lanes."""

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
                "has {pcie_width} of {pcie_width_most} PCIe lanes",
                pcie_width=gpu.pcie_width,
                pcie_width_most=gpu.pcie_width_most,
            ),
            Status.FAIL,
        )
    working = (gpu.load_percent or 0.0) >= _WORKING
    if working and gpu.pcie_gen and gpu.pcie_gen_most and gpu.pcie_gen < gpu.pcie_gen_most:
        yield (
            _(
                "works at PCIe {pcie_gen}.0 in place of {pcie_gen_most}.0",
                pcie_gen=gpu.pcie_gen,
                pcie_gen_most=gpu.pcie_gen_most,
            ),
            Status.FAIL,
        )
    if gpu.pcie_gen_most and gpu.pcie_gen_of_gpu and gpu.pcie_gen_most < gpu.pcie_gen_of_gpu:
        observed = _(
            "is PCIe {pcie_gen_of_gpu}.0 in a slot of {pcie_gen_most}.0",
            pcie_gen_of_gpu=gpu.pcie_gen_of_gpu,
            pcie_gen_most=gpu.pcie_gen_most,
        )
        yield (
            observed,
            Status.WARN,
            _("see the slot's speed in the BIOS; if it is the slot's own, the hosts are equal in it"),
        )


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="drain the host; reseat the GPU or its riser, compare with the same slot of another host",
)
def gpu_pcie(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """Every GPU has the lanes and, when it works, the generation of PCIe that it can have in its slot."""
    expected = _("pcie.link.width.max and pcie.link.gen.max, as the GPU says itself")
    unsupported = _("this driver does not say the link's width")
    return gpu_verdicts(
        spec, have, _wrong, expected=expected, read_value=lambda gpu: gpu.pcie_width, unsupported=unsupported
    )
