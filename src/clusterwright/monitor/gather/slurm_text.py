"""Fields of Slurm's answers, whatever its release; pure. What is not understood is None, and never an error."""

from __future__ import annotations

import math
import re
from typing import Any

_GPUS = re.compile(r"gres/gpu=(\d+)")
_TYPED = re.compile(r"gres/gpu:[^=,]+=(\d+)")
_OF_NODE = re.compile(r"gpu(?::(?!\d+(?:\(|,|$))[^:,=(]+)?[:=](\d+)")
_WHOLE = re.compile(r"\s*(\d+)")
NOTHING = frozenset({"", "(null)", "N/A", "n/a", "None", "Unknown", "NONE", "(none)"})


def word(text: str) -> str:
    """The text; nothing for what Slurm writes where there is nothing."""
    return "" if text in NOTHING else text


def number(text: Any) -> float | None:
    """A finite number, however it came."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def whole(text: Any) -> int:
    """The number at the beginning; 0 for none."""
    found = _WHOLE.match(str(text))
    return int(found[1]) if found else 0


def moment(text: str) -> float | None:
    """A time in seconds, as SLURM_TIME_FORMAT=%s has them; a release that writes another form gives none."""
    return float(text) if text.isdigit() else None


def gpus(tres: str, per_node: str = "", nodes: int = 1) -> int:
    """GPUs of `cpu=4,gres/gpu=8`; where those are not counted, of `gres:gpu:a100:4` on each node."""
    if found := _GPUS.search(tres):
        return int(found[1])
    if typed := _TYPED.findall(tres):
        return sum(map(int, typed))
    found = _OF_NODE.search(per_node)
    return int(found[1]) * max(1, nodes) if found else 0


def gpu_type(gres: str) -> str:
    """`a100` of `gpu:a100:4`."""
    found = re.search(r"gpu:([A-Za-z][\w.-]*)", gres)
    return found[1] if found else ""
