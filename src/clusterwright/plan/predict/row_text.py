"""What the words in a row mean: precision, data parallelism, settings in the notes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells

# In this order: the first that is found in the letters of the cell.
_PRECISIONS = (
    ("nvfp4", "nvfp4"),
    ("fp4", "nvfp4"),
    ("mxfp8", "mxfp8"),
    ("fp8mx", "mxfp8"),
    ("fp8alt", "mxfp8"),  # the other granularity beside per-tensor scaling: blocks
    ("fp8", "fp8"),
    ("float8", "fp8"),
    ("bf16", "bf16"),
    ("bfloat16", "bf16"),
    ("fp16", "fp16"),
    ("float16", "fp16"),
    ("half", "fp16"),
    ("tf32", "tf32"),
    ("fp32", "fp32"),
    ("float32", "fp32"),
)
_BEFORE_BF16 = ("v100", "p100", "t4", "2080", "titan")
# Names of settings as Megatron, NeMo, DeepSpeed and Composer spell them; nothing else in the notes is read.
_SETTING = re.compile(
    r"(?<![\w-])(TP|PP|CP|EP|VP|MBS|GA|GAS|grad_accum|attention-backend|transformer-impl|use-flash-attn"
    r"|sequence-parallel|use-distributed-optimizer|recompute-granularity|recompute-modules|fp8-param-gather|num-experts|moe-router-topk"
    r"|moe-ffn-hidden-size|moe-shared-expert-intermediate-size|moe-layer-freq|expert-tensor-parallel-size"
    r"|expert-model-parallel-size|multi-latent-attention|mtp-num-layers|swiglu|disable-bias-linear"
    r"|untie-embeddings-and-output-weights|use-megatron-fsdp|num-distributed-optimizer-instances"
    r"|megatron-fsdp-main-grads-dtype)"
    r"=(\([^;]*|\[[^\]]*\]|[\w.+*-]+)"
)
_COUNTS = {
    "TP", "PP", "CP", "EP", "VP", "MBS", "GA", "GAS", "grad_accum", "num-experts", "moe-router-topk",
    "moe-ffn-hidden-size", "moe-shared-expert-intermediate-size", "expert-tensor-parallel-size",
    "expert-model-parallel-size", "mtp-num-layers", "num-distributed-optimizer-instances",
}  # fmt: skip
_DEGREE = re.compile(r"\b(?:DP|FSDP|HSDP|DDP)\s*[:=]\s*([1-9]\d*)")


def precision(cells: Cells, gpu_name: str) -> str:
    """The precision of the matrix products, as `Training.precision` spells it."""
    text = cells.text("precision")
    letters = re.sub(r"[^a-z0-9]", "", text.lower())
    for pattern, name in _PRECISIONS:
        if pattern in letters:
            return "fp32" if name == "tf32" and _is_old(gpu_name) else name
    name = "fp16" if _is_old(gpu_name) else "bf16"
    if not letters or "mixed" in letters or letters.startswith("amp"):
        cells.note(
            _(
                "precision {ending}: {name}, as usual on this GPU",
                ending="not given" if not letters else text,
                name=name,
            )
        )
        return name
    cells.wrong(
        "predict-unknown-precision",
        _("precision `{text}` is not known", text=text),
        _("use fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4"),
    )
    return name


def _is_old(gpu_name: str) -> bool:
    """Before Ampere, which brought bf16 and tf32."""
    return any(old in gpu_name for old in _BEFORE_BF16)


def settings(cells: Cells) -> dict[str, str]:
    """`name=value` settings named in the notes; measured figures there have other names and are not read."""
    matches = _SETTING.findall(cells.text("notes_url"))
    return {
        name: value for name, value in matches if name not in _COUNTS or re.fullmatch(r"[1-9]\d{0,6}", value)
    }


def data_parallel_degree(cells: Cells) -> int | None:
    """The number in `DP:8`, `FSDP:64`."""
    match = _DEGREE.search(cells.text("dp_or_fsdp"))
    return int(match[1]) if match else None


def mentions(cells: Cells, pattern: str) -> bool:
    """True where how the data are parallel, the source, the model's name or the notes say so."""
    return re.search(pattern, cells.full_text, re.IGNORECASE) is not None
