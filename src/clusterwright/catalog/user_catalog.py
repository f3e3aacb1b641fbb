"""A user's own catalog rows, which take precedence over the built-in ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture, Cable, Gpu, Nic, Price, Server, Storage, Switch

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class UserCatalog:
    """The rows of a user's catalog file, by name."""

    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    models: Mapping[str, Architecture] = field(default_factory=dict)
    nics: Mapping[str, Nic] = field(default_factory=dict)
    switches: Mapping[str, Switch] = field(default_factory=dict)
    cables: Mapping[str, Cable] = field(default_factory=dict)
    storage: Mapping[str, Storage] = field(default_factory=dict)
    servers: Mapping[str, Server] = field(default_factory=dict)
    prices: tuple[Price, ...] = ()


def slug(text: str) -> str:
    """Normalize a name: `My GPU_1` -> `my-gpu-1`; dots stay, for versions."""
    return "-".join(re.findall(r"[a-z0-9.]+", text.lower()))


def named(rows: Mapping[str, Row], name: str) -> Row | None:
    """Return the row of that name, ignoring case, spaces and dashes; None if there is none."""
    name_slug = slug(name)
    return next((row for key, row in rows.items() if slug(key) == name_slug), None)
