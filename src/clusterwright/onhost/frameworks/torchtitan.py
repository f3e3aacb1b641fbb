"""TorchTitan: parallel degrees from the job's `parallel:`; the rest as for torchrun's ranks."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter, Argv
from clusterwright.onhost.adapters.process_context import ProcessContext


def arguments(argv: Argv, context: ProcessContext) -> tuple[str, ...]:
    """Return the command line with TorchTitan's options for the degrees of `parallel:` that it lacks.

    Unchanged without `parallel:`.
    """
    if not context.parallel:
        return tuple(argv)
    shard, group = context.parallel_option("shard"), context.parallel_option("shard_group")
    data = context.parallel_option("data") or 1
    shard_degree = (group or data) if shard != "none" else 1
    degrees = {
        "data_parallel_replicate_degree": data // shard_degree, "data_parallel_shard_degree": shard_degree,
        "tensor_parallel_degree": context.parallel_option("tensor"),
        "pipeline_parallel_degree": context.parallel_option("pipeline"),
        "context_parallel_degree": context.parallel_option("context"),
        "expert_parallel_degree": context.parallel_option("expert"),
    }  # fmt: skip
    option_names = {argument.partition("=")[0].replace("-", "_") for argument in argv}
    added = [
        f"--parallelism.{name}={degree}"
        for name, degree in degrees.items()
        if f"__parallelism.{name}" not in option_names
    ]
    return (*argv, *added)


ADAPTER = Adapter(module="torchtitan", install="pip install torchtitan", arguments=arguments)
