"""Findings and errors: what is wrong, where, and the fix. Imports only i18n from the package."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

from clusterwright.i18n import _

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_CHANGES_PENDING, EXIT_FAULTS = 0, 1, 2, 3, 5
EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 130, 141  # 128 and the number of SIGINT or SIGPIPE, as in a shell

_MANY_NAMES, _LONG_NAME = 500, 200
_MAX_FINDINGS = 20  # findings in a text; one mistake in a file may cause thousands
_MAX_NAMES = 12  # names that a fix lists
_MAX_EXCERPT = 96  # characters; a source line with its number fits a terminal of 110 columns


@dataclass(frozen=True, slots=True)
class Location:
    """A line and column of a file: `cluster.yaml:31:20  partitions.train.gpus_per_node: 8`.

    `source` is the whole line of the file, which is shown with a caret; empty if it is not known.
    """

    file: str
    line: int | None = None
    column: int | None = None
    path: str = ""
    value: str = ""
    source: str = ""

    def __str__(self) -> str:
        spot = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        detail = f"{self.path}: {self.value}" if self.path and self.value else self.path or self.value
        return f"{spot}  {detail}".rstrip()

    def excerpt(self) -> tuple[str, ...]:
        """Return the source line with its number, and a line with a caret below the column; () if unknown."""
        if not self.source.strip() or self.line is None or self.column is None:
            return ()
        start = max(0, min(self.column - _MAX_EXCERPT // 2, len(self.source) - _MAX_EXCERPT))
        text = self.source.expandtabs(1)[start : start + _MAX_EXCERPT].rstrip()
        number = str(self.line)
        return f"{number} | {text}", f"{' ' * len(number)} | {' ' * (self.column - 1 - start)}^"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: a stable kebab-case code, the message, the fix, and all places in files."""

    code: str
    message: str
    fix: str
    places: tuple[Location, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"{_('error')}[{self.code}]: {self.message}"]
        for location in self.places:
            lines += [f"  {location}", *(f"    {line}" for line in location.excerpt())]
        lines += [f"{_('fix')}: {self.fix}", f"{_('more')}: wright explain {self.code}"]
        return "\n".join(lines)


class WrightError(Exception):
    """An error that a user can fix, with all findings and the exit code of the command."""

    def __init__(self, *findings: Finding, exit_code: int = EXIT_FAILED) -> None:
        texts = [str(finding) for finding in findings[:_MAX_FINDINGS]]
        if omitted := len(findings) - len(texts):
            texts.append(_("and {count} more; --json lists all of them", count=omitted))
        super().__init__("\n\n".join(texts))
        self.findings = findings
        self.exit_code = exit_code

    @property
    def code(self) -> str:
        """Return the code of the error's first finding, such as `unknown-gpu`."""
        return self.findings[0].code

    @classmethod
    def from_code(cls, code: str, message: str, fix: str, *, exit_code: int = EXIT_FAILED) -> WrightError:
        """Return an error with one finding and no place in a file."""
        return cls(Finding(code, message, fix), exit_code=exit_code)


class SpecError(WrightError, ValueError):
    """An invalid cluster or job file; exit code 2."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(*findings, exit_code=EXIT_USAGE)


def unreadable_fix(error: Exception, path: object, otherwise: str) -> str:
    """Return the fix for a file that cannot be read: that of its permissions or its kind, else `otherwise`."""
    quoted = shlex.quote(str(path))
    number = getattr(error, "errno", None)
    if number in (errno.EACCES, errno.EPERM):
        return _("ask its owner for read permission: `namei -l {path}` shows owner and mode", path=quoted)
    if number == errno.EISDIR:
        return _("the path is a folder: name a file, such as one that `ls {path}` shows", path=quoted)
    return otherwise


def did_you_mean(name: str, names: Iterable[str], cutoff: float) -> str:
    """Return a question that lists up to three similar names, with a trailing space; empty if no name is similar."""
    close = " / ".join(f"`{match}`" for match in _similar(name, names, 3, cutoff))
    return _("did you mean {names}?", names=close) + " " if close else ""


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the candidate closest to a possibly misspelled name; None if none is similar."""
    return next(iter(_similar(name, names, 1, 0.6)), None)


def unknown_name_fix(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """Return the fix of an error about an unknown name: the closest name, else `otherwise`, else the first names."""
    candidates = list(names)
    if suggestion := closest_name(name, candidates):
        return _("did you mean `{suggestion}`?", suggestion=suggestion)
    if otherwise or not candidates:
        return otherwise or _("there is none to choose from")
    omitted = len(candidates) - _MAX_NAMES
    choices = ", ".join(candidates[:_MAX_NAMES]) + (f" ... (+{omitted})" if omitted > 0 else "")
    return _("choose one of {choices}", choices=choices)


def _similar(name: str, names: Iterable[str], count: int, cutoff: float) -> list[str]:
    """Return up to `count` candidates that are similar to the name, most similar first; case does not count.

    A candidate is as similar as its part before the first hyphen, if that is more: `a1000` means `a100-sxm-80gb`. Of
    more than _MANY_NAMES, only those with the same first letter are compared: thousands take a second.
    """
    from difflib import SequenceMatcher

    name = name[:_LONG_NAME]
    candidates = list(dict.fromkeys(names))
    if len(candidates) > _MANY_NAMES:
        initial = name[:1].lower()
        candidates = [candidate for candidate in candidates if candidate[:1].lower() == initial][:_MANY_NAMES]
    matcher = SequenceMatcher()
    matcher.set_seq2(name.lower())

    def ratio(text: str) -> float:
        matcher.set_seq1(text)
        is_close = matcher.real_quick_ratio() >= cutoff and matcher.quick_ratio() >= cutoff
        return matcher.ratio() if is_close else 0.0

    ranked = [
        (max(ratio(candidate.lower()), ratio(candidate.lower().partition("-")[0])), candidate)
        for candidate in candidates
    ]
    close = sorted((entry for entry in ranked if entry[0] >= cutoff), key=lambda entry: -entry[0])
    return [candidate for _ratio, candidate in close[:count]]
