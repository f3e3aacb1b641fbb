"""Parse the fields that a checkpoint's manifest has in every format: `format`, and the checksum of all others.

Standard library only, Python 3.6 or later. A checksum that matches tells a manifest of another format from a
damaged one, so later formats retain both fields.
"""

import hashlib
import json
import os
import re
from typing import Any, Dict, Tuple

NAME = "manifest.json"
LIMIT_BYTES = 256 << 20  # of a manifest, which has a checksum per MiB of the checkpoint
FORMAT = 2  # tests/data/formats has a checkpoint of each format in READABLE
READABLE = (FORMAT,)  # a new format adds itself; the one of the last release stays

CHECKSUM = re.compile(r"[0-9a-f]{64}")  # SHA-256
_LARGEST = 2**53  # of a number: seconds, bytes, ranks


class InvalidManifest(ValueError):  # noqa: N818 (a property of a file, not a program error)
    """The manifest is incomplete or damaged."""


class OtherFormat(InvalidManifest):
    """The manifest is intact, and of a format that this version does not read."""


def parse(text: str) -> Dict[str, Any]:
    """Return a checkpoint's manifest from its text, verified by its checksum.

    Raises:
        InvalidManifest: it is no manifest, or differs from its checksum.
        OtherFormat: this version does not read its format.
    """
    try:
        document = json.loads(text)
        fields = {name: value for name, value in document.items() if name != "sha256"}
        is_intact = document["sha256"] == checksum(fields)
        written = document["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidManifest("cannot be read: %s" % error) from None
    if not is_intact:
        raise InvalidManifest("does not match its own checksum")
    if written not in READABLE:
        formats = ", ".join(map(str, READABLE))
        raise OtherFormat("has format %r; this version reads %s" % (written, formats))
    return dict(document)


def are_valid(manifest: Dict[str, Any]) -> bool:
    """Return True if the fields have their types; the checksum of a manifest proves nothing about who wrote it.

    Each part has a name of its own, that of a file in the folder of the checkpoint.

    Raises:
        KeyError, TypeError: a part has no such fields, or is none.
    """
    parts = manifest["parts"]
    return (
        all(_is_number(manifest.get(name), (int, float)) for name in ("time", "value"))
        and _is_number(manifest.get("world_size", 0), (int,))
        and isinstance(manifest.get("torch", ""), str)
        and all(
            _is_number(part["bytes"], (int,))
            and isinstance(part["file"], str)
            and os.path.basename(part["file"]) == part["file"] not in ("", ".", "..")
            and part["file"].isprintable()
            and isinstance(part["digest"], str)
            and CHECKSUM.fullmatch(part["digest"])
            for part in parts
        )
        and len({part["file"] for part in parts}) == len(parts)
    )


def _is_number(number: Any, kinds: Tuple[type, ...]) -> bool:
    """Return True for None, a float, and an integer that others compute with."""
    if number is None or (isinstance(number, float) and float in kinds):
        return True
    return isinstance(number, int) and abs(number) < _LARGEST


def checksum(fields: Dict[str, Any]) -> str:
    """Return the SHA-256 of a manifest's fields other than the checksum."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
