"""The tokens of a launch line: arguments of a program, or text for a shell with the place of each token."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t]|\\\n)+)|(?P<comment>\#[^\n]*)|(?P<end>\n|&&|\|\||[;|&()])"""
    r"""|(?P<token>(?:[^\s'"\\;|&()`]|\\.|`[^`]*`|\$\((?:[^()]|\([^()]*\))*\)|'[^']*'|"(?:[^"\\]|\\.)*")+)""",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES = ("exec", "time", "nohup", "env", "command", "then", "do", "else", "if", "while", "!", "{")
_QUOTES = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its text without quotes, where it stands, and whether a shell replaces parts of it."""

    text: str
    start: int
    stop: int
    expands: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """The tokens from `start` to `stop` become the tokens `new`; `typed` is what was there."""

    start: int
    stop: int
    new: tuple[str, ...]
    typed: str = ""


def edit_arguments(arguments: Sequence[str], edits: Sequence[Edit]) -> tuple[str, ...]:
    """Return the arguments with the edits, which are in order."""
    tokens = list(arguments)
    for edit in reversed(edits):
        tokens[edit.start : edit.stop] = edit.new
    return tuple(tokens)


def edit_text(text: str, edits: Sequence[Edit]) -> str:
    """Return a text for a shell with the edits, which are in order; a removed token takes its blanks with it."""
    for edit in reversed(edits):
        head, tail = text[: edit.start], text[edit.stop :]
        if not edit.new:
            head = head.rstrip(" ")
        text = head + " ".join(edit.new) + (" " if edit.start == edit.stop else "") + tail
    return text


def of_arguments(arguments: Sequence[str]) -> tuple[Token, ...]:
    """Return the tokens of a program's arguments, which no shell reads; their places are indexes of arguments."""
    return tuple(Token(text, index, index + 1) for index, text in enumerate(arguments))


def of_shell(text: str) -> Iterator[tuple[Token, ...]]:
    """Yield the tokens of each simple command in a text for a shell; places are characters."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:  # a quote that is not closed
            position += 1
            continue
        if match.lastgroup == "token":
            tokens.append(_token(match))
        elif match.lastgroup == "end" and tokens:
            yield _command(tokens)
            tokens = []
        position = match.end()
    if tokens:
        yield _command(tokens)


def _command(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the tokens without leading NAME=VALUE tokens and tokens such as `exec`."""
    start = 0
    while start < len(tokens) - 1 and (
        tokens[start].text in _PREFIXES or _ASSIGNMENT.match(tokens[start].text)
    ):
        start += 1
    return tuple(tokens[start:])


def _token(match: re.Match[str]) -> Token:
    raw = match["token"]
    expanded = re.sub(r"'[^']*'|\\.", "", raw, flags=re.DOTALL)
    expands = bool(re.search(r"[$`]", expanded))
    text = _QUOTES.sub(lambda quoted: next((part for part in quoted.groups() if part is not None), ""), raw)
    return Token(text, match.start(), match.end(), expands)
