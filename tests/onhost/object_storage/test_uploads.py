"""Uploads of real checkpoints in a real bucket: complete or not there, compared, retained, restored."""

import dataclasses
import os
import signal
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("boto3", reason="boto3 is not installed (pip install 'clusterwright[s3]')")

from clusterwright.onhost.object_storage import bucket as bucket_module
from clusterwright.onhost.object_storage.bucket import Bucket, BucketError
from clusterwright.onhost.object_storage.layout import complete_key, format_record, parse_target
from clusterwright.onhost.object_storage.uploads import DamagedCheckpointError, Uploads
from clusterwright.runtime import group
from clusterwright.runtime.checkpoints import retention
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints, load

pytestmark = [pytest.mark.train, pytest.mark.timeout(120)]
TARGET = "s3://models/team/gpt"
PART = "part-00000-of-00001.safetensors"
UPLOAD = """
import sys
from clusterwright.onhost.object_storage import bucket, layout, uploads
bucket.PART_BYTES = 5 << 20
made = uploads.Uploads(bucket.Bucket(layout.parse_target(sys.argv[1]), sys.argv[2]), sys.argv[3], 3)
made.upload(int(sys.argv[4]))
"""


@pytest.fixture(scope="module")
def alone():
    """A group of one rank, in this process."""
    joined = group.join({})
    yield joined
    joined.destroy()


@pytest.fixture
def parts(monkeypatch):
    """Parts of 5 MiB, the smallest that S3 takes, so that a small checkpoint has several."""
    monkeypatch.setattr(bucket_module, "PART_BYTES", 5 << 20)


@pytest.fixture
def save(alone, tmp_path):
    """`save(step)`: a checkpoint of 12 MB in `checkpoints`, another one for each step."""
    made = Checkpoints(tmp_path / "checkpoints", alone, save_total_limit=9)

    def save(step, value=None):
        if value is not None:
            made.set_value(value)
        made.save(step, state(step), {})
        assert made.wait().reason is None

    return save


def state(step):
    """What a step saves."""
    return {"model": {"weight": torch.arange(3_000_000.0) + step}}


def uploads_of(endpoint, folder, limit=3):
    """Uploads of the checkpoints in a folder."""
    return Uploads(Bucket(parse_target(TARGET), endpoint), str(folder), limit)


def assert_restored(folder, step):
    """The values of a step, every byte verified."""
    restored = folder / f"step-{step:08d}"
    retention.check(restored)
    shared, _local = load(restored)

    assert torch.equal(shared["model"]["weight"], state(step)["model"]["weight"])
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_an_upload_is_restored_where_no_checkpoint_is(storage, save, tmp_path, parts):
    """In several parts; the newest upload, with every byte as it was saved."""
    save(1)
    save(2)
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    for step in (1, 2):
        assert made.upload(step).verified

    restored = uploads_of(storage.endpoint, tmp_path / "other").restore()
    assert (restored.step, restored.skipped) == (2, [])
    assert_restored(tmp_path / "other", 2)
    assert all(name.startswith("team/gpt/") for name in storage.names())
    assert os.readlink(tmp_path / "other" / "latest") == "step-00000002"


def test_without_an_upload_nothing_is_restored(storage, tmp_path):
    """A training begins at step 0 then."""
    assert uploads_of(storage.endpoint, tmp_path / "other").restore().step is None


def test_a_killed_upload_never_counts(storage, proxy, save, tmp_path, parts):
    """Killed in the middle of a part: no upload is listed, and the next upload removes what was left."""
    save(1)
    reached, release = threading.Event(), threading.Event()

    def stall(method, path, body):
        if method == "PUT" and "partNumber=2" in path:
            reached.set()
            release.wait(30)
        return body

    proxy.meddle = stall
    argv = [sys.executable, "-c", UPLOAD, TARGET, proxy.endpoint, str(tmp_path / "checkpoints"), "1"]
    with subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as upload:
        assert reached.wait(60)
        upload.send_signal(signal.SIGKILL)
        assert upload.wait(20) == -signal.SIGKILL
    release.set()

    assert len(storage.uploads()) == 1
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    assert made.steps() == []
    assert uploads_of(storage.endpoint, tmp_path / "other").restore().step is None
    assert made.upload(1)
    made.tidy()
    assert storage.uploads() == []
    assert uploads_of(storage.endpoint, tmp_path / "other").restore().step == 1


@pytest.mark.parametrize("name", [PART, "manifest.json"])
def test_an_upload_without_one_of_its_files_is_skipped(storage, save, tmp_path, name):
    """An older one that is whole is restored instead."""
    save(1)
    save(2)
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    made.upload(1)
    made.upload(2)
    storage.client.delete_object(Bucket="models", Key=f"team/gpt/{made.read(2).folder}{name}")

    restored = uploads_of(storage.endpoint, tmp_path / "other").restore()
    assert restored.step == 1
    assert name in restored.skipped[0]
    assert_restored(tmp_path / "other", 1)


def test_a_corrupted_object_is_skipped_and_named(storage, save, tmp_path):
    """One flipped bit, the size unchanged; without an intact upload the restore fails and does not begin anew."""
    save(1)
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    made.upload(1)
    name = f"team/gpt/{made.read(1).folder}{PART}"
    data = bytearray(storage.read(name))
    data[7_000_000] ^= 4
    storage.write(name, bytes(data))

    with pytest.raises(BucketError, match="differs from what was uploaded") as raised:
        uploads_of(storage.endpoint, tmp_path / "other").restore()
    assert raised.value.permanent
    assert list((tmp_path / "other").glob("step-*")) == []


def test_an_upload_that_does_not_fit_is_not_downloaded(storage, save, tmp_path):
    """Its description claims more than the disk has free: an older one is restored, and the reason is named."""
    save(1)
    save(2)
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    made.upload(1)
    made.upload(2)
    upload = made.read(2)
    huge = [dataclasses.replace(upload.files[0], bytes=1 << 60), *upload.files[1:]]
    storage.write(f"team/gpt/{complete_key(2)}", format_record(dataclasses.replace(upload, files=huge)))
    restored = uploads_of(storage.endpoint, tmp_path / "other").restore()

    assert restored.step == 1
    assert "bytes, and" in restored.skipped[0]
    assert f"{tmp_path / 'other'} has " in restored.skipped[0]
    assert_restored(tmp_path / "other", 1)


def test_a_forged_description_with_matching_sums_is_verified_too(storage, save, tmp_path):
    """The checkpoint's own checksums find a tensor that somebody changed together with the description."""
    import hashlib
    import json

    save(1)
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    made.upload(1)
    upload = made.read(1)
    data = bytearray(storage.read(f"team/gpt/{upload.folder}{PART}"))
    data[7_000_000] ^= 4
    storage.write(f"team/gpt/{upload.folder}{PART}", bytes(data))
    document = json.loads(storage.read(f"team/gpt/{complete_key(1)}"))
    document["files"][0]["sha256"] = hashlib.sha256(data).hexdigest()
    storage.write(f"team/gpt/{complete_key(1)}", json.dumps(document).encode())

    with pytest.raises(BucketError, match="no upload can be used"):
        uploads_of(storage.endpoint, tmp_path / "other").restore()


def test_bytes_damaged_on_the_way_are_sent_again(storage, proxy, save, tmp_path, parts):
    """The storage reports another checksum than the part has; the second attempt counts."""
    save(1)
    damaged = []

    def damage(method, path, body):
        if method == "PUT" and "partNumber=2" in path and not damaged:
            damaged.append(path)
            return body[:-1] + bytes([body[-1] ^ 1])
        return body

    proxy.meddle = damage
    uploads_of(proxy.endpoint, tmp_path / "checkpoints").upload(1)

    assert damaged
    assert uploads_of(storage.endpoint, tmp_path / "other").restore().step == 1
    assert_restored(tmp_path / "other", 1)


def test_a_storage_that_refuses_for_a_while_is_asked_again(storage, proxy, save, tmp_path):
    """Three answers 503 to each kind of request cost time and nothing else."""
    save(1)
    refused = dict.fromkeys(("PUT", "GET"), 2)

    def refuse(method, _path, body):
        if refused.get(method, 0):
            refused[method] -= 1
            return 503
        return body

    proxy.meddle = refuse
    uploads_of(proxy.endpoint, tmp_path / "checkpoints").upload(1)

    assert uploads_of(proxy.endpoint, tmp_path / "other").restore().step == 1
    assert refused == {"PUT": 0, "GET": 0}


def test_a_damaged_checkpoint_is_not_uploaded(storage, save, tmp_path):
    """It is verified before, and what is there already stays."""
    save(1)
    path = tmp_path / "checkpoints" / "step-00000001" / PART
    with path.open("r+b") as file:
        file.seek(7_000_000)
        file.write(b"\xff\xff\xff\xff")

    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    with pytest.raises(DamagedCheckpointError):
        made.upload(1)
    assert storage.names() == []
    assert made.upload(2) is None


def test_uploads_are_pruned_like_local_checkpoints(storage, save, tmp_path):
    """The newest two and the best one stay, and nothing of the others is left in the bucket."""
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints", limit=2)
    for step, value in ((1, 0.9), (2, 0.1), (3, 0.5), (4, 0.6)):
        save(step, value)
        made.upload(step)
        made.tidy()

    assert made.steps() == [4, 3, 2]
    folders = {name.split("/")[2] for name in storage.names() if "/complete/" not in name}
    assert {folder[:13] for folder in folders} == {"step-00000002", "step-00000003", "step-00000004"}


def test_the_retention_leaves_other_objects_and_running_uploads_alone(storage, save, tmp_path):
    """Objects that are not uploads, other prefixes, and an upload of a later step."""
    for name in ("team/gpt/notes.txt", "team/gpt2/step-00000001.00000000/x", "team/gpt/step-1/x"):
        storage.write(name, b"mine")
    storage.write("team/gpt/step-00000009.00000000/part", b"running")
    storage.write("team/gpt/step-00000000.00000000/part", b"left by a killed upload")
    save(1)
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    made.upload(1)
    made.tidy()

    own = ("team/gpt/step-00000001.", "team/gpt/complete/")
    names = [name for name in storage.names() if not name.startswith(own)]
    assert names == [
        "team/gpt/notes.txt",
        "team/gpt/step-00000009.00000000/part",
        "team/gpt/step-1/x",
        "team/gpt2/step-00000001.00000000/x",
    ]


def test_a_wrong_bucket_and_wrong_credentials_are_permanent(storage, tmp_path, monkeypatch):
    """A retry changes neither; a server that does not respond may return."""
    with pytest.raises(BucketError) as raised:
        Uploads(Bucket(parse_target("s3://absent/x"), storage.endpoint), str(tmp_path), 3).steps()
    assert raised.value.permanent
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(BucketError, match="credentials") as raised:
        uploads_of(storage.endpoint, tmp_path).steps()
    assert raised.value.permanent


def test_the_newest_of_folder_and_bucket_counts(storage, save, tmp_path):
    """An upload that is not newer than the local checkpoint is not restored."""
    save(2)
    made = uploads_of(storage.endpoint, tmp_path / "checkpoints")
    made.upload(2)

    assert uploads_of(storage.endpoint, tmp_path / "other").restore(after_step=2).step is None
    assert uploads_of(storage.endpoint, tmp_path / "other").restore(after_step=1).step == 2
