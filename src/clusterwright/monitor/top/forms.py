"""How values are written in few signs: heat, lengths of time, sizes, shares; pure."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.monitor.picture import Gpu

Cell = tuple[str, str]  # a text, and its style as Rich names it

_BARS, _PLAIN = "▁▂▃▄▅▆▇█", ".:-=+*%@"
_WARM = ((0.1, "blue"), (0.5, "cyan"), (0.8, "green"), (2.0, "bold green"))  # up to which use, and its colour
STATES = {
    "idle": "green", "mixed": "cyan", "allocated": "cyan", "completing": "cyan", "down": "bold red",
    "not_responding": "bold red", "powered_down": "dim", "powering_up": "dim", "unknown": "magenta",
    "RUNNING": "green", "PENDING": "yellow", "COMPLETING": "cyan", "SUSPENDED": "magenta",
    "critical": "bold red", "warning": "yellow", "info": "blue",
}  # fmt: skip
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def heat(use: float | None, *, held: bool, ascii_only: bool = False) -> Cell:
    """One sign for a GPU: its use; `·` where no job holds it, `?` where nobody knows."""
    if not held and not (use and use > _WARM[0][0]):
        return (("." if ascii_only else "·"), "dim")
    if use is None:
        return ("?", "magenta")
    signs = _PLAIN if ascii_only else _BARS
    style = next(colour for most, colour in _WARM if use < most or most > 1)
    if held and use < _WARM[0][0]:
        style = "bold red"  # held, and idle: money lost
    return (signs[min(len(signs) - 1, int(use * len(signs)))], style)


def strip(gpus: Sequence[Gpu], *, held: int | None = None, ascii_only: bool = False) -> list[Cell]:
    """A sign for each GPU. Where nobody says which are held, the first ones stand for as many as are."""
    told = any(gpu.job for gpu in gpus)
    count = len(gpus) if held is None else held
    return [
        heat(gpu.utilisation, held=bool(gpu.job) if told else place < count, ascii_only=ascii_only)
        for place, gpu in enumerate(gpus)
    ]


def span(seconds: float | None) -> str:
    """42s, 5m, 3h07m, 2d04h; `-` for none."""
    if seconds is None:
        return "-"
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR:02}h"


def percent(ratio: float | None) -> str:
    """`97%`; `-` for none."""
    return "-" if ratio is None else f"{ratio:.0%}"


def many(number: float | None) -> str:
    """812, 12.3k, 1.02M; `-` for none."""
    if number is None:
        return "-"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def gib(size: float | None) -> str:
    """Bytes in GiB; `-` for none."""
    return "-" if size is None else f"{size / 2**30:.0f} GiB"


def curve(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """Values as a row of bars, the lowest the smallest."""
    if not values or width < 1:
        return ""
    places = min(width, len(values))
    shown = [values[place * len(values) // places] for place in range(places)]
    low, high = min(shown), max(shown)
    signs = _PLAIN if ascii_only else _BARS
    room = (high - low) or 1.0
    return "".join(signs[round((value - low) / room * (len(signs) - 1))] for value in shown)
