"""Hugging Face accelerate: torch's variables for a script; for `accelerate launch`, options for the job's hosts."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter, Argv, has, missing
from clusterwright.onhost.adapters.process_context import ProcessContext


def arguments(argv: Argv, context: ProcessContext) -> tuple[str, ...]:
    """Return an `accelerate launch` command line with the options it lacks: numbers of machines, ranks, address.

    Unchanged for another command, or if the launcher does not start the ranks; with --config_file only the rendezvous
    is added.
    """
    start = next((index + 1 for index, argument in enumerate(argv) if argument == "launch"), 0)
    if not context.starts_ranks or not start:
        return tuple(argv)
    head, options = tuple(argv[:start]), tuple(argv[start:])
    machine_options = (
        ()
        if has(options, "--config_file")
        else missing(
            options,
            num_machines=len(context.hosts),
            num_processes=context.world,
            mixed_precision="no",
            dynamo_backend="no",
        )
    )
    rendezvous_options = missing(
        options, machine_rank=context.host, main_process_ip=context.address, main_process_port=context.port,
    )  # fmt: skip
    kinds = ("--cpu", "--multi_gpu", "--use_deepspeed", "--use_fsdp", "--tpu", "--config_file")
    kind = () if has(options, *kinds) or context.world == 1 else ("--multi-gpu",)
    return (*head, *machine_options, *rendezvous_options, *kind, *options)


ADAPTER = Adapter(
    module="accelerate", install="pip install accelerate", arguments=arguments, programs=("accelerate",)
)
