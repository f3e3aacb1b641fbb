"""Transformers in tables of convolutional networks: BERT beside ResNet, as MLPerf and others print them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.plan import speed
from clusterwright.plan.predict.runs import run_of

if TYPE_CHECKING:
    from clusterwright.plan.predict.known import Known

_NAME = re.compile(r"\b(bert)[- ]?(large|base)\b", re.IGNORECASE)
_LENGTHS = (
    (r"squad|question", 384),
    (r"phase ?1|128", 128),
)  # Devlin et al. 1810.04805, appendix A; else 512
_LONGEST = 512
_USUAL_SHARE = 32  # sequences of one GPU, where no batch is given


def model_of(row: dict[str, str]) -> str:
    """The transformer's name in the catalogue; "" where the benchmark is of no transformer."""
    found = _NAME.search(row.get("benchmark", ""))
    return "-".join(found.groups()).lower() if found else ""


def sequences_per_s(row: dict[str, str], known: Known) -> tuple[float, str, str]:
    """Sequences a second of all GPUs, what was inferred, and the bound."""
    words = row.get("benchmark", "").lower()
    length = next((length for pattern, length in _LENGTHS if re.search(pattern, words)), _LONGEST)
    gpus = row.get("num_gpus", "").strip() or "1"
    batch = row.get("global_batch", "").strip() or str(_USUAL_SHARE * int(gpus))
    as_run = {
        "model": model_of(row),
        "seq_len": str(length),
        "gpu_type": row.get("gpu_type", ""),
        "num_gpus": gpus,
        "gpus_per_node": row.get("gpus_per_node", ""),
        "interconnect": row.get("host_networking", ""),
        "global_batch": batch,
        "micro_batch": str(max(1, int(batch) // int(gpus))),
        "precision": row.get("precision", ""),
        "source": f"Megatron {row.get('source', '')}",
        "recompute": "none",
    } | dict.fromkeys(("tp", "pp", "cp", "ep", "interleave"), "1")
    run, notes = run_of(as_run, known)
    time = speed.iteration(run)
    note = "; ".join((*notes, f"sequences of {length} tokens, padded"))
    return run.training.global_batch / float(time.total), note, str(speed.bound(time))
