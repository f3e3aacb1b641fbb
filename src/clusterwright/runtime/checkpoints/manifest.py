"""The manifest of a checkpoint, written last: its files and their checksums."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from clusterwright.onhost.lib.files import sync_folder
from clusterwright.runtime.checkpoints.part import Part
from clusterwright.runtime.checkpoints.source import Damaged

FORMAT = 2
NAME = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """The contents of a checkpoint folder; a folder without a manifest is no checkpoint.

    `value` is the metric of this state (lower is better), None if none was recorded.
    """

    step: int
    world_size: int
    torch: str
    time: float
    parts: tuple[Part, ...]
    value: float | None = None

    @property
    def bytes(self) -> int:
        """The bytes of all parts."""
        return sum(part.bytes for part in self.parts)


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest with its own checksum, and fsync it."""
    document = {"format": FORMAT, **asdict(manifest)}
    with (folder / NAME).open("w") as file:
        file.write(json.dumps({**document, "sha256": _sum(document)}, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def read(folder: Path) -> Manifest:
    """Read the manifest of a checkpoint folder; raises Damaged if it is missing, invalid or of another folder."""
    try:
        document = json.loads((folder / NAME).read_text())
        checksum = document.pop("sha256")
        if document["format"] != FORMAT:
            raise Damaged(f"{folder.name} has format {document['format']}; this version reads {FORMAT}")
        if checksum != _sum(document):
            raise Damaged(f"{folder.name}/{NAME} does not match its own checksum")
        parts = tuple(Part(**part) for part in document["parts"])
        manifest = Manifest(
            document["step"],
            document["world_size"],
            document["torch"],
            document["time"],
            parts,
            document["value"],
        )
    except FileNotFoundError:
        raise Damaged(f"{folder.name} has no {NAME}: its save was never finished") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{folder.name}/{NAME} cannot be read: {error}") from None
    if folder.name != step_name(manifest.step) or len(parts) != manifest.world_size:
        raise Damaged(f"{folder.name}/{NAME} is of step {manifest.step}: it belongs to another folder")
    return manifest


def step_name(step: int) -> str:
    """Return the folder name of a step's checkpoint: `step-00000100`."""
    return f"step-{step:08d}"


def _sum(document: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
