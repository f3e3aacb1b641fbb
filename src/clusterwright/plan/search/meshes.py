"""Every way to lay the model over the GPUs: dp x cp x tp x pp = GPUs, and experts over ep x etp of them."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.catalog.records import Architecture
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
    valid: list[Mesh] = []
    refused: Counter[str] = Counter()
    for mesh in _factorings(training.architecture, machine, options):
        if reason := indivisible(mesh, training, uneven=options.uneven):
            refused[reason[0]] += 1
        else:
            valid.append(mesh)
    return valid, refused


def _factorings(model: Architecture, machine: Machine, options: Options) -> Iterator[Mesh]:
    most_tp = options.tp or options.max_tp or machine.nvlink_domain
    for tp in _candidates(options.tp, machine.gpus):
        for pp in _candidates(options.pp, machine.gpus // tp):
            for cp in _candidates(options.cp, machine.gpus // tp // pp):
                dp, remainder = divmod(machine.gpus, tp * pp * cp)
                if (
                    tp <= max(most_tp, 1)
                    and pp <= model.layers
                    and not remainder
                    and options.dp in (None, dp)
                ):
                    yield from _experts(model, tp, pp, cp, dp, options)


def _experts(model: Architecture, tp: int, pp: int, cp: int, dp: int, options: Options) -> Iterator[Mesh]:
    if not model.experts:
        yield Mesh(tp, pp, cp, 1, 1, dp)
        return
    for etp in _candidates(options.etp, tp):
        for ep in _candidates(options.ep, dp * cp * tp // etp):
            if ep <= model.experts:
                yield Mesh(tp, pp, cp, ep, etp, dp)


def _candidates(fixed: int | None, number: int) -> list[int]:
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
    is_even = pp > 1 and model.layers % pp == 0
    return [v for v in (divisors(model.layers // pp) if is_even else [1]) if options.interleave in (None, v)]


def micro_batches(training: Training, dp: int, options: Options) -> list[int]:
    """Sizes of a microbatch that divide a replica's share of the batch."""
    share = training.global_batch // dp
    return [m for m in divisors(share) if options.micro_batch in (None, m)]


_SIZES = ("tp", "pp", "cp", "ep", "etp", "dp", "micro_batch", "interleave", "max_tp")
_OPTIONS = {"etp": "expert-tp", "micro_batch": "micro-batch", "max_tp": "max-tp"}


def require_numpy() -> None:
    """The search has its numpy.

    Raises:
        WrightError: it is not.
    """
    if find_spec("numpy") is None:
        message = _("the search compares millions of layouts with numpy, which is not installed")
        fix = _('pip install "clusterwright[plan]"')
        raise WrightError.from_code("plan-needs-numpy", message, fix, exit_code=EXIT_USAGE)


def require_sizes(training: Training, machine: Machine, options: Options) -> None:
    """Every size is one, and what the user fixed divides what it has to.

    Raises:
        WrightError: everything that is not so.
    """
    findings = no_sizes(_sizes(training, machine, options)) or list(_indivisible(training, machine, options))
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def no_sizes(sizes: Mapping[str, float | None]) -> list[Finding]:
    """Zero and less, by the name of the option."""
    return [
        Finding("plan-bad-size", _("--{name} is {size}", name=name, size=size), f"give --{name} 1 or more")
        for name, size in sizes.items()
        if size is not None and size < 1
    ]


def _sizes(training: Training, machine: Machine, options: Options) -> dict[str, float | None]:
    sizes: dict[str, float | None] = {
        "gpus": machine.gpus,
        "gpus-per-node": machine.gpus_per_node,
        "seq": training.seq_len,
        "global-batch": training.global_batch,
        "top": options.top,
    }
    return sizes | {_OPTIONS.get(name, name): getattr(options, name) for name in _SIZES}


def _indivisible(training: Training, machine: Machine, options: Options) -> Iterator[Finding]:
    model, batch = training.architecture, training.global_batch
    fixed = {name: options.fixed(name) or 1 for name in ("tp", "pp", "cp", "ep", "etp", "dp")}
    degree = prod(fixed[name] for name in ("tp", "pp", "cp", "dp"))
    if machine.gpus % degree or (
        options.dp and options.tp and options.pp and options.cp and degree != machine.gpus
    ):
        product = " x ".join(
            f"{name} {fixed[name]}" for name in ("dp", "tp", "pp", "cp") if options.fixed(name)
        )
        yield _finding(
            _("{product} does not make {gpus} GPUs", product=product, gpus=machine.gpus),
            _("take sizes whose product divides the GPUs"),
        )
    sizes = {
        "heads": ("tp", model.heads), "kv heads": ("tp", model.kv_heads), "ffn": ("tp", model.ffn),
        "layers": ("pp", model.layers), "sequence": ("cp", training.seq_len), "experts": ("ep", model.experts),
        "expert ffn": ("etp", model.expert_ffn), "batch": ("dp", batch),
    }  # fmt: skip
    for quantity in indivisible(Mesh(**fixed), training, uneven=options.uneven):
        name, size = sizes[quantity]
        valid_degrees = [d for d in divisors(size) if d <= 2 * fixed[name]]
        owner = f"of {model.name}" if quantity not in ("batch", "sequence") else "asked for"
        message = _(
            "the {size} {quantity} {owner} cannot be cut by {name} {fixed}",
            size=size,
            quantity=quantity,
            owner=owner,
            name=name,
            fixed=fixed[name],
        )
        yield _finding(message, _("take one of {str}", str=", ".join(map(str, valid_degrees[-6:]))))
    if (micro := options.micro_batch) and batch % (fixed["dp"] * micro):
        message = _(
            "the batch of {batch} is not a multiple of dp {fixed} x microbatch {micro}",
            batch=batch,
            fixed=fixed["dp"],
            micro=micro,
        )
        yield _finding(
            message,
            _(
                "take a global batch of {batch}, or a smaller microbatch",
                batch=batch + -batch % (fixed["dp"] * micro),
            ),
        )
    if (chunks := options.interleave) and chunks > 1 and model.layers % (fixed["pp"] * chunks):
        message = _(
            "the {layers} layers of {model} cannot be cut by pp {fixed} x interleave {chunks}",
            layers=model.layers,
            model=model.name,
            fixed=fixed["pp"],
            chunks=chunks,
        )
        yield _finding(message, _("take an interleave that divides the layers of a stage"))


def _finding(message: str, fix: str) -> Finding:
    return Finding("plan-indivisible", message, fix)
