"""Programs of every framework that installs here, on two hosts of a real Slurm, each by the line that starts it.

All are submitted at once, since each is mostly the import of torch; the tests read what they have left.
"""

import json
import re
from pathlib import Path

import pytest

from clusterwright.cli.cancel import cancel
from clusterwright.cli.train import Typed
from clusterwright.launch.events import RemoteReader, events
from clusterwright.launch.events import wait as wait_for
from clusterwright.launch.resolve import resolve_job
from clusterwright.launch.run import RunFolder
from clusterwright.launch.submission import submit as submit_job

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(900)]

JOBS = Path(__file__).parents[3] / "examples" / "jobs"
EXAMPLES = (
    "torchrun", "static", "launch", "srun", "mpi", "batch", "lightning", "accelerate", "transformers", "sweep",
)  # fmt: skip
C10D = (
    "torchrun --nnodes=$SLURM_NNODES --nproc_per_node=1 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d"
    " --rdzv_endpoint=$MASTER_ADDR:29500 --max_restarts=3 with_torch.py"
)
OLD = (
    "python -m torch.distributed.launch --nproc_per_node=1 --nnodes=$SLURM_NNODES --node_rank=$SLURM_NODEID"
    " --master_addr=$MASTER_ADDR --master_port=29501 with_torch.py"
)
# As the guides print them, but for names of their cluster: through `wright train --`.
LINES = {
    "agent": ("python", "with_torch.py", "--lr", "1"),
    "torchrun-c10d": (C10D,),
    "old-launch-as-printed": (OLD,),
    "srun-pmix-torch": ("srun", "--mpi=pmix", "python", "by_slurm.py"),
    "srun-pmix": ("srun", "--mpi=pmix", "python3", "mpi_sum.py"),
    "mpirun": ("mpirun", "-np", "2", "--map-by", "ppr:1:node", "python3", "mpi_sum.py"),
    "accelerate-launch": ("accelerate", "launch", "with_accelerate.py"),
}
OPTIONS = {"mpirun-torch": ("mpirun", ("python", "with_torch.py"))}
FOUR = ("agent", "srun")  # two ranks on each host; of the others one, to be quick
NEEDS = {
    "lightning": "lightning",
    "accelerate": "accelerate",
    "accelerate-launch": "accelerate",
    "transformers": "transformers",
}


@pytest.fixture(scope="module")
def stands(example_lab, tmp_path_factory):
    """Two hosts with four simulated GPUs each."""
    changes = {"gpu-node[1-4]": "gpu-node[1-2]"}
    with example_lab(tmp_path_factory.mktemp("lab"), "launch-tests", "10.246", changes) as lab:
        yield lab


@pytest.fixture(scope="module")
def submitted(stands):
    """Every run by the name of its line or example; nobody waits yet."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(JOBS / "programs")
        patch.setenv("NCCL_DEBUG", "WARN")
        patch.setenv("WANDB_API_KEY", "not-to-be-seen")
        two = {"nodes": 2, "time": "10m"}
        wishes = {
            name: resolve_job(words, Typed(**two, gpus=2 if name in FOUR else 1).overrides(), stands.file)
            for name, words in LINES.items()
        }
        for name, (launcher, words) in OPTIONS.items():
            wishes[name] = resolve_job(words, Typed(**two, launcher=launcher).overrides(), stands.file)
        for name in EXAMPLES:
            wishes[name] = resolve_job(
                [str(JOBS / f"{name}.yaml")], Typed(gpus=2 if name in FOUR else 1).overrides(), stands.file
            )
        wishes["missing"] = resolve_job(
            ("python", "with_torch.py"), Typed(**two, framework="jax").overrides(), stands.file
        )
        for name, wish in wishes.items():
            if name not in NEEDS or pytest.importorskip(NEEDS[name]):
                found[name] = submit(stands, wish)
        later = Typed(nodes=1, gpus=1, time="5m", dependency=f"{found['agent'].name},{found['mpi'].job_id}")
        found["after"] = submit(
            stands, resolve_job(("python", "with_torch.py"), later.overrides(), stands.file)
        )
    return found


def submit(stands, wish):
    """As alice, by whom the lab's jobs are run; on a busy machine a silent host is not a lost one."""
    patient = wish.job.recovery.model_copy(update={"heartbeat_timeout": 60})
    job = wish.job.model_copy(update={"recovery": patient})
    return submit_job(job, wish.cluster, stands.remote, user="alice", base_folder=wish.base_folder)


@pytest.fixture(scope="module")
def ended(stands, submitted):
    """`ended(name)`: how the run ended, and all that it and its ranks have said."""
    there = RemoteReader(stands.remote, "control")

    def wait(name, run=""):
        found = submitted[name]
        folder = f"{Path(found.folder).parent}/{run}" if run else found.folder
        end = wait_for(RunFolder(run or found.name, found.job_id, folder), there, limit_s=600)
        said = "find slurm-*.out logs -type f ! -name agents.log -exec cat {} +"
        return end, stands.sh("control", f"cd {folder} && {said}")

    return wait


def ranks(said):
    """Of every line that a rank printed: its number, how many there are, and what they agreed on."""
    return sorted(re.findall(r"^rank (\d) of (\d) (?:sum|weight) ([\d.]+)", said, re.MULTILINE))


def all_of(count, result):
    """What `ranks` finds where each has spoken."""
    return [(str(rank), str(count), result) for rank in range(count)]


@pytest.mark.parametrize("name", [*LINES, *OPTIONS, *(name for name in EXAMPLES if name != "sweep")])
def test_it_runs_on_two_hosts(ended, name):
    """Every rank has its number, and the same result as the others."""
    end, said = ended(name)
    found, count = ranks(said), 4 if name in FOUR else 2

    assert end.outcome == "finished", said
    assert found == all_of(count, found[0][2]), said
    if "weight" not in said:
        assert found[0][2] == str(sum(range(count)))


def test_ranks_have_logs_of_their_own(stands, submitted, ended):
    """Whoever started them: by host and number, as `wright logs` reads them."""
    ended("srun")
    logs = stands.sh("control", f"cd {submitted['srun'].folder}/logs/1 && ls */*.out").split()

    assert logs == [f"gpu-node{host}/{rank}.out" for host in (1, 2) for rank in (0, 1)]


def test_a_run_of_an_array_that_waits_is_found_and_cancelled_by_its_name(stands):
    """As any run: the array's other runs go on waiting."""
    other = stands.sh(
        "control", "runuser -u alice -- sbatch --parsable -n1 -o /dev/null --wrap 'sleep 600'"
    ).strip()
    run = submit(
        stands, resolve_job([str(JOBS / "sweep.yaml")], Typed(dependency=other).overrides(), stands.file)
    )
    names = f"squeue -h -r -j {run.job_id} -t pending -o %j | sort"
    waiting = stands.sh("control", names).split()
    code = cancel(run.runs[2], cluster=stands.file)
    left = stands.sh("control", f"{names}; scancel {run.job_id} {other}").split()

    assert (code, waiting) == (0, sorted(run.runs))
    assert left == [name for name in waiting if name != run.runs[2]]


def test_a_sweep_is_runs_of_one_array(stands, submitted, ended):
    """Each with its values, its folder, its outcome and its job; Slurm shows them by their runs' names."""
    said = {run: ended("sweep", run) for run in submitted["sweep"].runs}
    values = [
        ["--lr=0.1", "--layers=2"],
        ["--lr=0.1", "--layers=4"],
        ["--lr=0.01", "--layers=2"],
        ["--lr=0.01", "--layers=4"],
    ]
    jobs = stands.sh("control", f"cd {Path(submitted['sweep'].folder).parent} && cat */chain/1").split()

    assert [end.outcome for end, _ in said.values()] == ["finished"] * 4
    assert all(str(words) in text for words, (_, text) in zip(values, said.values(), strict=True))
    assert len(jobs) == len(set(jobs))


def test_what_comes_after_begins_when_the_others_have_finished(stands, submitted, ended):
    """A run by its name, and a job by its id."""
    end, _ = ended("after")
    started = [
        events(submitted[name], RemoteReader(stands.remote, "control")) for name in ("agent", "mpi", "after")
    ]
    ends = [max(event["time"] for event in events) for events in started[:2]]

    assert end.outcome == "finished"
    assert min(event["time"] for event in started[2]) > max(ends)


def test_a_missing_framework_ends_the_run_with_what_installs_it(ended):
    """Before any rank begins."""
    end, said = ended("missing")

    assert end.outcome == "failed"
    assert end.reason.endswith(
        "jax is not installed for /opt/clusterwright/env/bin/python; fix: pip install jax"
    )
    assert ranks(said) == []


def test_later_edits_do_not_change_what_runs_and_no_secret_travels(stands, submitted, ended):
    """The copy is what it was, by its digest; of the shell only what tunes libraries is in the script."""
    run = submitted["agent"].folder
    ended("agent")
    kept = stands.sh("control", f"cat {run}/code/with_torch.py")
    record, script = stands.sh("control", f"cat {run}/job.json"), stands.sh("control", f"cat {run}/job.sh")

    assert kept == (JOBS / "programs" / "with_torch.py").read_text()
    assert len(json.loads(record)["code"]) == 64
    assert "export NCCL_DEBUG=WARN\n" in script
    assert "not-to-be-seen" not in stands.sh("control", f"cat {run}/*.* {run}/logs/*.* {run}/events/*")
