"""The JSON Schema (draft 2020-12) of the two files, for editors, `wright explain` and error messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_args

from clusterwright.config.reader import parse_scalar
from clusterwright.config.source import Loc

Kind = Literal["cluster", "job"]
FILE_KINDS: tuple[Kind, ...] = get_args(Kind)
Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def schema_of(kind: Kind) -> Schema:
    """Return the JSON Schema of a file, in English, without null, which no file has. Cached: do not modify it."""
    if kind == "cluster":
        from clusterwright.config.cluster import Cluster as Model
    else:
        from clusterwright.config.job import Job as Model  # type: ignore[assignment]  # (either model will do)
    # No address: the schema is a file beside the YAML file, and `wright schema` prints it.
    head = {"$schema": _DIALECT, "$id": f"urn:clusterwright:schema:{kind}"}
    return {**head, **_tidy(Model.model_json_schema()), "title": f"Clusterwright {kind} file"}


def schema_text(kind: Kind) -> str:
    """Return the JSON Schema of a file as text."""
    return json.dumps(schema_of(kind), indent=2) + "\n"


def properties(node: Schema, root: Schema) -> Mapping[str, Schema]:
    """Return the keys of a section with their schemas; empty for named sections and plain values."""
    keys: Mapping[str, Schema] = resolved(node, root).get("properties", {})
    return keys


def resolved(node: Schema, root: Schema) -> Schema:
    """Return the node with its `$ref` resolved; keywords beside the reference take precedence."""
    reference = node.get("$ref", "")
    target = root["$defs"][reference.removeprefix("#/$defs/")] if reference else {}
    return {**target, **node}


def find_schema(root: Schema, values: Any, loc: Loc) -> Schema:
    """Return the schema of the value at a path, empty if there is none; the `kind` in the file selects the variant."""
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
    """Return whether a mapping has that key, or a list (read as a tuple) that index."""
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
    """Return the schemas that `kind` selects from; empty for a node without variants."""
    return tuple(resolved(variant, root) for variant in node.get("oneOf", ()))


def _tidy(node: Any, *, names: bool = False) -> Any:
    """Return a schema without null branches, null defaults and automatic titles, and with examples as YAML reads them.

    With `names`, the keys of the node are names, not keywords.
    """
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
    """Return the JSON Schema node, changed so that names which match no pattern of patternProperties are rejected."""
    patterns = node.pop("patternProperties", {})
    for pattern, value in patterns.items():
        node |= {"propertyNames": {"type": "string", "pattern": pattern}, "additionalProperties": value}
    return node


def _without_null(node: Schema) -> Iterator[tuple[str, Any]]:
    branches = [branch for branch in node.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) == 1:
        # For quantities, which are strings, pydantic puts ge and le into the branch as unknown keywords.
        yield from ((key, value) for key, value in branches[0].items() if key not in {"ge", "le"})
    yield from ((key, value) for key, value in node.items() if key != "anyOf" or len(branches) > 1)


def _value(example: Any) -> Any:
    """Return a field's example as a value: a string is parsed as YAML, any other example is returned unchanged."""
    if not isinstance(example, str):
        return example
    if example.startswith(("[", "{", '"')):
        from clusterwright.config.reader import read

        return read(f"example: {example}", "example").values["example"]
    return parse_scalar(example)
