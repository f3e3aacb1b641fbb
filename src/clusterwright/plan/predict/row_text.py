"""Parsing of text in a row: precision, data parallelism, settings in the notes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells

# The first pattern that the letters of the cell contain counts.
_PRECISIONS = (
    ("nvfp4", "nvfp4"),
    ("fp4", "nvfp4"),
    ("mxfp8", "mxfp8"),
    ("fp8mx", "mxfp8"),
    ("fp8alt", "mxfp8"),  # block scaling, the alternative to per-tensor scaling
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
    """Return the precision of matrix products, a value of `Training.precision`; default: bf16, on old GPUs fp16.

    The default is noted; it is also that of `mixed` and `amp`. tf32 on an old GPU is fp32. An unknown text adds a
    problem to the row.
    """
    text = cells.text("precision")
    letters = re.sub(r"[^a-z0-9]", "", text.lower())
    for pattern, name in _PRECISIONS:
        if pattern in letters:
            return "fp32" if name == "tf32" and _is_old(gpu_name) else name
    name = "fp16" if _is_old(gpu_name) else "bf16"
    if not letters or "mixed" in letters or letters.startswith("amp"):
        if letters:
            cells.note(_("precision `{text}`: assumed {name}, usual on this GPU", text=text, name=name))
        else:
            cells.note(_("no precision given: assumed {name}, usual on this GPU", name=name))
        return name
    cells.wrong(
        "predict-unknown-precision",
        _("unknown precision `{text}`", text=text),
        _("use fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4"),
    )
    return name


def require_precision(text: str) -> None:
    """Raise WrightError for a text that names no precision.

    Raises:
        WrightError: `predict-unknown-precision`.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError

    letters = re.sub(r"[^a-z0-9]", "", text.lower())
    if (
        any(pattern in letters for pattern, _name in _PRECISIONS)
        or "mixed" in letters
        or letters[:3] == "amp"
    ):
        return
    message = _("unknown precision `{text}`", text=text)
    fix = _("use fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4")
    raise WrightError.from_code("predict-unknown-precision", message, fix, exit_code=EXIT_USAGE)


def _is_old(gpu_name: str) -> bool:
    """True for GPUs before Ampere, which have neither bf16 nor tf32."""
    return any(old in gpu_name for old in _BEFORE_BF16)


def settings(cells: Cells) -> dict[str, str]:
    """Parse known `name=value` settings in the notes, the last of each name.

    Others, such as measured figures, are ignored. Counts must be whole numbers above 0.
    """
    matches = _SETTING.findall(cells.text("notes_url"))
    return {
        name: value for name, value in matches if name not in _COUNTS or re.fullmatch(r"[1-9]\d{0,6}", value)
    }


def data_parallel_degree(cells: Cells) -> int | None:
    """Parse the data-parallel degree of `DP:8` or `FSDP:64`; None if there is none."""
    match = _DEGREE.search(cells.text("dp_or_fsdp"))
    return int(match[1]) if match else None


def mentions(cells: Cells, pattern: str) -> bool:
    """True if the row's data parallelism, source, model, recompute or notes match a pattern, in any case."""
    return re.search(pattern, cells.full_text, re.IGNORECASE) is not None
