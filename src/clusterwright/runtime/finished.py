"""The word that a training is complete."""

from __future__ import annotations

import json
import time
from pathlib import Path

from clusterwright.onhost.lib.files import write_atomic


def write(folder: Path, step: int, loss: float | None) -> None:
    """Write finished.json, whole or not at all."""
    loss_hex = None if loss is None else loss.hex()
    words = {"step": step, "loss": loss, "loss_hex": loss_hex, "time": time.time()}
    write_atomic(folder / "finished.json", json.dumps(words) + "\n", durable=False)
