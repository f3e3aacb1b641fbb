"""The model of Slurm against Slurm, on the same jobs; and reports of these jobs, with accounting and without."""

import json
import random
import shlex
import sys
import time
from dataclasses import replace
from itertools import combinations
from statistics import median

import pytest

from clusterwright.config.names import expand
from clusterwright.monitor import reports
from clusterwright.monitor.fetch import of_month
from clusterwright.monitor.report import text
from clusterwright.monitor.simulate.engine import simulate
from clusterwright.monitor.simulate.result import result
from clusterwright.monitor.simulate.settings import of_cluster
from clusterwright.monitor.simulate.trace import trace

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

# Jobs here last seconds where real ones last hours, so slurmctld looks each second where it would each half minute.
CHANGES = {
    "hosts: gpu-node[1-4]": "hosts: gpu-node[1-2]",
    "  node_timeout: 15s": (
        "  node_timeout: 15s\n  kill_wait: 2s\n  options:\n    SchedulerParameters: "
        "sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1"
    ),
}
TEAMS = {"alice": "language", "bob": "vision"}
# Hosts, GPUs of each, and how many of a hundred ask for so much.
SHAPES = (((1, 1), 45), ((1, 2), 25), ((1, 4), 20), ((2, 4), 10))
HOSTILE = "<b>x</b> JobState=FAILED $(id)"
JOBS, LAST_S = 16, 20


def wishes(draw):
    """When each is sent, by whom, its shape, how long it sleeps, and what limit it names."""
    for _ in range(JOBS):
        shape = draw.choices([shape for shape, _ in SHAPES], [count for _, count in SHAPES])[0]
        yield (
            draw.uniform(0, LAST_S),
            draw.choice(sorted(TEAMS)),
            shape,
            draw.randint(8, 24),
            draw.choice([1, 2]),
        )


SEND = """
import subprocess, sys, time, json
begun = time.time()
for at, argv in json.load(sys.stdin):
    time.sleep(max(0, begun + at - time.time()))
    print(subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip())
"""


def _sbatch(user, shape, sleeps, limit):
    """The command, as that user."""
    hosts, gpus = shape
    size = [f"--time={limit}", f"--nodes={hosts}", f"--gpus-per-node={gpus}"]
    own = ["-o", "/dev/null", "--chdir=/tmp", f"--job-name={HOSTILE}", f"--wrap=sleep {sleeps}"]
    return ["runuser", "-u", user, "--", "sbatch", "--parsable", *size, *own]


@pytest.fixture(scope="module")
def ran(example_lab, tmp_path_factory):
    """The lab after all jobs have had their turn, with when the first was sent."""
    with example_lab(tmp_path_factory.mktemp("simulate"), "simulate", "10.218", CHANGES) as stands:
        orders = [(at, _sbatch(*wish)) for at, *wish in sorted(wishes(random.Random(7)))]
        begin = time.time() - 1
        done = stands.remote.run(
            "control", f"python3 -c {shlex.quote(SEND)}", stdin=json.dumps(orders).encode(), timeout_s=120
        )
        assert done.ok, done.last_lines(5)
        end = time.monotonic() + 500
        while stands.sh("control", "squeue -h -t PD,R"):
            assert time.monotonic() < end, stands.sh("control", "squeue")
            time.sleep(1)
        yield stands, begin


@pytest.fixture(scope="module")
def recorded(ran):
    """What Slurm's accounting says of them."""
    stands, begin = ran
    end = time.monotonic() + 60
    while len(found := of_month(stands.cluster, stands.remote, begin, time.time()).records) < JOBS:
        assert time.monotonic() < end, found
        time.sleep(1)
    return found


def between(records):
    """From a job's end until its host has another one that waited, as a rule: the model is told it."""
    gaps = []
    for each in records:
        mine = set(expand(each.hosts))
        before = [one.end for one in records if one.end <= each.start and mine & set(expand(one.hosts))]
        if before and each.start - each.submit > 3:
            gaps.append(each.start - max(before))
    return median(gaps) if gaps else 0.0


def test_the_model_does_what_slurm_does(ran, recorded):
    """The same jobs start in the same order, and use as much of the cluster; how near is printed."""
    stands, _ = ran
    jobs = trace(recorded).jobs
    settings = replace(of_cluster(stands.cluster, "model"), backfill_s=1.0, after_s=between(recorded))
    model = simulate(jobs, settings)
    real = {each.id: each.start for each in recorded}
    modelled = {each.job.id: each.start for each in model.job_runs}
    pairs = [(a, b) for a, b in combinations(real, 2) if abs(real[a] - real[b]) > 2]
    agreed = sum((real[a] - real[b]) * (modelled[a] - modelled[b]) >= 0 for a, b in pairs) / len(pairs)
    gpu_s = sum(each.gpus * each.elapsed_s for each in recorded)
    first = min(each.submit for each in recorded)
    spans = max(each.end for each in recorded) - first, max(each.end for each in model.job_runs) - first
    used = [gpu_s / (8 * span) for span in spans]
    waits = [sum(starts[each.id] - each.submit for each in recorded) / JOBS for starts in (real, modelled)]
    said = (
        f"order: {agreed:.3f} of {len(pairs)} pairs; use: Slurm {used[0]:.3f}, model {used[1]:.3f};"
        f" mean wait: Slurm {waits[0]:.1f} s, model {waits[1]:.1f} s; hosts given again after {settings.after_s:.1f} s"
    )
    sys.stdout.write(said + "\n")

    assert len(model.job_runs) == JOBS
    assert agreed > 0.8, said
    assert used[1] == pytest.approx(used[0], abs=0.15), said
    assert result(model).never == 0


def test_a_month_with_accounting_and_without(ran, recorded):
    """The same jobs from sacct and from slurmctld's own file: hours, waits, and a name that looks like a record."""
    stands, begin = ran
    off = stands.cluster.model_copy(
        update={"accounting": stands.cluster.accounting.model_copy(update={"enabled": False})}
    )
    found = of_month(off, stands.remote, begin, time.time()).records
    theirs = {each.id: each for each in recorded}

    assert {each.id for each in found} == set(theirs)
    for each in found:
        same = theirs[each.id]
        assert (each.gpus, each.name, each.user, each.state) == (same.gpus, same.name, same.user, same.state)
        assert each.elapsed_s == pytest.approx(same.elapsed_s, abs=1)
        assert each.start == pytest.approx(same.start, abs=1)
    assert {each.name for each in found} == {HOSTILE}


def test_reports_of_the_cluster_a_team_and_a_job(ran, recorded):
    """As a user asks for them; what nobody measured is said."""
    stands, _ = ran
    hours = sum(each.gpus * each.elapsed_s for each in recorded) / 3600
    whole = reports.month_report(stands.cluster)
    team = reports.month_report(stands.cluster, team="vision")
    job = reports.job_report(recorded[0].id, stands.cluster)

    assert whole.data["all"]["held_h"] == pytest.approx(hours, rel=0.02)
    assert whole.data["all"]["jobs"] == JOBS
    assert set(team.data["teams"]) == {"vision"}
    assert team.data["all"]["held_h"] < whole.data["all"]["held_h"]
    assert job.data["job"]["name"] == HOSTILE
    assert any("Prometheus is not enabled" in why for why in job.missing)
    assert "alice/language" in text.text(job) + text.text(
        reports.job_report(recorded[-1].id, stands.cluster)
    ) or "bob/vision" in text.text(job)
