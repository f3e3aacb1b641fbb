"""The InfoROM of every GPU is valid."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("a valid InfoROM checksum, and no warning of nvidia-smi")


def _wrong(gpu: Gpu) -> Iterator[Wrong]:
    if gpu.inforom is not None and gpu.inforom.lower() != "valid":
        yield _("GPU {gpu}: InfoROM checksum {state}", gpu=gpu.index, state=gpu.inforom), Status.WARN


@check(
    gpus,
    when=has_gpus,
    fix=(
        "report the damaged InfoROM to the GPU's vendor: the InfoROM "
        "stores retired pages and error counts, which may be lost"
    ),
    in_jobs=True,
)
def gpu_inforom(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """No GPU has a corrupted InfoROM."""
    warned = [line for line in have.messages if "inforom" in line.lower()]
    if warned:
        yield from (fault(observed=line, expected=_(_EXPECTED), otherwise=Status.WARN) for line in warned)
        return
    yield from gpu_verdicts(
        spec, have, _wrong, expected=_(_EXPECTED), read_value=lambda gpu: gpu.index, unsupported=""
    )
