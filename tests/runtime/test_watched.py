"""A script that uses nothing of ours, and says its steps by one import."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

from clusterwright.onhost.supervisor.goodput import communication, figures, history
from clusterwright.runtime import watched

pytestmark = pytest.mark.train
SCRIPT = """import sys
import torch
import clusterwright.runtime.watched
torch.manual_seed(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
second = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    second.step()
print([float(p.detach().sum()).hex() for p in model.parameters()])
if sys.argv[1:]:
    raise RuntimeError("as told")
"""


@pytest.fixture
def run(tmp_path):
    """`run(CLUSTERWRIGHT_RUN=...)`: the script in a process of its own."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)

    def start(*words, script=path, **environ):
        return subprocess.run(
            [sys.executable, script, *words], env=clean_environ(**environ), capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip

    return start


def clean_environ(**more):
    """Ours, without what a launcher may have said."""
    kept = {
        name: text for name, text in os.environ.items() if not name.startswith(("CLUSTERWRIGHT_", "SLURM_"))
    }
    return {**kept, "OMP_NUM_THREADS": "1", **more}


def events(folder, kind):
    """Those of rank 0."""
    lines = (folder / "events" / "rank-00000.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def test_one_import_tells_each_step(run, tmp_path):
    """Of the first optimizer; and the training is bit for bit what it is without."""
    bare = tmp_path / "bare.py"
    bare.write_text(SCRIPT.replace("import clusterwright.runtime.watched\n", ""))
    told = run(CLUSTERWRIGHT_RUN=str(tmp_path / "run"), CLUSTERWRIGHT_GENERATION="3")
    steps = events(tmp_path / "run", "step")

    assert told.returncode == 0, told.stderr
    assert told.stdout == run(script=bare).stdout
    assert [event["step"] for event in steps] == list(range(1, 31))
    assert {event["generation"] for event in steps} == {3}
    assert steps[-1]["lr"] == 0.01
    assert steps[-1]["busy"] == pytest.approx(sum(event["seconds"] for event in steps))
    assert [event["status"] for event in events(tmp_path / "run", "communication")] == ["alone"]
    assert not [event for event in steps if "communicated" in event]


TALKS = """import os, sys
import torch
import torch.distributed as dist
import clusterwright.runtime.watched
how, rank = sys.argv[1], int(os.environ["RANK"])
dist.init_process_group("gloo")
model = torch.nn.Linear(1200, 1200)
if how == "ddp":
    model = torch.nn.parallel.DistributedDataParallel(model)
if how == "fsdp":
    from torch.distributed.fsdp import fully_shard
    fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for step in range(15):
    model(torch.ones(2, 1200)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""


@pytest.fixture
def pair(tmp_path):
    """`pair(how)`: two ranks of a script that nobody of ours started; their events."""
    (tmp_path / "talks.py").write_text(TALKS)

    def start(how):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        more = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "WORLD_SIZE": "2",
            "GLOO_SOCKET_IFNAME": "lo",
        }
        environ = clean_environ(CLUSTERWRIGHT_RUN=str(tmp_path / how), **more)
        ranks = [
            subprocess.Popen([sys.executable, tmp_path / "talks.py", how], env={**environ, "RANK": str(rank)})
            for rank in range(2)
        ]
        assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
        return history.read(str(tmp_path / how)).events

    return start


@pytest.mark.parametrize(("how", "known"), [("ddp", "bounded"), ("fsdp", "sharded"), ("none", "other")])
def test_the_model_is_found_and_its_communication_told(pair, how, known):
    """Of rank 0 alone; of what cannot be measured, why."""
    told = pair(how)
    found = communication.combine_generations(told)

    assert communication.status(told) == known
    assert (found is not None) == (how == "ddp")
    assert found is None or 0 < found.share < 1


def test_outside_our_launcher_and_slurm_nothing_is_written(run, tmp_path):
    """And nothing is said."""
    done = run()

    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_a_folder_that_cannot_be_written_ends_nothing(run):
    """The script goes on, and says why nothing is told."""
    done = run(CLUSTERWRIGHT_RUN="/proc/none")

    assert done.returncode == 0
    assert "cannot record steps" in done.stderr


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """As a batch script of Slurm's on a host that is told where runs are."""
    (tmp_path / "exporter.json").write_text(json.dumps({"runs": str(tmp_path / "runs")}))
    monkeypatch.setattr(watched, "SETTINGS", tmp_path / "exporter.json")
    return {
        "SLURM_JOB_ID": "42",
        "SLURM_JOB_NAME": "../my job",
        "SLURM_JOB_ACCOUNT": "language",
        "WORLD_SIZE": "4",
    }


def train(environ, steps=5):
    """Some steps while it is watched."""
    found = watched.watch(environ)
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(steps):
        weight.sum().backward()
        optimizer.step()
        time.sleep(0.01)
    found.close()
    found.ended()


def test_a_job_of_slurms_alone_gets_a_run_of_its_own(slurm, tmp_path):
    """In the folder of runs, whatever the job is called; its ledger adds up."""
    train(slurm)
    (run,) = (tmp_path / "runs").iterdir()
    found = figures.work_out(history.read(str(run)))

    assert run.name == "myjob-job-42"
    assert json.loads((run / "job.json").read_text())["job"] == {"name": "../my job", "account": "language"}
    assert json.loads((run / "ended.json").read_text())["outcome"] == "finished"
    assert found.accounting.gpus == 4
    assert found.goodput > 0
    assert not found.failures


def test_a_job_that_slurm_starts_again_is_another_generation(slurm, tmp_path):
    """Of the same run, which has then not ended."""
    train(slurm)
    train(slurm)
    (run,) = (tmp_path / "runs").iterdir()

    assert [event["generation"] for event in events(run, "generation_start")] == [1, 2]


def test_other_ranks_write_nothing(slurm, tmp_path):
    """A thousand files would tell no more."""
    assert watched.watch({**slurm, "RANK": "1"}) is None
    assert not (tmp_path / "runs").exists()


def test_an_exception_is_a_failure(run, tmp_path):
    """Where nobody else would say so."""
    settings = tmp_path / "exporter.json"
    settings.write_text(json.dumps({"runs": str(tmp_path / "runs")}))
    script = tmp_path / "script.py"
    first = "import pathlib\nimport clusterwright.runtime.watched as w\n"
    first += f"w.SETTINGS = pathlib.Path({str(settings)!r})\n"
    script.write_text(first + "w.watch({'SLURM_JOB_ID': '7'})\n" + SCRIPT)
    done = run("fails")
    (folder,) = (tmp_path / "runs").iterdir()

    assert done.returncode == 1
    assert json.loads((folder / "ended.json").read_text())["outcome"] == "failed"
    assert events(folder, "generation_end")[0]["reason"] == "ranks-failed"
