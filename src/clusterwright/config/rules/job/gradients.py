"""What a job says of its gradients goes together."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.job import Gradients, Job
from clusterwright.config.rules._clash import Clash


def gradients(job: Job) -> Iterator[Clash]:
    """One way of adding up, its own settings alone, and none where ranks meet each so many steps only."""
    said = job.gradients
    for name in ("rank", "warm_up"):
        if said.compress != "power" and getattr(said, name) != Gradients.model_fields[name].default:
            message = f"{name} is PowerSGD's, but compress is {said.compress}"
            yield Clash(
                "gradients-mismatch", message, "set `compress: power`, or take it out", _at(name, "compress")
            )
    if said.compress in ("int8", "power") and said.hierarchical:
        message = f"`compress: {said.compress}` has no sum inside each host"
        yield Clash("gradients-mismatch", message, "take hierarchical out", _at("hierarchical", "compress"))
    if job.outer:
        yield from _outer(job)


def _outer(job: Job) -> Iterator[Clash]:
    said, cut = job.gradients, job.parallel
    if said.compress != "none" or said.hierarchical:
        message = "with `outer` no gradient travels, but `gradients` says how"
        mend = "take outer out, or compress and hierarchical; outer has `bits` of its own"
        yield Clash(
            "gradients-mismatch",
            message,
            mend,
            (("outer",), *_at("compress" if said.compress != "none" else "hierarchical")),
        )
    if cut and (cut.shard != "none" or cut.replica > 1):
        message = "with `outer` each GPU steps by itself, so each needs the whole model; `parallel` cuts it"
        yield Clash(
            "gradients-mismatch",
            message,
            "take outer out, or what cuts the model",
            (("outer",), ("parallel",)),
        )


def _at(*names: str) -> tuple[tuple[str, ...], ...]:
    return tuple(("gradients", name) for name in names)
