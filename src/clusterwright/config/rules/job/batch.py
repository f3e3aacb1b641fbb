"""Samples of a step can be dealt out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash


def batch(job: Job) -> Iterator[Clash]:
    """A recipe's batch has a sample for each replica; Megatron's is whole microbatches of every replica."""
    cut = job.parallel
    gpus = job.nodes * job.gpus_per_node
    replicas = max(1, gpus // cut.replica) if cut else gpus
    said = job.arguments.get("batch")
    if job.recipe and isinstance(said, int) and not isinstance(said, bool) and said < replicas:
        yield Clash(
            "batch-indivisible",
            f"a batch of {said} leaves some of {replicas} replicas without a sample",
            f"set batch to {replicas} or more, or take fewer GPUs",
            (("arguments", "batch"), ("nodes",), ("gpus_per_node",)),
        )
    whole = number(job.command or (), "--global-batch-size") if job.framework == "megatron" else None
    micro = number(job.command or (), "--micro-batch-size") or (cut.micro_batch if cut else 1)
    if whole and whole % (micro * replicas):
        yield Clash(
            "batch-indivisible",
            f"a global batch of {whole} is not whole microbatches of {micro} for {replicas} replicas",
            f"set --global-batch-size to a multiple of {micro * replicas}",
            (("command",), ("nodes",), ("gpus_per_node",)),
        )


def number(words: Sequence[str], option: str) -> int | None:
    """The value of an option on a command line, where it is a whole number above 0."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option:
            text = value if equals else next(iter(words[index + 1 : index + 2]), "")
            return int(text) or None if text.isdigit() else None
    return None
