"""Rewrite a launch line so that it fits the job's allocation, or refuse it with the right line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.lines import tokens as t
from clusterwright.launch.lines.rule import Size, contradicts, replacement
from clusterwright.onhost.adapters.launch_options import (
    ADDRESS,
    HOSTS,
    NODE_RANK,
    PLACES,
    TORCH,
    LaunchCommand,
    LaunchOption,
    parse,
)

SHELLS = ("bash", "sh")
# What begin.py sets for a program on each host (onhost/frameworks/pytorch.py).
_VARIABLES = {NODE_RANK: "$NODE_RANK", ADDRESS: "$MASTER_ADDR"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A program that fits the allocation, and the options that did not, as they were typed."""

    program: tuple[str, ...]
    contradicting: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """Return the program as one line to read."""
        return self.program[2] if is_shell_line(self.program) else shlex.join(self.program)


def is_shell_line(program: Sequence[str]) -> bool:
    """Return whether the program is one line for a shell."""
    return len(program) == 3 and program[0] in SHELLS and program[1] == "-c"


def rewrite(program: Sequence[str], size: Size) -> Rewritten:
    """Return the program with every option that contradicts the allocation rewritten.

    Raises:
        WrightError: `launch-line`: an option that contradicts the allocation cannot be rewritten.
    """
    in_shell = is_shell_line(program)
    changes = [edit for command in command_lines(program) for edit in edits(command, size, in_shell=in_shell)]
    return Rewritten(edited(program, changes), tuple(edit.typed for edit in changes))


def command_lines(program: Sequence[str]) -> list[tuple[t.Token, ...]]:
    """Return the command lines of a program: its arguments, or each simple command of a line for a shell."""
    return list(t.of_shell(program[2])) if is_shell_line(program) else [t.of_arguments(program)]


def edited(program: Sequence[str], edits: Sequence[t.Edit]) -> tuple[str, ...]:
    """Return the program with the edits, whose places are those of `command_lines`."""
    if is_shell_line(program):
        return (*program[:2], t.edit_text(program[2], edits))
    return t.edit_arguments(program, edits)


def commands(
    command: Sequence[t.Token],
) -> Iterator[tuple[LaunchCommand, Sequence[t.Token], LaunchCommand | None]]:
    """Yield each launcher of a command line, such as srun, then the torchrun that srun starts.

    Each comes with its tokens, and with the launcher that starts it (None for the first).
    """
    outer: LaunchCommand | None = None
    while (launch := parse([token.text for token in command])) is not None:
        yield launch, command, outer
        outer, command = launch, command[launch.program :]


def edits(command: Sequence[t.Token], size: Size, *, in_shell: bool) -> Iterator[t.Edit]:
    """Yield the edits of a command line.

    Raises:
        WrightError: `launch-line`.
    """
    for launch, tokens, outer in commands(command):
        for option in launch.options:
            typed = tokens[option.start : option.stop]
            if any(token.expands for token in typed) or not contradicts(option.meaning, option.value, size):
                continue
            if option.meaning in PLACES and _has_no_variable(launch, option, outer, in_shell=in_shell):
                raise _refused(launch, tokens, size)
            yield _edit(option, typed, _new_value(launch, option, size, outer, in_shell=in_shell))


def _has_no_variable(
    launch: LaunchCommand, option: LaunchOption, outer: LaunchCommand | None, *, in_shell: bool
) -> bool:
    """Return True if an option with hosts or ranks must stay in the line, as no variable gives the launcher its value.

    Launchers that read the allocation never need it; torch's get variables, unless another launcher starts them and
    sets none.
    """
    if launch.spec.reads_allocation:
        return False
    if launch.spec is TORCH:
        return outer is not None and not outer.spec.sets_variables
    return outer is not None or (in_shell and option.meaning == HOSTS)


def _new_value(
    launch: LaunchCommand, option: LaunchOption, size: Size, outer: LaunchCommand | None, *, in_shell: bool
) -> str | None:
    if option.meaning in _VARIABLES and in_shell and outer is None and launch.spec is not TORCH:
        return _VARIABLES[option.meaning]
    return replacement(option.meaning, size)


def _edit(option: LaunchOption, typed: Sequence[t.Token], value: str | None) -> t.Edit:
    text = " ".join(token.text for token in typed)
    start, stop = typed[0].start, typed[-1].stop
    if value is None:
        return t.Edit(start, stop, (), text)
    if len(typed) > 1:
        return t.Edit(typed[1].start, stop, (value,), text)
    head = typed[0].text[: len(typed[0].text) - len(option.value or "")]
    return t.Edit(start, stop, (head + value,), text)


def _refused(launch: LaunchCommand, tokens: Sequence[t.Token], size: Size) -> WrightError:
    """Return, without raising it, the error of a launch line whose hosts or ranks contradict the allocation.

    Its fix is the line without these options, for `wright train`.
    """
    dropped = {
        index
        for option in launch.options
        if option.meaning in PLACES
        for index in range(option.start, option.stop)
    }
    typed = " ".join(tokens[index].text for index in sorted(dropped))
    line = shlex.join([token.text for index, token in enumerate(tokens) if index not in dropped])
    return refused(
        _("{options} contradict the allocation of {nodes} nodes", options=typed, nodes=size.nodes),
        _("run `{line}`", line=f"wright train --nodes {size.nodes} --gpus {size.ranks} -- {line}"),
    )


def refused(message: str, fix: str) -> WrightError:
    """Return the error of a launch line that cannot run on the job's allocation."""
    return WrightError.from_code("launch-line", message, fix, exit_code=EXIT_USAGE)
