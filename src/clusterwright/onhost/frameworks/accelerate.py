"""Hugging Face accelerate: torch's variables for a script; for `accelerate launch`, the machines of the job."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter, Words, has, missing
from clusterwright.onhost.adapters.place import Place


def arguments(words: Words, place: Place) -> tuple[str, ...]:
    """What its command line leaves out: how many machines and processes there are, and where they meet."""
    at = next((index + 1 for index, word in enumerate(words) if word == "launch"), 0)
    if not place.starts_ranks or not at:
        return tuple(words)
    head, rest = tuple(words[:at]), tuple(words[at:])
    own = (
        ()
        if has(rest, "--config_file")
        else missing(
            rest,
            num_machines=len(place.hosts),
            num_processes=place.world,
            mixed_precision="no",
            dynamo_backend="no",
        )
    )
    where = missing(
        rest, machine_rank=place.host, main_process_ip=place.address, main_process_port=place.port,
    )  # fmt: skip
    kinds = ("--cpu", "--multi_gpu", "--use_deepspeed", "--use_fsdp", "--tpu", "--config_file")
    kind = () if has(rest, *kinds) or place.world == 1 else ("--multi-gpu",)
    return (*head, *own, *where, *kind, *rest)


ADAPTER = Adapter(
    module="accelerate", install="pip install accelerate", arguments=arguments, programs=("accelerate",)
)
