"""Convert pydantic's validation errors of a file into findings with our codes, places and fixes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from clusterwright.config.fields import written
from clusterwright.config.networks import free_address
from clusterwright.config.schema import Kind, Schema, find_schema, has_part, properties, schema_of, variants
from clusterwright.config.slurm_keys import RELEASES
from clusterwright.config.source import Loc, Source, dotted, printable
from clusterwright.errors import Finding, closest_name
from clusterwright.i18n import N_, _, _n
from clusterwright.units import MAX_INT64, format_duration, format_rate, format_size

_MOST_SUGGESTIONS = 20  # of keys that are similar to unknown ones; 80,000 take 20 s
_FORMATS = {"size": format_size, "rate": format_rate, "duration": format_duration}
_FILES = {"cluster": N_("the cluster file"), "job": N_("the job file")}
_TYPES = {
    "string": N_("a string"), "integer": N_("an integer"), "number": N_("a number"),
    "boolean": N_("true or false"), "array": N_("a list such as [a, b]"),
    "object": N_("a section of `key: value` lines"),
}  # fmt: skip
_BOUNDS = {
    "ge": (N_("{field} is {actual}, but must be at least {limit}"), N_("raise the value to {limit}")),
    "gt": (N_("{field} is {actual}, but must be more than {limit}"), N_("raise the value above {limit}")),
    "le": (N_("{field} is {actual}, but must be at most {limit}"), N_("lower the value to {limit}")),
    "lt": (N_("{field} is {actual}, but must be less than {limit}"), N_("lower the value below {limit}")),
}


def findings(reason: ValidationError, source: Source, kind: Kind) -> Iterator[Finding]:
    """Yield one finding for each invalid path, except below paths that the YAML reader rejected already."""
    converter = _Converter(source, kind)
    errors = [(error, path_of(error["loc"], source.values)) for error in reason.errors(include_url=False)]
    misspelled = {converter.intended_path(loc) for error, loc in errors if error["type"] == "extra_forbidden"}
    misspelled |= {converter.slurm_path(loc) for error, loc in errors if error["type"] == "extra_forbidden"}
    reported_locs: set[Loc] = set()
    for error, loc in errors:
        if error["type"] == "missing" and loc in misspelled:
            continue
        rejected_part = loc[:-1] if error["type"] == "extra_forbidden" else loc  # its value does not matter
        if loc not in reported_locs and not _echo(rejected_part, source.faulty):
            reported_locs.add(loc)
            yield converter.to_finding(error, loc)


def faulty(reason: ValidationError, source: Source, kind: Kind) -> tuple[set[Loc], dict[Loc, Loc]]:
    """Return the paths of all invalid values, and the intended path of each misspelled key, invalid too."""
    errors = [
        (error["type"], path_of(error["loc"], source.values)) for error in reason.errors(include_url=False)
    ]
    converter = _Converter(source, kind)
    intended = {loc: converter.intended_path(loc) for type_, loc in errors if type_ == "extra_forbidden"}
    return {loc for _type, loc in errors} | set(intended.values()), intended


def path_of(loc: tuple[int | str, ...], values: Any) -> Loc:
    """Return the path in the file: pydantic's location without the tags that it adds for unions and keys."""
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
    return any(loc[:length] in faulty for length in range(len(loc) + 1))


# A key, and what other tools' files call it.
_OTHER_KEYS = {
    "gpus_per_node": "gpus ngpus num_gpus n_gpus gpu gres nproc_per_node ntasks_per_node",
    "nodes": "nnodes num_nodes n_nodes replicas hosts",
    "command": "script cmd run entrypoint exec args",
    "time": "time_limit walltime timeout duration",
    "environment": "env envs variables",
    "container": "image docker",
    "partition": "queue",
    "team": "account",
    "name": "job_name title",
    "code": "workdir working_dir repo",
    "memory": "ram mem",
    "hosts": "hostname hostnames nodelist",
    "addresses": "ip ips address",
    "os": "distribution distro image",
}


class _Converter:
    """Converts pydantic errors of one file into findings."""

    def __init__(self, source: Source, kind: Kind) -> None:
        self._source, self._kind = source, kind
        self._closest: dict[Loc, str | None] = {}  # by the path of an unknown key

    @cached_property
    def _schema(self) -> Schema:
        return schema_of(self._kind)

    def _schema_for(self, loc: Loc) -> Schema:
        return find_schema(self._schema, self._source.values, loc)

    def to_finding(self, error: ErrorDetails, loc: Loc) -> Finding:
        """Return the finding for one pydantic error; `loc` is its path in the file."""
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
        if code == "version-not-quoted":  # pydantic has the number 25.1, the file has 25.10
            written = self._source.location(loc).value
            message = _("version {written} is read as a number, which would make 25.10 25.1", written=written)
            fix = _('write the version in quotes: "{written}"', written=written)
        if code == "bad-name" and loc == ("software", "slurm"):
            fix = _(
                'write one of the releases in quotes, such as "{newest}": {releases}',
                newest=RELEASES[-1],
                releases=", ".join(RELEASES),
            )
        if code == "bad-address" and loc[::2] == ("nodes", "addresses"):
            free = free_address(self._source.values, str(loc[1]), str(loc[3]))
            fix = _("write the address as {address}", address=free) if free else fix
        return self._finding(code, f"{dotted(loc)}: {message}", fix, loc, key=is_key)

    def _label(self, section: Loc) -> str:
        return f"`{dotted(section)}`" if section else _(_FILES[self._kind])

    def intended_path(self, loc: Loc) -> Loc:
        """Return the path of the valid key most similar to an unknown key; the path itself if none is similar."""
        closest = self._closest_key(loc)
        return (*loc[:-1], closest) if closest else loc

    def _closest_key(self, loc: Loc) -> str | None:
        """Return the valid key most similar to an unknown key; None if none is, or after _MOST_SUGGESTIONS keys."""
        if loc not in self._closest and len(self._closest) < _MOST_SUGGESTIONS:
            self._closest[loc] = closest_name(str(loc[-1]), self._valid_keys(loc[:-1]))
        return self._closest.get(loc)

    def _valid_keys(self, section: Loc) -> list[str]:
        return list(properties(self._schema_for(section), self._schema))

    def _unknown_key(self, loc: Loc) -> Finding:
        section, name = loc[:-1], str(loc[-1])
        valid_keys = self._valid_keys(section)
        equivalent = next(
            (key for key, names in _OTHER_KEYS.items() if key in valid_keys and name in names.split()), None
        )
        if self._kind == "cluster" and (line := self._slurm_line(loc)):
            fix = _("write {line}", line=line)
        elif suggestion := equivalent or self._closest_key(loc):
            fix = _("did you mean `{suggestion}`?", suggestion=suggestion)
        else:
            fix = _("remove the key; the valid keys are {valid_keys}", valid_keys=", ".join(valid_keys))
        message = _("{section} has no key `{name}`", section=self._label(section), name=name)
        return self._finding("unknown-key", message, fix, loc, key=True)

    def _slurm_line(self, loc: Loc) -> str:
        """Return the line for a key of slurm.conf that the section has under another name; empty for other keys."""
        from clusterwright.config.other_files import cluster_line

        section: Any = self._source.values
        for part in loc[:-1]:
            section = section[part] if has_part(section, part) else {}
        value = section.get(loc[-1]) if isinstance(section, dict) else None
        line = cluster_line(str(loc[-1]), value, self._source.location(loc).value or "")
        return line if line.partition(":")[0] in self._valid_keys(loc[:-1]) else ""

    def slurm_path(self, loc: Loc) -> Loc:
        """Return the path of the key that a key of slurm.conf means; the path itself for other keys."""
        line = self._slurm_line(loc) if self._kind == "cluster" else ""
        return (*loc[:-1], line.partition(":")[0]) if line else loc

    def _missing_key(self, loc: Loc) -> Finding:
        section, name = loc[:-1], str(loc[-1])
        if name == "kind":
            fix = _("add `kind:`, one of {kinds}", kinds=", ".join(self._kinds(section)))
        else:
            node = self._schema_for(loc)
            example = self._addresses(section) if name == "addresses" else ""
            example = example or (written(node["examples"][0]) if node.get("examples") else "...")
            meaning = _lower_first(_(node.get("description", "")).rstrip(".。"))
            fix = _("add `{name}: {example}` ({meaning})", name=name, example=example, meaning=meaning)
        message = _("{section} has no `{name}`", section=self._label(section), name=name)
        return self._finding("missing-key", message, fix, loc, key=True)

    def _addresses(self, group: Loc) -> str:
        """Return addresses of a node group in each network of the file that no host uses; `...` if there is none.

        Empty without networks.
        """
        networks = self._source.values.get("networks")
        if group[:1] != ("nodes",) or not isinstance(networks, dict):
            return ""
        free = {name: free_address(self._source.values, str(group[-1]), str(name)) for name in networks}
        free = {name: address for name, address in free.items() if address}
        return written(free) if free else "..."

    def _kinds(self, section: Loc) -> list[str]:
        variant_schemas = variants(self._schema_for(section), self._schema)
        return [str(properties(variant, self._schema)["kind"]["const"]) for variant in variant_schemas]

    def _not_a_choice(self, loc: Loc) -> Finding:
        node = self._schema_for(loc)
        choices = [str(choice) for choice in node.get("enum", [node["const"]] if "const" in node else [])]
        is_key = not choices
        if is_key:  # the error is about the key itself, or the `kind` of no variant
            parent = self._schema_for(loc[:-1])
            choices = list(parent.get("propertyNames", {}).get("enum", ())) or self._kinds(loc[:-1])
        actual = str(loc[-1]) if is_key and loc[-1] != "kind" else self._source.location(loc).value
        suggestion = _same_version(actual, choices) or closest_name(actual, choices)
        text = ", ".join(choices)
        if suggestion:
            fix = _("did you mean `{suggestion}`? Valid are {choices}", suggestion=suggestion, choices=text)
        else:
            fix = _("choose one of {choices}", choices=text)
        message = _("{field} cannot be `{actual}`", field=dotted(loc), actual=actual)
        return self._finding("not-a-choice", message, fix, loc)

    def _out_of_range(self, ctx: dict[str, Any], loc: Loc) -> Finding:
        form = _FORMATS.get(self._schema_for(loc).get("quantity", ""), str)
        bound, limit = next((name, form(int(ctx[name]))) for name in _BOUNDS if name in ctx)
        message, fix = _BOUNDS[bound]
        actual = self._source.location(loc).value
        message = _(message, field=dotted(loc), actual=actual, limit=limit)
        return self._finding("out-of-range", message, _(fix, limit=limit), loc)

    def _wrong_length(self, ctx: dict[str, Any], loc: Loc) -> Finding:
        node, field = self._schema_for(loc), dotted(loc)
        fewest = ctx.get("min_length", node.get("minItems"))
        most = ctx.get("max_length", node.get("maxItems"))
        if fewest and fewest == most:
            message = _n(
                "{field} must have {count} item", "{field} must have {count} items", fewest, field=field
            )
        elif fewest:
            message = _n(
                "{field} must have at least {count} item",
                "{field} must have at least {count} items",
                fewest,
                field=field,
            )
        else:
            message = _n(
                "{field} must have at most {count} item",
                "{field} must have at most {count} items",
                most or 0,
                field=field,
            )
        example = f"{loc[-1]}: {written(node['examples'][0])}" if node.get("examples") else ""
        fix = _("write a list such as `{example}`", example=example) if example else _("correct the list")
        return self._finding("out-of-range", message, fix, loc)

    def _wrong_type(self, loc: Loc, value: Any) -> Finding:
        node = self._schema_for(loc)
        if node.get("type") == "integer" and isinstance(value, str) and re.fullmatch(r"-?\d{19,}", value):
            most = node.get("maximum", MAX_INT64)
            values = {"option": dotted(loc), "value": printable(value), "limit": most}
            message = _("{option} is {value}, but must be at most {limit}", **values)
            return self._finding("out-of-range", message, _("lower the value to {limit}", limit=most), loc)
        message = _(
            "{field} is {actual}, but must be {expected}",
            field=dotted(loc),
            actual=_kind_of(value),
            expected=_(_TYPES.get(node.get("type", ""), N_("a value of a type that the field accepts"))),
        )
        return self._finding("wrong-type", message, self._type_fix(node, loc, value), loc)

    def _type_fix(self, node: Schema, loc: Loc, value: Any) -> str:
        schema_type, name = str(node.get("type")), str(loc[-1]) if loc else ""
        excerpt = self._source.location(loc).value
        if schema_type == "string" and isinstance(value, int | float) and excerpt:
            if loc and isinstance(loc[-1], int):
                return _('write the value in quotes: "{value}"', value=excerpt)
            return _('write the value in quotes: {name}: "{value}"', name=name, value=excerpt)
        if schema_type in {"integer", "number", "boolean"} and isinstance(value, str):
            bare = value.strip().lower()
            if bare in {"true", "false"} or bare.lstrip("-").isdecimal():
                return _("write the value without quotes: {name}: {value}", name=name, value=bare)
        if schema_type == "array" and isinstance(value, str | int | float):
            arguments = _arguments(name, value) if isinstance(value, str) else ()
            items = written(arguments) if arguments else f"[{excerpt}]"
            return _("write the value as a list: {name}: {items}", name=name, items=items)
        if node.get("examples"):
            return _("write a value such as {name}: {value}", name=name, value=written(node["examples"][0]))
        if keys := list(properties(node, self._schema)):
            return _("the valid keys are {keys}", keys=", ".join(keys))
        if schema_type in _TYPES:
            return _("write {expected}", expected=_(_TYPES[schema_type]))
        return _("write a value of another type")


def _same_version(actual: str, choices: list[str]) -> str | None:
    """Return the choice with the letters and digits of a value, without signs and further digits; None if none has.

    `ubuntu22` and `Ubuntu 22.04` are `ubuntu-22.04`, to which `ubuntu-24.04` is as similar.
    """
    bare = re.sub(r"[^a-z0-9]", "", actual.lower())
    is_version = re.fullmatch(r"[a-z]+[0-9]+", bare)
    return next(
        (name for name in choices if is_version and re.sub(r"[^a-z0-9]", "", name).startswith(bare)), None
    )


def _arguments(field: str, line: str) -> tuple[str, ...]:
    """Return the items of a command line that was written as one string; `command` is without `python`.

    Empty for other fields, or with an open quote.
    """
    try:
        arguments = shlex.split(line) if field in ("command", "program") else []
    except ValueError:  # a quote without its end
        return ()
    if field == "command" and len(arguments) > 1 and re.fullmatch(r"python(3(\.\d+)?)?", arguments[0]):
        arguments = arguments[1:]
    return tuple(arguments)


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _("the string `{text}`", text=value[:60])
    if isinstance(value, int | float):
        return _("the number {number}", number=value)
    kinds = {tuple: N_("a list"), dict: N_("a section"), type(None): N_("empty")}
    return _(kinds.get(type(value), N_("neither a string, number, list nor section")))


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
