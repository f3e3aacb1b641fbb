"""The kinds of Kubernetes objects that our manifests use: the first version with each, and its operator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog.rows import rows
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

NEWEST = (1, 37)  # the newest version whose schemas our manifests are tested with (tests/launch/kubernetes)
_VERSION = re.compile(r"v?(\d+)\.(\d+)(\.\d+)?([+-].*)?")  # `kubectl version`: v1.33.4-gke.1134000


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object: its API, the first Kubernetes that supports it, and the operator that installs it."""

    name: str
    api: str
    min_version: tuple[int, int]
    operator: str
    releases: str


@cache
def kinds() -> dict[str, Kind]:
    """Return every kind of Kubernetes object in the table data/kubernetes.csv by its name, with API and releases."""
    return {
        row["kind"]: Kind(row["kind"], row["api"], _pair(row["first"]), row["operator"], row["releases"])
        for row in rows("kubernetes")
    }


def version(text: str) -> tuple[int, int]:
    """Parse a Kubernetes version: `1.33` and `v1.33.4-gke.1` are (1, 33).

    Raises:
        WrightError: The text is no version of Kubernetes.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        message = _("`{text}` is not a Kubernetes version", text=text)
        raise WrightError.from_code(
            "kubernetes-version",
            message,
            _("write the Kubernetes version as 1.33 (`kubectl version` shows the version of the cluster)"),
            exit_code=EXIT_USAGE,
        )
    return int(match[1]), int(match[2])


def require(kind: str, cluster_version: tuple[int, int]) -> Kind:
    """Return the kind if this version of Kubernetes supports it.

    Raises:
        WrightError: It does not.
    """
    entry = kinds()[kind]
    if cluster_version >= entry.min_version:
        return entry
    minimum = ".".join(map(str, entry.min_version))
    by = f", which {entry.operator} {entry.releases} brings" if entry.operator else ""
    raise WrightError.from_code(
        "kubernetes-kind-missing",
        _(
            "Kubernetes {str} cannot have {kind} ({api}){by}: the first that can is {minimum}",
            str=".".join(map(str, cluster_version)),
            kind=kind,
            api=entry.api,
            by=by,
            minimum=minimum,
        ),
        _(
            "upgrade to {minimum} or later, or omit what requires {kind} (`--kind jobset` "
            "requires the least)",
            minimum=minimum,
            kind=kind,
        ),
        exit_code=EXIT_USAGE,
    )


def _pair(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
