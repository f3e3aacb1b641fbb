"""A user without root on a Slurm cluster that Clusterwright did not build: train, follow, lose a host, cancel."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import clusterwright
from clusterwright import lab
from clusterwright.lab.able import able
from clusterwright.lab.state import folder

HERE = Path(__file__).parent
COUNTING = HERE.parents[1] / "onhost" / "supervisor" / "counting.py"
NAME, PYTHON, HOME = "foreign", "/opt/clusterwright/env/bin/python", "/home-of-all/bob"
TEXT = """name: foreign
networks:
  management: {subnet: 10.214.0.0/24, rate: 1Gbit/s}
nodes:
  control: {role: control, hosts: slurm-ctl, addresses: {management: 10.214.0.10}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
  nodes: {role: compute, hosts: "n[1-3]", addresses: {management: 10.214.0.11}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
storage:
  home: {kind: local, path: /home-of-all}
partitions:
  debug: {nodes: [nodes], default: true}
lab: {}
"""
MISSING = able()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.core,
    pytest.mark.train,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


def homes(_remote):
    """The folder of all homes, on this machine: one that the hosts share."""
    return folder(NAME) / "shared" / "home-of-all"


def test_the_cluster_is_learned_from_slurm(bob):
    """Without a file, `jobs` answers; what was learned is in the cache of the user, who alone reads it."""
    assert "no job is queued" in bob.wright("jobs")
    kept = bob.home / ".cache" / "clusterwright" / "slurm" / "here.json"
    document = json.loads(kept.read_text())
    assert document["shared"] == f"{HOME}/wright"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "+ cpu-4" in bob.wright("top", "--batch")


def test_a_training_runs_and_ends(bob):
    """Two hosts, an agent from the folder of the runs, steps, an end: seen by every command that a user has."""
    name = bob.count(20)
    bob.until(lambda out: "finished" in out, "status", name)
    assert "rank 1 of 2 from step 0" in bob.wright("logs", name)
    bob.until(lambda out: "finished" in out, "jobs")  # the job is completing for a while
    assert "no failure" in bob.wright("why", name)
    assert "State: finished" in bob.wright("report", "job", name)
    assert (bob.home / "wright" / "runs" / name).stat().st_mode & 0o7777 == 0o700


def test_a_lost_host_is_replaced_by_a_standby_host(bob):
    """A host without power ends nothing: the training goes on with another host, from its checkpoint."""
    name = bob.count(10_000, "--set", "recovery.spare_nodes=1", "--set", "recovery.on_host_loss=spare")
    bob.until(lambda out: "generation  1" in out and "step        none" not in out, "status", name)
    events = (bob.home / "wright" / "runs" / name / "events").glob("supervisor-*.jsonl")
    lines = [json.loads(line) for file in events for line in file.read_text().splitlines()]
    batch = next(line["host"] for line in lines if line["event"] == "job_start")
    members = next(line["hosts"] for line in lines if line["event"] == "generation_start")
    victim = next(host for host in members if host != batch)
    lab.fault(NAME, "kill-host", victim)
    try:
        bob.until(lambda out: "generation  2" in out and f"lost {victim}" in out, "status", name)
        (bob.home / "wright" / "runs" / name / "enough").touch()
        bob.until(lambda out: "finished" in out, "status", name)
        resumed = [line for line in bob.wright("logs", name).splitlines() if "rank 0 of 2 from step" in line]
        assert int(resumed[-1].rsplit(" ", 1)[1]) > 0
        assert f"host {victim} was lost" in bob.wright("status", name)
    finally:
        lab.undo(NAME, victim)


def test_a_run_is_canceled(bob):
    """`cancel` ends the user's run with a checkpoint, and its successor job with it."""
    name = bob.count(10_000)
    bob.until(lambda out: "generation  1" in out, "status", name)
    assert f"canceled {name}" in bob.wright("cancel", name)
    bob.until(lambda out: "cancelled" in out.splitlines()[1], "status", name)


def test_from_a_laptop_the_login_host_is_enough(bob, tmp_path, monkeypatch):
    """`--cluster ssh://bob@HOST` submits the code of this machine by plain ssh and follows the run to its end."""
    bob.remote.run(
        "slurm-ctl", f"install -d -o bob -m 700 {HOME}/.ssh; cp /root/.ssh/authorized_keys {HOME}/.ssh/"
    )
    bob.remote.run("slurm-ctl", f"chown -R bob {HOME}/.ssh")
    ssh, config = shutil.which("ssh"), folder(NAME) / "ssh_config"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text(f'#!/bin/sh\nexec {ssh} -F {config} "$@"\n')
    (tmp_path / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLUSTERWRIGHT_CLUSTER", "ssh://bob@slurm-ctl")
    monkeypatch.setenv("PYTHONPATH", str(Path(clusterwright.__file__).parents[1]))
    (tmp_path / "project").mkdir()
    shutil.copy(COUNTING, tmp_path / "project")
    options = ("--nodes", "2", "--gpus", "1", "--time", "10m", "--name", "laptop", "--follow")
    line = ("train", *options, "--set", 'checkpoint.every="5 steps"', "--", PYTHON, "counting.py", "5", "0.2")
    command = (sys.executable, "-m", "clusterwright", *line)
    result = subprocess.run(
        command, cwd=tmp_path / "project", capture_output=True, text=True, timeout=180, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "rank 1 of 2 from step 0" in result.stdout
    listed = subprocess.run(
        (*command[:3], "jobs"), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "laptop" in listed.stdout
    assert (tmp_path / ".cache" / "clusterwright" / "slurm" / "bob@slurm-ctl.json").exists()


def test_hosts_are_checked_by_a_job(bob):
    """Each free node reads its facts as bob in his job; what needs root is skipped with its reason."""
    only = ("kernel_equal", "free_space", "shared_folders", "node_states", "munge_key_equal")
    options = [word for name in only for word in ("--only", name)]
    end, idle = time.monotonic() + 60, []
    while len(idle) < 2 and time.monotonic() < end:  # those of the last job are completing
        nodes = sorted(set(bob.remote.run("slurm-ctl", "sinfo -h -N -o '%N %t'").out.splitlines()))
        idle = [node.split()[0] for node in nodes if node.endswith(" idle")][:2]
        time.sleep(0.5)
    assert len(idle) == 2, nodes
    out = bob.wright("check", "--hosts", ",".join(idle), "--json", "--quiet", *options)
    document = json.loads(out[out.index("{") :])
    verdicts = {(row["check"], row["subject"]): row for row in document["verdicts"]}
    for name in ("kernel_equal", "free_space", "shared_folders", "node_states"):
        for host in idle:
            assert verdicts[name, host]["status"] == "ok", verdicts[name, host]
    (skipped,) = (row for (name, _subject), row in verdicts.items() if name == "munge_key_equal")
    assert (skipped["status"], skipped["observed"]) == ("skipped", "the check needs root on the host")
    assert document["counts"]["fail"] == 0


def test_two_hosts_are_measured_by_a_job(bob):
    """`bench network` of two idle hosts: both directions, in bob's allocation; without a rate nothing is judged."""
    out = bob.wright("bench", "network", "--json", "--quiet", code=1)
    document = json.loads(out[out.index("{") :])
    assert len(document["hosts"]) == 2
    assert len(document["measurements"]) == 2
    assert all(row["value"] > 0 for row in document["measurements"])
    assert document["counts"]["fail"] == 0
    assert "network-unknown" in bob.wright("bench", "collectives", code=2)


def test_commands_of_administrators_need_a_file(bob):
    """`apply`, `diff` and `heal` change or inspect hosts as root: one error says what works instead."""
    for command in ("apply", "diff", "heal"):
        assert "unmanaged-cluster" in bob.wright(command, code=2)
