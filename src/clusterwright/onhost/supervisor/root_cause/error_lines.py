"""The error message of a rank: one line from the end of its log that explains its end. Pure: text in, line out."""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Sequence

TAIL = 64 * 1024  # bytes read of a log's end: a hundred times the length of a traceback of torch
LONGEST = 200  # characters of the line; the log has all

# Prefixes of a line: terminal colors, torch's and torchrun's rank, the bars of an exception group.
_PREFIXES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|^(?:\[(?:default|rank)\d+\]:? ?)+")
_BAR = re.compile(r"^( *)[|+](?: |$)")  # two spaces deeper for each group
_SEPARATOR = re.compile(r"^ *\+-[-+ 0-9]*$")
_RULE = re.compile(
    r"(?<!\S)([^\w\s]|_)\1{3,}(?!\S)"
)  # a line of `=`, `-`, `_` or `*` between lines of a message
_HEADER = re.compile(r"Traceback \(most recent call last\):")
_CHAIN = re.compile(
    r"During handling of the above exception|The above exception was the direct cause of the following"
)
_NAMED = re.compile(r"(?:\w+\.)*(?P<name>\w*(?:Error|Exception|Interrupt|Group))(?:: (?P<text>.*))?")
_CUSTOM_ERROR = re.compile(r"(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*)(?:: (?P<text>.*))?")
# Lines that explain an end by themselves, the strongest first: C++ code, the interpreter, CUDA, the kernel, NCCL.
_ERROR_LINES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*what\(\): +(?P<said>.+)",
        r"(?P<said>Fatal Python error: .+)",
        r"(?P<said>Watchdog caught collective operation timeout: .+)",
        r"(?P<said>CUDA error: .+|CUDA_ERROR_[A-Z_]+.*|CUDA out of memory.*)",
        r"(?P<said>Caught signal \d+ \(.+\))",
        r"(?P<said>(?:Detected \d+ oom.kill event|Out of memory: Killed process|oom-kill:).*)",
        r"(?P<said>error while loading shared libraries: .+|can't open file .+)",
        r"NCCL WARN (?P<said>.+)",
        r"^\s*(?P<said>exitcode +: -?\d+ \(pid: \d+\))",  # torchrun's summary, which ends in a line of `=`
    )
)
# Messages of a rank after another one has ended or timed out.
_CONSEQUENCE = re.compile(
    r"connection (?:was )?(?:closed|reset|refused|aborted)|connection abort|broken pipe|pair closure|peer closed"
    r"|ncclRemoteError|communicator was aborted|remote process (?:exited|has)|recvValue failed|failed to recv"
    r"|watchdog caught collective operation timeout|timed out (?:after )?(?:\d+ ?(?:ms|s|seconds) )?waiting"
    r"|wait timeout|socket timeout|death signal|SIGTERM|RendezvousClosedError",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    depth: int  # number of enclosing exception groups
    text: str


class _Raised(NamedTuple):
    line_number: int
    depth: int
    message: str


def extract_error_message(log: str, *, signalled: bool = False) -> str:
    """Return from a log the exception that ended the program, or the line that explains its end.

    Empty without one. With `signalled` no exception ended it: an error line of C++ code after the last exception
    takes precedence.
    """
    lines = [_clean(line) for line in log[-TAIL:].splitlines()]
    raised = list(_raised(lines))
    start = raised[-1].line_number + 1 if raised and signalled else 0
    error_line = _find_error_line(lines[start:]) if signalled or not raised else ""
    if error_line or not raised:
        return shorten(error_line)
    return shorten(_exception_message(lines, raised))


def last_line(log: str) -> str:
    """Return the log's last line with a letter or digit, for a program that exited without an exception."""
    lines = [_clean(line).text.strip() for line in log[-TAIL:].splitlines()]
    return shorten(next((line for line in reversed(lines) if any(map(str.isalnum, line))), ""))


def is_consequence(message: str) -> bool:
    """Return True if a rank's error message only reports the loss of another rank: not the root cause."""
    return bool(_CONSEQUENCE.search(message))


def shorten(line: str) -> str:
    """Return the text as one line of at most LONGEST characters, without rules (`----`), with `...` if truncated."""
    flat = " ".join(_RULE.sub("", line).split())
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 3].rstrip() + "..."


def _clean(line: str) -> _Line:
    """Return a log line without prefixes and exception-group bars, and its depth in groups; separators become empty."""
    text = _PREFIXES.sub("", line).rstrip()
    bar = _BAR.match(text)
    if bar:
        return _Line(len(bar.group(1)) // 2, text[bar.end() :])
    return _Line(0, "" if _SEPARATOR.match(text) else text)


def _raised(lines: Sequence[_Line]) -> Iterator[_Raised]:
    """Yield every log line that names an exception; unusual names count only at the end of a traceback."""
    frames = False
    for line_number, (depth, text) in enumerate(lines):
        if _HEADER.search(text):
            frames = True
        elif not text.startswith((" ", "\t")):
            match = _NAMED.fullmatch(text) or (_CUSTOM_ERROR.fullmatch(text) if frames else None)
            if match:
                message = match.group("text")
                yield _Raised(line_number, depth, match.group("name") + (f": {message}" if message else ""))
            frames = False


def _exception_message(lines: Sequence[_Line], raised: List[_Raised]) -> str:
    """Return the message of the last exception; of a group with its first member, of a chain its first."""
    outer = [exception for exception in raised if exception.depth <= 1]
    last = outer[-1] if outer else raised[-1]
    inner = next(
        (
            exception
            for exception in raised
            if exception.line_number > last.line_number and exception.depth > last.depth
        ),
        None,
    )
    if inner:
        return f"{last.message}; first sub-exception {inner.message}"
    cause = last
    for previous in reversed(outer[:-1]):
        if not any(_CHAIN.search(line.text) for line in lines[previous.line_number : cause.line_number]):
            break
        cause = previous
    return last.message if cause is last else f"{last.message}; after {cause.message}"


def _find_error_line(lines: Sequence[_Line]) -> str:
    """Return the error line of a log that explains most, by the order of _ERROR_LINES; "" without one.

    Of lines that match one pattern, the first that is no consequence, else the last.
    """
    for pattern in _ERROR_LINES:
        texts = [match.group("said") for match in map(pattern.search, (line.text for line in lines)) if match]
        causes = [text for text in texts if not is_consequence(text)]
        if texts:
            return causes[0] if causes else texts[-1]
    return ""
