"""What a rule returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class In:
    """A path in one of the two files, for rules about both."""

    file: Literal["cluster", "job"]
    loc: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """Values that cannot stand together: code, what is wrong, the mend, and the path of each side."""

    code: str
    message: str
    mend: str
    at: tuple[tuple[str | int, ...] | In, ...]
    hidden: bool = False  # what stands there is not shown: it is a secret
