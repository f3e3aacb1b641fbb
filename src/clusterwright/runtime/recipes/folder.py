"""Model folders in Hugging Face's layout: config.json, weights in safetensors, tokenizer files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from clusterwright.runtime.recipes import weights

M = TypeVar("M", bound=nn.Module)
_EXTRA_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
)


def begin(model: M, folder: str, *, needed: bool = False) -> M:
    """Return the model, with the weights of the folder loaded if it has any or they are `needed`.

    Without a folder, or without weights, the model keeps its random ones.
    """
    has_weights = any(Path(folder, name).exists() for name in (weights.SINGLE_FILE, weights.INDEX))
    if folder and (has_weights or needed):
        weights.load(model, Path(folder))
    return model


def save_model(model: Any, folder: str, source: str, rank: int) -> None:
    """Write the model's weights, in its config's dtype, config and the source's tokenizer files to a folder.

    Collective; rank 0 writes.
    """
    raw_config = dict(model.config.raw_config)
    name = str(raw_config.get("dtype") or raw_config.get("torch_dtype") or "float32")
    weights.save(dict(model.named_parameters()), Path(folder), dtype=getattr(torch, name), rank=rank)
    if rank == 0:
        Path(folder, "config.json").write_text(json.dumps(raw_config, indent=2) + "\n")
        for file_name in _EXTRA_FILES:
            if source and Path(source, file_name).exists() and Path(source) != Path(folder):
                shutil.copy(Path(source, file_name), Path(folder, file_name))
