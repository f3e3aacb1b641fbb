"""Who may write to a folder of checkpoints leads the upload to no other file."""

import json
import os
from contextlib import ExitStack

import pytest

from clusterwright.onhost.lib import checkpoint_manifest
from clusterwright.onhost.object_storage.local_checkpoints import open_files, read_complete
from clusterwright.onhost.object_storage.uploads import DamagedCheckpointError, Uploads

STEP = "step-00000005"
PART = "part-00000-of-00001.safetensors"


@pytest.fixture
def checkpoint(tmp_path):
    """Writes a checkpoint with one part of a name, as any program can, and a private file beside its folder."""
    (tmp_path / "private").write_text("secret")
    (tmp_path / "run" / STEP).mkdir(parents=True)
    (tmp_path / "run" / STEP / PART).write_text("values")

    def write(name):
        part = {"file": name, "bytes": 6, "digest": "0" * 64}
        manifest = {
            "format": 2,
            "step": 5,
            "world_size": 1,
            "torch": "2",
            "time": 1.0,
            "value": None,
            "parts": [part],
        }
        text = json.dumps({**manifest, "sha256": checkpoint_manifest.checksum(manifest)})
        (tmp_path / "run" / STEP / checkpoint_manifest.NAME).write_text(text)
        return tmp_path / "run"

    return write


@pytest.mark.parametrize("name", ["../../private", "/etc/hostname", ".", ""])
def test_a_part_outside_of_the_folder_is_no_checkpoint(checkpoint, name):
    """Its own part is."""
    assert read_complete(str(checkpoint(PART)), 5)
    assert read_complete(str(checkpoint(name)), 5) is None


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_part_that_is_exchanged_before_it_is_opened_is_not_uploaded(
    checkpoint, tmp_path, monkeypatch, kind
):
    """Neither a file to which a link leads, nor a pipe that blocks, nor what a linked folder has."""
    folder = checkpoint(PART)
    with ExitStack() as stack:
        assert open_files(str(folder / STEP), [PART], stack)[PART].read() == b"values"
    if kind == "folder":
        (folder / STEP).rename(tmp_path / "other")
        (folder / STEP).symlink_to(tmp_path / "other")
    else:
        (folder / STEP / PART).unlink()
        os.mkfifo(folder / STEP / PART) if kind == "pipe" else (folder / STEP / PART).symlink_to(
            tmp_path / "private"
        )
    found = {"parts": [{"file": PART, "bytes": 6}]}
    # The exchange comes after the check of sizes, for which no seam is.
    monkeypatch.setattr(
        "clusterwright.onhost.object_storage.local_checkpoints.read_complete", lambda *_: found
    )
    with pytest.raises(DamagedCheckpointError, match="is not uploaded"):
        Uploads(None, str(folder), 3).upload(5)
