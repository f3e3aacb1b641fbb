"""Uploads to S3 from virtual hosts: without local checkpoints runs resume exactly, after a lost host and as new ones.

The storage is moto's server on this machine's address in the management network of the lab.
"""

import contextlib
import json
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.events import RemoteReader, events, wait
from clusterwright.launch.submission import submit

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(1200)]
NAME, NET = "s3-tests", "10.241"
ADDRESS = f"{NET}.0.254"  # this machine's
TOY = Path(__file__).parents[2] / "runtime" / "toy.py"
SECRETS = (
    "AWS_ACCESS_KEY_ID=AKIATESTTESTTEST\nAWS_SECRET_ACCESS_KEY=secret-of-a-test"  # pragma: allowlist secret
)
STEPS = 16


@pytest.fixture(scope="module")
def stands(tmp_path_factory, example_lab):
    """Three compute hosts, whose user has the credentials in a file of her own."""
    changes = {"hosts: gpu-node[1-4]": "hosts: gpu-node[1-3]"}
    with example_lab(tmp_path_factory.mktemp("s3"), NAME, NET, changes) as site:
        site.sh("control", f"cat > /shared/toy.py <<'END'\n{TOY.read_text()}\nEND")
        folder = "/home/alice/.config/clusterwright"
        write = f"umask 077; mkdir -p {folder}; cat > {folder}/secrets.env <<'END'\n{SECRETS}\nEND"
        for host in site.cluster.hosts("compute"):
            site.sh(host.name, f"{write}\nchown -R alice: /home/alice/.config")
        yield site


@pytest.fixture(scope="module")
def storage(stands, start_server):
    """The bucket, as this machine sees it."""
    serve, storage = start_server
    with serve(ADDRESS) as port:
        yield storage(f"http://{ADDRESS}:{port}")


class Training:
    """The toy on two hosts, which saves every four steps."""

    def __init__(self, stands, storage, *, upload_to="s3://models/toy", pace="0.05"):
        checkpoint = {"every": "4 steps", "memory": "never"}
        if upload_to:
            checkpoint |= {"upload_to": upload_to, "endpoint": storage.endpoint}
        job = {
            "name": "toy", "command": ["/shared/toy.py"], "nodes": 2, "time": "20m", "user": "alice",
            "checkpoint": checkpoint, "recovery": {"on_host_loss": "successor", "heartbeat_timeout": "30s"},
            "environment": {"variables": {"OMP_NUM_THREADS": "1", "TOY_UNTIL": str(STEPS), "TOY_PACE": pace}},
        }  # fmt: skip
        self.stands = stands
        self.run = submit(Job.model_validate(job, strict=False), stands.cluster, stands.remote)
        self.reader = RemoteReader(stands.remote, stands.cluster.control.name)

    def events(self, kind):
        """The events of a kind so far."""
        return [event for event in events(self.run, self.reader) if event["event"] == kind]

    def until(self, kind, seen=bool, limit_s=500):
        """The events of the kind, once `seen` likes them."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            with contextlib.suppress(WrightError):  # a busy machine does not answer every ssh in time
                if seen(found := self.events(kind)):
                    return found
            time.sleep(0.5)
        raise AssertionError(self.output())

    def output(self):
        """What the run and its uploads have written."""
        run = self.run.folder
        command = (
            f"tail -n 30 {run}/slurm-*.out {run}/logs/agents.log {run}/logs/uploads.log; squeue; sinfo -N"
        )
        return self.stands.remote.run("control", command).out

    def finish(self):
        """Wait for the end; return the exact losses of each step, as often as it was done."""
        end = wait(self.run, self.reader, limit_s=400)
        assert end.outcome == "finished", self.output()
        losses = {}
        for event in self.events("step"):
            losses.setdefault(event["step"], set()).add(event["loss_hex"])
        return losses

    def remove_checkpoints(self):
        """Delete every local checkpoint of the run."""
        record = json.loads(self.stands.sh("control", f"cat {self.run.folder}/job.json"))
        folder = record["launch"]["checkpoints"]
        self.stands.sh("control", f"ls -d {folder}/step-* && rm -rf {folder}/*")


@pytest.fixture(scope="module")
def moved(stands, storage):
    """A canceled run with an upload, and the losses of one at the same time that nothing disturbs."""
    undisturbed = Training(stands, storage, upload_to="")
    run = Training(stands, storage, upload_to="s3://models/moved", pace="3")
    run.until("checkpoint_uploaded", lambda found: any(event["step"] >= 4 for event in found))
    stands.sh("control", f"touch {run.run.folder}/cancelled")
    losses = undisturbed.finish()
    wait(run.run, run.reader, limit_s=200)
    assert set(losses) == set(range(1, STEPS + 1))
    return losses


def test_a_new_run_resumes_from_an_upload_of_another(stands, storage, moved):
    """It has no checkpoints of its own, as on another cluster; its losses are those of an undisturbed run."""
    run = Training(stands, storage, upload_to="s3://models/moved")
    losses = run.finish()
    [resumed] = {event["step"] for event in run.events("resumed")}

    assert resumed >= 4
    assert [event["step"] for event in run.events("upload_restored")] == [resumed]
    assert losses == {step: moved[step] for step in range(resumed + 1, STEPS + 1)}


def test_after_a_lost_host_a_run_resumes_from_its_upload(stands, storage, moved):
    """A host is killed and all local checkpoints are deleted: the successor job restores the newest upload."""
    training = Training(stands, storage, pace="2")
    training.until("checkpoint_uploaded", lambda found: any(event["step"] >= 4 for event in found))
    batch_host = training.events("job_start")[-1]["host"]
    [victim] = set(training.events("generation_start")[-1]["hosts"]) - {batch_host}
    lab.fault(NAME, "kill-host", victim)
    training.remove_checkpoints()
    restored = training.until("upload_restored")
    losses = training.finish()
    training.until("checkpoint_uploaded", lambda found: any(event["step"] == STEPS for event in found))
    lab.undo(NAME, "all")
    stands.rest()

    assert restored[0]["step"] >= 4
    resumed = {event["step"] for event in training.events("resumed") if event["generation"] > 1}
    assert resumed == {restored[0]["step"]}
    assert losses == moved
    assert f"toy/complete/step-{STEPS:08d}.json" in storage.names()
