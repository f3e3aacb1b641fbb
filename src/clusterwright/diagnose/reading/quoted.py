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
# Texts that a user chooses, in messages of the kernel.
_USER_TEXTS = (
    # of any length: names of mapped files, control groups, folders of mounts; the version that a program claims; quotes
    re.compile(
        r"(?:\[\d+\]:? (?:segfault at|trap|general protection|bad frame|unhandled signal)\b.{0,200}? in "
        r"|\boom-kill:.{0,200}?,oom_memcg=|\bTasks in /|\bcontroller in |\bmounted at |\bclient has (?:the )?version )"
        r"(?P<text>.*)"
    ),
    re.compile(r"(?<!\w)(?P<text>(?P<quote>['\"`])(?:.*(?P=quote)|.*$))"),
    # names of processes, of at most 15 characters
    re.compile(
        r"(?:\b(?:Killed|Kill) process \d+ \(|\b(?:Comm:|comm|task|process) |\bname=)(?P<text>(?!\d).{1,15})"
    ),
    re.compile(
        r"^(?:traps: )?(?P<text>.{1,15}?)(?=\[\d+\]:? | invoked oom-killer|: page allocation failure)"
    ),
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

    So do our own lines, numbered lines, source lines of a traceback, and text in quotes.
    """
    if OURS in line or _LINES.search(line) or _is_numbered(line):
        return True
    if previous_line.lstrip().startswith('File "') and line.startswith("    "):
        return True  # a source line of a traceback
    start = line.find(text)
    return start >= 0 and _in_quotes(line, start, start + len(text))


def mask_user_texts(message: str) -> str:
    """Return a message of the kernel with `_` in place of each character that a user may have chosen."""
    for pattern in _USER_TEXTS:
        message = pattern.sub(_masked, message)
    return message


def _masked(match: re.Match[str]) -> str:
    begin, end = (offset - match.start() for offset in match.span("text"))
    return match[0][:begin] + "_" * (end - begin) + match[0][end:]


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
