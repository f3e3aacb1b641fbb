"""How a training's model is cut over its GPUs: what `wright plan search` prints and `wright train` hands on."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Section, setting

_MOST = 65536 * 128  # hosts of a job x GPUs of a host, both at their most


class Parallel(Section):
    """Sizes of the parallel groups; their product is the number of GPUs."""

    tensor: int = setting(
        "GPUs that share the matrices of every layer (tp).", default=1, example="4", least=1, most=_MOST
    )
    pipeline: int = setting(
        "Stages that the layers are dealt out to (pp).", default=1, example="2", least=1, most=_MOST
    )
    context: int = setting("GPUs that share one sequence (cp).", default=1, example="2", least=1, most=_MOST)
    expert: int = setting(
        "GPUs that the experts are spread over (ep).", default=1, example="8", least=1, most=_MOST
    )
    expert_tensor: int = setting(
        "GPUs that share the matrices of one expert (etp).", default=1, example="2", least=1, most=_MOST
    )
    data: int | None = setting(
        "Replicas of the model (dp); as many as the GPUs make, if left out.",
        default=None, example="8", least=1, most=_MOST,
    )  # fmt: skip
    shard: Literal["none", "optimizer", "gradients", "full"] = setting(
        "What the replicas hold in parts: optimizer is ZeRO 1, gradients ZeRO 2, full ZeRO 3 or FSDP.",
        default="none", example="optimizer",
    )  # fmt: skip
    shard_group: int | None = setting(
        "GPUs that hold one whole of it (HSDP); all replicas if left out.",
        default=None, example="8", least=2, most=_MOST,
    )  # fmt: skip
    micro_batch: int = setting(
        "Sequences that go through a replica at once.", default=1, example="2", least=1, most=2**31
    )
    interleave: int = setting(
        "Chunks of layers that one stage holds (virtual stages).",
        default=1, example="5", least=1, most=4096,
    )  # fmt: skip
    schedule: Literal["afab", "1f1b", "zb-h1", "zb-h2", "zb-v", "dualpipe"] = setting(
        "The order of a pipeline's microbatches; zb: zero bubble.", default="1f1b", example="zb-h1"
    )
    recompute: Literal["none", "selective", "full"] = setting(
        "What the backward pass computes again; selective: the core of attention; full: every layer.",
        default="none", example="selective",
    )  # fmt: skip
    sequence_parallel: bool = setting(
        "True when the tensor group shares the tokens of norms and dropouts, too.",
        default=False, example="true",
    )  # fmt: skip
    offload: Literal["none", "optimizer", "all"] = setting(
        "What lives in the hosts' memory: the optimiser's states, or the weights as well.",
        default="none", example="optimizer",
    )  # fmt: skip

    @property
    def replica(self) -> int:
        """GPUs that hold one replica: tensor x pipeline x context."""
        return self.tensor * self.pipeline * self.context
