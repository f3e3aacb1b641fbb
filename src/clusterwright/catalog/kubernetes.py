"""Which version of Kubernetes can have which kind of object, and by which operator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog.rows import rows
from clusterwright.errors import EXIT_USAGE, WrightError

NEWEST = (1, 37)  # the newest whose schemas our manifests are held against (tests/launch/kubernetes)
_VERSION = re.compile(r"v?(\d+)\.(\d+)(\.\d+)?([+-].*)?")  # as `kubectl version` has it: v1.33.4-gke.1134000


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object: its API, the first Kubernetes that can have it, and the operator that brings it."""

    name: str
    api: str
    first: tuple[int, int]
    operator: str
    releases: str


@cache
def kinds() -> dict[str, Kind]:
    """Every row of data/kubernetes.csv."""
    return {
        row["kind"]: Kind(row["kind"], row["api"], _pair(row["first"]), row["operator"], row["releases"])
        for row in rows("kubernetes")
    }


def version(text: str) -> tuple[int, int]:
    """`1.33` and `v1.33.4-gke.1` are (1, 33).

    Raises:
        WrightError: it is no version of Kubernetes.
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        message = f"`{text}` is no version of Kubernetes"
        raise WrightError.of(
            "kubernetes-version", message, "write it as 1.33 (`kubectl version`)", exit_code=EXIT_USAGE
        )
    return int(found[1]), int(found[2])


def require(kind: str, of: tuple[int, int]) -> Kind:
    """That kind, which this Kubernetes can have.

    Raises:
        WrightError: it cannot.
    """
    found = kinds()[kind]
    if of >= found.first:
        return found
    first = ".".join(map(str, found.first))
    by = f", which {found.operator} {found.releases} brings" if found.operator else ""
    raise WrightError.of(
        "kubernetes-kind-missing",
        f"Kubernetes {'.'.join(map(str, of))} cannot have {kind} ({found.api}){by}: the first that can is {first}",
        f"upgrade to {first} or later, or leave out what needs {kind} (`--kind jobset` needs the least)",
        exit_code=EXIT_USAGE,
    )


def _pair(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
