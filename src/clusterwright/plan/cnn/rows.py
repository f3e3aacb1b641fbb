"""Parse rows of published training throughput into a `Job`, from their columns and the text in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.catalog.cnn import network
from clusterwright.catalog.models import architecture
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.plan.cnn.machines import machine_of
from clusterwright.plan.cnn.products import Encoder, demand
from clusterwright.plan.cnn.step import CnnJob, step
from clusterwright.plan.cnn.work import HALF
from clusterwright.plan.collectives.rows import gpu_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.cnn import Cnn
    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.cnn.coefficients import Coefficients
    from clusterwright.plan.prediction import Bound

# Images per GPU and GB of memory that weights leave free, ResNet-50 at 224 pixels; other networks by FLOPs.
IMAGES_PER_GB = 16.0
REFERENCE_FLOPS = 8.2e9
SEQUENCES_PER_GB = 1.5  # of BERT-large at 384 tokens, of the memory that is left
STATE_BYTES = 16  # of a weight: fp32 copy, gradient, two moments of Adam (momentum alone, of a small network)
LENGTHS = (
    (r"squad|question", 384),
    (r"phase ?1|\b128\b", 128),
)  # Devlin et al. 1810.04805, appendix A; else 512
LONGEST = 512
REFERENCE_TOKENS = 384


def samples_of_row(
    row: Mapping[str, str], c: Coefficients | None = None
) -> tuple[float | None, str, Bound | None]:
    """Predict a row: (samples/s of all GPUs, what was inferred, bound); (None, ..., None) for an unknown network.

    `c`: the coefficients; default: those shipped with the package.
    """
    notes: list[str] = []
    job = read(row, notes)
    if job is None:
        return None, "; ".join(notes), None
    iteration = step(job, c)
    return iteration.images_per_s, "; ".join(notes), iteration.bound


def read(row: Mapping[str, str], notes: list[str]) -> CnnJob | None:
    """Parse a row into a `CnnJob`, or None if its network is unknown; what was inferred is appended to `notes`."""
    net = _network(row, notes)
    if net is None:
        return None
    chip = gpu_of(row, notes)
    machine = machine_of(row, chip, notes)
    precision = _precision(row, notes)
    batch = _batch(row, net, chip, machine.gpus, precision, notes)
    how = "bert" if isinstance(net, Encoder) else software(row, notes)
    return CnnJob(net, machine, batch, precision, how)


def _network(row: Mapping[str, str], notes: list[str]) -> Cnn | Encoder | None:
    text = row.get("benchmark", "").lower()
    bert = re.search(r"\bbert[- ]?(large|base)\b", text)
    if bert:
        length = next((length for pattern, length in LENGTHS if re.search(pattern, text)), LONGEST)
        notes.append(_("sequences padded to {length} tokens", length=length))
        return Encoder(architecture(f"bert-{bert[1]}"), length)
    try:
        return network(_network_name(row))
    except WrightError:
        notes.append(_("unknown network `{network}`", network=row.get("benchmark", "")))
        return None


def _network_name(row: Mapping[str, str]) -> str:
    """Return the network of a row's benchmark: `resnext101-32x4d` of `ResNeXt101-32x4d training (ImageNet)`."""
    name = re.sub(r"\([^)]*\)", " ", row.get("benchmark", "")).lower()
    name = re.sub(
        r"\b(imagenet|cifar-?100?|training|train|v1\.5|v1|amp|fp16|tf32|fp32|mixed|precision)\b", " ", name
    )
    return name.replace(",", " ").strip()


def _precision(row: Mapping[str, str], notes: list[str]) -> str:
    text = row.get("precision", "").lower()
    if re.search(r"mixed|\bamp\b|fp16|half", text):
        return "fp16"
    if "bf16" in text:
        return "bf16"
    if re.search(r"fp32|tf32|float32|single", text):
        return "fp32"
    notes.append(_("no precision given: assumed mixed"))
    return "fp16"


def _batch(
    row: Mapping[str, str], net: Cnn | Encoder, chip: Gpu, gpus: int, precision: str, notes: list[str]
) -> float:
    match = re.match(r"\s*(\d+(?:\.\d+)?)", row.get("global_batch", "") or "")
    if match and float(match[1]) > 0:
        return float(match[1]) / gpus
    per_gb = IMAGES_PER_GB * REFERENCE_FLOPS / demand(net).flops
    if isinstance(net, Encoder):
        per_gb = SEQUENCES_PER_GB * REFERENCE_TOKENS / net.seq_len
    fill = per_gb * (1.0 if precision in HALF else 0.5)
    free_bytes = chip.memory_bytes - demand(net).parameters * STATE_BYTES
    batch = max(1, round(free_bytes / 1e9 * fill))
    notes.append(
        _(
            "no batch given: assumed {batch} per GPU, the batch that fits into the memory of the GPU",
            batch=batch,
        )
    )
    return batch


def software(row: Mapping[str, str], notes: list[str]) -> str:
    """Return a row's key of `Coefficients.software`: from its framework, system and source; default: `pytorch`.

    MXNet and Lambda (`pytorch-nchw`) come first; then MLPerf rows that do not name PyTorch alone count as MXNet, with a
    note.
    """
    framework = row.get("framework", "").lower()
    if re.search(r"mx-?net", framework + row.get("system", "").lower()):
        return "mxnet"
    if "lambda" in (row.get("source", "") + row.get("benchmark", "")).lower():
        return "pytorch-nchw"
    if "mlperf" in row.get("source", "").lower() and not re.fullmatch(r"\s*pytorch[\w .+]*", framework):
        notes.append(_("ambiguous framework: assumed MXNet, as in NVIDIA's MLPerf submission"))
        return "mxnet"
    if "tensorflow" in framework and "pytorch" not in framework:
        return "tensorflow-xla" if re.search(r"\bxla\b", framework) else "tensorflow"
    return "pytorch"
