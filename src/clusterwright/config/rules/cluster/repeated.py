"""Rule against repeated items in lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.source import Loc, dotted
from clusterwright.i18n import _


def repeated(cluster: Cluster) -> Iterator[Clash]:
    """Check that no list repeats a name, which is mostly a typo. Lists of numbers may repeat."""
    yield from _in(cluster, ())


def _in(value: Any, loc: Loc) -> Iterator[Clash]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _in(getattr(value, name), (*loc, name))
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _in(inner, (*loc, name))
    elif isinstance(value, tuple) and loc[-1] not in {"ports", "sockets"}:  # numbers, which may be equal
        first_indexes: dict[Any, int] = {}
        for index, item in enumerate(value):
            if isinstance(item, BaseModel):
                yield from _in(item, (*loc, index))
            elif not isinstance(item, int) and first_indexes.setdefault(item, index) != index:
                yield _duplicate(str(item), loc, first_indexes[item], index)


def _duplicate(item: str, loc: Loc, first_index: int, second: int) -> Clash:
    excerpt = item if len(item) < 40 else f"{item[:40]}..."
    return Clash(
        "repeated-item",
        _("{field} lists `{item}` twice", field=dotted(loc), item=excerpt),
        _("remove or correct one of the two items"),
        ((*loc, first_index), (*loc, second)),
    )
