"""Claim P1: LLaMA-2-7B, instruction tuning at batch 64, on one server and on four."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.catalog import architecture
from clusterwright.i18n import _
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Training
from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged
from clusterwright.plan.sizing.claims.hosts import a100_hdr, a100_hdr100
from clusterwright.plan.sizing.fewest import Assumptions, searched, sized
from clusterwright.plan.sizing.workload import Workload

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.fewest import Sized

MODEL, BATCH, SEQ = "llama2-7b", 64, 2048
SINGLE_SERVER_H, FOUR_SERVERS_H = 12.0, 3.0
ALPACA = 52_000  # samples of Stanford Alpaca, the usual instruction data set
# Published duration: 3 epochs of up to 512 tokens, LLaMA-7B, 8 A100-80G (https://crfm.stanford.edu/2023/03/13/alpaca.html)
ALPACA_H, ALPACA_EPOCHS, ALPACA_SEQ = 3.0, 3, 512


def single_server() -> Checked:
    """Judge the guides' claim of 12 hours per round on one server: inconclusive, as the data are not stated."""
    single = _an_epoch(a100_hdr100(1), ALPACA)
    samples = ALPACA * SINGLE_SERVER_H / single.hours
    tokens = samples * SEQ
    return Checked(
        "llama2-7b-one-server",
        "P1",
        _("LLaMA-2-7B, instruction tuning, batch 64, one server of 8 A100: about 12 h a round"),
        SINGLE_SERVER_H,
        single.hours,
        "h",
        _(
            "one epoch of {samples:,} samples of {seq:,} tokens on {machine}; {rate:,.0f} tokens/s per GPU",
            samples=ALPACA,
            seq=SEQ,
            machine=_on(single),
            rate=single.tokens_per_s / single.gpus,
        ),
        Verdict.INCONCLUSIVE,
        _(
            "The claim of 12 h for a training on 8 A100 does not state the amount of data. At the speed that the "
            "planner predicts, a training of LLaMA-2-7B of 12 h on 8 A100 processes {tokens:.2g} B tokens, or "
            "{samples:.0f} k samples of {seq:,} tokens. Unoptimized code is slower: the training of Stanford Alpaca, "
            "with {epochs} epochs of {alpaca:.0f} k samples of up to {length} tokens, took {published:g} h on 8 A100, "
            "for which the planner predicts {computed:.1f} h.",
            tokens=tokens / 1e9,
            samples=samples / 1e3,
            seq=SEQ,
            epochs=ALPACA_EPOCHS,
            alpaca=ALPACA / 1e3,
            length=ALPACA_SEQ,
            published=ALPACA_H,
            computed=_alpaca(single),
        ),
    )


def four_servers() -> Checked:
    """Judge the guides' claim that tuning LLaMA-2-7B takes under 3 h on 4 servers, by the planned speed-up."""
    single, four, wide = (
        _an_epoch(cluster, ALPACA) for cluster in (a100_hdr100(1), a100_hdr100(4), a100_hdr(4))
    )
    hours, best = (SINGLE_SERVER_H * result.hours / single.hours for result in (four, wide))
    return Checked(
        "llama2-7b-four-servers",
        "P1",
        _("LLaMA-2-7B, instruction tuning, batch 64, 4 servers of 8 A100: under 3 h a round"),
        FOUR_SERVERS_H,
        hours,
        "h",
        _(
            "12 h divided by the speed-up of {speedup:.2f} on {machine}, one HDR100 port each",
            speedup=single.hours / four.hours,
            machine=_on(four),
        ),
        _four(hours),
        _(
            "To finish in under 3 h instead of 12 h, a training on 4 servers needs a speed-up above 4 compared "
            "with one server. With eight HDR ports per server instead of one HDR100 port, the planner predicts a "
            "speed-up of {speedup:.2f} on 4 servers, and a duration of the training of {hours:.1f} h.",
            speedup=single.hours / wide.hours,
            hours=best,
        ),
    )


def _four(hours: float) -> Verdict:
    """Return the verdict on the claimed hours; PARTLY in place of AGREE if the computed hours are more than claimed.

    The claimed speed-up would be superlinear.
    """
    verdict = judged(FOUR_SERVERS_H, hours)
    return Verdict.PARTLY if verdict is Verdict.AGREE and hours > FOUR_SERVERS_H else verdict


def _an_epoch(on: Machine, samples: float) -> Sized:
    work = Workload(Training(architecture(MODEL), SEQ, BATCH, task="sft"), samples)
    result = sized(work, on, Assumptions(searched, machine))
    assert result is not None  # noqa: S101 (7 B parameters fit on a server, with any coefficients)
    return result


def _alpaca(result: Sized) -> float:
    return ALPACA * ALPACA_EPOCHS * ALPACA_SEQ / result.tokens_per_s / 3600


def _on(result: Sized) -> str:
    layout, stack = result.planned_layout.layout, result.planned_layout.stack
    degrees = f"dp {layout.dp} x tp {layout.tp} x pp {layout.pp}, ZeRO {layout.zero}"
    return f"{result.gpus} A100-80G, {degrees}, {stack.family}"
