"""A YAML text as plain values with the place of each: what a spec file may hold, and nothing more.

YAML is read as 1.2 and held to the part that every reader agrees on. What another reader would take
otherwise (`no`, `0755`, a key given twice), what hides where a value comes from (anchors, aliases, merge
keys, tags) and what says nothing (a key without a value) is refused with its place. Sequences become tuples.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from clusterwright.config.source import MAX_EXCERPT, Loc, Source, Spot, dotted, printable
from clusterwright.errors import Finding, Location, SpecError
from clusterwright.i18n import _
from clusterwright.units import MAX_INT64

MAX_BYTES = (
    1024 * 1024
)  # a cluster of 65536 hosts is a few kB of groups; 1 MiB takes the reader some ten seconds
_MAX_DEPTH = 24  # the deepest field of the two files is 5 levels down

# YAML 1.2 core schema (chapter 10.3); .inf and .nan stay text, because no field takes them.
_INT = re.compile(r"[-+]?[0-9]{1,30}|0x[0-9a-fA-F]{1,20}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,6})?")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# Booleans in YAML 1.1, text in 1.2 (y and n alone are taken so by no common reader).
_YAML11 = {
    spelling: b for spellings, b in (("yes on", True), ("no off", False)) for spelling in spellings.split()
}
_OCTAL = re.compile(r"[-+]?0[0-9]+|0o[0-7]+")

_FEATURES = {
    "alias": "an anchor (&name) or alias (*name)",
    "tag": "a tag (!name)",
    "merge": "a merge key (<<)",
    "document": "a second document (---)",
    "directive": "a directive (%YAML, %TAG)",
    "key": "a key that is not plain text",
}


def read(data: bytes | str, file: str) -> Source:
    """The values and places of a YAML text; its findings are kept in it.

    Raises:
        SpecError: the text cannot be read as YAML at all.
    """
    source = Source(file, _decoded(data, file))
    reader = _Reader(source, _events(source))
    try:
        source.values = reader.document()
    except YAMLError as error:
        raise SpecError(_syntax(source, error)) from error
    return source


def _decoded(data: bytes | str, file: str) -> str:
    if len(data) > MAX_BYTES:
        message = _(
            "the file holds {count} bytes; no cluster or job needs more than {max_bytes}",
            count=len(data),
            max_bytes=MAX_BYTES,
        )
        raise SpecError(
            Finding("file-too-large", message, _("give the cluster or job file itself"), (Location(file),))
        )
    try:
        return data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        prefix = data[: error.start].decode("utf-8", "replace") if isinstance(data, bytes) else ""
        line, column = prefix.count("\n") + 1, len(prefix) - prefix.rfind("\n")
        message = _(
            "byte {start} is 0x{object:02x}, which is not UTF-8",
            start=error.start + 1,
            object=error.object[error.start],
        )
        fix = _("save the file as UTF-8: iconv -f LATIN1 -t UTF-8 {file}", file=file)
        raise SpecError(Finding("not-utf-8", message, fix, (Location(file, line, column),))) from error


def _events(source: Source) -> Iterator[Event]:
    yield from YAML(typ="safe", pure=True).parse(source.text)


def _syntax(source: Source, reason: YAMLError) -> Finding:
    """The parser's own words with both of its places, and the likely fix."""
    problem, yaml_marks = str(reason).splitlines()[0], []
    if isinstance(reason, MarkedYAMLError):
        problem = " ".join(part for part in (reason.context, reason.problem) if part)
        yaml_marks = [mark for mark in (reason.context_mark, reason.problem_mark) if mark is not None]
    spots = sorted({(mark.line + 1, mark.column + 1) for mark in yaml_marks})
    places = tuple(source.spot(*spot) for spot in spots) or (Location(source.file),)
    context_lines = [source.line(number) for line, _ignored in spots for number in (line - 1, line) if number]
    fix = next(filter(None, map(_colon_fix, context_lines)), "") or _syntax_fix(problem)
    return Finding(
        "yaml-syntax", _("this is not YAML: {printable}", printable=printable(problem)), fix, places
    )


def _colon_fix(line: str) -> str:
    """For a colon without a space, or of another keyboard, in a line at the fault or just above it."""
    if match := re.match(r"\s*(?:- )?([\w-]+)\N{FULLWIDTH COLON}\s*(.*)", line):
        return f"write the colon as `:`, with a space after it: `{match[1]}: {match[2]}`"
    if match := re.match(r"\s*(?:- )?([a-z_]+):([^\s:/]\S*)$", line):
        return f"put a space after the colon: `{match[1]}: {match[2]}`"
    return ""


def _syntax_fix(problem: str) -> str:
    if "'\\t'" in problem:
        return "indent with spaces; YAML takes no tabs"
    if "end of stream" in problem or "<stream end>" in problem or "expected ',' or" in problem:
        return "close the bracket or quote that was opened; was the file cut short?"
    if "could not find expected ':'" in problem:
        return "write `key: value` with a space after the colon; was the file cut short?"
    if "special characters" in problem or "control characters" in problem:
        return "take the control character out"
    return "put values that hold any of : # { } [ ] , & * ! | > ' \" % @ ` in quotes, and line keys up"


class _Reader:
    """Walks the parser's events once; what is refused is noted, and reading goes on."""

    def __init__(self, source: Source, events: Iterator[Event]) -> None:
        self._source = source
        self._events = events

    def document(self) -> dict[str, Any]:
        """The top-level mapping of the only document."""
        value, document_count = {}, 0
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                document_count += 1
                if event.version or event.tags:
                    self._feature("directive", event, ())
                if document_count > 1:
                    self._feature("document", event, ())
                    break
            elif not isinstance(event, StreamStartEvent | StreamEndEvent | DocumentEndEvent):
                value = self._top(event)
        if not document_count:
            self._no_mapping("is empty", self._source.spot(1, 1))
        return value

    def _top(self, event: Event) -> dict[str, Any]:
        value = self._value(event, ())
        if isinstance(value, dict):
            return value
        problem = {tuple: "is a list", str: "is one text", type(None): "is empty"}.get(
            type(value), "is one value"
        )
        self._no_mapping(problem, self._location(event))
        return {}

    def _no_mapping(self, problem: str, location: Location) -> None:
        fix = _("start from `wright init`, or write `key: value` lines")
        message = _("the file {problem}; a cluster or job file is a mapping of keys", problem=problem)
        self._source.refuse((), Finding("not-a-mapping", message, fix, (location,)))

    def _value(self, event: Event, loc: Loc) -> Any:
        if len(loc) > _MAX_DEPTH:
            message = _("values are nested more than {max_depth} deep; no field is", max_depth=_MAX_DEPTH)
            raise SpecError(
                Finding("yaml-feature", message, _("take the inner brackets out"), (self._location(event),))
            )
        self._source.spots[loc] = self._spot(event)
        if isinstance(event, AliasEvent):
            self._feature("alias", event, loc)
            return None
        assert isinstance(event, MappingStartEvent | SequenceStartEvent | ScalarEvent)  # noqa: S101 (no other starts a value)
        if event.anchor or event.tag:
            self._feature("alias" if event.anchor else "tag", event, loc)
        if isinstance(event, MappingStartEvent):
            return self._mapping(loc)
        return self._sequence(loc) if isinstance(event, SequenceStartEvent) else self._scalar(event, loc)

    def _mapping(self, loc: Loc) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            name = self._key(event, loc)
            first_spot = self._source.keys.get((*loc, name))
            if first_spot is not None:
                self._repeated((*loc, name), first_spot, event)
                self._value(next(self._events), (*loc, name, "(again)"))
                continue
            self._source.keys[*loc, name] = self._spot(event)
            values[name] = self._value(next(self._events), (*loc, name))
        return values

    def _key(self, event: Event, loc: Loc) -> str:
        if not isinstance(event, ScalarEvent):
            self._feature("key", event, loc)
            self._value(event, (*loc, "(key)"))
            return "(key)"
        name = self._text(event, loc)
        if event.anchor or event.tag:
            self._feature("alias" if event.anchor else "tag", event, (*loc, name))
        if name == "<<" and event.style is None:
            self._feature("merge", event, (*loc, name))
        if event.style is None:
            self._ambiguous(event, (*loc, name), "key")
        return name

    def _text(self, event: ScalarEvent, loc: Loc) -> str:
        r"""The text of a scalar; JSON's `\ud83d\ude00` is one character, and half of it is none."""
        try:
            return str(event.value).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            message = _("the text holds half of a surrogate pair, which is no character")
            finding = Finding(
                "bad-text", message, _("take the \\u escape out"), (self._location(event, loc),)
            )
            self._source.refuse(loc, finding)
            return ""

    def _sequence(self, loc: Loc) -> tuple[Any, ...]:
        items: list[Any] = []
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            items.append(self._value(event, (*loc, len(items))))
        return tuple(items)

    def _scalar(self, event: ScalarEvent, loc: Loc) -> Any:
        text = self._text(event, loc)
        if event.style is not None:
            return text
        if text in _NULLS:
            self._empty(loc)
            return None
        if self._ambiguous(event, loc, "value"):
            return None
        return parse_scalar(text)

    def _ambiguous(self, event: ScalarEvent, loc: Loc, role: str) -> bool:
        text = str(event.value)
        truth = _YAML11.get(text.lower())
        if truth is not None:
            boolean_hint = f"{str(truth).lower()} for yes or no, or " if role == "value" else ""
            message = _(
                "`{text}` without quotes is {truth} to one YAML reader and text to another",
                text=text,
                truth=str(truth).lower(),
            )
            fix = _(
                'write {boolean_hint}"{text}" in quotes for the text', boolean_hint=boolean_hint, text=text
            )
        elif role == "value" and _OCTAL.fullmatch(text):
            number = int(text, 8) if "o" in text else int(text)
            message = _(
                "`{text}` is one number to one YAML reader and another, or text, to the next", text=text
            )
            fix = _(
                'write {number} for the number, or "{text}" in quotes for the text', number=number, text=text
            )
        else:
            return False
        self._source.refuse(loc, Finding("ambiguous-yaml", message, fix, (self._location(event, loc),)))
        return True

    def _empty(self, loc: Loc) -> None:
        if not loc:
            return
        location = self._source.location(loc, key=True)
        name = loc[-1] if isinstance(loc[-1], str) else dotted(loc)
        hint = "{} is a section with all its defaults"
        fix = _(
            "give `{printable}` a value, or leave the line out; {hint}",
            printable=printable(str(name)),
            hint=hint,
        )
        self._source.refuse(
            loc, Finding("empty-value", _("`{dotted}` has no value", dotted=dotted(loc)), fix, (location,))
        )

    def _repeated(self, loc: Loc, first_spot: Spot, event: Event) -> None:
        message = _(
            "`{dotted}` is given twice; a YAML reader would keep one of them and say nothing",
            dotted=dotted(loc),
        )
        places = (
            Location(
                self._source.file,
                first_spot.line,
                first_spot.column,
                dotted(loc),
                source=self._source.line(first_spot.line),
            ),
            self._location(event, loc),
        )
        finding = Finding("repeated-key", message, _("keep one, or rename one"), places)
        self._source.refuse(loc, finding)

    def _feature(self, kind: str, event: Event, loc: Loc) -> None:
        message = _(
            "{features} is not used in these files: each value stands in one place, plainly",
            features=_FEATURES[kind],
        )
        fix = _("split the file") if kind == "document" else _("write the value out")
        self._source.refuse(loc, Finding("yaml-feature", message, fix, (self._location(event, loc),)))

    def _spot(self, event: Event) -> Spot:
        mark = event.start_mark
        excerpt = ""
        if isinstance(event, ScalarEvent):
            excerpt = printable(self._source.text[mark.index : event.end_mark.index].split("\n", 1)[0])
            excerpt = excerpt if len(excerpt) <= MAX_EXCERPT else f"{excerpt[:MAX_EXCERPT]}..."
        return Spot(mark.line + 1, mark.column + 1, excerpt)

    def _location(self, event: Event, loc: Loc = ()) -> Location:
        spot = self._spot(event)
        line = self._source.line(spot.line)
        return Location(self._source.file, spot.line, spot.column, dotted(loc), source=line)


def parse_scalar(text: str) -> str | int | float | bool:
    """The value of an unquoted scalar that is not empty: YAML 1.2's booleans and numbers, else text."""
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        number = int(text, 0) if text.startswith("0x") else int(text)
        return number if abs(number) <= MAX_INT64 else text
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text
