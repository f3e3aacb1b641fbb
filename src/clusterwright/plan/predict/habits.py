"""Usual settings of training software for blank cells: recomputation, sequence parallelism, experts, schedule."""

from __future__ import annotations

import re
from math import gcd
from typing import TYPE_CHECKING

from clusterwright.i18n import N_, _
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
_INTERLEAVED_EVERYWHERE_SINCE = 2023  # Llama 3 and torchtitan besides Megatron (2407.21783, 2410.06511)
_MOST_CHUNKS = 8  # NVIDIA's recipes split a stage into 4 to 12 chunks


def experts(cells: Cells, setting: Setting, group: int) -> int:
    """Return the expert-parallel degree of row or flags; default: the largest that divides experts, `group` and node.

    1 for a dense model. `group`: GPUs, dp x cp x tp. A degree that does not divide experts and GPUs adds a problem to
    the row and is returned all the same; the default adds a note.
    """
    degree = cells.integer("ep") or int(setting.settings.get("expert-model-parallel-size", "0"))
    experts = setting.model.experts
    if not experts:
        return 1
    if degree and (experts % degree or group % degree):
        message = _(
            "ep {degree} does not divide both {experts} experts and {group} GPUs (dp x cp x tp)",
            experts=experts,
            group=group,
            degree=degree,
        )
        cells.wrong(
            "predict-experts-indivisible",
            message,
            _("give an `ep` that divides the number of experts and dp x cp x tp"),
        )
    if degree:
        return degree
    ep = gcd(gcd(experts, group), setting.node)
    cells.note(_("no expert parallelism given: assumed {ep}", ep=ep))
    return ep


def expert_tensor(cells: Cells, setting: Setting, tp: int) -> int:
    """Return the tensor-parallel degree of experts of the row's Megatron flag; default: 1, as in NVIDIA's MoE tables.

    The default adds a note for a model with experts and `tp` above 1.
    """
    degree = setting.settings.get("expert-tensor-parallel-size", "")
    if setting.model.experts and tp > 1 and not degree:
        cells.note(_("no tensor parallelism of experts given: assumed 1"), "etp")
    return int(degree) if degree.isdigit() else 1


def interleave(cells: Cells, setting: Setting, pp: int, microbatches: int) -> int:
    """Return the number of model chunks per pipeline stage (virtual stages) of the row or its flags, else a default.

    The default is the most that divide the stage's layers, if microbatches allow it; above 1 it adds a note. 1 without
    a pipeline, or in software of a year before it interleaved by default.
    """
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
                "no interleaving given: assumed {chunks}, usual if layers and microbatches allow it",
                chunks=chunks,
            )
        )
    return chunks


def recompute(cells: Cells, setting: Setting, zero: int) -> Recompute:
    """Return the activation recomputation of the row; for a blank or unknown text that of the software at the time.

    What is assumed is noted.
    """
    text = cells.text("recompute").lower()
    for pattern, mode in _RECOMPUTED:
        if re.match(pattern, text):
            return mode
    old = setting.stack.family.startswith("megatron") and setting.stack.year < _NO_SEQUENCE_PARALLEL_BEFORE
    kind = Recompute.FULL if old else Recompute.NONE if zero == 3 else Recompute.SELECTIVE
    if mentions(cells, "torchtitan"):
        kind = Recompute.SELECTIVE  # torchtitan's default, per operation
    message = (
        N_("unknown recompute `{text}`: assumed {kind}, usual in {family} of {year}")
        if text
        else N_("no recomputation given: assumed {kind}, usual in {family} of {year}")
    )
    values = {
        "text": text,
        "kind": kind.name.lower(),
        "family": setting.stack.family,
        "year": setting.stack.year,
    }
    cells.note(_(message, **values), "recompute")
    return kind


def sequence_parallel(cells: Cells, setting: Setting, tp: int) -> int:
    """Return 1 for sequence parallelism, else 0, as the row's text mentions.

    Default: 1 since 2023 or with selective recomputation; 0 without tp, or if notes with Megatron's flags do not
    have it.
    """
    if tp == 1 or mentions(cells, r"no sequence[- ]parallel"):
        return 0
    if mentions(cells, r"sequence[- ]parallel|seq-parallel"):
        return 1
    flags = "transformer-impl" in setting.settings or "attention-backend" in setting.settings
    is_old = setting.stack.year < _SEQUENCE_PARALLEL_BY_DEFAULT_SINCE
    return 0 if flags or (is_old and not cells.text("recompute").startswith("sel")) else 1


def offload(cells: Cells) -> Offload:
    """Return the CPU offload that the row's text mentions: all, or the optimizer's states; none if not mentioned."""
    if mentions(cells, r"full cpu offload"):
        return Offload.ALL
    return (
        Offload.OPTIMIZER
        if mentions(cells, r"(?<!no )(?:cpu adam|optimi[sz]er offload|cpu offload)(?!=False)")
        else Offload.NONE
    )


def schedule(cells: Cells) -> Schedule:
    """Return the pipeline schedule that the row's text mentions; default: 1F1B."""
    return next((kind for pattern, kind in _SCHEDULES if mentions(cells, pattern)), Schedule.ONE_F_ONE_B)


def modules(cells: Cells, setting: Setting) -> tuple[str, ...]:
    """Return the modules of selective recomputation, as in the row's Megatron flag; default: core attention.

    Without the flag, torchtitan's are `per-op`.
    """
    module_names = setting.settings.get("recompute-modules", "").strip("[]").replace(",", " ").split()
    if not module_names and mentions(cells, "torchtitan"):
        return ("per-op",)
    return tuple(module_names) or _CORE_ATTENTION
