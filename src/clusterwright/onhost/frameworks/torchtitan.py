"""TorchTitan: its degrees from the job's `parallel:`; the rest it reads as torchrun's ranks do."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter, Words
from clusterwright.onhost.adapters.place import Place


def arguments(words: Words, place: Place) -> tuple[str, ...]:
    """Degrees that the line does not have; nothing where the job says none."""
    if not place.parallel:
        return tuple(words)
    shard, group = place.cut("shard"), place.cut("shard_group")
    data = place.cut("data") or 1
    held = (group or data) if shard != "none" else 1
    degrees = {
        "data_parallel_replicate_degree": data // held, "data_parallel_shard_degree": held,
        "tensor_parallel_degree": place.cut("tensor"), "pipeline_parallel_degree": place.cut("pipeline"),
        "context_parallel_degree": place.cut("context"), "expert_parallel_degree": place.cut("expert"),
    }  # fmt: skip
    said = {word.partition("=")[0].replace("-", "_") for word in words}
    added = [
        f"--parallelism.{name}={degree}"
        for name, degree in degrees.items()
        if f"__parallelism.{name}" not in said
    ]
    return (*words, *added)


ADAPTER = Adapter(module="torchtitan", install="pip install torchtitan", arguments=arguments)
