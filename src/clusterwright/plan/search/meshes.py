"""Every way to lay the model over the GPUs: dp x cp x tp x pp = GPUs, and experts over ep x etp of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.catalog.model import Architecture
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options

# A rank of context parallelism holds two blocks of the sequence, so that the causal mask weighs on all alike;
# a block shorter than FlashAttention-2's tile of 128 rows (2307.08691) would leave tiles half empty.
CONTEXT_TILE = 128


class Mesh(NamedTuple):
    """Sizes of the parallel groups."""

    tp: int
    pp: int
    cp: int
    ep: int
    etp: int
    dp: int


def divisors(number: int) -> list[int]:
    """All of them, in order."""
    low = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return low + [number // d for d in reversed(low) if d * d != number]


def meshes(training: Training, machine: Machine, options: Options) -> tuple[list[Mesh], Counter[str]]:
    """Those that divide the model, the batch and the sequence; and how many do not, by what they fail to divide."""
    found: list[Mesh] = []
    refused: Counter[str] = Counter()
    for mesh in _factorings(training.architecture, machine, options):
        if why := indivisible(mesh, training, uneven=options.uneven):
            refused[why[0]] += 1
        else:
            found.append(mesh)
    return found, refused


def _factorings(model: Architecture, machine: Machine, options: Options) -> Iterator[Mesh]:
    most_tp = options.tp or options.max_tp or machine.nvlink_domain
    for tp in _of(options.tp, machine.gpus):
        for pp in _of(options.pp, machine.gpus // tp):
            for cp in _of(options.cp, machine.gpus // tp // pp):
                dp, rest = divmod(machine.gpus, tp * pp * cp)
                if tp <= max(most_tp, 1) and pp <= model.layers and not rest and options.dp in (None, dp):
                    yield from _experts(model, tp, pp, cp, dp, options)


def _experts(model: Architecture, tp: int, pp: int, cp: int, dp: int, options: Options) -> Iterator[Mesh]:
    if not model.experts:
        yield Mesh(tp, pp, cp, 1, 1, dp)
        return
    for etp in _of(options.etp, tp):
        for ep in _of(options.ep, dp * cp * tp // etp):
            if ep <= model.experts:
                yield Mesh(tp, pp, cp, ep, etp, dp)


def _of(fixed: int | None, number: int) -> list[int]:
    """The divisors to try: the fixed one where the user fixed it."""
    if fixed is None:
        return divisors(number)
    return [fixed] if number % fixed == 0 else []


def indivisible(mesh: Mesh, training: Training, *, uneven: bool) -> list[str]:
    """What the mesh does not divide: heads, kv heads, ffn, layers, sequence, experts, expert ffn, batch."""
    model = training.architecture
    kv_heads = mesh.tp if model.attention == "mla" or model.kv_heads == 1 else model.kv_heads
    return [
        name
        for name, bad in (
            ("heads", model.heads % mesh.tp),
            ("kv heads", kv_heads % mesh.tp),
            ("ffn", model.ffn % mesh.tp),
            ("layers", not stages_have_layers(model.layers, mesh.pp, uneven=uneven)),
            ("sequence", mesh.cp > 1 and training.seq_len % (2 * CONTEXT_TILE * mesh.cp)),
            ("experts", model.experts % mesh.ep),
            ("expert ffn", model.expert_ffn % mesh.etp),
            ("batch", training.global_batch % mesh.dp),
        )
        if bad
    ]


def stages_have_layers(layers: int, stages: int, *, uneven: bool) -> bool:
    """True when every stage has the same number; uneven: when none is empty, and they differ by one at most."""
    return layers % stages == 0 or (uneven and stages <= layers)


def interleaves(model: Architecture, pp: int, options: Options) -> list[int]:
    """Chunks of a stage: those that divide its layers; one where stages differ or there is one stage."""
    whole = pp > 1 and model.layers % pp == 0
    return [v for v in (divisors(model.layers // pp) if whole else [1]) if options.interleave in (None, v)]


def micro_batches(training: Training, dp: int, options: Options) -> list[int]:
    """Sizes of a microbatch that divide a replica's share of the batch."""
    share = training.global_batch // dp
    return [m for m in divisors(share) if options.micro_batch in (None, m)]
