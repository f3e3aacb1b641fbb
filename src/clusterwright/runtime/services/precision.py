"""In which numbers a model computes: bfloat16, float16 with a scaled loss, or as its weights are."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager

import torch

NAMES = {"bf16": torch.bfloat16, "fp16": torch.float16, "none": None}


def choose(wanted: str, device: torch.device) -> torch.dtype | None:
    """The numbers by name; `auto` is bf16 on a GPU that has it, fp16 on one that has not, none elsewhere.

    Raises:
        ValueError: no such numbers.
    """
    if wanted == "auto":
        if device.type != "cuda":
            return None
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_bf16 else torch.float16
    if wanted not in NAMES:
        raise ValueError(f"precision {wanted}: it is auto, {', '.join(NAMES)}")
    return NAMES[wanted]


def autocast(dtype: torch.dtype | None, device: torch.device) -> AbstractContextManager[object]:
    """Around the forward pass; the backward pass then uses the same."""
    return torch.autocast(device.type, dtype=dtype) if dtype else contextlib.nullcontext()


def scaler(dtype: torch.dtype | None, device: torch.device) -> torch.amp.GradScaler:
    """Keeps the small gradients of float16 from becoming nothing; idle with all other numbers."""
    return torch.amp.GradScaler(device.type, enabled=dtype is torch.float16)
