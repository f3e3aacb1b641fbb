"""Short forms of values: utilization, durations, sizes, shares; pure."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.monitor.snapshot import GpuSnapshot

Cell = tuple[str, str]  # a text, and its style as Rich names it

_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", ".:-=+*%@"
_WARM = (
    (0.1, "blue"),
    (0.5, "cyan"),
    (0.8, "green"),
    (2.0, "bold green"),
)  # GPU utilization below which a color applies
STATES = {
    "idle": "green", "mixed": "cyan", "allocated": "cyan", "completing": "cyan", "down": "bold red",
    "not_responding": "bold red", "powered_down": "dim", "powering_up": "dim", "unknown": "magenta",
    "RUNNING": "green", "PENDING": "yellow", "COMPLETING": "cyan", "SUSPENDED": "magenta",
    "critical": "bold red", "warning": "yellow", "info": "blue",
}  # fmt: skip
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def heat(use: float | None, *, is_allocated: bool, ascii_only: bool = False) -> Cell:
    """Return one character for a GPU: a bar by its utilization (0 to 1); `?` if that of an allocated one is unknown.

    `·` if it is not allocated, and idle or unknown. An allocated idle GPU is red. `ascii_only`: without Unicode signs.
    """
    if not is_allocated and not (use and use > _WARM[0][0]):
        return (("." if ascii_only else "·"), "dim")
    if use is None:
        return ("?", "magenta")
    signs = _ASCII_BARS if ascii_only else _BARS
    style = next(color for most, color in _WARM if use < most or most > 1)
    if is_allocated and use < _WARM[0][0]:
        style = "bold red"  # allocated and idle
    return (signs[min(len(signs) - 1, int(use * len(signs)))], style)


def strip(
    gpus: Sequence[GpuSnapshot], *, gpus_used: int | None = None, ascii_only: bool = False
) -> list[Cell]:
    """Return one character for each GPU, as `heat` does.

    If it is unknown which GPUs are allocated, the first `gpus_used` count as allocated (default: all).
    """
    has_jobs = any(gpu.job for gpu in gpus)
    count = len(gpus) if gpus_used is None else gpus_used
    return [
        heat(
            gpu.utilisation, is_allocated=bool(gpu.job) if has_jobs else index < count, ascii_only=ascii_only
        )
        for index, gpu in enumerate(gpus)
    ]


def span(seconds: float | None) -> str:
    """Format a duration in at most 6 characters below 100 days: `42s`, `5m03s`, `3h07m`, `2d04h`; `-` for None."""
    if seconds is None:
        return "-"
    total_s = max(0, round(seconds))
    if total_s < _MINUTE:
        return f"{total_s}s"
    if total_s < _HOUR:
        return f"{total_s // _MINUTE}m{total_s % _MINUTE:02}s"
    if total_s < _DAY:
        return f"{total_s // _HOUR}h{total_s % _HOUR // _MINUTE:02}m"
    return f"{total_s // _DAY}d{total_s % _DAY // _HOUR:02}h"


def percent(ratio: float | None) -> str:
    """Format a ratio as `97%`; `-` for None."""
    return "-" if ratio is None else f"{ratio:.0%}"


def compact_number(number: float | None) -> str:
    """Format a number as `812`, `12.3k` or `1.02M`; `-` for None."""
    if number is None:
        return "-"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def gib(size: float | None) -> str:
    """Format bytes in GiB; `-` for None."""
    return "-" if size is None else f"{size / 2**30:.0f} GiB"


def curve(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """Return a row of at most `width` bars, the lowest value as the smallest; more values are sampled.

    Empty without values.
    """
    if not values or width < 1:
        return ""
    places = min(width, len(values))
    samples = [values[index * len(values) // places] for index in range(places)]
    low, high = min(samples), max(samples)
    signs = _ASCII_BARS if ascii_only else _BARS
    value_range = (high - low) or 1.0
    return "".join(signs[round((value - low) / value_range * (len(signs) - 1))] for value in samples)
