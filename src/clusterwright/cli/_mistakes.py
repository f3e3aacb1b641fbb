"""All mistakes of a command line: Cyclopts stops at the first one, and a command at the first that it needs.

Used only after an error, so that a right command line costs nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from cyclopts import (
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
)

from clusterwright.cli._connection import VARIABLE
from clusterwright.cli._foreign_options import SPECS, unknown_options
from clusterwright.cli._line_checks import line_findings
from clusterwright.cli._option_rules import contradictions
from clusterwright.cli._texts import refused_texts
from clusterwright.cli._unknown_names import unknown_names
from clusterwright.cli._usage import needs, typed_option, usage_error
from clusterwright.errors import Finding, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument, ArgumentCollection

_MOST = 8  # mistakes that keep Cyclopts from reading the rest of a line; of a file, whose others are its own


@dataclass(frozen=True, slots=True)
class _Line:
    """A command line whose tokens have their arguments, before the first value is converted."""

    app: App
    command: tuple[str, ...]
    arguments: ArgumentCollection


class _ReadError(Exception):
    """Ends Cyclopts when it has read the line."""

    def __init__(self, line: _Line) -> None:
        super().__init__()
        self.line = line


def line_error(error: CycloptsError, tree: App) -> WrightError:
    """Return the error of a line that Cyclopts refuses, with all other mistakes of the line."""
    return with_others(usage_error(error), list(error.root_input_tokens or ()), tree, error)


def with_others(
    error: WrightError, tokens: Sequence[str], tree: App, cause: CycloptsError | None = None
) -> WrightError:
    """Return an error with all mistakes of the command line that it does not name.

    `words`: the command and its arguments. `tree`: the commands, for this call alone. `cause`: the error of Cyclopts
    that the error explains.
    """
    tree.config = (_stop,)
    findings = [] if cause else list(error.findings)
    messages = {finding.message for finding in findings}
    for finding in _mistakes(tokens, tree, cause, error) if len(findings) <= _MOST else ():
        if finding.message not in messages:
            findings.append(finding)
            messages.add(finding.message)
    named = (_with_variable(finding, tokens) for finding in findings or error.findings)
    return WrightError(*named, exit_code=error.exit_code)


def _with_variable(finding: Finding, tokens: Sequence[str]) -> Finding:
    """Return a finding about the cluster file of the environment variable with the variable in its fix."""
    path = os.environ.get(VARIABLE)
    is_typed = any(token.partition("=")[0] == "--cluster" or token == path for token in tokens)
    if not path or is_typed or all(location.file != path for location in finding.places):
        return finding
    fix = _("{fix} (${variable} names {path})", fix=finding.fix, variable=VARIABLE, path=path)
    return replace(finding, fix=fix)


def _mistakes(
    tokens: Sequence[str], tree: App, cause: CycloptsError | None, error: WrightError
) -> Iterator[Finding]:
    """Yield every mistake of a command line: unknown options, bad values, contradictions, and names that nothing has.

    `cause` is the error that Cyclopts found first, `error` what it was reported as.
    """
    line, errors = _read(tokens, tree, cause)
    texts = [] if isinstance(cause, MissingArgumentError) else [str(finding) for finding in error.findings]
    if line is None:
        for cyclopts_error in errors:
            yield from usage_error(cyclopts_error).findings
        return
    findings: list[Finding] = []
    for cyclopts_error in (*errors, *_unknown(tokens, line, errors)):
        _attach_context(cyclopts_error, tokens, line)
        if not isinstance(cyclopts_error, MissingArgumentError) or typed_option(cyclopts_error):
            findings += usage_error(cyclopts_error).findings
    # What the command lacks may be the option that is missing.
    is_unused = isinstance(cause, UnusedCliTokensError | UnknownOptionError)
    unused = _unused(tokens, line, errors)
    findings += unused
    findings += _invalid(tokens, line)
    findings += contradictions(line.command, line.arguments, with_missing=not is_unused)
    texts += [f"{finding.message} {finding.fix}" for finding in findings]
    yield from findings
    missing = [argument for argument in line.arguments if _lacks_value(argument, texts)]
    if missing:
        missing_error = MissingArgumentError(argument=missing[0])
        _attach_context(missing_error, tokens, line)
        yield needs(missing_error, missing)
    name_findings = unknown_names(line.command, line.arguments, " ".join(texts))
    # A file in the wrong place is named as that, and may be the cluster file.
    is_misplaced = bool(unused) and any(token.endswith(SPECS) for token in tokens)
    yield from (finding for finding in name_findings if finding.code != "no-cluster-file" or not is_misplaced)
    yield from line_findings(line.command, line.arguments)


def _read(
    tokens: Sequence[str], tree: App, cause: CycloptsError | None
) -> tuple[_Line | None, list[CycloptsError]]:
    """Return the command line without the tokens that keep Cyclopts from reading it, and an error for each of those.

    The line is None if nothing readable remains.
    """
    remaining, errors = list(tokens), [cause] if cause else []
    for _attempt in range(_MOST):
        try:
            return _line(remaining, tree), errors
        except CycloptsError as error:
            errors.append(error)
            remaining = _drop_tokens(error, remaining)
            if not remaining:
                break
    return None, errors


def _stop(command: App, names: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """End the parsing by raising `_ReadError` with the line; Cyclopts calls this when each token has its argument."""
    raise _ReadError(_Line(command, tuple(names), arguments))


def _line(tokens: Sequence[str], tree: App) -> _Line | None:
    try:
        tree.parse_args(tokens, exit_on_error=False, print_error=False)
    except _ReadError as read:
        return read.line
    return None


def _drop_tokens(error: CycloptsError, tokens: list[str]) -> list[str]:
    """Return a line without the tokens that an error is about; empty if they are not known."""
    if isinstance(error, UnknownOptionError):
        valid = [name for argument in error.argument_collection for name in argument.names]
        unknown = unknown_options(tokens, valid)
        return [token for token in tokens if token.partition("=")[0] not in unknown] if unknown else []
    names = [token.partition("=")[0] for token in tokens]
    if isinstance(error, RepeatArgumentError) and error.token.keyword in names:
        index = len(tokens) - 1 - names[::-1].index(error.token.keyword)
        return tokens[:index] + tokens[index + (1 if "=" in tokens[index] else 2) :]
    if isinstance(error, MissingArgumentError):
        error.root_input_tokens = tokens
        option = typed_option(error)
        return [token for token, name in zip(tokens, names, strict=True) if name != option] if option else []
    return []


def _unknown(tokens: Sequence[str], line: _Line, errors: Sequence[CycloptsError]) -> Iterator[CycloptsError]:
    """Yield one error that names the first option which the command lacks.

    Nothing if `errors` has such an error already, or the command takes any text.
    """
    is_named = any(isinstance(error, UnknownOptionError) for error in errors)
    takes_any = any(
        argument.parameter.allow_leading_hyphen or "[" in argument.name for argument in line.arguments
    )
    if is_named or takes_any:
        return
    valid = [name for argument in line.arguments for name in argument.names]
    for option in unknown_options(tokens, valid)[:1]:
        token = Token(keyword=option, source="cli")
        yield UnknownOptionError(token=token, argument_collection=line.arguments)


def _unused(tokens: Sequence[str], line: _Line, errors: Sequence[CycloptsError]) -> tuple[Finding, ...]:
    """Return a finding about the arguments that the command does not take, which an unknown option hides.

    What follows an unknown option may be its value.
    """
    unknown = unknown_options(tokens, [name for argument in line.arguments for name in argument.names])
    if not unknown or any(isinstance(error, UnusedCliTokensError) for error in errors):
        return ()
    read = [token for argument in line.arguments for token in argument.tokens]
    values = Counter(token.value for token in read if token.keyword)
    arguments: list[str] = []
    read_texts: list[str] = []
    for previous, text in pairwise(("", *tokens[len(line.command) :])):
        if text == "--":
            break
        if (previous in unknown and not text.startswith("-")) or text.partition("=")[0] in unknown:
            continue
        read_texts.append(text)
        if values[text] > 0:
            values[text] -= 1
        elif not text.startswith("-"):
            arguments.append(text)
    unused = arguments[sum(1 for token in read if not token.keyword) :]
    if not unused:
        return ()
    error = UnusedCliTokensError(unused_tokens=unused)
    _attach_context(error, (*line.command, *read_texts), line)
    return usage_error(error).findings


def _invalid(tokens: Sequence[str], line: _Line) -> Iterator[Finding]:
    """Yield a finding for each value that its option or argument does not take."""
    for argument in line.arguments:
        yield from refused_texts(argument)
        if not argument.tokens or argument.children:
            continue
        try:
            argument.convert_and_validate()
        except CycloptsError as error:
            error.argument = error.argument or argument
            _attach_context(error, tokens, line)
            yield from usage_error(error).findings
        except WrightError as error:  # of a converter
            yield from error.findings


def _attach_context(error: CycloptsError, tokens: Sequence[str], line: _Line) -> None:
    """Set tokens, command and its names in an error of ours, as Cyclopts does in the errors that it raises."""
    error.root_input_tokens = list(tokens)
    error.app, error.command_chain = line.app, line.command


def _lacks_value(argument: Argument, texts: Sequence[str]) -> bool:
    """Return True for a required argument without a text, unless another mistake is about it."""
    if not argument.required or argument.tokens or argument.children or not argument.parse:
        return False
    return not any(argument.name in text.replace("?", " ").split() for text in texts)
