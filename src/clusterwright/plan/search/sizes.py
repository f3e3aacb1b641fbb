"""What cannot be searched: sizes that are no sizes, and sizes that the user fixed and that divide nothing."""

from __future__ import annotations

from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.plan.search.meshes import Mesh, divisors, indivisible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options

_SIZES = ("tp", "pp", "cp", "ep", "etp", "dp", "micro_batch", "interleave", "max_tp")
_OPTIONS = {"etp": "expert-tp", "micro_batch": "micro-batch", "max_tp": "max-tp"}


def require_numpy() -> None:
    """The search has its numpy.

    Raises:
        WrightError: it is not.
    """
    if find_spec("numpy") is None:
        message = "the search compares millions of layouts with numpy, which is not installed"
        mend = 'pip install "clusterwright[plan]"'
        raise WrightError.of("plan-needs-numpy", message, mend, exit_code=EXIT_USAGE)


def require_sizes(training: Training, machine: Machine, options: Options) -> None:
    """Every size is one, and what the user fixed divides what it has to.

    Raises:
        WrightError: everything that is not so.
    """
    found = no_sizes(_sizes(training, machine, options)) or list(_indivisible(training, machine, options))
    if found:
        raise WrightError(*found, exit_code=EXIT_USAGE)


def no_sizes(sizes: Mapping[str, float | None]) -> list[Finding]:
    """Zero and less, by the name of the option."""
    return [
        Finding("plan-bad-size", f"--{name} is {size}", f"give --{name} 1 or more")
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
    cut = prod(fixed[name] for name in ("tp", "pp", "cp", "dp"))
    if machine.gpus % cut or (
        options.dp and options.tp and options.pp and options.cp and cut != machine.gpus
    ):
        said = " x ".join(f"{name} {fixed[name]}" for name in ("dp", "tp", "pp", "cp") if options.fixed(name))
        yield _finding(
            f"{said} does not make {machine.gpus} GPUs", "take sizes whose product divides the GPUs"
        )
    sizes = {
        "heads": ("tp", model.heads), "kv heads": ("tp", model.kv_heads), "ffn": ("tp", model.ffn),
        "layers": ("pp", model.layers), "sequence": ("cp", training.seq_len), "experts": ("ep", model.experts),
        "expert ffn": ("etp", model.expert_ffn), "batch": ("dp", batch),
    }  # fmt: skip
    for what in indivisible(Mesh(**fixed), training, uneven=options.uneven):
        name, size = sizes[what]
        good = [d for d in divisors(size) if d <= 2 * fixed[name]]
        of = f"of {model.name}" if what not in ("batch", "sequence") else "asked for"
        message = f"the {size} {what} {of} cannot be cut by {name} {fixed[name]}"
        yield _finding(message, f"take one of {', '.join(map(str, good[-6:]))}")
    if (micro := options.micro_batch) and batch % (fixed["dp"] * micro):
        message = f"the batch of {batch} is not a multiple of dp {fixed['dp']} x microbatch {micro}"
        yield _finding(
            message,
            f"take a global batch of {batch + -batch % (fixed['dp'] * micro)}, or a smaller microbatch",
        )
    if (chunks := options.interleave) and chunks > 1 and model.layers % (fixed["pp"] * chunks):
        message = f"the {model.layers} layers of {model.name} cannot be cut by pp {fixed['pp']} x interleave {chunks}"
        yield _finding(message, "take an interleave that divides the layers of a stage")


def _finding(message: str, mend: str) -> Finding:
    return Finding("plan-indivisible", message, mend)
