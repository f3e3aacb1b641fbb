"""The error of the YAML parser as a finding, with its places and the likely fix."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

from ruamel.yaml.error import MarkedYAMLError, YAMLError

from clusterwright.config.source import Source, printable
from clusterwright.errors import Finding, Location
from clusterwright.i18n import N_, _

_MARKER = re.compile(r"(?:<{7}|>{7}|\|{7}) |={7}$")


def parser_finding(source: Source, reason: YAMLError) -> Finding:
    """Return a finding with the YAML parser's message, its places, and the likely fix."""
    if lines := conflict_lines(source.text):
        message = _("the file has the markers of an unfinished merge")
        fix = _("choose one side of each conflict, and remove its markers")
        return Finding("yaml-syntax", message, fix, tuple(source.spot(line, 1) for line in lines))
    problem, yaml_marks = str(reason).splitlines()[0], []
    if isinstance(reason, MarkedYAMLError):
        problem = " ".join(part for part in (reason.context, reason.problem) if part)
        yaml_marks = [
            position for position in (reason.context_mark, reason.problem_mark) if position is not None
        ]
    spots = sorted({(position.line + 1, position.column + 1) for position in yaml_marks})
    places = tuple(source.spot(*spot) for spot in spots) or (Location(source.file),)
    fix = other_file_fix(source) or _syntax_fix(problem, is_json=source.text.lstrip()[:1] == "{")
    if source.file.endswith(".json") and (finding := _json_finding(source, fix)):
        return finding
    message = _("the file is not valid YAML: {problem}", problem=printable(problem))
    return Finding("yaml-syntax", message, fix, places)


def conflict_lines(text: str) -> list[int]:
    """Return the lines with the markers of an unfinished merge, from 1; none for a file without conflicts."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _MARKER.match(line)]
    return lines if "<<<<<<< " in text else []


def _json_finding(source: Source, fix: str) -> Finding | None:
    """Return a finding with the message of Python's JSON parser and a fix for a file that is no JSON; None if it is.

    `fix`: that of the YAML parser's error, for a text whose error has no fix here.
    """
    try:
        json.loads(source.text)
    except json.JSONDecodeError as error:
        fixes = {
            "Expecting property name": N_(
                "write each key in double quotes, without a comma after the last entry and without comments"
            ),
            "Expecting ','": N_("put a comma between the two entries"),
            "Expecting ':'": N_("put a colon between the key and its value"),
            "Extra data": N_("remove what follows the end of the first value"),
        }
        if source.text[error.pos : error.pos + 1] == ",":
            fixes = {"Expecting": N_("remove the comma: there is no value before it")}
        json_fix = next((_(text) for start, text in fixes.items() if error.msg.startswith(start)), fix)
        message = _("the file is not valid JSON: {problem}", problem=error.msg)
        return Finding("yaml-syntax", message, json_fix, (source.spot(error.lineno, error.colno),))
    except (RecursionError, ValueError):  # too deep, or a number with too many digits
        return None
    return None


def other_file_fix(source: Source) -> str:
    """Return what a file of another kind is, and the command that takes it; empty for a YAML file."""
    from clusterwright.config.file_kinds import HEAD, SPEC_SUFFIXES, kind_of_file

    path = PurePath(source.file)
    kind = None if path.suffix in SPEC_SUFFIXES else kind_of_file(path, source.text[:HEAD].encode())
    return _("{file} is {kind}; {fix}", file=path, kind=kind.name, fix=kind.fix) if kind else ""


def _syntax_fix(problem: str, *, is_json: bool) -> str:
    if is_json and "node content, but found ','" in problem:
        return _("remove the comma: there is no value before it")
    if is_json and "flow mapping expected ',' or '}', but got ':'" in problem:
        return _("put a comma between the two keys")
    if "'\\t'" in problem:
        return _("indent with spaces; YAML does not allow tabs")
    if "end of stream" in problem or "<stream end>" in problem or "expected ',' or" in problem:
        return _("close the open bracket or quote; the file may be truncated")
    if "could not find expected ':'" in problem:
        return _("write `key: value` with a space after the colon; the file may be truncated")
    if "special characters" in problem or "control characters" in problem:
        return _("remove the control character")
    return _("quote values with any of : # { } [ ] , & * ! | > ' \" % @ `, and align the keys of a section")
