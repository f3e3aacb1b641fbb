"""The last words of a rank: one line out of the end of its log that says why it ended. Pure: text in, line out."""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Sequence

TAIL = 64 * 1024  # bytes of a log that are looked at: a hundred times what a traceback of torch takes
LONGEST = 200  # characters of the line; the whole is in the log

# What stands before a line: terminal colours, torch's and torchrun's mark of the rank, the bars of an exception group.
_PREFIXES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|^(?:\[(?:default|rank)\d+\]:? ?)+")
_BAR = re.compile(r"^( *)[|+](?: |$)")  # two spaces deeper for each group
_SEPARATOR = re.compile(r"^ *\+-[-+ 0-9]*$")
_HEADER = re.compile(r"Traceback \(most recent call last\):")
_CHAIN = re.compile(
    r"During handling of the above exception|The above exception was the direct cause of the following"
)
_NAMED = re.compile(r"(?:\w+\.)*(?P<name>\w*(?:Error|Exception|Interrupt|Group))(?:: (?P<text>.*))?")
_CUSTOM_ERROR = re.compile(r"(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*)(?:: (?P<text>.*))?")
# Lines that say it by themselves, the strong ones first: the C++ side, the interpreter, the kernel, NCCL.
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
    )
)
# What a rank says when another one has gone, or was waited for in vain.
_CONSEQUENCE = re.compile(
    r"connection (?:was )?(?:closed|reset|refused|aborted)|connection abort|broken pipe|pair closure|peer closed"
    r"|ncclRemoteError|communicator was aborted|remote process (?:exited|has)|recvValue failed|failed to recv"
    r"|watchdog caught collective operation timeout|timed out (?:after )?(?:\d+ ?(?:ms|s|seconds) )?waiting"
    r"|wait timeout|socket timeout|death signal|SIGTERM|RendezvousClosedError",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    depth: int  # of exception groups around it
    text: str


class _Raised(NamedTuple):
    line_number: int
    depth: int
    message: str


def extract_error_message(log: str, *, signalled: bool = False) -> str:
    """The exception that ended the program, or the line that says why; empty when nothing does.

    With `signalled` no exception ended it: what the C++ side said after the last one counts more.
    """
    lines = [_clean(line) for line in log[-TAIL:].splitlines()]
    raised = list(_raised(lines))
    start = raised[-1].line_number + 1 if raised and signalled else 0
    error_line = _find_error_line(lines[start:]) if signalled or not raised else ""
    if error_line or not raised:
        return shorten(error_line)
    return shorten(_exception_message(lines, raised))


def last_line(log: str) -> str:
    """The last line that is not empty, for a program that left without an exception."""
    lines = [_clean(line).text.strip() for line in log[-TAIL:].splitlines()]
    return shorten(next((line for line in reversed(lines) if line), ""))


def is_consequence(message: str) -> bool:
    """True for what follows when another rank is gone, and so is not where to look first."""
    return bool(_CONSEQUENCE.search(message))


def shorten(line: str) -> str:
    """One line of bearable length; what is cut off is shown to be."""
    flat = " ".join(line.split())
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 3].rstrip() + "..."


def _clean(line: str) -> _Line:
    """Without marks and bars; a separator of a group is left empty."""
    text = _PREFIXES.sub("", line).rstrip()
    bar = _BAR.match(text)
    if bar:
        return _Line(len(bar.group(1)) // 2, text[bar.end() :])
    return _Line(0, "" if _SEPARATOR.match(text) else text)


def _raised(lines: Sequence[_Line]) -> Iterator[_Raised]:
    """Every line that names an exception; one of an unusual name only where a traceback ends."""
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
    """The last exception; of a group its first member too, of a chain where it began."""
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
        return f"{last.message}; the first of them {inner.message}"
    cause = last
    for previous in reversed(outer[:-1]):
        if not any(_CHAIN.search(line.text) for line in lines[previous.line_number : cause.line_number]):
            break
        cause = previous
    return last.message if cause is last else f"{last.message}; at first {cause.message}"


def _find_error_line(lines: Sequence[_Line]) -> str:
    """The strongest line; of equal ones the first that is not a consequence, else the last."""
    for pattern in _ERROR_LINES:
        texts = [match.group("said") for match in map(pattern.search, (line.text for line in lines)) if match]
        causes = [text for text in texts if not is_consequence(text)]
        if texts:
            return causes[0] if causes else texts[-1]
    return ""
