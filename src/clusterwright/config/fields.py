"""The fields of the two files as rows of documentation, read from their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.config.reader import parse_scalar
from clusterwright.config.schema import Kind, Schema, properties, resolved, schema_of, variants
from clusterwright.i18n import N_, _

NAME = "NAME"  # stands for a name that the user chooses: nodes.NAME.hosts
NOT_SET = N_("not set")  # shown for a field without a default

_QUANTITIES = {
    "size": N_("a size such as 512GiB or 3.2TB"),
    "rate": N_("a rate such as 400Gbit/s (bits) or 50GB/s (bytes)"),
    "duration": N_("a duration such as 90s, 12h30m or 2d"),
}
_TYPE_LABELS = {
    "string": N_("a string"),
    "boolean": N_("true or false"),
    "number": N_("a number"),
    "integer": N_("an integer"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A row of documentation about one field: path, meaning, type, default, example and cost of a change."""

    file: Kind
    path: str
    meaning: str
    takes: str
    default: str
    example: str
    cost: str
    variant: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The keys of the path, without the `[]` of lists."""
        return tuple(part.removesuffix("[]") for part in self.path.split("."))


def fields(kind: Kind) -> tuple[Field, ...]:
    """Return the fields of a file in the order of the models, each section before its own fields."""
    root = schema_of(kind)
    return tuple(_below(kind, root, root, ""))


def matching(query: str, all_fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields that a dotted path selects; names and list indices in the path are optional.

    Empty if none match. A single name also selects all fields that end with it; a longer path only if no field matches
    exactly.
    """
    query_parts = tuple(part.split("[")[0] for part in query.split("."))
    exact = tuple(field for field in all_fields if _matches_parts(query_parts, field.parts))
    ending = tuple(
        field
        for field in all_fields
        if _matches_parts(query_parts, field.parts[-len(query_parts) :]) and field not in exact
    )
    return exact + ending if len(query_parts) == 1 else exact or ending


def _matches_parts(query_parts: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if query_parts == tuple(part for part in parts if part != NAME):
        return True
    return len(query_parts) == len(parts) and all(
        part in (NAME, query_part) for query_part, part in zip(query_parts, parts, strict=True)
    )


def _below(kind: Kind, root: Schema, section: Schema, path: str) -> Iterator[Field]:
    required = section.get("required", ())
    for name, node in properties(section, root).items():
        field_path = f"{path}.{name}".removeprefix(".")
        yield _row(kind, root, field_path, node, required=name in required)
        yield from _inside(kind, root, field_path, resolved(node, root))


def _inside(kind: Kind, root: Schema, field_path: str, node: Schema) -> Iterator[Field]:
    """Yield the fields in a node of the JSON Schema: of a section, of named sections, or of a list of sections."""
    for step, inner in (
        (f".{NAME}", node.get("additionalProperties")),
        ("[]", node.get("items")),
        ("", node),
    ):
        if isinstance(inner, dict):
            inner = resolved(inner, root)  # noqa: PLW2901 (the same node, followed)
            yield from _below(kind, root, inner, field_path + step)
            yield from _of_variants(kind, root, field_path + step, variants(inner, root))


def _of_variants(
    kind: Kind, root: Schema, field_path: str, variant_schemas: tuple[Schema, ...]
) -> Iterator[Field]:
    """Yield the fields of a section with variants by `kind`: those of all variants once, then each variant's own."""
    tags = [str(properties(variant, root)["kind"]["const"]) for variant in variant_schemas]
    rows = [tuple(_below(kind, root, variant, field_path)) for variant in variant_schemas]
    shared = [row for row in rows[0] if all(row in other_rows for other_rows in rows)] if rows else []
    yield from shared
    for tag, variant_rows in zip(tags, rows, strict=True):
        yield from (replace(row, variant=tag) for row in variant_rows if row not in shared)


def _row(kind: Kind, root: Schema, path: str, node: Schema, *, required: bool) -> Field:
    full = resolved(node, root)
    default = _("required") if required else written(full["default"]) if "default" in full else _(NOT_SET)
    if default == "{}" and properties(full, root):
        default = _("the defaults of the fields of this section")
    example = written((full.get("examples") or ("",))[0])
    return Field(kind, path, _(full["description"]), takes(full, root), default, example, full["cost"])


def takes(node: Schema, root: Schema) -> str:
    """Return which values a field takes, as a text for people: `an integer from 1 to 32`.

    `node` is the field's JSON Schema, `root` the whole schema.
    """
    if "quantity" in node:
        return _(_QUANTITIES[node["quantity"]])
    if "form" in node:
        return _(node["form"])
    if "const" in node or "enum" in node:
        choices = [str(choice) for choice in node.get("enum", [node.get("const")])]
        return _("one of {choices}", choices=", ".join(choices)) if len(choices) > 1 else choices[0]
    if node.get("type") == "array":
        return _list(node, root)
    if isinstance(node.get("additionalProperties"), dict):
        inner = resolved(node["additionalProperties"], root)
        return _("names, each with {value}", value=takes(inner, root))
    if "properties" in node or "oneOf" in node:
        return _("a section")
    if node.get("type") == "integer" and "minimum" in node:
        if "maximum" not in node:
            return _("an integer, at least {minimum}", minimum=node["minimum"])
        return _("an integer from {minimum} to {maximum}", minimum=node["minimum"], maximum=node["maximum"])
    return _(_TYPE_LABELS.get(node.get("type", ""), N_("a string, a number, or true or false")))


def _list(node: Schema, root: Schema) -> str:
    item: Schema = node.get("items") or next(iter(node.get("prefixItems", ())), {})
    text = takes(resolved(item, root), root)
    if node.get("minItems") == node.get("maxItems", 0):
        return _("a list of {count}, each {item}", count=node["minItems"], item=text)
    return _("a list, each item {item}", item=text)


def written(value: Any) -> str:
    """Format a value of a cluster file or job file as YAML on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(written(item) for item in value) + "]"
    if isinstance(value, str):
        return _text(value)
    return str(value)


def _text(value: str) -> str:
    """Return a string as YAML, in double quotes if plain YAML would parse it as another type."""
    return value if parse_scalar(value) == value else f'"{value}"'
