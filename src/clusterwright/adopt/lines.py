"""Lines of a site's files that the cluster file cannot hold, and keys as its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from clusterwright.config.slurm_keys import key_spans

Value = TypeVar("Value")

_UNFIT = frozenset('#\\"')  # in the value of an option they would end it, or continue the line


# Keys with a password: their values are never in the file.
SECRETS = frozenset({"storagepass", "jobcomppass"})


def redacted(key: str, value: str) -> str:
    """Return KEY=VALUE for people, with `...` in place of a password."""
    return f"{key}={'...' if key.lower() in SECRETS else value}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that the cluster file does not hold: its file and number, the text, and the reason."""

    file: str
    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}: {self.reason}"


def spelled(key: str, line: str = "") -> str:
    """Return the key as slurm.conf(5) spells it; `line` names a kind of line, such as NodeName."""
    span = key_spans("slurm.conf", line).get(key.lower())
    return span.name if span else key[:1].upper() + key[1:]


def is_option(value: str) -> bool:
    """Return True if a text can be a value of `options`, or a line of `slurm.files`, in a cluster file.

    It is printable, not blank, and has no hash, backslash or double quote.
    """
    return bool(value.strip()) and value.isprintable() and not _UNFIT & set(value)


def is_supported_key(key: str, slurm_release: str, line: str = "") -> bool:
    """Return True if that Slurm release has the key; `line` names a kind of line, such as NodeName."""
    span = key_spans("slurm.conf", line).get(key.lower())
    return span is not None and span.covers(slurm_release)


def omit_keys(values: Mapping[str, Value], *keys: str) -> dict[str, Value]:
    """Return the values without those keys; both are in lower case, as the parser returns them."""
    return {key: value for key, value in values.items() if key not in keys}


def is_valid(adapter: TypeAdapter[Any], value: object) -> bool:
    """Return True if a field of the cluster file with this type can have the value."""
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True
