"""The architectures of data/models.csv by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from clusterwright.catalog.model_names import choose, tokens
from clusterwright.catalog.records import Architecture
from clusterwright.catalog.rows import rows
from clusterwright.catalog.user_catalog import UserCatalog, named
from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean
from clusterwright.i18n import _

_TEXTS = ("name", "attention", "source")
_FLAGS = ("gated", "tied", "biases", "causal")
_NOT_OURS = ("also", "published_params_b")


def architecture(name: str, extra: UserCatalog | None = None) -> Architecture:
    """Return the architecture that a name means: `llama3-70b`, `LLAMA3_70B [nemo]`; the user's catalog first.

    Raises:
        WrightError: `unknown-model`, also for a cut-down version of a known model (see `resembling`).
    """
    user_models = extra.models if extra else {}
    model = named(user_models, name) or _find_architecture(name, changed=False)
    if model is None:
        raise _unknown(name, [*user_models, *architectures()])
    return model


def resembling(name: str) -> Architecture | None:
    """Return the original of a changed model: `deepseekv2 cut to 4 layers` -> DeepSeek-V2; None if unknown."""
    return _find_architecture(name, changed=True)


@cache
def architectures() -> Mapping[str, Architecture]:
    """Return all architectures of the built-in catalog by name."""
    return {row["name"]: _read(row) for row in rows("models")}


def _find_architecture(name: str, *, changed: bool) -> Architecture | None:
    records = architectures()
    slug = name.strip().lower()
    if slug in records:
        return records[slug]
    match = choose(name, _spellings(), changed=changed)
    return records[match] if match else None


@cache
def _spellings() -> Mapping[str, tuple[frozenset[str], ...]]:
    return {
        row["name"]: tuple(
            tokens(spelling) for spelling in (row["name"], *row["also"].split("|")) if spelling
        )
        for row in rows("models")
    }


def _read(row: dict[str, str]) -> Architecture:
    values: dict[str, Any] = {}
    for column, cell in row.items():
        if column in _NOT_OURS or not cell:
            continue
        if column in _TEXTS:
            values[column] = cell
        else:
            values[column] = cell == "yes" if column in _FLAGS else int(cell)
    return Architecture(**values)


def _unknown(name: str, names: list[str]) -> WrightError:
    slug = "-".join(name.lower().replace("_", " ").split())
    fix = _(
        "{suggestion}All models: wright plan catalog models; or name the path of its config.json",
        suggestion=did_you_mean(slug, names, 0.5),
    )
    return WrightError.from_code(
        "unknown-model", _("`{name}` is not a known model", name=name), fix, exit_code=EXIT_USAGE
    )
