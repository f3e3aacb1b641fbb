"""Texts of arguments that would be converted to what nobody means: 1.5 to the number 2, an address to a path."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from clusterwright.errors import Finding, SpecError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts.argument import Argument

_FRACTION = re.compile(r"[+-]?\d*\.\d*[1-9]\d*")
_ADDRESS = re.compile(r"(?:https?|ftp|s3|file)://\S+")


def refuse_texts(arguments: Iterable[Argument]) -> None:
    """Refuse such texts before Cyclopts converts them.

    Raises:
        SpecError: `usage`, with all of them.
    """
    findings = [finding for argument in arguments for finding in refused_texts(argument)]
    if findings:
        raise SpecError(*findings)


def refused_texts(argument: Argument) -> Iterator[Finding]:
    """Yield a finding for each text of an argument that its type would accept but change.

    These are a fraction where a whole number is needed, and an address where a path is.
    """
    hints = (argument.hint, *get_args(argument.hint))
    name = argument.name if argument.name.startswith("-") else argument.name.upper()
    for token in argument.tokens:
        if int in hints and _FRACTION.fullmatch(token.value):
            message = _("{option}: `{value}` is not a whole number", option=name, value=token.value)
            example = f"{argument.name} 8" if argument.name.startswith("-") else "8"
            yield Finding("usage", message, _("write digits only, such as {number}", number=example))
        elif Path in hints and _ADDRESS.fullmatch(token.value):
            message = _(
                "{option}: `{address}` is an address, but a file is needed", option=name, address=token.value
            )
            line = f"curl -fsSLO {shlex.quote(token.value)}"
            yield Finding("usage", message, _("download the file first: {line}", line=line))


def is_prose(text: str) -> bool:
    """Return True for a text with blanks, such as a line of a log, that is not the path of a file or folder."""
    if not re.search(r"\s", text.strip()):
        return False
    try:
        return not Path(text).exists() and not (
            Path(text).suffix and Path(text).parent.is_dir() and "/" in text
        )
    except (OSError, ValueError):  # too long for a path
        return True
