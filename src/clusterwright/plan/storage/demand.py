"""Demand of a training on storage: capacity, bytes/s read and written, files opened per second."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.i18n import _

# Bytes per parameter in a checkpoint: weights as trained, and optimizer states. Adam: two moments in
# fp32 (8-bit Adam: a byte each), and a master copy of half-precision weights in fp32 (Rajbhandari 1910.02054, 3.1).
WEIGHT_BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 2, "mxfp8": 2, "nvfp4": 2}
STATE_BYTES = {"adam": 8, "adam8bit": 2, "sgd": 4, "none": 0}
MASTER_BYTES = 4
HEADROOM = 0.2  # share of the file system that stays free: Lustre's manual warns from 80% on


@dataclass(frozen=True, slots=True)
class Workload:
    """A training from the view of storage: data set, read rate and checkpoints."""

    parameters: float
    dataset_bytes: float
    samples: float  # in the dataset: images, sequences
    samples_per_s: float  # read by the whole job while training
    files: float = 0.0  # that contain the samples; 0: one per sample
    precision: str = "bf16"
    optimizer: str = "adam"
    checkpoint_every_s: float = 1800.0
    stall_share: float = 0.05  # share of the interval that a checkpoint may stall the GPUs
    save_total_limit: int = 3  # checkpoints on storage at a time
    headroom: float = HEADROOM


@dataclass(frozen=True, slots=True)
class Demand:
    """What storage must provide, in bytes, bytes/s and 1/s."""

    capacity_bytes: float
    dataset_bytes: float
    checkpoint_bytes: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    opens_per_s: float
    read_bytes: float  # mean size of one read
    epoch_s: float


def demand(work: Workload) -> Demand:
    """Return what a workload demands of storage: capacity, read and write rates in bytes/s, opens per second.

    Raises:
        WrightError: storage-size, with one finding per invalid size.
    """
    _refuse_nonsense(work)
    checkpoint_size = checkpoint_bytes(work.parameters, work.precision, work.optimizer)
    sample = work.dataset_bytes / work.samples
    files = work.files or work.samples
    stored_bytes = work.dataset_bytes + checkpoint_size * work.save_total_limit
    return Demand(
        capacity_bytes=stored_bytes / (1 - work.headroom),
        dataset_bytes=work.dataset_bytes,
        checkpoint_bytes=checkpoint_size,
        read_bytes_per_s=work.samples_per_s * sample,
        write_bytes_per_s=checkpoint_size / (work.checkpoint_every_s * work.stall_share),
        opens_per_s=work.samples_per_s * min(1.0, files / work.samples),
        read_bytes=min(sample, work.dataset_bytes / files),
        epoch_s=work.samples / work.samples_per_s if work.samples_per_s else math.inf,
    )


def checkpoint_bytes(parameters: float, precision: str = "bf16", optimizer: str = "adam") -> float:
    """Return the bytes of a checkpoint with weights, fp32 copies of low-precision weights, and optimizer states.

    Per parameter 14 for bf16 with Adam, 12 for fp32; with optimizer `none` only the weights.
    """
    weight = WEIGHT_BYTES[precision]
    master = MASTER_BYTES if weight < MASTER_BYTES and optimizer != "none" else 0
    return parameters * (weight + master + STATE_BYTES[optimizer])


def _refuse_nonsense(work: Workload) -> None:
    positive = {
        _("parameters"): work.parameters, _("data set"): work.dataset_bytes, _("samples"): work.samples,
        _("checkpoint interval"): work.checkpoint_every_s, _("stall share"): work.stall_share,
    }  # fmt: skip
    amounts = {_("samples per second"): work.samples_per_s, _("files"): work.files,
              _("stored checkpoints"): work.save_total_limit}  # fmt: skip
    wrong = [(name, value, _("give a value above 0")) for name, value in positive.items() if not value > 0]
    wrong += [
        (name, value, _("give a value of at least 0")) for name, value in amounts.items() if not value >= 0
    ]
    if not 0 <= work.headroom < 1:
        wrong.append((_("headroom"), work.headroom, _("give a share of at least 0 and below 1")))
    if wrong:
        findings = (
            Finding("storage-size", _("{name} is {value:g}", name=name, value=value), fix)
            for name, value, fix in wrong
        )
        raise WrightError(*findings, exit_code=EXIT_USAGE)
