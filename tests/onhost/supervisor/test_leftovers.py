"""Nothing is left behind, whoever dies: ranks, their workers, their ports."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

KEEPING = Path(__file__).parent / "keeping.py"
WRIGHT = Path(sys.executable).with_name("wright")
SOON_S = 60.0  # how soon is bench/resilience's matter; here a busy machine is no failure

pytestmark = [pytest.mark.train, pytest.mark.timeout(200)]


@pytest.fixture
def keeping(local_run):
    """Two hosts with two ranks each, all of which step."""
    local_run.start(script=KEEPING, grace_s=600)
    local_run.until(lambda: {event["rank"] for event in local_run.events("step")} == {0, 1, 2, 3})
    return local_run


def processes(run, module, **environment):
    """Those that run this module."""
    marks = [f"{name}={value}\0".encode() for name, value in environment.items()]
    return [
        pid for pid in run.processes(f"run_module.py clusterwright.onhost.supervisor.{module}")
        if all(mark in Path(f"/proc/{pid}/environ").read_bytes() for mark in marks)
    ]  # fmt: skip


def state(pid):
    """As proc(5) has it; a zombie is gone, it only waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0].replace("Z", "")
    except OSError:
        return ""


def left(pids, limit_s=SOON_S):
    """Those that still run when the time is over."""
    until = time.monotonic() + limit_s
    while any(map(state, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return [pid for pid in pids if state(pid)]


def started(run, ranks):
    """Ranks of the first generation, and their workers."""
    events = [event for event in run.events("resumed", generation=1) if event["rank"] in ranks]
    return [pid for event in events for pid in (event["pid"], *event["workers"])]


def listening(run, ranks, limit_s=SOON_S):
    """Those of their ports that somebody still listens on when the time is over."""
    ports = {event["port"] for event in run.events("resumed", generation=1) if event["rank"] in ranks}
    until = time.monotonic() + limit_s
    while (held := ports & all_listening()) and time.monotonic() < until:
        # a process is a zombie when its first thread has ended, and its last one closes the files
        time.sleep(0.02)
    return held


def all_listening():
    """Every port of this machine that is listened on."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A"}


def test_a_killed_agent_leaves_nothing_of_its_host(keeping):
    """Its ranks die with it, and the workers with the ranks."""
    host = keeping.events("generation_start")[0]["hosts"][1]
    pids = started(keeping, {2, 3})
    (agent,) = processes(keeping, "node", CLUSTERWRIGHT_HOST=host)
    os.kill(agent, signal.SIGKILL)

    assert left([agent, *pids]) == []
    assert listening(keeping, {2, 3}) == set()


@pytest.mark.parametrize("module", ["supervisor", "standin"])
def test_a_killed_supervisor_or_stand_in_leaves_nothing_of_its_job(keeping, module):
    """All agents, all ranks, all workers."""
    pids = [
        *started(keeping, {0, 1, 2, 3}),
        *processes(keeping, "node"),
        *processes(keeping, "host.forkserver"),
    ]
    victim = keeping.process.pid if module == "standin" else processes(keeping, module)[0]
    os.kill(victim, signal.SIGKILL)

    assert left(pids) == []
    assert listening(keeping, {0, 1, 2, 3}) == set()


def test_a_killed_rank_leaves_nothing_of_its_generation(keeping):
    """Its own workers, and the other ranks with theirs."""
    pids = started(keeping, {0, 1, 2, 3})
    os.kill(keeping.events("resumed", rank=1)[0]["pid"], signal.SIGKILL)
    keeping.until(lambda: keeping.events("resumed", generation=2))

    assert left(pids) == []


def test_a_killed_fork_server_disturbs_nobody(keeping):
    """The ranks are not its children; it is collected, and nothing else ends."""
    pids = started(keeping, {0, 1, 2, 3})
    server = processes(keeping, "host.forkserver")
    victim = next(pid for pid in server if Path(f"/proc/{pid}/comm").read_text().startswith("python"))
    os.kill(victim, signal.SIGKILL)
    keeping.until(lambda: not Path(f"/proc/{victim}").exists())
    newest = keeping.events("step")[-1]["step"]
    keeping.until_step(newest + 10)

    assert len(left(pids, 0)) == len(pids)
    assert len(keeping.events("generation_start")) == 1


def test_a_cancelled_script_that_looks_at_nothing_is_ended(keeping):
    """It hears SIGTERM at once; nobody waits for a grace that it does not use."""
    (keeping.folder / "cancelled").touch()

    assert keeping.process.wait(timeout=150) == 143  # the grace is ten minutes
    assert keeping.outcome()["outcome"] == "cancelled"
    assert left(keeping.processes()) == []


def test_a_script_that_heeds_nothing_is_killed_after_the_grace(local_run):
    """Of 15 s, less the 10 that Slurm would need; and nothing of it is left."""
    local_run.start(script=KEEPING, nodes=1, grace_s=15, env={"KEEPING_DEAF": "1"})
    local_run.until(lambda: {event["rank"] for event in local_run.events("step")} == {0, 1})
    pids, asked = started(local_run, {0, 1}), time.time()
    os.kill(local_run.process.pid, signal.SIGINT)

    assert local_run.process.wait(timeout=150) == 143
    (ended,) = local_run.events("generation_end")
    assert ended["reason"] == "stopped"
    assert ended["time"] - asked >= 5
    assert left([*pids, *local_run.processes()]) == []


def test_an_interrupted_wright_train_leaves_nothing(tmp_path):
    """Ctrl-C in a terminal: SIGINT to the whole foreground group."""
    job = {"name": "keep", "command": [str(KEEPING)], "gpus_per_node": 2, "time": "10m"}
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    mark = f"LEFTOVERS={tmp_path}"
    with subprocess.Popen(
        [WRIGHT, "train", "job.yaml", "--local"], cwd=tmp_path, env={**os.environ, "LEFTOVERS": str(tmp_path)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        end = time.monotonic() + 90
        while not list(tmp_path.glob("runs/*/events/rank-1-*")) and time.monotonic() < end:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(timeout=150)

    assert code == 143
    assert left(marked(mark)) == []


def marked(mark):
    """Processes with this in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
