"""Which Slurm release knows which key: the one place that tells releases apart.

An unknown key is fatal to every daemon, so a key that is not legal for the release is left out. Keys that every
release since 19.05 knows are not listed. Source: the option tables in Slurm's tree at the release tags.
"""

from __future__ import annotations

SINCE_UNTIL: dict[str, tuple[str, str]] = {
    "LaunchParameters": ("20.11", ""),  # the key is older, `use_interactive_step` came with 20.11
    "CgroupAutomount": ("", "23.02"),  # defunct from 23.11: an error line at every start
    "AutoDetect": ("24.11", ""),  # the key is older, `nvidia` (which needs no NVML library) came with 24.11
}


def legal(version: str, key: str) -> bool:
    """True when that release takes the key as we write it."""
    since, until = SINCE_UNTIL.get(key, ("", ""))
    release = _release(version)
    return (not since or release >= _release(since)) and (not until or release <= _release(until))


def _release(version: str) -> tuple[int, int]:
    """Year and month: 22.05.8 is of 22.05."""
    year, month, *_ = (*version.split("."), "0")
    return int(year), int(month)
