"""The man pages: wright(1), and one page for each command, written in roff from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.cli import GROUPS, commands
from clusterwright.cli._command_page import ENVIRONMENT, EXIT_CODES
from clusterwright.cli._command_tree import Command, CommandOption, command_tree
from clusterwright.cli._global_options import OPTIONS

_SIGNS = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
_CODE = re.compile(r"`([^`]+)`")
_ABOUT = "plan, build, verify, run and repair GPU training clusters"


def man_pages() -> dict[str, str]:
    """Return the text of every man page by its file name."""
    pages = {"wright.1": _overview()}
    return pages | {f"wright-{command.words[0]}.1": _man_page(command) for command in command_tree()}


def escape(text: str) -> str:
    """Return text as literal roff: no character starts an escape or a request, hyphens and quotes stay."""
    escaped = "".join(_SIGNS.get(sign, sign) for sign in text)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def _prose(text: str) -> str:
    """Return a paragraph as roff on one line, with code in bold."""
    parts = _CODE.split(" ".join(text.split()))
    parts[::2] = [escape(part) for part in parts[::2]]
    parts[1::2] = [_bold(part) for part in parts[1::2]]
    line = "".join(parts)
    return f"\\&{line}" if line.startswith((".", "'")) else line


def _bold(text: str) -> str:
    return f"\\fB{escape(text)}\\fR"


def _italic(text: str) -> str:
    return f"\\fI{escape(text)}\\fR"


def _title(name: str) -> list[str]:
    return [
        '.\\" made by clusterwright.cli._reference, do not edit',
        f'.TH {escape(name.upper())} 1 "" "Clusterwright" "Clusterwright commands"',
        ".nh",
        ".ad l",
    ]


def _overview() -> str:
    summaries = dict(commands())
    lines = [
        *_title("wright"),
        ".SH NAME",
        f"wright \\- {_ABOUT}",
        ".SH SYNOPSIS",
        f"{_bold('wright')} COMMAND [OPTION]...",
    ]
    lines.append(".SH COMMANDS")
    for title, names in GROUPS.items():
        lines.append(f".SS {title}")
        for name in names:
            lines += [".TP", f"{_bold(f'wright-{name}')}(1)", _prose(summaries[name])]
    lines += [".SH OPTIONS OF EVERY COMMAND"]
    for option, text in OPTIONS.items():
        lines += [".TP", _bold(option), _prose(text)]
    lines += [".SH ENVIRONMENT"]
    for name, text in ENVIRONMENT.items():
        lines += [".TP", _bold(name), _prose(text)]
    lines += [*_exit_codes(), ".SH SEE ALSO", _prose("`wright COMMAND --help`, `wright explain TOPIC`")]
    return "\n".join(lines) + "\n"


def _man_page(command: Command) -> str:
    name = f"wright-{command.words[0]}"
    summary, *_more = command.paragraphs or ("",)
    lines = [*_title(name), ".SH NAME", f"{escape(name)} \\- {_prose(summary.rstrip('.'))}", ".SH SYNOPSIS"]
    for member in (command, *command.commands):
        lines += [f"{_bold('wright ' + ' '.join(member.words))} {escape(member.synopsis)}", ".br"]
    lines += [".SH DESCRIPTION", *_paragraphs(command), *_options(command.options, ".SH OPTIONS")]
    examples = [
        (line, text) for member in (command, *command.commands) for line, text in member.examples.items()
    ]
    if command.commands:
        lines.append(".SH COMMANDS")
    for member in command.commands:
        lines += [
            f".SS {escape(' '.join(member.words))}",
            *_paragraphs(member),
            *_options(member.options, ".PP"),
        ]
    lines += [
        ".SH EXAMPLES",
        *(part for line, text in examples for part in (".TP", _bold(line), _prose(text))),
    ]
    return "\n".join([*lines, *_exit_codes(), ".SH SEE ALSO", f"{_bold('wright')}(1)"]) + "\n"


def _paragraphs(command: Command) -> Iterator[str]:
    for paragraph in command.paragraphs:
        yield ".PP"
        yield _prose(paragraph)


def _options(options: Iterable[CommandOption], heading: str) -> Iterator[str]:
    for number, option in enumerate(options):
        if not number:
            yield heading
        names = ", ".join(map(_italic if option.is_positional else _bold, option.names))
        value = "" if option.is_positional or not option.value else f" {_italic(option.value)}"
        yield ".TP"
        yield names + value
        notes = [f"default: {option.default}"] if option.default else []
        notes += ["required"] if option.required else []
        choices = [option.value.replace("|", ", ")] if option.is_positional and "|" in option.value else []
        yield _prose(" ".join([option.help or "-", *(f"({note})" for note in (*choices, *notes))]))


def _exit_codes() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from (".TP", _bold(str(code)), _prose(meaning))
