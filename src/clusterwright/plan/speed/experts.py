"""Seconds of a mixture-of-experts block: router, all-to-all, permutation, grouped products, shared expert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import larger, pick
from clusterwright.plan.speed import layers, links, matmul

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates
    from clusterwright.plan.speed.layers import Parts

KERNELS = 12  # of routing and permutation: scores, top-k, sort, gather, scatter, counts; forward


def block(run: Run, rates: Rates) -> tuple[Parts, Parts]:
    """Forward and backward of one such block."""
    routed = routed_block(run, rates)
    for width in (run.training.architecture.shared_ffn, run.training.architecture.expert_width):
        if width:
            beside = layers.feed_forward(run, rates, width)
            routed = routed[0] + beside[0], routed[1] + beside[1]
    return routed


def routed_block(run: Run, rates: Rates) -> tuple[Parts, Parts]:
    """What the visited experts cost, the fullest of them deciding."""
    model, cut = run.training.architecture, run.layout
    mine = layers.tokens(run) / pick(cut.sequence_parallel > 0, cut.tp, 1)
    visits = mine * model.experts_per_token * cut.etp * (1 + (rates.imbalance - 1) * (1 - 1 / cut.ep))
    local = model.experts / cut.ep
    gates = 2 if model.gated else 1
    width = model.expert_ffn / cut.etp
    outer = model.expert_width or model.hidden
    shapes: list[tuple[Real, Real]] = [(gates * width, outer), (outer, width)]
    rows = visits / local
    forward = sum((matmul.seconds(rows, n, k, rates=rates, groups=local) for n, k in shapes), 0.0)
    backward = sum((matmul.backward(rows, n, k, rates=rates, groups=local) for n, k in shapes), 0.0)
    moved = traffic(run, rates, mine, visits, width) + layers.casts(visits, shapes, rates, 0)
    weights = sum((n * k for n, k in shapes), 0.0) * local * rates.trained
    added = weights * 2 * run.training.gradient_bytes * rates.accumulate
    comm = exchange(run, rates, mine)
    kernels = KERNELS * rates.launch
    return (
        layers.Parts(forward, layers.seconds(moved, rates) + kernels, expert=comm),
        layers.Parts(backward, layers.seconds(2 * moved + added, rates) + 2 * kernels, expert=comm),
    )


def traffic(run: Run, rates: Rates, mine: Real, visits: Real, width: Real) -> Real:
    """Bytes of norm and residual, of permuting rows there and back (read, write, twice), of the activation."""
    model = run.training.architecture
    gates = 2 if model.gated else 1
    outer = 10 * model.hidden * mine * rates.elementwise
    permuted = 8 * (model.expert_width or model.hidden) * visits * rates.expert_traffic
    return outer + permuted + (2 * gates + 2) * width * visits * rates.elementwise


def exchange(run: Run, rates: Rates, mine: Real) -> Real:
    """Exposed seconds of dispatch and combine, and of gathering tokens over the ranks that cut one expert."""
    model, cut = run.training.architecture, run.layout
    size = 2 * mine * (model.expert_width or model.hidden) * model.experts_per_token
    across = 2 * links.all_to_all(size * sent_once(run, rates), cut.ep, run.machine)
    gathered = 2 * links.gather(size * cut.etp, cut.etp, run.machine)
    comm = pick(cut.ep > 1, across, 0.0) + pick(cut.etp > 1, gathered, 0.0)
    return larger(comm * rates.expert_exposed, 0.0)


def sent_once(run: Run, rates: Rates) -> Real:
    """Share of the copies that is left when a token goes to each node at most once, its experts drawn at random."""
    if not rates.deduplicated:
        return 1.0
    nodes = larger(run.layout.ep / run.machine.nvlink_domain, 1)
    visits = run.training.architecture.experts_per_token
    return pick(nodes > 1, nodes * (1 - (1 - 1 / nodes) ** visits) / visits, 1.0)
