"""Change one value in the text of a cluster file; every other byte, comments included, is unchanged."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from clusterwright.config.source import Loc

_BARE_SCALAR = re.compile(r"[A-Za-z_/][\w./-]*")  # a plain YAML scalar that needs no quotes anywhere
_YAML_SPECIAL = re.compile(
    r"""^[*&!|>%@`"'?{\[#-]|:( |$)| #"""
)  # text that YAML would parse as something else
_YAML_KEYWORDS = ("true", "false", "yes", "no", "on", "off", "null")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key with its value in a YAML mapping; both nodes have their positions in the text."""

    key: ScalarNode
    value: Node


def set_value(text: str, loc: Loc, value: str, *, previous_key: str = "") -> str:
    """Return the text with the scalar `value` at `loc`; a new key goes after `previous_key` or to the mapping's end."""
    *parents, last = loc
    mapping = _mapping(text, tuple(parents))
    if mapping is None:
        return _with_parents(text, loc, value)
    if entry := _entry(mapping, str(last)):
        start, end = _span(entry.value)
        return text[:start] + _spelled(value, mapping, entry.value) + text[end:]
    line = f"{last}: {_spelled(value, mapping, None)}"
    neighbor = _entry(mapping, previous_key)
    return _inserted(text, mapping, neighbor, line)


def drop(text: str, loc: Loc) -> str:
    """Return the text without the key at `loc`, whose value is a scalar, with its line.

    Unchanged if the key is missing.
    """
    *parents, last = loc
    mapping = _mapping(text, tuple(parents))
    entry = _entry(mapping, str(last)) if mapping is not None else None
    if mapping is None or entry is None:
        return text
    start, end = entry.key.start_mark.index, _span(entry.value)[1]
    if not mapping.flow_style:
        newline = text.find("\n", end)
        return text[: text.rfind("\n", 0, start) + 1] + (text[newline + 1 :] if newline >= 0 else "")
    if (comma := text[end:].lstrip()).startswith(","):
        return text[:start] + comma[1:].lstrip(" ")
    return text[:start].rstrip(" \n").removesuffix(",") + text[end:]


def _mapping(text: str, loc: Loc) -> MappingNode | None:
    """Return the YAML node of the mapping at `loc`; None if there is none."""
    node = YAML(typ="rt").compose(text)
    for part in loc:
        entry = _entry(node, str(part)) if isinstance(node, MappingNode) else None
        if entry is None:
            return None
        node = entry.value
    return node if isinstance(node, MappingNode) else None


def _entry(mapping: MappingNode, name: str) -> _Entry | None:
    for key, value in mapping.value:
        if key.value == name:
            return _Entry(key, value)
    return None


def _span(node: Node) -> tuple[int, int]:
    """Return the value's start and end in the text; the end of a block value includes the blank lines after it."""
    return node.start_mark.index, node.end_mark.index


def _spelled(value: str, mapping: MappingNode, old_node: Node | None) -> str:
    """Return the value as YAML text, in the old node's quotes, or quoted if YAML would parse it as something else."""
    quote = old_node.style if isinstance(old_node, ScalarNode) and old_node.style in ("'", '"') else ""
    if not quote and mapping.flow_style and any(char in value for char in "[]{},"):
        quote = '"'
    if not quote and (value[:1].isdigit() or value in _YAML_KEYWORDS or _YAML_SPECIAL.search(value)):
        quote = '"'
    return f"{quote}{value}{quote}"


def _inserted(text: str, mapping: MappingNode, neighbor: _Entry | None, line: str) -> str:
    if not mapping.value:
        inside = text.index("{", mapping.start_mark.index) + 1
        return f"{text[:inside]}{line}{text[inside:]}"
    if neighbor is None:
        neighbor = _Entry(*mapping.value[-1])
    end = _last(neighbor.value)
    if mapping.flow_style:
        return f"{text[:end]}, {line}{text[end:]}"
    newline = text.find("\n", end)
    indent = " " * neighbor.key.start_mark.column
    if newline < 0:
        return f"{text}\n{indent}{line}\n"
    return f"{text[: newline + 1]}{indent}{line}\n{text[newline + 1 :]}"


def _last(node: Node) -> int:
    """Return the index after the last character of a value; for a block, of its last item."""
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    inner = node.value[-1]
    return _last(inner[1] if isinstance(inner, tuple) else inner)


def _with_parents(text: str, loc: Loc, value: str) -> str:
    """Return the text with the value and its missing parents, inserted into the innermost existing section.

    Without an existing section they are appended to the file.
    """
    existing_depth = next(
        depth for depth in range(len(loc) - 1, -1, -1) if not depth or _mapping(text, loc[:depth])
    )
    mapping, missing = _mapping(text, loc[:existing_depth]), [str(part) for part in loc[existing_depth:]]
    scalar = value if _BARE_SCALAR.fullmatch(value) and value not in _YAML_KEYWORDS else f'"{value}"'
    if not existing_depth or mapping is None:
        lines = [f"{'  ' * depth}{part}:" for depth, part in enumerate(missing)]
        return f"{text.rstrip()}\n\n" + "\n".join(lines) + f" {scalar}\n"
    inner = scalar
    for part in reversed(missing[1:]):
        inner = f"{{{part}: {inner}}}"
    return _inserted(text, mapping, None, f"{missing[0]}: {inner}")
