"""Parse options of faults."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _


def parse_number(options: Mapping[str, str], name: str, otherwise: int, below: int) -> int:
    """Return the option as a number from 0 to below `below`; `otherwise` if it is not set.

    Raises:
        WrightError: It is no number, or not below the limit.
    """
    text = options.get(name, str(otherwise))
    if not (text.isascii() and text.isdecimal() and int(text) < below):
        message, fix = (
            _("--{name} {text} does not exist", name=name, text=text),
            _("name a number from 0 to {most}", most=below - 1),
        )
        raise WrightError.from_code("lab-fault-option", message, fix, exit_code=EXIT_USAGE)
    return int(text)
