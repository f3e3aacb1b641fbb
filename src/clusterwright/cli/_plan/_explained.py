"""One prediction taken apart, on a terminal and as a page."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from clusterwright.cli._show import say, show_table, show_text

if TYPE_CHECKING:
    from clusterwright.plan.predict.explained import Explained
    from clusterwright.plan.prediction import Memory

_GIB = 2**30
_BAR = 30  # characters of the whole iteration
_SHOWN = 8  # stages, changes
_VERDICTS = {"fits": "fits", "tight": "fits, tightly", "oom": "does not fit"}


def tell(found: Explained) -> None:
    """Headline, waterfall, memory by stage, what would help, and what it rests on."""
    show_text(_headline(found))
    show_text("\nwhere the time goes")
    show_table(("seconds", "share", "", "what"), _steps(found))
    show_text("\nmemory of one GPU, GiB, by pipeline stage")
    show_table(("stage", *_names(found.stages[0]), "total"), _stages(found))
    usable = found.run.machine.gpu.usable_bytes / _GIB
    show_text(f"{_VERDICTS[str(found.fit)]}: {usable:.1f} GiB usable on {found.run.machine.gpu.name}")
    _tell_changes(found)
    show_text("\nwhat it rests on")
    show_table(("what", "value", "source"), found.origins)
    for note in found.notes:
        say(f"note: {note}")


def _headline(found: Explained) -> str:
    run, total = found.run, float(found.time.total)
    cut = run.layout
    degrees = f"dp {cut.dp} x tp {cut.tp} x pp {cut.pp} x cp {cut.cp}"
    sort = f", ep {cut.ep}" if run.training.architecture.experts else ""
    return (
        f"{run.training.architecture.name} on {run.machine.gpus} x {run.machine.gpu.name}: {degrees}{sort}, "
        f"microbatch {cut.micro_batch}, ZeRO {cut.zero}\n"
        f"{total:.4g} s an iteration, in 8 of 10 cases {found.low:.4g} to {found.high:.4g} s; "
        f"{found.tokens_per_s_per_gpu:,.0f} tokens/s a GPU; MFU {found.mfu:.1%}; bound: {found.bound}"
    )


def _steps(found: Explained) -> list[tuple[str, str, str, str]]:
    rows, start = [], 0.0
    for _, words, seconds, share in found.parts:
        left = round(start * _BAR)
        bar = " " * left + "#" * max(1, round((start + share) * _BAR) - left)
        rows.append((f"{seconds:.4g}", f"{share:.1%}", bar.ljust(_BAR), words))
        start += share
    return [*rows, (f"{float(found.time.total):.4g}", "100.0%", "#" * _BAR, "wall time of one iteration")]


def _names(memory: Memory) -> list[str]:
    return [part.name for part in fields(memory)]


def _stages(found: Explained) -> list[tuple[str, ...]]:
    """Every stage; of many, the first, the second and the last."""
    every = list(enumerate(found.stages))
    shown = every if len(every) <= _SHOWN else [*every[:2], every[-1]]
    return [
        (
            f"{index}",
            *(f"{float(getattr(held, name)) / _GIB:.2f}" for name in _names(held)),
            f"{float(held.total) / _GIB:.2f}",
        )
        for index, held in shown
    ]


def _tell_changes(found: Explained) -> None:
    if not found.changes:
        show_text("\nno single change that is known here makes it noticeably faster")
        return
    show_text("\nwhat would help most, each alone, by the time of one sample")
    rows = [
        (f"-{each.saved:.1%}", f"{each.seconds:.4g}", _VERDICTS[str(each.fit)], each.words)
        for each in found.changes[:_SHOWN]
    ]
    show_table(("time", "s an iteration", "memory", "change"), rows)
