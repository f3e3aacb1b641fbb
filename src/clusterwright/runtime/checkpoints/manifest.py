"""The manifest of a checkpoint, written last: its files and their checksums."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from clusterwright.onhost.lib import checkpoint_manifest
from clusterwright.onhost.lib.checkpoint_manifest import FORMAT, LIMIT_BYTES, NAME
from clusterwright.onhost.lib.files import sync_folder
from clusterwright.onhost.lib.safe_reader import UnsafeFileError, read_text
from clusterwright.runtime.checkpoints.part import Part
from clusterwright.runtime.checkpoints.source import Damaged, OtherFormat


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
        """Return the total size of the checkpoint's parts in bytes."""
        return sum(part.bytes for part in self.parts)


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest with its own checksum into the checkpoint folder, and fsync both."""
    document = {"format": FORMAT, **asdict(manifest)}
    with (folder / NAME).open("w") as file:
        file.write(
            json.dumps({**document, "sha256": checkpoint_manifest.checksum(document)}, indent=1) + "\n"
        )
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def read(folder: Path) -> Manifest:
    """Return the manifest of a checkpoint folder.

    Raises:
        OtherFormat: this version does not read its format.
        Damaged: it is missing, invalid or of another folder.
    """
    try:
        document = checkpoint_manifest.parse(read_text(folder / NAME, LIMIT_BYTES))
        if not checkpoint_manifest.are_valid(document):
            raise Damaged(f"{folder.name}/{NAME} has an invalid field")
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
    except checkpoint_manifest.OtherFormat as error:
        raise OtherFormat(f"{folder.name} {error}") from None
    except checkpoint_manifest.InvalidManifest as error:
        raise Damaged(f"{folder.name}/{NAME} {error}") from None
    except (UnsafeFileError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{folder.name}/{NAME} cannot be read: {error}") from None
    if folder.name != step_name(manifest.step) or len(parts) != manifest.world_size:
        raise Damaged(f"{folder.name}/{NAME} is of step {manifest.step}: it belongs to another folder")
    return manifest


def step_name(step: int) -> str:
    """Return the folder name of a step's checkpoint: `step-00000100`."""
    return f"step-{step:08d}"
