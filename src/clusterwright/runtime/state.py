"""Capture and restore one rank's random states: Python, torch, this rank's GPU, and NumPy if imported."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch


def capture() -> dict[str, Any]:
    """Return the states of all random generators, as plain values and tensors that load without unpickling code."""
    state = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if "numpy" in sys.modules:
        numpy = sys.modules["numpy"].random.get_state(legacy=False)
        numpy["state"] = {**numpy["state"], "key": numpy["state"]["key"].tolist()}
        state["numpy"] = numpy
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore(state: dict[str, Any]) -> None:
    """Set the states of the random generators of Python, torch, NumPy and CUDA, so that draws repeat.

    NumPy and CUDA only if used and saved.
    """
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    torch.set_rng_state(state["torch"])
    if "numpy" in state and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
