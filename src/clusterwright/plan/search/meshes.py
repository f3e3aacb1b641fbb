"""All meshes of a number of GPUs: dp x cp x tp x pp = GPUs, with experts over ep x etp of them."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.i18n import N_, _
from clusterwright.plan.numbers import divisors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.catalog.records import Architecture
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options


# A rank of context parallelism has two blocks of the sequence, so that the causal mask loads all ranks equally;
# a block shorter than FlashAttention-2's tile of 128 rows (2307.08691) would leave tiles half empty.
CONTEXT_TILE = 128


class Mesh(NamedTuple):
    """Parallel degrees of a layout."""

    tp: int
    pp: int
    cp: int
    ep: int
    etp: int
    dp: int


def meshes(training: Training, machine: Machine, options: Options) -> tuple[list[Mesh], Counter[str]]:
    """Return the meshes that divide model, batch and sequence, and the numbers of others by what they do not divide.

    A mesh counts for the first quantity that it does not divide.
    """
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
    """Return the divisors of `number` to try; if the user fixed one, only that, and none if it does not divide."""
    if fixed is None:
        return divisors(number)
    return [fixed] if number % fixed == 0 else []


def indivisible(mesh: Mesh, training: Training, *, uneven: bool) -> list[str]:
    """Return the names of all quantities that the mesh does not divide, such as heads or batch; empty if it is valid.

    Key-value heads that each GPU has a copy of (MLA, or one head) are divided by any mesh. `uneven` allows stages with
    different numbers of layers.
    """
    model = training.architecture
    kv_heads = mesh.tp if model.attention == "mla" or model.kv_heads == 1 else model.kv_heads
    return [
        name
        for name, bad in (
            (N_("heads"), model.heads % mesh.tp),
            (N_("kv heads"), kv_heads % mesh.tp),
            (N_("ffn"), model.ffn % mesh.tp),
            (N_("layers"), not stages_have_layers(model.layers, mesh.pp, uneven=uneven)),
            (N_("sequence"), mesh.cp > 1 and training.seq_len % (2 * CONTEXT_TILE * mesh.cp)),
            (N_("experts"), model.experts % mesh.ep),
            (N_("expert ffn"), model.expert_ffn % mesh.etp),
            (N_("batch"), training.global_batch % mesh.dp),
        )
        if bad
    ]


def stages_have_layers(layers: int, stages: int, *, uneven: bool) -> bool:
    """Return True if all stages get the same number of layers; with `uneven` they may differ by one."""
    return layers % stages == 0 or (uneven and stages <= layers)


def interleaves(model: Architecture, pp: int, options: Options) -> list[int]:
    """Return possible numbers of chunks per stage: divisors of its layers; 1 for uneven stages or a single one.

    If the user fixed a number, only that, or none.
    """
    is_even = pp > 1 and model.layers % pp == 0
    return [v for v in (divisors(model.layers // pp) if is_even else [1]) if options.interleave in (None, v)]


def micro_batches(training: Training, dp: int, options: Options) -> list[int]:
    """Return the microbatch sizes that divide a replica's share of the batch; only the fixed one if it does."""
    share = training.global_batch // dp
    return [m for m in divisors(share) if options.micro_batch in (None, m)]


_SIZES = ("tp", "pp", "cp", "ep", "etp", "dp", "micro_batch", "interleave", "max_tp")
_OPTIONS = {"etp": "expert-tp", "micro_batch": "micro-batch", "max_tp": "max-tp"}


def require_numpy() -> None:
    """Check that numpy is installed.

    Raises:
        WrightError: plan-needs-numpy.
    """
    if find_spec("numpy") is None:
        message = _("the search compares millions of layouts with numpy, which is not installed")
        fix = _('pip install "clusterwright[plan]"')
        raise WrightError.from_code("plan-needs-numpy", message, fix, exit_code=EXIT_USAGE)


def require_sizes(training: Training, machine: Machine, options: Options) -> None:
    """Check that all sizes are positive; then that fixed sizes divide the model, batch and GPUs.

    Raises:
        WrightError: with one finding per violation.
    """
    findings = no_sizes(_sizes(training, machine, options)) or list(_indivisible(training, machine, options))
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def no_sizes(sizes: Mapping[str, float | None]) -> list[Finding]:
    """Return a finding for each option whose value is below 1; options of None are not checked."""
    return [
        Finding(
            "plan-bad-size",
            _("--{name} is {size}, but must be at least 1", name=name, size=size),
            _("give --{name} a value of at least 1", name=name),
        )
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
    yield from _wrong_product(machine.gpus, fixed, options)
    yield from _undivided(training, fixed, uneven=options.uneven)
    if (micro := options.micro_batch) and batch % (fixed["dp"] * micro):
        message = _(
            "the batch of {batch} is not a multiple of dp {dp} x microbatch {micro}",
            batch=batch,
            dp=fixed["dp"],
            micro=micro,
        )
        yield _finding(
            message,
            _(
                "use a global batch of {batch}, or a smaller microbatch",
                batch=batch + -batch % (fixed["dp"] * micro),
            ),
        )
    if (chunks := options.interleave) and chunks > 1 and model.layers % (fixed["pp"] * chunks):
        message = _(
            "pp {pp} x interleave {chunks} does not divide {layers} layers of {model}",
            layers=model.layers,
            model=model.name,
            pp=fixed["pp"],
            chunks=chunks,
        )
        yield _finding(message, _("use an interleave that divides the layers of a stage"))


def _wrong_product(gpus: int, fixed: dict[str, int], options: Options) -> Iterator[Finding]:
    """Yield a finding if the product of the user's parallel sizes does not divide the number of GPUs.

    Also if all sizes are given and the product is not that number.
    """
    names = [name for name in ("dp", "tp", "pp", "cp") if options.fixed(name)]
    degree = prod(fixed[name] for name in names)
    product = " x ".join(f"{name} {fixed[name]}" for name in names)
    if gpus % degree:
        yield _finding(
            _("{product} does not divide {gpus} GPUs", product=product, gpus=gpus),
            _("use sizes whose product divides the GPUs"),
        )
    elif len(names) == 4 and degree != gpus:
        yield _finding(
            _("{product} is {degree}, and not {gpus} GPUs", product=product, degree=degree, gpus=gpus),
            _("use sizes whose product is the number of GPUs, or omit dp"),
        )


def _undivided(training: Training, fixed: dict[str, int], *, uneven: bool) -> Iterator[Finding]:
    """Yield a finding for each quantity of the model, sequence or batch that the degrees do not divide."""
    model = training.architecture
    sizes = {
        "heads": ("tp", model.heads), "kv heads": ("tp", model.kv_heads), "ffn": ("tp", model.ffn),
        "layers": ("pp", model.layers), "sequence": ("cp", training.seq_len), "experts": ("ep", model.experts),
        "expert ffn": ("etp", model.expert_ffn), "batch": ("dp", training.global_batch),
    }  # fmt: skip
    for quantity in indivisible(Mesh(**fixed), training, uneven=uneven):
        name, size = sizes[quantity]
        values = {"name": name, "degree": fixed[name], "size": size, "quantity": _(quantity)}
        message = (
            _("{name} {degree} does not divide the {quantity} of {size}", **values)
            if quantity in ("batch", "sequence")
            else _("{name} {degree} does not divide {size} {quantity} of {model}", model=model.name, **values)
        )
        valid = [str(degree) for degree in divisors(size) if degree <= 2 * fixed[name]]
        yield _finding(message, _("use one of {degrees}", degrees=", ".join(valid[-6:])))


def _finding(message: str, fix: str) -> Finding:
    return Finding("plan-indivisible", message, fix)
