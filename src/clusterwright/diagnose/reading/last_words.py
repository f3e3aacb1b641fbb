"""What a log says last, where nothing in it is recognised: its last traceback, or its last line of an error."""

from __future__ import annotations

import re

from clusterwright.diagnose.reading.clean import clean
from clusterwright.diagnose.reading.prefix import said

# A failure that says so itself; "failed" alone is in many lines of runs in which nothing did.
_ERROR = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL)\b|^(?:[\w.-]+: )?(?:fatal|panic|error|Error)\b ?:|\b(?:fatal error|core dumped)\b"
    r"|^(?:[\w.]+: )?[\w.]*(?:Error|Exception)\b[:(]|^Aborted|^Killed|\bSIG(?:SEGV|ABRT|BUS|KILL|FPE|ILL)\b"
    r"|错误：|失败：|异常："
)
_NONE = re.compile(
    r"\b(?:0|no|without) (?:errors?|failures?|failed)\b|errors?[=:] ?0\b|\[I\d{4} |NCCL", re.IGNORECASE
)
_BEGINS = "Traceback (most recent call last)"
SHOWN = 300


def last_words(tail: bytes, lines: int) -> list[tuple[int, tuple[str, ...]]]:
    """At most one: the number of its first line, and its lines; `lines` is the number after the last line."""
    rows = [clean(raw) for raw in tail.split(b"\n")]
    first = lines - len(rows) + 1
    for at in range(len(rows) - 1, -1, -1):
        if _BEGINS in rows[at]:
            end = _end(rows, at)
            if end is not None:
                return [(first + end, (rows[end].strip()[:SHOWN],))]
    for at in range(len(rows) - 1, -1, -1):
        if _ERROR.search(said(rows[at]).body) and not _NONE.search(rows[at]):
            return [(first + at, (rows[at].strip()[:SHOWN],))]
    return []


def _end(rows: list[str], at: int) -> int | None:
    """The line with which a traceback ends: the exception's own."""
    for number in range(at + 1, len(rows)):
        body = said(rows[number]).body
        if body.strip() and not body.startswith((" ", "\t")):
            return number
    return None
