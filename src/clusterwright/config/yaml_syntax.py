"""The error of the YAML parser as a finding, with its places and the likely fix."""

from __future__ import annotations

from pathlib import PurePath

from ruamel.yaml.error import MarkedYAMLError, YAMLError

from clusterwright.config.source import Source, printable
from clusterwright.errors import Finding, Location
from clusterwright.i18n import _


def parser_finding(source: Source, reason: YAMLError) -> Finding:
    """Return a finding with the YAML parser's message, its places, and the likely fix."""
    problem, yaml_marks = str(reason).splitlines()[0], []
    if isinstance(reason, MarkedYAMLError):
        problem = " ".join(part for part in (reason.context, reason.problem) if part)
        yaml_marks = [
            position for position in (reason.context_mark, reason.problem_mark) if position is not None
        ]
    spots = sorted({(position.line + 1, position.column + 1) for position in yaml_marks})
    places = tuple(source.spot(*spot) for spot in spots) or (Location(source.file),)
    fix = conflict_fix(source.text) or other_file_fix(source)
    fix = fix or _syntax_fix(problem, is_json=source.text.lstrip()[:1] == "{")
    message = _("the file is not valid YAML: {problem}", problem=printable(problem))
    return Finding("yaml-syntax", message, fix, places)


def conflict_fix(text: str) -> str:
    """Return the fix for a file with the markers of an unfinished merge; empty for other files."""
    line = next((n for n, line in enumerate(text.splitlines(), 1) if line.startswith("<<<<<<< ")), None)
    if line is None:
        return ""
    return _(
        "finish the merge: choose one side of the conflict that begins at line {line}, and remove its markers",
        line=line,
    )


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
