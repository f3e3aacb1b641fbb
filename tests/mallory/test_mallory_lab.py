"""A hostile user on real hosts, with a job and runs, while an operator works; another user's job goes on."""

import os
import shlex
import time

import pytest
from tests.mallory.conftest import HERE, SECRET, run_lines
from tests.mallory.hostile import ESCAPES
from tests.mallory.registry import REGISTRY, Attack
from tests.mallory.test_mallory import trouble_of

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]
RUNS = ("texts-1", "pipes-1", "devices-1", "secrets-1", "two\nlines")
BUSY_S = 200  # for one command, also `check` of all hosts while other labs run here
HEALTHY_HOST = "gpu-node2"
OUTPUT = (
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus\n"
    f"{HEALTHY_HOST} kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus\n"
)
# Everything of root that no command about runs or jobs changes: not Slurm's own state, and not logs.
OF_ROOT = (
    "find /etc /root /usr/local /var/spool -xdev -path '/var/spool/slurm*' -prune -o -path /root/.cache -prune -o "
    "-type f -printf '%p %m %U %T@ %s\\n' -o -type l -printf '%p -> %l\\n' | sort"
)


def as_user(user, command):
    """The command of a user on the control host."""
    return f"cd /tmp && runuser -u {user} -- {command}"


@pytest.fixture
def hostile_lab(lab_cluster):
    """The lab with bob's hostile runs and job, and alice's job; yield it with the names and the ids of the jobs."""
    lab_cluster.rest()
    site = lab_cluster
    site.sh("control", f"umask 077 && printf %s {shlex.quote(SECRET)} > /root/secret")
    script = (HERE / "hostile.py").read_text()
    script += '\nprint("\\0".join(write_runs(Path("/shared/runs"), Path("/root/secret"))), end="")\n'
    names = site.sh("control", as_user("bob", f"python3 -c {shlex.quote(script)}")).split("\0")
    sleep = as_user("alice", "sbatch --parsable -N1 -o /dev/null --wrap 'sleep 900'")
    printed = f"printf %s {shlex.quote(OUTPUT + ESCAPES)} >&2; sleep 900"
    name, out = f"--job-name={names[0]}{ESCAPES}", "/shared/runs/%j.out"
    hostile = (
        "sbatch",
        "--parsable",
        f"-w{HEALTHY_HOST}",
        name,
        f"--comment={ESCAPES}",
        "-o",
        out,
        "--wrap",
        printed,
    )
    jobs = [site.sh("control", command).strip() for command in (sleep, as_user("bob", shlex.join(hostile)))]
    for _ in range(120):
        if states(site, *jobs) == ["RUNNING", "RUNNING"]:
            break
        time.sleep(0.5)
    yield site, names, jobs
    site.sh("control", "rm -rf /root/secret && find /shared/runs -mindepth 1 -user bob -delete")
    site.rest()


def states(site, *jobs):
    """Slurm's states of jobs."""
    return [site.sh("control", f"squeue -h -t all -o %T -j {job}").strip() for job in jobs]


def test_an_operator_meets_a_hostile_user(hostile_lab, tmp_path):
    """Each command ends in time and shows nothing of root's; no file of root and no other job changes."""
    site, names, (alices, bobs) = hostile_lab
    hosts = [host.name for host in site.cluster.hosts()]
    before = {host: site.sh(host, OF_ROOT) for host in hosts}
    chosen = [name for name in names if name.startswith(RUNS)]
    assert len(chosen) == len(RUNS)
    entries = [entry for entry in REGISTRY.values() if isinstance(entry, Attack)]
    of_runs = [line for entry in entries for line in entry.lines if "{run}" in line]
    once = [
        line for entry in entries for line in entry.once if "{" not in line and line.split()[-1].isalpha()
    ]
    values = {"file": site.file, "out": tmp_path}
    lines = [
        [word.format(run=name, **values) for word in shlex.split(line)] for line in of_runs for name in chosen
    ]
    lines += [shlex.split(line) for line in (*once, f"why {bobs}", f"why {HEALTHY_HOST}", f"status {bobs}")]
    lines += [
        ["check", "--cluster", str(site.file)],
        ["heal", "--cluster", str(site.file), "--plan", "--json"],
    ]

    environment = os.environ | {"CLUSTERWRIGHT_CLUSTER": str(site.file), "LC_ALL": "C.UTF-8"}
    results = run_lines(lines, tmp_path, environment, BUSY_S)

    assert [
        (row["argv"], row["code"], trouble) for row in results if (trouble := trouble_of(row, BUSY_S))
    ] == []
    assert HEALTHY_HOST not in results[-1]["out"]
    assert {host: site.sh(host, OF_ROOT) for host in hosts} == before
    assert states(site, alices) == ["RUNNING"]


def test_a_name_cancels_only_jobs_of_its_owner(hostile_lab, tmp_path):
    """A folder of bob's that is named after alice's job, and her job id in its files."""
    site, names, (alices, _) = hostile_lab
    folder = f"/shared/runs/{names[0]}"
    site.sh("control", as_user("bob", f"sh -c 'rm -rf {folder}/jobs; echo {alices} > {folder}/jobs'"))
    environment = os.environ | {"CLUSTERWRIGHT_CLUSTER": str(site.file)}
    run_lines([["cancel", names[0]], ["cancel", folder]], tmp_path, environment, BUSY_S)

    assert states(site, alices) == ["RUNNING"]
