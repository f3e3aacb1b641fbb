"""What pydantic says of a file, as findings: our codes, both places where there are two, and the fix."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from clusterwright.config.fields import written
from clusterwright.config.schema import Kind, Schema, find_schema, has_part, properties, schema_of, variants
from clusterwright.config.source import Loc, Source, dotted, printable
from clusterwright.errors import Finding, closest_name
from clusterwright.i18n import _
from clusterwright.units import format_duration, format_rate, format_size

_FORMATS = {"size": format_size, "rate": format_rate, "duration": format_duration}
_TYPES = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "array": "a list such as [a, b]", "object": "a section of `key: value` lines",
}  # fmt: skip
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def findings(reason: ValidationError, source: Source, kind: Kind) -> Iterator[Finding]:
    """One finding for each path that is wrong, but for those whose YAML was refused already."""
    teller = _Teller(source, kind)
    reported_locs: set[Loc] = set()
    for error in reason.errors(include_url=False):
        loc = path_of(error["loc"], source.values)
        if loc not in reported_locs and not _echo(loc, source.faulty):
            reported_locs.add(loc)
            yield teller.to_finding(error, loc)


def faulty(reason: ValidationError, source: Source) -> set[Loc]:
    """The path of everything that is wrong."""
    return {path_of(error["loc"], source.values) for error in reason.errors(include_url=False)}


def path_of(loc: tuple[int | str, ...], values: Any) -> Loc:
    """The path in the file: pydantic's own, without the tags that it adds for unions and keys."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        if part == "[key]":
            continue
        if has_part(values, part):
            values = values[part]
        elif index < len(loc) - 1 or not isinstance(values, dict | tuple):
            continue
        path.append(part)
    return tuple(path)


def _echo(loc: Loc, faulty: set[Loc]) -> bool:
    return any(loc[: len(bad)] == bad for bad in faulty)


class _Teller:
    """Knows the file and its schema, and turns one error of pydantic's into a finding."""

    def __init__(self, source: Source, kind: Kind) -> None:
        self._source, self._kind = source, kind

    @cached_property
    def _schema(self) -> Schema:
        return schema_of(self._kind)

    def _schema_for(self, loc: Loc) -> Schema:
        return find_schema(self._schema, self._source.values, loc)

    def to_finding(self, error: ErrorDetails, loc: Loc) -> Finding:
        """The finding for one error."""
        kind, ctx = error["type"], error.get("ctx", {})
        if "fix" in ctx:
            return self._custom_error(kind, ctx, loc, is_key=error["loc"][-1:] == ("[key]",))
        if kind == "extra_forbidden":
            return self._unknown_key(loc)
        if kind == "missing" and isinstance(loc[-1], int):
            return self._wrong_length({}, loc[:-1])
        if kind == "missing":
            return self._missing_key(loc)
        if kind == "union_tag_not_found":
            return self._missing_key((*loc, "kind"))
        if kind in {"literal_error", "union_tag_invalid"}:
            return self._not_a_choice((*loc, "kind") if kind == "union_tag_invalid" else loc)
        if kind.startswith(("greater_", "less_")):
            return self._out_of_range(ctx, loc)
        if kind in {"too_short", "too_long"}:
            return self._wrong_length(ctx, loc)
        return self._wrong_type(loc, error["input"])

    def _finding(self, code: str, message: str, fix: str, loc: Loc, *, key: bool = False) -> Finding:
        location = self._source.location(loc, key=key)
        return Finding(code, printable(message), printable(fix), (location,))

    def _custom_error(self, code: str, ctx: dict[str, Any], loc: Loc, *, is_key: bool) -> Finding:
        message, fix = ctx["message"], ctx["fix"]
        if code == "version-not-quoted":  # 25.10 has become the number 25.1 by now; say what the file says
            written = self._source.location(loc).value
            message = _("version {written} is read as a number, and 25.10 would become 25.1", written=written)
            fix = _('write it in quotes: "{written}"', written=written)
        return self._finding(code, f"{dotted(loc)}: {message}", fix, loc, key=is_key)

    def _unknown_key(self, loc: Loc) -> Finding:
        section, name = loc[:-1], str(loc[-1])
        valid_keys = list(properties(self._schema_for(section), self._schema))
        suggestion = closest_name(name, valid_keys)
        section_label = f"`{dotted(section)}`" if section else f"a {self._kind} file"
        fix = (
            _("did you mean `{suggestion}`?", suggestion=suggestion)
            if suggestion
            else _("remove it; valid keys: {valid_keys}", valid_keys=", ".join(valid_keys))
        )
        return self._finding(
            "unknown-key",
            _("{section_label} has no key `{name}`", section_label=section_label, name=name),
            fix,
            loc,
            key=True,
        )

    def _missing_key(self, loc: Loc) -> Finding:
        section, name = loc[:-1], str(loc[-1])
        section_label = f"`{dotted(section)}`" if section else f"the {self._kind} file"
        if name == "kind":
            fix = _("add `kind:`, one of {section}", section=", ".join(self._kinds(section)))
        else:
            node = self._schema_for(loc)
            example = written(node["examples"][0]) if node.get("examples") else "..."
            fix = _(
                "add `{name}: {example}`, {lower_first}",
                name=name,
                example=example,
                lower_first=_lower_first(node.get("description", "").rstrip(".")),
            )
        return self._finding(
            "missing-key",
            _("{section_label} has no `{name}`", section_label=section_label, name=name),
            fix,
            loc,
            key=True,
        )

    def _kinds(self, section: Loc) -> list[str]:
        variant_schemas = variants(self._schema_for(section), self._schema)
        return [str(properties(variant, self._schema)["kind"]["const"]) for variant in variant_schemas]

    def _not_a_choice(self, loc: Loc) -> Finding:
        node = self._schema_for(loc)
        choices = [str(choice) for choice in node.get("enum", [node["const"]] if "const" in node else [])]
        is_key = not choices
        if is_key:  # the key itself, or the `kind` of no variant
            parent = self._schema_for(loc[:-1])
            choices = list(parent.get("propertyNames", {}).get("enum", ())) or self._kinds(loc[:-1])
        actual = str(loc[-1]) if is_key and loc[-1] != "kind" else self._source.location(loc).value
        suggestion = closest_name(actual, choices)
        hint = f"did you mean `{suggestion}`? The choices are " if suggestion else "take one of "
        fix = f"{hint}{', '.join(choices)}"
        return self._finding(
            "not-a-choice", _("{dotted} cannot be `{actual}`", dotted=dotted(loc), actual=actual), fix, loc
        )

    def _out_of_range(self, ctx: dict[str, Any], loc: Loc) -> Finding:
        node = self._schema_for(loc)
        form = _FORMATS.get(node.get("quantity", ""), str)
        bound, limit = next((name, ctx[name]) for name in _BOUNDS if name in ctx)
        actual = self._source.location(loc).value
        text = form(int(limit))
        verb = "raise" if bound in {"ge", "gt"} else "lower"
        message = _(
            "{dotted} is {actual}, but must be {bounds} {text}",
            dotted=dotted(loc),
            actual=actual,
            bounds=_BOUNDS[bound],
            text=text,
        )
        return self._finding("out-of-range", message, _("{verb} it to {text}", verb=verb, text=text), loc)

    def _wrong_length(self, ctx: dict[str, Any], loc: Loc) -> Finding:
        node = self._schema_for(loc)
        fewest, most = (
            ctx.get("min_length", node.get("minItems")),
            ctx.get("max_length", node.get("maxItems")),
        )
        requirement = f"{fewest}" if fewest == most else f"at least {fewest}" if fewest else f"at most {most}"
        items = "item" if requirement.endswith("1") else "items"
        example = f": {loc[-1]}: {written(node['examples'][0])}" if node.get("examples") else ""
        return self._finding(
            "out-of-range",
            _(
                "{dotted} must have {requirement} {items}",
                dotted=dotted(loc),
                requirement=requirement,
                items=items,
            ),
            _("write {requirement}{example}", requirement=requirement, example=example),
            loc,
        )

    def _wrong_type(self, loc: Loc, value: Any) -> Finding:
        node = self._schema_for(loc)
        expected_type = _TYPES.get(node.get("type", ""), "another kind of value")
        message = _(
            "{dotted} is {kind_of}, but must be {expected_type}",
            dotted=dotted(loc),
            kind_of=_kind_of(value),
            expected_type=expected_type,
        )
        return self._finding("wrong-type", message, self._type_fix(node, loc, value), loc)

    def _type_fix(self, node: Schema, loc: Loc, value: Any) -> str:
        schema_type, name, excerpt = (
            node.get("type"),
            str(loc[-1]) if loc else "",
            self._source.location(loc).value,
        )
        if schema_type == "string" and isinstance(value, int | float) and excerpt:
            return f'write it in quotes: {name}: "{excerpt}"'
        if schema_type in {"integer", "number", "boolean"} and isinstance(value, str):
            bare = value.strip().lower()
            if bare in {"true", "false"} or bare.lstrip("-").isdecimal():
                return f"write it without quotes: {name}: {bare}"
        if schema_type == "array" and isinstance(value, str | int | float):
            return f"write it as a list: {name}: [{excerpt}]"
        if node.get("examples"):
            return f"write it as {name}: {written(node['examples'][0])}"
        keys = list(properties(node, self._schema))
        return (
            f"its keys are {', '.join(keys)}"
            if keys
            else f"write {_TYPES.get(str(schema_type), 'it otherwise')}"
        )


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text `{value[:60]}`"
    if isinstance(value, int | float):
        return f"the number {value}"
    return {tuple: "a list", dict: "a section", type(None): "nothing"}.get(type(value), "something else")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
