"""The JSON Schema (draft 2020-12) of the two files, for editors, `wright explain` and error messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

from clusterwright.config.reader import parse_scalar
from clusterwright.config.source import Loc
from clusterwright.i18n import _

Kind = Literal["cluster", "job"]
Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def schema_of(kind: Kind) -> Schema:
    """The schema of a file, as pydantic makes it, without null, which no file holds; not to be changed."""
    if kind == "cluster":
        from clusterwright.config.cluster import Cluster as Model
    else:
        from clusterwright.config.job import Job as Model  # type: ignore[assignment]  # (either model will do)
    schema = Model.model_json_schema()
    title = _("Clusterwright {kind} file", kind=kind)
    return {"$schema": _DIALECT, **_tidy(schema), "title": title}


def properties(node: Schema, root: Schema) -> Mapping[str, Schema]:
    """The keys that a section takes; none where it takes names or is a plain value."""
    keys: Mapping[str, Schema] = resolved(node, root).get("properties", {})
    return keys


def resolved(node: Schema, root: Schema) -> Schema:
    """The node with its `$ref` followed; what stands beside the reference wins."""
    reference = node.get("$ref", "")
    target = root["$defs"][reference.removeprefix("#/$defs/")] if reference else {}
    return {**target, **node}


def find_schema(root: Schema, values: Any, loc: Loc) -> Schema:
    """The schema of the value at that path, where variants are told apart by the file's own `kind`."""
    node = _variant(root, root, values)
    for part in loc:
        key = properties(node, root).get(str(part)) or _named(node)
        node = node.get("items", {}) if isinstance(part, int) else key
        values = values[part] if has_part(values, part) else None
        node = _variant(node, root, values)
    return node


def _named(node: Schema) -> Schema:
    more = node.get("additionalProperties")
    return more if isinstance(more, dict) else {}


def has_part(values: Any, part: str | int) -> bool:
    """True when the value has that key or item."""
    if isinstance(part, int):
        return isinstance(values, tuple) and part < len(values)
    return isinstance(values, dict) and part in values


def _variant(node: Schema, root: Schema, values: Any) -> Schema:
    node = resolved(node, root)
    kind = values.get("kind") if isinstance(values, dict) else None
    for variant in variants(node, root):
        if properties(variant, root)["kind"].get("const") == kind:
            return variant
    return node


def variants(node: Schema, root: Schema) -> tuple[Schema, ...]:
    """The sections that `kind` tells apart; none for anything else."""
    return tuple(resolved(variant, root) for variant in node.get("oneOf", ()))


def _tidy(node: Any, *, names: bool = False) -> Any:
    """Without null branches and automatic titles; with `names` the keys are names, not keywords."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {key: _tidy(value) for key, value in node.items()}
    node = _with_property_names(dict(_without_null(node)))
    node.pop("title", None)
    if node.get("default", 0) is None:
        del node["default"]
    if "examples" in node:
        node["examples"] = [_value(example) for example in node["examples"]]
    verbatim_keys = ("examples", "default", "const", "enum")
    return {
        key: value if key in verbatim_keys else _tidy(value, names=key in ("properties", "$defs"))
        for key, value in node.items()
    }


def _with_property_names(node: Schema) -> Schema:
    """A section of named things refuses other names; pydantic's patterns let them through."""
    patterns = node.pop("patternProperties", {})
    for pattern, value in patterns.items():
        node |= {"propertyNames": {"type": "string", "pattern": pattern}, "additionalProperties": value}
    return node


def _without_null(node: Schema) -> Iterator[tuple[str, Any]]:
    branches = [branch for branch in node.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) == 1:
        # ge and le land in the branch as unknown words where the text is a quantity.
        yield from ((key, value) for key, value in branches[0].items() if key not in {"ge", "le"})
    yield from ((key, value) for key, value in node.items() if key != "anyOf" or len(branches) > 1)


def _value(example: Any) -> Any:
    """An example as the value that YAML makes of it."""
    if not isinstance(example, str):
        return example
    if example.startswith(("[", "{", '"')):
        from clusterwright.config.reader import read

        return read(f"example: {example}", "example").values["example"]
    return parse_scalar(example)
