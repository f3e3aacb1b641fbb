"""How a field of the spec is declared: meaning, default, bounds, an example, the cost of changing it live."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class Cost(StrEnum):
    """What a change of the field costs a live cluster, cheapest first."""

    LIVE = "live"
    RECONFIGURE = "reconfigure"
    RESTART = "restart"
    DRAIN = "drain"
    REBOOT = "reboot"
    REBUILD = "rebuild"


class Section(BaseModel):
    """A part of a spec file: frozen, strict, and closed to unknown keys."""

    # defer_build: a file's models are built once, nested in the whole, not each on its own (start-up time).
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
    """One field: the one line from which docs, JSON Schema, `wright explain` and the plan's cost column come.

    A default is written as a user would write it (`"60s"`) and checked like a value; a section as default is
    its class. `least` and `most` are in the base unit of a quantity.
    """
    extra: dict[str, Any] = {"cost": cost.value} | ({"examples": [example]} if example else {})
    return Field(
        default={}
        if isinstance(default, type)
        else default,  # {} is validated into the section with its defaults
        ge=least,
        le=most,
        description=meaning,
        json_schema_extra=extra,
        validate_default=True,
    )


def refuse(code: str, message: str, fix: str) -> PydanticCustomError:
    """What a validator raises: an error that keeps its code and its fix on the way through pydantic."""
    return PydanticCustomError(code, "{message}", {"message": message, "fix": fix})
