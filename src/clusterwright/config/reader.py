"""Parse a YAML text into plain values, each with its line and column.

Accepted is the part of YAML 1.2 that all parsers read alike. Rejected, each with its place: what another parser
reads otherwise (`no`, `0755`, a key set twice), what hides the source of a value (anchors, aliases, merge keys,
tags), and keys without a value. Sequences become tuples.
"""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
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

from clusterwright.config.other_files import other_file
from clusterwright.config.source import MAX_EXCERPT, Loc, Source, Spot, dotted, printable
from clusterwright.errors import Finding, Location, SpecError
from clusterwright.i18n import N_, _
from clusterwright.units import MAX_INT64, human_size

MAX_BYTES = 1024 * 1024  # 65536 hosts are a few kB of groups; parsing 1 MiB takes about ten seconds
_HEAD = 64 * 1024  # bytes that tell a text from another file
_MAX_DEPTH = 24  # the deepest field of the two files is 5 levels down

# YAML 1.2 core schema (chapter 10.3); .inf and .nan stay strings, because no field takes them.
_INT = re.compile(r"[-+]?[0-9]{1,30}|0x[0-9a-fA-F]{1,20}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,6})?")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# Booleans in YAML 1.1, strings in 1.2 (no common parser reads y and n alone as booleans).
_YAML11 = {
    spelling: b for spellings, b in (("yes on", True), ("no off", False)) for spelling in spellings.split()
}
_OCTAL = re.compile(r"[-+]?0[0-9]+|0o[0-7]+")

_FEATURES = {
    "alias": N_("an anchor (&name) or alias (*name)"),
    "tag": N_("a tag (!name)"),
    "merge": N_("a merge key (<<)"),
    "document": N_("a second document (---)"),
    "directive": N_("a directive (%YAML, %TAG)"),
    "key": N_("a key that is not a string"),
}
_NO_MAPPING = {
    tuple: N_("the file is a list; a cluster or job file is a mapping of keys"),
    str: N_("the file is one string; a cluster or job file is a mapping of keys"),
    type(None): N_("the file is empty; a cluster or job file is a mapping of keys"),
}


def read(data: bytes | str, file: str) -> Source:
    """Parse a YAML text into a Source: its values, their places, and findings about rejected parts.

    Rejected parts are not raised: the caller must look at the source's findings.

    Raises:
        SpecError: the text is not YAML, not UTF-8, too large, or a file of another tool.
    """
    if isinstance(data, bytes) and b"\0" in data[:_HEAD]:
        from clusterwright.config.file_kinds import kind_of_file, wrong_kind

        if kind := kind_of_file(path := PurePath(file), data[:_HEAD]):
            raise SpecError(wrong_kind(path, kind, _("a cluster or job file")))
    source = Source(file, _decoded(data, file))
    if finding := other_file(source.text, file):
        raise SpecError(finding)
    reader = _Reader(source, _events(source))
    try:
        source.values = reader.document()
    except YAMLError as error:
        raise SpecError(*_syntax_findings(source, error)) from error
    return source


def _decoded(data: bytes | str, file: str) -> str:
    if len(data) > MAX_BYTES:
        sizes = {"size": human_size(len(data)), "limit": human_size(MAX_BYTES)}
        message = _("the file has {size}; the limit for a cluster or job file is {limit}", **sizes)
        fix = _("pass the cluster or job file itself")
        raise SpecError(Finding("file-too-large", message, fix, (Location(file),)))
    try:
        return data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        prefix = data[: error.start].decode("utf-8", "replace") if isinstance(data, bytes) else ""
        line, column = prefix.count("\n") + 1, len(prefix) - prefix.rfind("\n")
        byte = f"0x{error.object[error.start]:02x}"
        message = _("byte {position} is {byte}, which is not UTF-8", position=error.start + 1, byte=byte)
        fix = _encoding_fix(error.object, file)
        raise SpecError(Finding("not-utf-8", message, fix, (Location(file, line, column),))) from error


def _encoding_fix(data: bytes, file: str) -> str:
    """Return how to convert a file that is not UTF-8, by its first bytes: gzip, UTF-16, binary, else Latin-1."""
    if data.startswith(b"\x1f\x8b"):
        return _("the file is compressed with gzip: decompress it with `gunzip {file}`", file=file)
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return _("save the file as UTF-8: iconv -f {encoding} -t UTF-8 {file}", encoding="UTF-16", file=file)
    if b"\0" in data:
        return _("the file is not text: pass the cluster or job file itself")
    return _("save the file as UTF-8: iconv -f {encoding} -t UTF-8 {file}", encoding="LATIN1", file=file)


def _events(source: Source) -> Iterator[Event]:
    yield from YAML(typ="safe", pure=True).parse(source.text)


def _syntax_findings(source: Source, reason: YAMLError) -> list[Finding]:
    """Return all faults of a text that is not YAML, with the findings about the text without them.

    Only the parser's own for JSON, an unfinished merge, and a file of another kind.
    """
    from clusterwright.config.yaml_faults import yaml_faults
    from clusterwright.config.yaml_syntax import conflict_lines, other_file_fix, parser_finding

    first = parser_finding(source, reason)
    if source.text.lstrip()[:1] == "{" or conflict_lines(source.text) or other_file_fix(source):
        return [first]
    faults, text = yaml_faults(source.text)
    if not faults:
        return [first]
    syntax = [
        Finding(
            "yaml-syntax",
            _("the file is not valid YAML: {problem}", problem=fault.problem),
            fault.fix,
            (source.spot(fault.line, fault.column),),
        )
        for fault in faults
    ]
    repaired = Source(source.file, text)
    try:
        _Reader(repaired, _events(repaired)).document()
    except YAMLError as error:
        repaired.findings.append(parser_finding(repaired, error))
    except SpecError as error:
        repaired.findings += error.findings
    rest = [
        replace(
            finding,
            places=tuple(replace(place, source=source.line(place.line or 0)) for place in finding.places),
        )
        for finding in repaired.findings
    ]
    return sorted((*syntax, *rest), key=lambda finding: finding.places[0].line or 0)


class _Reader:
    """Builds values from the parser's events in one pass; rejected parts become findings, and parsing continues."""

    def __init__(self, source: Source, events: Iterator[Event]) -> None:
        self._source = source
        self._events = events

    def document(self) -> dict[str, Any]:
        """Return the top-level mapping of the first document; a second one or a directive is a finding.

        Empty, with a finding, without a mapping.
        """
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
            self._no_mapping(None, self._source.spot(1, 1))
        return value

    def _top(self, event: Event) -> dict[str, Any]:
        value = self._value(event, ())
        if isinstance(value, dict):
            return value
        self._no_mapping(value, self._location(event))
        return {}

    def _no_mapping(self, value: Any, location: Location) -> None:
        from clusterwright.config.yaml_syntax import other_file_fix

        fix = other_file_fix(self._source) or _("start from `wright init`, or write `key: value` lines")
        default_message = N_("the file is one value; a cluster or job file is a mapping of keys")
        message = _(_NO_MAPPING.get(type(value), default_message))
        self._source.refuse((), Finding("not-a-mapping", message, fix, (location,)))

    def _value(self, event: Event, loc: Loc) -> Any:
        if len(loc) > _MAX_DEPTH:
            message = _("values are nested more than {limit} levels deep; no field is", limit=_MAX_DEPTH)
            fix = _("remove the inner brackets")
            raise SpecError(Finding("yaml-feature", message, fix, (self._location(event),)))
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
        r"""Return a scalar with surrogate pairs joined; half a pair is a finding and gives an empty string."""
        try:
            return str(event.value).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            message = _("the string has half of a surrogate pair, which is not a character")
            fix = _("remove the \\u escape")
            self._source.refuse(loc, Finding("bad-text", message, fix, (self._location(event, loc),)))
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
            boolean = str(truth).lower()
            message = _(
                "unquoted `{text}` is {boolean} in YAML 1.1 and a string in YAML 1.2",
                text=text,
                boolean=boolean,
            )
            if role == "key":
                fix = _('write the key in quotes: "{text}"', text=text)
            else:
                fix = _('write {boolean}, or "{text}" in quotes for the string', boolean=boolean, text=text)
        elif role == "value" and _OCTAL.fullmatch(text):
            number = int(text, 8) if "o" in text else int(text)
            message = _("unquoted `{text}` is octal, decimal or a string, by YAML parser", text=text)
            fix = _('write {number}, or "{text}" in quotes for the string', number=number, text=text)
        else:
            return False
        self._source.refuse(loc, Finding("ambiguous-yaml", message, fix, (self._location(event, loc),)))
        return True

    def _empty(self, loc: Loc) -> None:
        if not loc:
            return
        location = self._source.location(loc, key=True)
        name = loc[-1] if isinstance(loc[-1], str) else dotted(loc)
        fix = _(
            "set a value for `{name}`, or remove the line; {{}} is a section of defaults",
            name=printable(str(name)),
        )
        message = _("`{field}` has no value", field=dotted(loc))
        self._source.refuse(loc, Finding("empty-value", message, fix, (location,)))

    def _repeated(self, loc: Loc, first_spot: Spot, event: Event) -> None:
        message = _(
            "`{field}` is set twice; YAML parsers keep one of them without a warning", field=dotted(loc)
        )
        line, column = first_spot.line, first_spot.column
        earlier_location = Location(
            self._source.file, line, column, dotted(loc), source=self._source.line(line)
        )
        places = (earlier_location, self._location(event, loc))
        self._source.refuse(loc, Finding("repeated-key", message, _("remove or rename one"), places))

    def _feature(self, kind: str, event: Event, loc: Loc) -> None:
        message = _(
            "{feature} is not allowed: cluster and job files are plain YAML", feature=_(_FEATURES[kind])
        )
        fix = (
            _("write each YAML document into a file of its own")
            if kind == "document"
            else _("write the value in full, without this feature of YAML")
        )
        self._source.refuse(loc, Finding("yaml-feature", message, fix, (self._location(event, loc),)))

    def _spot(self, event: Event) -> Spot:
        position = event.start_mark
        excerpt = ""
        if isinstance(event, ScalarEvent):
            excerpt = printable(self._source.text[position.index : event.end_mark.index].split("\n", 1)[0])
            excerpt = excerpt if len(excerpt) <= MAX_EXCERPT else f"{excerpt[:MAX_EXCERPT]}..."
        return Spot(position.line + 1, position.column + 1, excerpt)

    def _location(self, event: Event, loc: Loc = ()) -> Location:
        spot = self._spot(event)
        line = self._source.line(spot.line)
        return Location(self._source.file, spot.line, spot.column, dotted(loc), source=line)


def parse_scalar(text: str) -> str | int | float | bool:
    """Return the value of an unquoted, non-empty scalar: YAML 1.2's booleans and numbers, else a string.

    Integers beyond 64 bits stay strings.
    """
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        number = int(text, 0) if text.startswith("0x") else int(text)
        return number if abs(number) <= MAX_INT64 else text
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text
