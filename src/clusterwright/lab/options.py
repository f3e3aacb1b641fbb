"""Parse options of faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import format_size, parse_size

PERCENT_PER_MINUTE, LOWEST_PERCENT = 10, 20  # of a gradual fault, by default


def parse_number(options: Mapping[str, str], name: str, otherwise: int, below: int) -> int:
    """Return the option `name` as a number from 0 to below `below`; `otherwise` if it is not set.

    Raises:
        WrightError: It is no number, or not below the limit.
    """
    text = options.get(name, str(otherwise))
    if not (_is_number(text) and int(text) < below):
        message, fix = (
            _("--{name} {text} does not exist", name=name, text=text),
            _("name a number from 0 to {most}", most=below - 1),
        )
        raise WrightError.from_code("lab-fault-option", message, fix, exit_code=EXIT_USAGE)
    return int(text)


def parse_amount(options: Mapping[str, str], name: str, otherwise: int, most: int) -> int:
    """Return the option `name` as a number from 1 to `most`; `otherwise` if it is not set.

    Raises:
        WrightError: It is no number, or out of range.
    """
    text = options.get(name, str(otherwise))
    if not (_is_number(text) and 1 <= int(text) <= most):
        _refuse_range(name, text, "1", str(most))
    return int(text)


def falling_percent(options: Mapping[str, str], minutes: float) -> tuple[float, int]:
    """Return the percentage that is left after so many minutes of a gradual fault, and the lowest one.

    Raises:
        WrightError: --per-minute or --percent is no number from 1 to 100.
    """
    lowest = parse_amount(options, "percent", LOWEST_PERCENT, 100)
    per_minute = parse_amount(options, "per-minute", PERCENT_PER_MINUTE, 100)
    return max(float(lowest), 100 - per_minute * minutes), lowest


def parse_bytes(options: Mapping[str, str], name: str, otherwise: int, least: int, most: int) -> int:
    """Return the option `name` as a size from `least` to `most` bytes; `otherwise` if it is not set.

    Raises:
        WrightError: It is no size, or out of range.
    """
    text = options.get(name, format_size(otherwise))
    try:
        size = parse_size(text)
    except ValueError as error:
        raise WrightError.from_code(
            "lab-fault-option",
            f"--{name}: {error}",
            _("e.g. --{name} 256MiB", name=name),
            exit_code=EXIT_USAGE,
        ) from error
    if not least <= size <= most:
        _refuse_range(name, text, format_size(least), format_size(most))
    return size


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _refuse_range(name: str, text: str, least: str, most: str) -> NoReturn:
    message, fix = (
        _("--{name} {text} is out of range", name=name, text=text),
        _("set --{name} from {least} to {most}", name=name, least=least, most=most),
    )
    raise WrightError.from_code("lab-fault-option", message, fix, exit_code=EXIT_USAGE)
