"""Local runs whose checkpoints are uploaded: resumed exactly without their folder, or refused before the ranks."""

import hashlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("boto3", reason="boto3 is not installed (pip install 'clusterwright[s3]')")

from clusterwright.config.job import Job
from clusterwright.launch.local import local
from clusterwright.onhost.object_storage.bucket import PART_BYTES, Bucket, BucketError
from clusterwright.onhost.object_storage.layout import parse_target

pytestmark = [pytest.mark.train, pytest.mark.timeout(250)]
ROOT = Path(__file__).parents[3]
TOY = ROOT / "tests" / "runtime" / "toy.py"
STEPS = 12


@pytest.fixture
def start(storage, tmp_path, monkeypatch):
    """`start(folder, upload_to=..., TOY_...=...)`: a run of two ranks that saves every four steps."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    started = []

    def start(folder, *, upload_to="s3://models/toy", endpoint=storage.endpoint, python_path="", **variables):
        if python_path:
            monkeypatch.setenv("PYTHONPATH", os.pathsep.join([python_path, os.environ["PYTHONPATH"]]))
        checkpoint = {"every": "4 steps", "memory": "never"}
        if upload_to:
            checkpoint |= {"upload_to": upload_to, "endpoint": endpoint}
        fields = {
            "name": "toy",
            "command": [str(TOY)],
            "time": "1h",
            "gpus_per_node": 2,
            "checkpoint": checkpoint,
            "environment": {"variables": {"OMP_NUM_THREADS": "1", "TOY_UNTIL": str(STEPS), **variables}},
        }
        run = local(Job.model_validate(fields, strict=False), tmp_path / folder)
        started.append(run)
        return Path(run.folder)

    yield start
    for run in started:
        if runs(int(run.job_id)):
            os.kill(int(run.job_id), signal.SIGKILL)


@pytest.fixture
def ceph_storage(storage, ceph_endpoint):
    """An empty bucket of Ceph, with the credentials of the environment."""
    return type(storage)(ceph_endpoint, os.environ["AWS_SECRET_ACCESS_KEY"])


def runs(pid):
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(seen, limit_s=150):
    """What `seen` returns, once it is something."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if found := seen():
            return found
        time.sleep(0.1)
    raise AssertionError("not seen in time")


def events(run, kind):
    """The events of a kind, of all writers."""
    lines = [line for path in run.glob("events/*.jsonl") for line in path.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def job(run):
    """The process id of the program in place of Slurm."""
    return int((run / "jobs").read_text())


def ended(run):
    """How the run ended, once its processes are gone."""
    outcome = wait_for(lambda: (run / "ended.json").exists() and json.loads((run / "ended.json").read_text()))
    wait_for(lambda: not runs(job(run)))
    return outcome


def losses(run):
    """The exact loss of each step."""
    return {event["step"]: event["loss_hex"] for event in events(run, "step")}


def test_a_run_without_its_folder_resumes_exactly_from_its_upload(start, storage):
    """All processes killed, the whole folder deleted: the next run has the losses of one that was never stopped."""
    resume_exactly(start, storage)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_the_same_with_the_gateway_of_ceph(start, ceph_storage, tmp_path):
    """Radosgw of Debian 12 with one monitor and one OSD; parts of a large object too, and uploads that were left."""
    resume_exactly(start, ceph_storage, endpoint=ceph_storage.endpoint)
    bucket = Bucket(parse_target("s3://models/large"), ceph_storage.endpoint)
    data = os.urandom(3 * PART_BYTES + 12345)
    (tmp_path / "large").write_bytes(data)
    with (tmp_path / "large").open("rb") as file:
        sha256 = bucket.upload("step-1/large", file, len(data))
    with (tmp_path / "large").open("rb") as file, pytest.raises(BucketError, match="ended early"):
        bucket.upload("step-2/large", file, len(data) + PART_BYTES)
    ceph_storage.client.create_multipart_upload(Bucket="models", Key="large/step-3/large")
    left = bucket.unfinished_uploads()
    bucket.abort_uploads("step-3/")

    assert sha256 == hashlib.sha256(data).hexdigest()
    assert b"".join(bucket.download("step-1/large", len(data))) == data
    assert left == ["step-3/large"]
    assert bucket.unfinished_uploads() == []
    with pytest.raises(BucketError, match="NoSuchBucket"):
        Bucket(parse_target("s3://absent/x"), ceph_storage.endpoint).write("a", b"a")


def resume_exactly(start, storage, **options):
    """Kill a run that has uploaded, delete its folder, and compare the next run with one that was never stopped."""
    undisturbed = start("undisturbed", upload_to="")
    assert ended(undisturbed)["outcome"] == "finished"
    first = start("first", TOY_PACE="0.5", **options)
    wait_for(lambda: events(first, "checkpoint_uploaded"))
    os.kill(job(first), signal.SIGKILL)
    wait_for(lambda: not runs(job(first)))
    time.sleep(1)  # its ranks end with it
    shutil.rmtree(first)

    second = start("second", **options)
    assert ended(second)["outcome"] == "finished"
    (resumed,) = {event["step"] for event in events(second, "resumed")}
    assert resumed >= 4
    assert [event["step"] for event in events(second, "upload_restored")] == [resumed]
    expected = losses(undisturbed)
    assert set(losses(second)) == set(range(resumed + 1, STEPS + 1))
    assert {step: expected[step] for step in losses(second)} == losses(second)
    assert f"toy/complete/step-{STEPS:08d}.json" in storage.names()  # the last one, uploaded after the end


def test_no_secret_is_written(start, storage):
    """Neither the run's folder nor the bucket has the credentials."""
    run = start("secret", upload_to="s3://absent/toy")
    assert "NoSuchBucket" in ended(run)["reason"]
    run = start("uploaded")
    ended(run)
    texts = [path.read_bytes() for path in run.rglob("*") if path.is_file() and "library" not in path.parts]

    assert len(texts) > 10
    assert not [text for text in texts if b"secret-of-a-test" in text or b"AKIATESTTESTTEST" in text]


def test_a_wrong_bucket_ends_the_run_before_its_ranks_start(start):
    """With the page that explains it, and not hours later without an upload."""
    run = start("refused", upload_to="s3://absent/toy")
    outcome = ended(run)

    assert (outcome["outcome"], outcome["code"]) == ("failed", 1)
    assert "wright explain upload-unusable" in outcome["reason"]
    assert events(run, "generation_start") == []


def test_without_boto3_the_run_ends_with_the_command_that_installs_it(start, tmp_path):
    """In the Python of the job, before its ranks start."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "boto3.py").write_text("raise ImportError('no module named boto3')\n")
    run = start("library", python_path=str(tmp_path / "hidden"))
    outcome = ended(run)

    assert outcome["outcome"] == "failed"
    assert "-m pip install boto3" in outcome["reason"]
    assert "wright explain upload-library" in outcome["reason"]
    assert events(run, "generation_start") == []
