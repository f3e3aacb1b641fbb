"""How a field of the spec is declared: meaning, default, an example, and the cost of changing it live."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Cost(StrEnum):
    """What a change of the field costs a live cluster, cheapest first."""

    LIVE = "live"
    RESTART = "restart"
    DRAIN = "drain"
    REBOOT = "reboot"
    REBUILD = "rebuild"


class Section(BaseModel):
    """A part of a spec file: frozen, strict, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=False)


def setting(meaning: str, *, cost: Cost = Cost.LIVE, example: str = "", default: Any = ...) -> Any:
    """One field: the one line from which docs, JSON Schema, `wright explain` and the plan's cost column come."""
    extra = {"cost": cost.value} | ({"examples": [example]} if example else {})
    return Field(default=default, description=meaning, json_schema_extra=extra, validate_default=False)
