"""docs/reference/cli.md: the commands by group, the exit codes, and every option."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusterwright.cli import GROUPS, app, commands
from clusterwright.cli._command_tree import Command, all_commands
from clusterwright.cli._examples import examples
from clusterwright.cli._global_options import OPTIONS
from clusterwright.cli._help import UNNAMED
from clusterwright.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_CHANGES_PENDING,
    EXIT_FAILED,
    EXIT_FAULTS,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
)

EXIT_CODES = {
    EXIT_OK: "done, or nothing to do",
    EXIT_FAILED: "failed, or the answer is unknown",
    EXIT_USAGE: "the command line, the cluster file or the job file is wrong; nothing was done",
    EXIT_CHANGES_PENDING: "with `--exit-code`: changes are pending",
    4: "`wright train` and `logs`: the run failed at the same step repeatedly",
    EXIT_FAULTS: "`wright check` and `lint`: faults were found",
    EXIT_INTERRUPTED: "interrupted with Ctrl-C",
    EXIT_BROKEN_PIPE: "the reader of stdout has left, as in `wright logs last | head`",
    143: "`wright train` and `logs`: the run was canceled",
}
ENVIRONMENT = {
    "CLUSTERWRIGHT_CLUSTER": "The cluster file of commands without `--cluster`.",
    "CLUSTERWRIGHT_TRACEBACK": "Show the traceback of an unexpected error, like `--verbose`.",
    "LC_ALL, LC_MESSAGES, LANG": "The language of messages: English or Chinese.",
    "NO_COLOR": "Print no colors, like `--no-color`.",
    "XDG_STATE_HOME": "Where keys and journals of clusters are stored; default: `~/.local/state`.",
}
# What `--help` omits: Cyclopts' pages do not apply the parameters of `app` to commands of a group.
_NO_DEFAULT = re.compile(r' \*\[default: (?:False|""|\(\))\]\*')
_PROGRAM = re.compile(
    r"(?<=[a-z]) -m clusterwright[\w.]*(?= )"
)  # of this page's own program, which Cyclopts adds to usage lines
_HEADING = re.compile(r"^(###? wright .*)$", re.MULTILINE)
_HEAD = """# Commands

`wright COMMAND --help` shows the same in a terminal.
`wright completion bash`, `zsh` or `fish` prints a completion script.

## Commands by purpose

| | command | what it does |
| --- | --- | --- |
{commands}
## Options of every command

They may stand before or after the command, but not after `--`.

| option | what it does |
| --- | --- |
{options}
## Environment

| variable | meaning |
| --- | --- |
{environment}
## Exit codes

| code | meaning |
| --- | --- |
{codes}
With `--json`, stdout has one JSON document. So it has for an error: `{{"errors": [...], "exit_code": N}}`.
"""


def cli_page() -> str:
    """Return docs/reference/cli.md: options, environment, exit codes, and every command with its examples."""
    summaries = dict(commands())
    head = _HEAD.format(
        commands="".join(
            f"| {title} | [{name}](#wright-{name}) | {summaries[name]} |\n"
            for title, names in GROUPS.items()
            for name in names
        ),
        options=_rows((f"`{option}`".replace("|", "\\|"), text) for option, text in OPTIONS.items()),
        environment=_rows((f"`{name}`", text) for name, text in ENVIRONMENT.items()),
        codes=_rows((str(code), meaning) for code, meaning in EXIT_CODES.items()),
    )
    document = app().generate_docs(output_format="markdown", heading_level=1, max_heading_level=3)
    text = _NO_DEFAULT.sub("", _PROGRAM.sub("", document[document.index("\n## wright ") :]))
    details = _with_examples(text)
    return head + "\n".join(line.rstrip() for line in details.splitlines()) + "\n"


def _with_examples(details: str) -> str:
    """Return the text of the command reference with the examples of each command below its section."""
    blocks = _HEADING.split(details)
    commands_by_words = {command.words: command for command in all_commands()}
    for index in range(1, len(blocks), 2):
        command_path = blocks[index].split()[2:]
        if command := commands_by_words.get(tuple(command_path)):
            blocks[index + 1] = UNNAMED.sub(_optional_arguments(command), blocks[index + 1], count=1)
        lines = examples(command_path)
        text = "".join(f"# {text}\n{line}\n" for line, text in lines.items())
        blocks[index + 1] += f"**Examples**:\n\n```bash\n{text}```\n\n" if text else ""
    return "".join(blocks)


def _optional_arguments(command: Command) -> str:
    names = [
        option.names[0] + "..." * option.repeatable
        for option in command.options
        if option.is_positional and not option.required
    ]
    return " ".join(f"[{name}]" for name in names)


def _rows(cells: Iterable[tuple[str, str]]) -> str:
    return "".join(f"| {name} | {text} |\n" for name, text in cells)
