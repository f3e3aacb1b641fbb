"""Recognize text that a line only quotes: in source code, commands, settings, or a log inside a log."""

from __future__ import annotations

import re

OURS = " ┃ "  # separates position and text in our own evidence
# The first line of a log inside a log: the header of `tail` and `head`, or a shell's trace of a command.
BEGINS = re.compile(
    r"^==> .+ <==$|^\++ (?:cat|tail|head|grep|zcat|less|wright why)\b|^\$ (?:cat|tail|head|zcat) "
)
NESTED_LOG_PREFIXES = (
    "==> ",
    "+ cat ",
    "+ tail ",
    "+ head ",
    "+ zcat ",
    "+ grep ",
    "+ wright why",
    "$ cat ",
    "$ tail ",
    "$ head ",
)

_LINES = re.compile(
    r"^\s*>\s"  # Markdown, mail
    r"|^\s*┃\s"
    r"|^[+$#%] (?:echo|printf|grep|rg|sed|awk|logger|journalctl|dmesg)\b|^\++ (?:echo|printf|grep|rg|logger)\b"
    r"|^\s*(?:echo|printf|grep|egrep|zgrep|rg|ag) +(?:-\S+ +)*['\"]"
    r"|^\s*(?:cause|where|evidence|fix|retry|exclude|原因|位置|证据|处理|重试|排除)\s{2,}"  # ours
    r"|^[-+]{1}\s*(?:raise|print|logger|log|throw|assert|#|//)\b"  # a diff
    r"|^\s*(?:#(?! Out of bounds values)|//|/\*|<!--)\s"  # a comment; nccl-tests prints `#` before its verdict
    r"|\b(?:raise \w[\w.]*\(|throw [\w:]+\(|(?:logger|logging|log|self\.log)\.\w+\()"
    r"|\b(?:print[lf]?[nf]?\(|re\.(?:compile|search|match)\()"
    r"|^\s*(?:if|elif|while|assert|return|except|case)\b[^'\"]*['\"].*(?:\bin\b|==|\)|:$)"
    r"|\bTORCH_CHECK\(|\bWARN\(\"|\bfprintf\("
)
# `grep -n`: a path, the number of a line and its text. Apart from _LINES, so that each path is searched once.
_NUMBERED = re.compile(r"\.(?:log|out|err|txt|md)[:-]\d{1,9}[:-](?!\d+ )\s*\S")
# Names of any length that a user chooses, in lines of the kernel: of a mapped file, a program, a control group.
_KERNEL_QUOTES = re.compile(
    r"\[\d+\]:? (?:segfault at|trap|general protection|bad frame|unhandled signal)\b.{0,200}? in "
    r"|\bprocess '|\boom-kill:.{0,200}?,oom_memcg=|\bTasks in /"
)
_TAIL = 100  # characters before a quote in which a key or a list is searched
_MESSAGE_KEYS = re.compile(
    r"(?:msg|message|error|err|exception|reason|log|detail|details|stderr|stdout|output|event|content|description|what|failed|failure"
    r"|state_?reason|said|payload|status|warning|line|Error|Exception|Warning|Interrupt|Exit|Reason)\\?[\"']?\s*$",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(r"(?P<key>[\w.\-\\\"' ]{1,60}?)\s*[:=]\s*[\[(]?\s*[rbfu]?\\?[\"']?$")
_LISTED = re.compile(r"(?:^\s*-\s+|[\[,(]\s*)[rbfu]?[\"']$")


def is_quoted(line: str, text: str, previous_line: str = "") -> bool:
    """Return whether `line` only quotes `text`; `previous_line` is the line above.

    So do our own lines, numbered lines, source lines of a traceback, text in quotes, and the names of programs and
    groups in the kernel's lines on faults and the OOM killer.
    """
    if OURS in line or _LINES.search(line) or _is_numbered(line):
        return True
    if previous_line.lstrip().startswith('File "') and line.startswith("    "):
        return True  # a source line of a traceback
    start = line.find(text)
    if (names := _KERNEL_QUOTES.search(line)) and start >= names.end():
        return True
    return start >= 0 and _in_quotes(line, start, start + len(text))


def _is_numbered(line: str) -> bool:
    match = _NUMBERED.search(line)
    return match is not None and not re.search(r"\s", line[: match.start()]) and match.start() > 0


def _in_quotes(line: str, start: int, end: int) -> bool:
    head, tail = line[:start], line[end:]
    if head.count("`") % 2 and "`" in tail:
        return True
    quote = next((sign for sign in "\"'" if head.count(sign) % 2 and sign in tail), "")
    if not quote:
        return False
    opened = head[: head.rfind(quote) + 1]
    if match := _ASSIGNED.search(opened[-_TAIL:]):
        return _MESSAGE_KEYS.search(match["key"].rstrip("\"' \\")) is None
    return _LISTED.search(opened) is not None
