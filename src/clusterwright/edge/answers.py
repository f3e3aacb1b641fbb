"""JSON that a program printed on a host: a malformed answer is an error that names the host, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clusterwright.edge.processes import CommandResult
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_document


def parse_answer(result: CommandResult, host: str, text: str | None = None) -> dict[str, Any]:
    """Return the JSON object in a program's output; `text`: the part of the output that has it.

    Raises:
        WrightError: the output is something else; the message names the host.
    """
    try:
        document = parse_document(result.out if text is None else text)
    except ValueError as error:
        raise _error(
            host, _("{host}: the output is not JSON: {output}", host=host, output=result.last_lines(2))
        ) from error
    if not isinstance(document, dict):
        raise _error(host, _malformed(host, result))
    return document


@contextmanager
def evaluating(result: CommandResult, host: str) -> Iterator[None]:
    """Convert errors in evaluating a host's answer in a `with` block to a WrightError that names the host.

    Raises:
        WrightError: the answer lacks a field, or a value has another type.
    """
    try:
        yield
    except WrightError:
        raise
    except DATA_ERRORS as error:
        raise _error(host, _malformed(host, result)) from error


def _malformed(host: str, result: CommandResult) -> str:
    return _("{host}: the answer is malformed: {output}", host=host, output=result.last_lines(2)[:200])


def _error(host: str, message: str) -> WrightError:
    fix = _("run `ssh {host} true`: remove from the login shell whatever prints something", host=host)
    return WrightError.from_code("slurm-said", message, fix)
