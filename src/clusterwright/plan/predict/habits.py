"""What software usually does where a row does not say: recomputation, sequence parallelism, experts, schedule."""

from __future__ import annotations

import re
from math import gcd
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.predict.row_text import mentions
from clusterwright.plan.run import Offload, Recompute, Schedule

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.predict.setting import Setting

_CORE_ATTENTION = ("core_attn",)
_RECOMPUTED = (
    (r"none|no\b|false|off", Recompute.NONE),
    (r"sel", Recompute.SELECTIVE),
    (r"full|yes|true|on\b|all", Recompute.FULL),
)
_SCHEDULES = (  # names of Qi et al. 2401.10241 and 2405.15362, and of DeepSeek-V3 2412.19437
    (r"\bzb-?v\b|zero bubble v\b", Schedule.ZB_V),
    (r"\bzb-?(?:h2|2p)\b", Schedule.ZB_H2),
    (r"\bzb-?(?:h1|1p)\b", Schedule.ZB_H1),
    (r"dualpipe", Schedule.DUALPIPE),
    (r"gpipe|\bafab\b", Schedule.AFAB),
)
_NO_SEQUENCE_PARALLEL_BEFORE = 2022  # Korthikanti et al. 2205.05198
_SEQUENCE_PARALLEL_BY_DEFAULT_SINCE = 2023
_INTERLEAVED_SINCE = 2021  # Narayanan et al. 2104.04473
_INTERLEAVED_EVERYWHERE_SINCE = 2023  # Llama 3 and torchtitan beside Megatron (2407.21783, 2410.06511)
_MOST_CHUNKS = 8  # NVIDIA's recipes cut a stage into 4 to 12 chunks


def experts(cells: Cells, setting: Setting, group: int) -> int:
    """Expert-parallel degree; where not given, the most that divides experts, GPUs and a node."""
    degree = cells.integer("ep") or int(setting.settings.get("expert-model-parallel-size", "0"))
    experts = setting.model.experts
    if not experts:
        return 1
    if degree and (experts % degree or group % degree):
        message = _(
            "{experts} experts on {group} GPUs (dp x cp x tp) cannot be spread over ep {degree}",
            experts=experts,
            group=group,
            degree=degree,
        )
        cells.wrong("predict-experts-indivisible", message, _("give an ep that divides both"))
    if degree:
        return degree
    ep = gcd(gcd(experts, group), setting.node)
    cells.note(_("expert parallelism not given: {ep}", ep=ep))
    return ep


def expert_tensor(cells: Cells, setting: Setting, tp: int) -> int:
    """Tensor parallelism inside an expert; where not given, none, as in the recipes of NVIDIA's MoE tables."""
    degree = setting.settings.get("expert-tensor-parallel-size", "")
    if setting.model.experts and tp > 1 and not degree:
        cells.note(_("tensor parallelism of experts not given: 1"), "etp")
    return int(degree) if degree.isdigit() else 1


def interleave(cells: Cells, setting: Setting, pp: int, microbatches: int) -> int:
    """Chunks of a stage; users interleave where layers and microbatches allow it (Megatron-LM's README says so)."""
    text = setting.settings.get("VP", "")
    requested = cells.integer("interleave") or (int(text) if text.isdigit() else 0)
    if requested or pp == 1:
        return requested if pp > 1 else 1
    slots = setting.model.layers + (-setting.model.layers % pp if not setting.model.experts else 0)
    first_year = _INTERLEAVED_SINCE if setting.stack.family == "megatron" else _INTERLEAVED_EVERYWHERE_SINCE
    able = setting.stack.year >= first_year
    if not able or slots % pp or microbatches % pp:
        return 1
    chunks = max(d for d in range(1, _MOST_CHUNKS + 1) if slots // pp % d == 0)
    if chunks > 1:
        cells.note(
            _(
                "interleave not given: {chunks}, as users do where layers and microbatches allow it",
                chunks=chunks,
            )
        )
    return chunks


def recompute(cells: Cells, setting: Setting, zero: int) -> Recompute:
    """What is recomputed; where not given, what the software of the time did."""
    text = cells.text("recompute").lower()
    for pattern, mode in _RECOMPUTED:
        if re.match(pattern, text):
            return mode
    old = setting.stack.family.startswith("megatron") and setting.stack.year < _NO_SEQUENCE_PARALLEL_BEFORE
    kind = Recompute.FULL if old else Recompute.NONE if zero == 3 else Recompute.SELECTIVE
    if mentions(cells, "torchtitan"):
        kind = Recompute.SELECTIVE  # its default, by operation
    reason = _("recompute `{text}` not known", text=text) if text else _("recomputation not given")
    usual = f"as usual in {setting.stack.family} of {setting.stack.year}"
    cells.note(f"{reason}: {kind.name.lower()}, {usual}", "recompute")
    return kind


def sequence_parallel(cells: Cells, setting: Setting, tp: int) -> int:
    """1 where tensor parallelism splits the norms too: as said, with selective recomputation, or since 2023."""
    if tp == 1 or mentions(cells, r"no sequence[- ]parallel"):
        return 0
    if mentions(cells, r"sequence[- ]parallel|seq-parallel"):
        return 1
    flags = "transformer-impl" in setting.settings or "attention-backend" in setting.settings
    is_old = setting.stack.year < _SEQUENCE_PARALLEL_BY_DEFAULT_SINCE
    return 0 if flags or (is_old and not cells.text("recompute").startswith("sel")) else 1


def offload(cells: Cells) -> Offload:
    """What the words say lives in the host's memory."""
    if mentions(cells, r"full cpu offload"):
        return Offload.ALL
    return (
        Offload.OPTIMIZER
        if mentions(cells, r"(?<!no )(?:cpu adam|optimi[sz]er offload|cpu offload)(?!=False)")
        else Offload.NONE
    )


def schedule(cells: Cells) -> Schedule:
    """The pipeline schedule that is named, else one forward, one backward."""
    return next((kind for pattern, kind in _SCHEDULES if mentions(cells, pattern)), Schedule.ONE_F_ONE_B)


def modules(cells: Cells, setting: Setting) -> tuple[str, ...]:
    """What selective recomputation covers, as Megatron-Core's flag lists it."""
    module_names = setting.settings.get("recompute-modules", "").strip("[]").replace(",", " ").split()
    if not module_names and mentions(cells, "torchtitan"):
        return ("per-op",)
    return tuple(module_names) or _CORE_ATTENTION
