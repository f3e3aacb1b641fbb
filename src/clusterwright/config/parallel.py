"""The parallel layout of a training: `wright plan search` prints it, and `wright train` passes it to the program."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Section, setting

_MOST = 65536 * 128  # maximum hosts of a job x maximum GPUs of a host


class Parallel(Section):
    """Sizes of the parallel groups; their product is the number of GPUs."""

    tensor: int = setting(
        "Tensor parallel size (tp): GPUs that share each layer.", default=1, example="4", least=1, most=_MOST
    )
    pipeline: int = setting(
        "Pipeline parallel size (pp): stages of layers.", default=1, example="2", least=1, most=_MOST
    )
    context: int = setting(
        "Context parallel size (cp): GPUs that share a sequence.", default=1, example="2", least=1, most=_MOST
    )
    expert: int = setting(
        "Expert parallel size (ep): GPUs that share the experts.", default=1, example="8", least=1, most=_MOST
    )
    expert_tensor: int = setting(
        "Tensor parallel size of each expert (etp).", default=1, example="2", least=1, most=_MOST
    )
    data: int | None = setting(
        "Data parallel size: replicas of the model (dp); default: all remaining GPUs.",
        default=None, example="8", least=1, most=_MOST,
    )  # fmt: skip
    shard: Literal["none", "optimizer", "gradients", "full"] = setting(
        "State that is sharded over the replicas: optimizer is ZeRO 1, gradients ZeRO 2, full ZeRO 3 or FSDP.",
        default="none", example="optimizer",
    )  # fmt: skip
    shard_group: int | None = setting(
        "GPUs that together hold one full copy of the sharded state (HSDP); default: all replicas.",
        default=None, example="8", least=2, most=_MOST,
    )  # fmt: skip
    micro_batch: int = setting(
        "Micro-batch size: sequences per replica at once.", default=1, example="2", least=1, most=2**31
    )
    interleave: int = setting(
        "Virtual pipeline stages: chunks of layers on one stage.",
        default=1, example="5", least=1, most=4096,
    )  # fmt: skip
    schedule: Literal["afab", "1f1b", "zb-h1", "zb-h2", "zb-v", "dualpipe"] = setting(
        "Pipeline schedule; zb: zero bubble.", default="1f1b", example="zb-h1"
    )
    recompute: Literal["none", "selective", "full"] = setting(
        "Activation recomputation in the backward pass; selective: core attention; full: every layer.",
        default="none", example="selective",
    )  # fmt: skip
    sequence_parallel: bool = setting(
        "Sequence parallelism: the tensor parallel group also shares the tokens of norms and dropouts.",
        default=False, example="true",
    )  # fmt: skip
    offload: Literal["none", "optimizer", "all"] = setting(
        "State that is offloaded to host memory: the optimizer state, or the weights as well.",
        default="none", example="optimizer",
    )  # fmt: skip

    @property
    def replica(self) -> int:
        """Number of GPUs that hold one replica: tensor x pipeline x context."""
        return self.tensor * self.pipeline * self.context
