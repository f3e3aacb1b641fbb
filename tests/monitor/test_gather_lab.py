"""The picture of a real cluster: real Slurm, hostile names, a person's drain, a run that writes, slurmctld stopped."""

import json
import re
import shlex
import time

import pytest

from clusterwright.cli.top import top
from clusterwright.errors import WrightError
from clusterwright.launch.run import runs_folder
from clusterwright.monitor.gather import gather
from clusterwright.monitor.snapshot import JobView
from clusterwright.monitor.top.job_actions import ByShell

pytestmark = [pytest.mark.lab, pytest.mark.core, pytest.mark.timeout(900)]

NAMES = ("two\nlines", "esc\x1b[31mred", "bar|pipe JobState=FAILED", "<b>html</b>", "rtl\u202egpj.exe")
RUN = "gpt-20261123-010203"


@pytest.fixture
def slurm(lab_cluster):
    """`slurm(user, command)` on the control host; the lab is at rest before and after."""
    lab_cluster.rest()
    yield lambda user, command: lab_cluster.sh(
        "control", f"cd /tmp && runuser -u {user} -- {command}"
    ).strip()
    lab_cluster.sh("control", "systemctl start slurmctld")
    lab_cluster.rest()


@pytest.fixture
def look(lab_cluster):
    """`look(until)` is the first picture for which that is true, within a minute."""

    def ask(until=lambda _: True):
        end = time.monotonic() + 60
        while True:
            found = gather(lab_cluster.cluster, lab_cluster.remote)
            if until(found):
                return found
            assert time.monotonic() < end, found
            time.sleep(1)

    return ask


def submit(slurm, user, name, *options):
    """The number of a job that sleeps."""
    words = ["sbatch", "--parsable", "-o", "/dev/null", "-J", name, *options, "--wrap", "sleep 300"]
    return slurm(user, shlex.join(words))


def test_what_slurm_says_is_on_the_picture(slurm, look, lab_cluster, recorded):
    """Jobs by name, state, GPUs and reason; nodes by state, use and who drained them; in the recorded forms."""
    ids = {submit(slurm, "bob", name, "--gpus=1"): name for name in NAMES}
    held = submit(slurm, "alice", "held", "-H", "--gpus-per-node=4", "-N2")
    array = submit(slurm, "alice", "arr", "--array=0-9%1", "--begin=now+1hour")
    lab_cluster.sh("control", "scontrol update nodename=gpu-node4 state=drain reason='a fan <b>is</b> loud'")
    picture = look(lambda found: sum(job.state == "RUNNING" for job in found.jobs) == len(NAMES))

    jobs = {job.id: job for job in picture.jobs}
    assert {number: jobs[number].name for number in ids} == ids
    assert {(jobs[number].gpus, jobs[number].user, jobs[number].account) for number in ids} == {
        (1, "bob", "vision")
    }
    assert (jobs[held].gpus, jobs[held].node_count, jobs[held].reason) == (8, 2, "JobHeldUser")
    assert jobs[held].explanation == "the job is held by its user"
    assert f"{array}_[0-9%1]" in jobs
    assert abs(jobs[held].submitted - picture.taken) < 120

    nodes = {node.name: node for node in picture.nodes}
    said = lab_cluster.sh("control", "sinfo -hN -o '%N %T'").split()
    assert sorted(nodes) == sorted(said[::2])
    assert (nodes["gpu-node4"].drained, nodes["gpu-node4"].by) == (True, "person")
    assert nodes["gpu-node4"].reason == "root: a fan <b>is</b> loud"
    assert sum(node.gpus_used for node in nodes.values()) == len(NAMES)
    assert {(node.group, node.leaf, node.gpus_total) for node in nodes.values()} == {("a100", "leaf1", 4)}
    assert {name for node in nodes.values() for name in node.jobs} == set(ids)
    assert all(node.memory_total > 2**33 and node.load is not None for node in nodes.values())

    shares = {team.name: team for team in picture.teams}
    assert (shares["vision"].running, shares["vision"].gpus) == (len(NAMES), len(NAMES))
    assert shares["vision"].share == pytest.approx(0.6, abs=0.05)
    assert shares["language"].fairshare is not None

    fields = re.compile(r"(?:^|\s)([A-Za-z]\w*)=")
    real = lab_cluster.sh("control", "scontrol show nodes -o gpu-node4")
    made = recorded.recorded(60, 10)["said"]["nodes"]
    assert set(fields.findall(real)) <= set(fields.findall(made)) | {"MemSpecLimit", "Reason"}


def test_a_person_may_do_what_slurm_lets_them(slurm, look, lab_cluster):
    """Bob ends his own job, not Alice's; root may; what a job printed is read as its user."""
    lab_cluster.sh("control", "mkdir -p -m 1777 /shared/said")
    said = slurm("bob", "sbatch --parsable -o /shared/said/%j.txt --wrap 'echo it says this'")
    mine, hers = submit(slurm, "bob", "mine"), submit(slurm, "alice", "hers")
    picture = look(lambda found: {mine, hers} <= {job.id for job in found.jobs if job.state == "RUNNING"})
    jobs = {job.id: job for job in picture.jobs}
    runs = runs_folder(lab_cluster.cluster)
    bob, root = (ByShell(lab_cluster.remote, "control", runs, user, str) for user in ("bob", "root"))

    with pytest.raises(WrightError, match="Access/permission denied"):
        bob.cancel(jobs[hers])
    bob.cancel(jobs[mine])
    root.cancel(jobs[hers])
    look(lambda found: not {mine, hers} & {job.id for job in found.jobs if job.state == "RUNNING"})
    lab_cluster.sh(
        "control", f"for _ in $(seq 60); do grep -q says /shared/said/{said}.txt && break; sleep 1; done"
    )
    assert bob.output(JobView(said, "wrap", "bob", "vision", "train", "COMPLETED")) == "it says this\n"


def test_a_run_that_writes_is_shown_with_its_job(slurm, look, lab_cluster):
    """Its step, loss and curve, from its folder as the control host sees it."""
    folder = f"{runs_folder(lab_cluster.cluster)}/{RUN}"
    now = float(lab_cluster.sh("control", "date +%s"))
    events = [{"time": now - 100, "event": "plan", "generation": 1, "step": 0, "total_steps": 1000}]
    events += [
        {
            "time": now - 100 + step,
            "event": "step",
            "generation": 1,
            "step": step,
            "loss": 2.0 / step,
            "tokens": 50,
        }
        for step in range(1, 101)
    ]
    text = "\n".join(map(json.dumps, events))
    lab_cluster.sh(
        "control", f"mkdir -p {folder}/events && cd {folder} && echo '{{}}' >job.json && touch pulse"
    )
    lab_cluster.sh("control", f"cat >{folder}/events/rank-00000.jsonl <<'END'\n{text}\nEND")
    lab_cluster.sh("control", f"chown -R bob {folder}")
    job = submit(slurm, "bob", RUN)
    try:
        picture = look(lambda found: any(each.run for each in found.jobs))
    finally:
        lab_cluster.sh("control", f"rm -rf {folder}")
    (run,) = [each.run for each in picture.jobs if each.id == job]

    assert (run.step, run.total_steps, run.loss, len(run.curve)) == (
        100,
        1000,
        0.02,
        pytest.approx(80, abs=20),
    )
    assert run.tokens_per_s == pytest.approx(50, rel=0.01)


def test_without_slurmctld_the_hosts_are_there_and_what_is_missing_is_said(slurm, lab_cluster, capsys):
    """By `wright top --batch` and `--json`; that there is no Prometheus in this cluster is said too."""
    lab_cluster.sh("control", "systemctl stop slurmctld")

    assert top(cluster=lab_cluster.file, batch=True) == 0
    shown = capsys.readouterr().out
    assert "gpu-node[1-4]" in shown
    assert "unknown" in shown
    assert "GPUs 0/16" in shown
    assert "missing: the queue: squeue" in shown  # that slurmctld is away, or did not answer in time
    assert top(cluster=lab_cluster.file, json=True) == 0
    missing = " ".join(json.loads(capsys.readouterr().out)["missing"])
    assert "the nodes:" in missing
    assert "GPU metrics: Prometheus is not enabled" in missing
