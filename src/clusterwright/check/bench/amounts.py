"""Format measured values with prefixed units: 23.6 MB/s, 14.2 Gbit/s, 3.1 us; pure."""

from __future__ import annotations

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"))
_PREFIXED = frozenset({"bytes/s", "s", "FLOP/s", "bytes", "1/s", "Hz", "W"})
_SHORT = {"bytes/s": "B/s", "bytes": "B", "1/s": "/s"}


def amount(value: float, unit: str) -> str:
    """Format a value with three digits and its unit: 2.5e9 bytes/s is `2.5 GB/s`.

    Only the units of this project that are usual with prefixes (bytes, FLOP/s, s, W ...) get one; others, and 0, get
    none.
    """
    if unit not in _PREFIXED or not value:
        return f"{value:.3g} {unit}".strip()
    size, letter = next((pair for pair in _PREFIXES if abs(value) >= pair[0]), _PREFIXES[-1])
    size, letter = (1.0, "") if unit == "s" and abs(value) >= 1 else (size, letter)
    return f"{value / size:.3g} {letter}{_SHORT.get(unit, unit)}"
