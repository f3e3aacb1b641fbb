"""LoRA (2106.09685): frozen weights with trainable low-rank adapters of selected matrices."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clusterwright.runtime.recipes import weights

MATRICES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class LoraLinear(nn.Linear):
    """A linear layer plus a low-rank adapter, which adds zero at first."""

    def __init__(self, old: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__(old.in_features, old.out_features, bias=old.bias is not None, device="meta")
        self.weight, self.bias = old.weight, old.bias
        options: dict[str, Any] = {"bias": False, "device": old.weight.device, "dtype": torch.float32}
        self.lora_A = nn.Linear(old.in_features, rank, **options)
        self.lora_B = nn.Linear(rank, old.out_features, **options)
        self.scale = alpha / rank
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of the frozen layer's and the adapter's output."""
        added: Tensor = self.lora_B(self.lora_A(x))
        return super().forward(x) + self.scale * added


def adapt(model: nn.Module, rank: int, alpha: float) -> None:
    """Freeze the model and add a LoRA adapter of this rank to each linear layer named in `MATRICES`, in place."""
    model.requires_grad_(requires_grad=False)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if name in MATRICES and isinstance(child, nn.Linear):
                setattr(parent, name, LoraLinear(child, rank, alpha))


def save_adapter(
    model: nn.Module, target: Path, *, base: str, rank: int, alpha: float, writer_rank: int
) -> None:
    """Write the model's LoRA adapters and their configuration to a folder, as the package peft does; collective.

    `rank` is that of the adapters; `writer_rank` is this rank, of which 0 writes. `base` names the base model.
    """
    learned = {
        f"base_model.model.{name}": parameter
        for name, parameter in model.named_parameters()
        if ".lora_" in name
    }
    weights.save(learned, target, dtype=torch.float32, rank=writer_rank, stem="adapter_model")
    if writer_rank == 0:
        adapter_config = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base,
            "r": rank,
            "lora_alpha": alpha,
            "lora_dropout": 0.0,
            "bias": "none",
            "target_modules": list(MATRICES),
        }
        (target / "adapter_config.json").write_text(json.dumps(adapter_config, indent=2) + "\n")
