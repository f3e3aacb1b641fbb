"""Read a requirements.txt: its packages, which of them are pinned, and whether it requires another PyTorch."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*(?P<range>[^;@#]*)(?P<address>@\s*\S+)?"
)
_PIN = re.compile(r"={2,3}\s*(?P<version>[A-Za-z0-9.+!_-]+)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A line that names a package: `version` is that of `==`, "" for a range; `pinned` includes addresses of files."""

    name: str
    version: str
    pinned: bool
    line: int


def parse_requirements(text: str) -> tuple[Requirement, ...]:
    """Return the packages of a requirements file; options, comments and lines of hashes are left out."""
    requirements = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line.strip())
        if not match:
            continue
        pin = _PIN.fullmatch(match["range"].strip().rstrip("\\").strip())
        name = package_name(match["name"])
        requirements.append(
            Requirement(name, pin["version"] if pin else "", bool(pin or match["address"]), number)
        )
    return tuple(requirements)


def package_name(name: str) -> str:
    """Return the name of a package as PyPI compares names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
