"""Which Slurm release takes which line: the one place that tells releases apart.

An unknown key is fatal to every daemon, so a line that is not legal for the release is left out. What every
release since 19.05 takes is not listed. Source: the option tables in Slurm's tree at the release tags.
"""

from __future__ import annotations

SINCE = {"LaunchParameters=use_interactive_step": "20.11"}


def legal(version: str, line: str) -> bool:
    """True when that release takes the line."""
    return line not in SINCE or _release(version) >= _release(SINCE[line])


def _release(version: str) -> tuple[int, int]:
    """Year and month: 22.05.8 is of 22.05."""
    year, month, *_ = (*version.split("."), "0")
    return int(year), int(month)
