"""Every field of the two files as a row of documentation, read from their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.config.reader import parse_scalar
from clusterwright.config.schema import Kind, Schema, properties, resolved, schema_of, variants

NAME = "NAME"  # stands for a name that the user gives: nodes.NAME.hosts

_QUANTITIES = {
    "size": "a size such as 512GiB or 3.2TB",
    "rate": "a rate such as 400Gbit/s (bits) or 50GB/s (bytes)",
    "duration": "a duration such as 90s, 12h30m or 2d",
}
_TYPE_LABELS = {
    "string": "text",
    "boolean": "true or false",
    "number": "a number",
    "integer": "a whole number",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: where, what it means, what it takes, what it is if left out, and what changing it costs."""

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
        """The keys of the path, without the marks of lists."""
        return tuple(part.removesuffix("[]") for part in self.path.split("."))


def fields(kind: Kind) -> tuple[Field, ...]:
    """The fields of a file, sections before what they hold, in the order of the models."""
    root = schema_of(kind)
    return tuple(_below(kind, root, root, ""))


def matching(query: str, all_fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields that a dotted path means: names and list indices may stand in it or be left out."""
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
    """The fields of a section, of a section by name, or of a list of sections."""
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
    """The fields that all variants share once, the others under the `kind` that has them."""
    tags = [str(properties(variant, root)["kind"]["const"]) for variant in variant_schemas]
    rows = [tuple(_below(kind, root, variant, field_path)) for variant in variant_schemas]
    shared = [row for row in rows[0] if all(row in other_rows for other_rows in rows)] if rows else []
    yield from shared
    for tag, variant_rows in zip(tags, rows, strict=True):
        yield from (replace(row, variant=tag) for row in variant_rows if row not in shared)


def _row(kind: Kind, root: Schema, path: str, node: Schema, *, required: bool) -> Field:
    full = resolved(node, root)
    default = "required" if required else written(full["default"]) if "default" in full else "left out"
    if default == "{}" and properties(full, root):
        default = "its defaults"
    examples = full.get("examples") or ("",)
    return Field(
        kind, path, full["description"], takes(full, root), default, written(examples[0]), full["cost"]
    )


def takes(node: Schema, root: Schema) -> str:
    """What a field takes, in words."""
    if "quantity" in node:
        return _QUANTITIES[node["quantity"]]
    if "form" in node:
        return str(node["form"])
    if "const" in node or "enum" in node:
        choices = node.get("enum", [node.get("const")])
        return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else str(choices[0])
    if node.get("type") == "array":
        return _list(node, root)
    if isinstance(node.get("additionalProperties"), dict):
        inner = resolved(node["additionalProperties"], root)
        return f"{takes(inner, root)}, by name"
    if "properties" in node or "oneOf" in node:
        return "a section"
    if node.get("type") == "integer" and "minimum" in node:
        return f"a whole number from {node['minimum']}" + (
            f" to {node['maximum']}" if "maximum" in node else ""
        )
    return _TYPE_LABELS.get(node.get("type", ""), "a text, a number, or true or false")


def _list(node: Schema, root: Schema) -> str:
    item: Schema = node.get("items") or next(iter(node.get("prefixItems", ())), {})
    count = f"{node['minItems']} of " if node.get("minItems") == node.get("maxItems", 0) else ""
    return f"a list: {count}{takes(resolved(item, root), root)}"


def written(value: Any) -> str:
    """A value as YAML on one line."""
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
    """Quoted where plain YAML would read something else."""
    return value if parse_scalar(value) == value else f'"{value}"'
