"""How many microbatches a stage keeps activations of, by schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import larger, pick, smaller
from clusterwright.plan.run import Schedule

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Layout, Training


def microbatches(work: Training, cut: Layout) -> Real:
    """Microbatches of one replica in one iteration; at least one."""
    return larger(work.global_batch / (cut.dp * cut.micro_batch), 1)


def in_flight(work: Training, cut: Layout, index: Real) -> Real:
    """Microbatches, each through all layers of the stage; a share of one where chunks interleave.

    1F1B: the stage runs ahead by the stages behind it (Narayanan et al. 2104.04473, 2.2; interleaved: as
    Megatron-Core counts its warm-up). Zero bubble: a stage keeps activations until the weights' gradients
    are computed, up to its limit of p or 2 p microbatches (ZB-1p, ZB-2p; Qi et al. 2401.10241, 4); its V
    shape: 2405.15362. DualPipe: DeepSeek-V3, 2412.19437, table 2.
    """
    number = microbatches(work, cut)
    behind = cut.pp - index - 1
    match cut.schedule:
        case Schedule.AFAB:
            return number
        case Schedule.ZB_H1 | Schedule.ZB_V:
            return smaller(cut.pp, number)
        case Schedule.ZB_H2:
            return smaller(2 * cut.pp, number)
        case Schedule.DUALPIPE:
            return smaller((cut.pp + 1) / 2, number)  # of each of its two copies
    ahead = 2 * behind + (cut.interleave - 1) * cut.pp
    chunks = smaller(ahead + 1, number * cut.interleave) / cut.interleave
    return pick(cut.interleave > 1, chunks, smaller(behind + 1, number))
