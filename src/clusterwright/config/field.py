"""Declare fields of the spec: meaning, default, bounds, an example, the cost of changing it live."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class Cost(StrEnum):
    """What a change of a field costs a running cluster, cheapest first."""

    LIVE = "live"
    RECONFIGURE = "reconfigure"
    RESTART = "restart"
    DRAIN = "drain"
    REBOOT = "reboot"
    REBUILD = "rebuild"


class Section(BaseModel):
    """A section of a spec file: frozen, strict, without unknown keys."""

    # defer_build: a file's models are built once, as part of the whole file, not separately (start-up time).
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=False, defer_build=True
    )


def setting(
    meaning: str,
    *,
    cost: Cost = Cost.LIVE,
    example: str = "",
    default: Any = ...,
    least: int | None = None,
    most: int | None = None,
) -> Any:
    """Declare one field of a file; docs, JSON Schema, `wright explain` and the plan's cost column come from this call.

    A default is written as in the file (`"60s"`) and validated like a value; for a section pass its class.
    `least` and `most` are in the base unit of a quantity. `fields` translates the English meaning where it is shown.
    """
    extra: dict[str, Any] = {"cost": cost.value} | ({"examples": [example]} if example else {})
    return Field(
        default={} if isinstance(default, type) else default,  # {}: validated into a section of defaults
        ge=least,
        le=most,
        description=meaning,
        json_schema_extra=extra,
        validate_default=True,
    )


def refuse(code: str, message: str, fix: str) -> PydanticCustomError:
    """Return the error for a validator to raise; pydantic passes its code and fix through."""
    return PydanticCustomError(code, "{message}", {"message": message, "fix": fix})
