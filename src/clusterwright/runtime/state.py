"""The random states of one rank, taken and put back: Python, NumPy where loaded, torch, this rank's GPU."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch


def capture() -> dict[str, Any]:
    """All states, as plain values and tensors that load without unpickling code."""
    state = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if "numpy" in sys.modules:
        numpy = sys.modules["numpy"].random.get_state(legacy=False)
        numpy["state"] = {**numpy["state"], "key": numpy["state"]["key"].tolist()}
        state["numpy"] = numpy
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore(state: dict[str, Any]) -> None:
    """Everything drawn from now on is what was drawn after `capture`."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    torch.set_rng_state(state["torch"])
    if "numpy" in state and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
