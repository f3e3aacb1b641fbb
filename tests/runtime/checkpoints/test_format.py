"""Formats of checkpoints: those that this version reads, those that stop the run, and runs with none that is usable."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.checkpoints import manifest, retention
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints

pytestmark = pytest.mark.train
DATA = Path(__file__).parents[2] / "data" / "formats"
SCRIPT = """
import sys, torch
from clusterwright import runtime

run = runtime.start(folder=sys.argv[1], every="steps:2")
model = torch.nn.Linear(4, 4)
run.track(model=model)
for _ in run.steps(total_steps=int(sys.argv[2])):
    run.step(model(torch.ones(1, 4)).sum())
run.finish()
"""


def train(folder, steps):
    """Train in another process; return it."""
    command = [sys.executable, "-c", SCRIPT, str(folder), str(steps)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def events(folder, kind):
    lines = [line for path in (folder / "events").iterdir() for line in path.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def rewrite(folder, **fields):
    """Write the manifest as another version would: other fields, with the checksum over them."""
    path = folder / manifest.NAME
    document = {**json.loads(path.read_text()), **fields}
    del document["sha256"]
    text = json.dumps(document, sort_keys=True).encode()
    path.write_text(json.dumps({**document, "sha256": hashlib.sha256(text).hexdigest()}))


@pytest.fixture
def trained(tmp_path):
    """A run of four steps, with checkpoints of steps 2 and 4."""
    done = train(tmp_path, 4)
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.parametrize("other", [1, 3, 99, "2", None])
def test_a_checkpoint_of_another_format_stops_the_run(trained, other):
    """It is not damaged: neither step 0 nor an older checkpoint replaces it, and no file of it changes."""
    folder = trained / "checkpoints" / "step-00000004"
    rewrite(folder, format=other)
    before = {path: path.read_bytes() for path in (trained / "checkpoints").rglob("*") if path.is_file()}
    done = train(trained, 8)

    assert done.returncode == 65
    assert f"step-00000004 has format {other!r}; this version reads 2" in done.stderr
    assert "wright explain checkpoint-format" in done.stderr
    assert len(events(trained, "plan")) == 1
    assert {path: path.read_bytes() for path in before} == before


def test_a_later_format_may_change_everything_but_format_and_checksum(trained):
    """A manifest without the fields that this version reads is of another format, too."""
    folder = trained / "checkpoints" / "step-00000004"
    rewrite(folder, format=3, parts={"tensors": {}}, world_size=None)

    assert train(trained, 8).returncode == 65


def test_a_damaged_format_is_damage(trained):
    """Without a checksum that matches, the number is not believed: the checkpoint before it is used."""
    path = trained / "checkpoints" / "step-00000004" / manifest.NAME
    path.write_text(path.read_text().replace('"format": 2', '"format": 3'))
    done = train(trained, 8)

    assert done.returncode == 0, done.stderr
    assert events(trained, "resumed")[-1]["step"] == 2


def test_with_no_usable_checkpoint_the_run_does_not_restart_from_step_0(trained):
    """The message names each checkpoint with its reason, and the command that restarts on purpose."""
    for path in (trained / "checkpoints").glob("step-*/part-*"):
        path.write_bytes(b"")
    done = train(trained, 8)
    checkpoints = trained / "checkpoints"

    assert done.returncode == 65
    assert "step 4: " in done.stderr
    assert "step 2: " in done.stderr
    assert f"mv {checkpoints} {checkpoints}.unused" in done.stderr
    assert len(events(trained, "plan")) == 1

    checkpoints.rename(f"{checkpoints}.unused")
    assert train(trained, 8).returncode == 0


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(tmp_path, monkeypatch):
    """A stale NFS handle is an error that a restart may cure, not a run without checkpoints."""
    # no file system of a test machine returns this error on request
    monkeypatch.setattr(
        Path, "iterdir", lambda _path: (_ for _ in ()).throw(OSError(116, "Stale file handle"))
    )

    with pytest.raises(OSError, match="Stale"):
        retention.steps(tmp_path)


@pytest.mark.parametrize("folder", sorted(DATA.glob("checkpoint-*")), ids=lambda path: path.name)
def test_each_stored_format_is_read(folder, tmp_path):
    """A checkpoint that a run of that version wrote, of two tensors and their optimizer."""
    shutil.copytree(folder / "step-00000002", tmp_path / "step-00000002")
    joined = group.join({})
    loaded, skipped = Checkpoints(tmp_path, joined, save_total_limit=2).newest()
    joined.destroy()

    assert (loaded.step, skipped) == (2, [])
    assert set(loaded.shared) >= {"model"}
    assert torch.equal(loaded.shared["model"]["bias"], torch.arange(4.0))
