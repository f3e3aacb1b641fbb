"""The field `os`: the distribution release of hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator

from clusterwright.config.field import refuse
from clusterwright.i18n import _
from clusterwright.platforms import platform_names

_NAMES = platform_names()


def refuse_replaced(name: object) -> object:
    """Return the name unchanged; refuse that of a distribution which another one replaces, with the migration."""
    if name in _NAMES:
        return name
    from clusterwright.platforms.replaced import replaced

    if row := replaced(name):
        choices = " or ".join(row.successors)
        raise refuse("os-replaced", _(row.state, name=name), _(row.migration, choices=choices))
    return name


if TYPE_CHECKING:
    Os = str
else:
    Os = Annotated[Literal[_NAMES], BeforeValidator(refuse_replaced)]
