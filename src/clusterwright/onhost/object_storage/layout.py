"""Names of objects: `PREFIX/step-00000100.RANDOM/FILE`, and `PREFIX/complete/step-00000100.json`, written last.

An upload counts only with its object in `complete/`, which names the folder, each file, its size and its SHA-256.
Each upload has a folder of its own, so that files of two uploads never mix.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass
from typing import Dict, List, Optional, Sequence

SCHEME = "s3://"
COMPLETE = "complete/"
SCHEMA = 1
_FOLDER = re.compile(r"(step-([0-9]{8,18}))\.[0-9a-f]{8}/")
_COMPLETE = re.compile(r"complete/step-([0-9]{8,18})\.json")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Target:
    """A bucket and the prefix of all names of objects, which is empty or ends with a slash."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.prefix}"


def parse_target(url: str) -> Target:
    """Return bucket and prefix of `s3://BUCKET/PREFIX`, as the job file has it."""
    bucket, _, prefix = url[len(SCHEME) :].partition("/")
    prefix = prefix.strip("/")
    return Target(bucket, f"{prefix}/" if prefix else "")


@dataclass(frozen=True)
class UploadedFile:
    """One file of an upload."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class UploadRecord:
    """A complete upload: its step, folder and files; `value` is the metric of the checkpoint, lower is better."""

    step: int
    folder: str
    files: Sequence[UploadedFile]
    value: Optional[float] = None


class InvalidUploadError(ValueError):
    """The object in `complete/` is damaged or of another version."""


def format_record(upload: UploadRecord) -> bytes:
    """Return the content of the object that makes an upload complete."""
    return json.dumps({"schema": SCHEMA, **asdict(upload)}, indent=1).encode() + b"\n"


def parse_record(data: bytes, step: int) -> UploadRecord:
    """Return the record in the object in `complete/` of a step.

    Raises:
        InvalidUploadError: it is damaged, of another step or of a newer version, or a name is unsafe.
    """
    try:
        document = json.loads(data)
        if document["schema"] != SCHEMA:
            raise InvalidUploadError(f"has schema {document['schema']!r}; this version reads {SCHEMA}")
        files = [UploadedFile(**file) for file in document["files"]]
        upload = UploadRecord(document["step"], document["folder"], files, document["value"])
        is_valid = (
            upload.step == step
            and step_of_folder(upload.folder) == step
            and len({file.name for file in files}) == len(files) > 0
            and all(_is_valid(file) for file in files)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidUploadError(str(error)) from None
    if not is_valid:
        raise InvalidUploadError("has an invalid field")
    return upload


def _is_valid(file: UploadedFile) -> bool:
    """Return True for a plain file name, a size and a checksum: who writes to the bucket chooses all three."""
    is_size = isinstance(file.bytes, int) and 0 <= file.bytes < 2**63
    return bool(is_size and _FILE.fullmatch(file.name) and _SHA256.fullmatch(file.sha256))


def complete_key(step: int) -> str:
    """Return the name below the prefix of the object that makes an upload complete."""
    return f"{COMPLETE}{step_name(step)}.json"


def step_name(step: int) -> str:
    """Return the folder name of a step's checkpoint: `step-00000100`."""
    return f"step-{step:08d}"


def steps_of(names: Sequence[str]) -> List[int]:
    """Return the steps with an object in `complete/`, the newest first."""
    matches = [_COMPLETE.fullmatch(name) for name in names]
    return sorted((int(match[1]) for match in matches if match), reverse=True)


def step_of_folder(folder: str) -> Optional[int]:
    """Return the step of a folder such as `step-00000100.0a1b2c3d/`; None for other names."""
    match = _FOLDER.fullmatch(folder)
    return int(match[2]) if match else None


def outdated(values: Dict[int, Optional[float]], limit: int) -> List[int]:
    """Return the steps of uploads to remove: all but the newest `limit` and the one with the lowest value.

    `values` has the metric of each complete upload by step, None without one.
    """
    steps = sorted(values, reverse=True)
    valid = {step: value for step, value in values.items() if value is not None and not math.isnan(value)}
    best = min(valid, key=lambda step: (valid[step], -step)) if valid else None
    return [step for step in steps[limit:] if step != best]
