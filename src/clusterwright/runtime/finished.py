"""The word that a training is complete."""

from __future__ import annotations

import json
import time
from pathlib import Path


def write(folder: Path, step: int, loss: float | None) -> None:
    """Write finished.json, whole or not at all."""
    loss_hex = None if loss is None else loss.hex()
    words = {"step": step, "loss": loss, "loss_hex": loss_hex, "time": time.time()}
    scratch = folder / ".finished.json"
    scratch.write_text(json.dumps(words) + "\n")
    scratch.replace(folder / "finished.json")
