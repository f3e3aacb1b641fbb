"""A lab that fixes itself: real faults of real hosts, `wright heal watch` as a process of its own, and as a unit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.edge.secrets import state_folder

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]

HEAL = """
heal:
  mode: act
  allow: [restart-service, drain, reset-gpu, reboot, reapply, replace, requeue]
  max_unavailable_percent: 67
  poll_interval: 4s
  check_interval: 20s
  pause: 10s
  action_timeout: 10m
  spares: [gpu-node4]
"""
LIMIT_S = 420  # a machine that does ten other things at once takes minutes for a reboot
MAIN = "from clusterwright.cli import main; main()"
# The unit asks before it restarts anything, so that there is something to approve.
WATCHED = """
  allow: [drain, reboot]
  watch: true
  program: /usr/local/bin/wright
"""
UNIT = "clusterwright-heal.service"
PROGRAM = f"""#!/bin/sh
PYTHONPATH=/usr/local/lib/wright exec /opt/clusterwright/env/bin/python -c '{MAIN}' "$@"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory, example_lab):
    """Four hosts, of which one is a spare."""
    folder = tmp_path_factory.mktemp("heal")
    changes = {"lab:\n  # 100Gbit/s": f"{HEAL}\nlab:\n  # 100Gbit/s"}
    with example_lab(folder, "heal", "10.209", changes) as stands:
        yield stands


@contextmanager
def watching(site, folder):
    """The loop, as a user starts it; ended at the end, however it stands."""
    log = (folder / "watch.log").open("ab")
    env = {**os.environ, "XDG_STATE_HOME": str(folder)}
    words = (sys.executable, "-c", MAIN, "heal", "watch", "--cluster", str(site.file))
    process = subprocess.Popen(words, env=env, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        log.close()


def wright(*words, folder=None):
    """The command, as a user types it; with a folder, what this machine keeps of clusters is there."""
    env = os.environ | ({"XDG_STATE_HOME": str(folder)} if folder else {})
    argv = (sys.executable, "-c", MAIN, *map(str, words))
    return subprocess.run(argv, env=env, check=False, capture_output=True, text=True, timeout=600)


def journal(site, folder):
    """`wright heal log --json`."""
    said = wright("heal", "log", "--json", "--cluster", site.file, folder=folder)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def done(site, folder, host):
    """What was done to a host, in order."""
    return [
        f"{deed['action']} {deed['of']}".strip()
        for deed in journal(site, folder)["actions"]
        if deed["host"] == host and deed["state"] == "done"
    ]


def states(site):
    """Each host's state and reason, as Slurm has them."""
    rows = site.sh("control", "sinfo --noheader --Node --format='%N|%T|%E'").splitlines()
    return {row.split("|")[0]: tuple(row.split("|")[1:]) for row in rows}


def until(what, said):
    """Until it is so, and what it is then; else the test fails with what the loop said."""
    end = time.monotonic() + LIMIT_S
    while not (found := what()):
        assert time.monotonic() < end, said()[-3000:]
        time.sleep(1)
    return found


def of_log(folder):
    """What `watching` keeps of what the loop says."""
    return lambda: Path(folder, "watch.log").read_text()


def test_a_cluster_in_trouble_mends_itself(site, tmp_path):
    """A GPU lost under a job: drained, the job goes elsewhere, rebooted, checked, given back.

    One with an ECC error is reset; a munge key that somebody has opened to all is put right by applying again.
    The loop is killed in the middle of it and started again: each is done once.
    """
    site.rest()
    shutil.copytree(state_folder(site.cluster.name), tmp_path / "clusterwright" / site.cluster.name)
    site.sh("control", "scontrol update nodename=gpu-node4 state=drain reason='wright: spare'")
    job = site.sh("control", "sbatch --parsable --requeue -x gpu-node2 -D /tmp --wrap 'sleep 1000'").strip()
    runs = f"until [ $(squeue -h -j {job} -o %T) = RUNNING ]; do sleep 0.5; done; squeue -h -j {job} -o %N"
    sick = site.sh("control", runs, timeout_s=120).strip()
    other = next(host for host in ("gpu-node1", "gpu-node3") if host != sick)
    said = of_log(tmp_path)

    lab.fault(site.cluster.name, "gpu-lost", sick, gpu="1")
    lab.fault(site.cluster.name, "gpu-ecc", other, gpu="2")
    with watching(site, tmp_path) as first:
        until(lambda: done(site, tmp_path, sick)[:1] == ["drain"], said)
        first.send_signal(signal.SIGKILL)
        first.wait()
    with watching(site, tmp_path):
        until(lambda: "return" in done(site, tmp_path, other), said)
        site.sh("gpu-node2", "chmod 444 /etc/munge/munge.key; systemctl restart munge; true")
        until(lambda: "return" in done(site, tmp_path, sick), said)
        fixed = states(site)[sick]
        # Slurm lets a requeued job wait for two minutes.
        now = site.sh(
            "control", f"scontrol update jobid={job} starttime=now || true; {runs}", timeout_s=180
        ).strip()
        until(lambda: "return" in done(site, tmp_path, "gpu-node2"), said)
    site.sh("control", f"scancel {job}")
    right = done(site, tmp_path, "gpu-node2")

    assert fixed[0].startswith("idle")
    assert now != sick
    assert done(site, tmp_path, sick) == ["drain", f"requeue {job}", "reboot", "return"]
    assert done(site, tmp_path, other) == ["drain", "reset-gpu gpu 2", "return"]
    assert right[:2] + right[-1:] == ["drain", "reapply", "return"]  # slurmd may be started anew in between
    assert len(right) == len(set(right))
    assert (
        site.sh("gpu-node2", "stat -c %a /etc/munge/munge.key; systemctl is-active munge") == "400\nactive\n"
    )


def test_a_host_that_is_gone_is_replaced_and_what_is_a_persons_is_left(site, tmp_path):
    """The share lets one more host be out beside the person's; the control host's fault is only told."""
    site.rest()
    said, told = of_log(tmp_path), lambda: journal(site, tmp_path)["notifications"]
    site.sh("control", "scontrol update nodename=gpu-node4 state=drain reason='wright: spare'")
    site.sh("control", "scontrol update nodename=gpu-node1 state=drain reason='fan broken'")
    lab.fault(site.cluster.name, "gpu-lost", "gpu-node1", gpu="1")
    site.sh("control", "systemctl stop prometheus-node-exporter")
    lab.fault(site.cluster.name, "kill-host", "gpu-node3")

    try:
        with watching(site, tmp_path):
            until(lambda: "replace gpu-node4" in done(site, tmp_path, "gpu-node3"), said)
            lab.fault(site.cluster.name, "gpu-lost", "gpu-node2", gpu="0")
            until(lambda: any(tell["topic"] == "held-back" for tell in told()), said)
            until(lambda: any(tell["host"] == "control" for tell in told()), said)
            out = states(site)
            lab.undo(site.cluster.name, "gpu-node3")
            until(lambda: "return" in done(site, tmp_path, "gpu-node3"), said)
    finally:
        site.sh("control", "systemctl start prometheus-node-exporter")

    assert out["gpu-node1"] == ("drained", "fan broken")
    assert out["gpu-node4"][0] == "idle"
    assert out["gpu-node2"][0] in ("idle", "mixed")
    assert done(site, tmp_path, "gpu-node1") == []
    assert done(site, tmp_path, "control") == []
    assert done(site, tmp_path, "gpu-node3")[:2] == ["drain", "replace gpu-node4"]
    assert [tell["host"] for tell in told() if tell["topic"] == "held-back"] == ["gpu-node2"]


def put_wright(site):
    """This Clusterwright is on the control host, with the Python that the lab's hosts have."""
    source = Path(lab.__file__).parents[2]
    packed = subprocess.run(
        ("tar", "-C", str(source), "--exclude=__pycache__", "-cz", "clusterwright"), check=True, capture_output=True
    ).stdout  # fmt: skip
    unpack = "mkdir -p /usr/local/lib/wright && tar -xz -C /usr/local/lib/wright"
    assert site.remote.run("control", unpack, stdin=packed).ok
    put = "cat > /usr/local/bin/wright && chmod 755 /usr/local/bin/wright && wright --version"
    assert site.remote.run("control", put, stdin=PROGRAM.encode()).ok


@pytest.fixture
def unit(site, tmp_path):
    """The lab with the unit on its control host; what apply says before the program is there is kept in a file."""
    site.rest()
    file = tmp_path / "cluster.yaml"
    before, allow, after = site.file.read_text().partition("\n  allow: ")
    assert allow
    file.write_text(before + WATCHED + after.partition("\n")[2])
    told = wright("apply", "--cluster", file, "-y")
    (tmp_path / "absent").write_text(told.stdout + told.stderr)
    put_wright(site)
    now = wright("apply", "--cluster", file, "-y")
    try:
        assert now.returncode == 0, now.stdout + now.stderr
        yield replace(site, file=file)
    finally:
        site.sh("control", f"systemctl disable --now {UNIT}")


def test_the_unit_mends_is_killed_waits_for_slurmctld_and_hears_a_person(unit, tmp_path):
    """Everything that a person says to it goes from here over ssh; it asks the hosts with a key of its own."""
    key = unit.sh("control", "ssh-keygen -lf /etc/clusterwright/heal/key").split()[1]
    said = lambda: unit.sh("control", f"journalctl -o cat -u {UNIT}")
    ours = lambda host: done(unit, None, host)
    assert "install Clusterwright on this host" in (tmp_path / "absent").read_text()
    assert unit.sh("control", f"systemctl is-active {UNIT}").strip() == "active"

    unit.sh("gpu-node2", "systemctl stop prometheus-node-exporter")
    waits = lambda: [deed for deed in journal(unit, None)["actions"] if deed["state"] == "proposed"]
    proposed = until(waits, said)
    plan = wright("heal", "--plan", "--cluster", unit.file)
    approved = wright("heal", "approve", proposed[0]["id"], "--cluster", unit.file)
    until(lambda: ours("gpu-node2"), said)

    lab.fault(unit.cluster.name, "gpu-lost", "gpu-node1", gpu="1")
    until(lambda: "drain" in ours("gpu-node1"), said)
    unit.sh("control", f"kill -9 $(systemctl show -P MainPID {UNIT}); systemctl stop slurmctld")
    time.sleep(60)
    away = ours("gpu-node1")
    unit.sh("control", "systemctl start slurmctld")
    until(lambda: "return" in ours("gpu-node1"), said)
    restarts = unit.sh("control", f"systemctl show -P NRestarts {UNIT}; systemctl stop {UNIT}")
    back = next(deed for deed in journal(unit, None)["actions"] if deed["action"] == "return")
    undone = wright("heal", "undo", back["id"], "--cluster", unit.file)

    assert (proposed[0]["host"], proposed[0]["action"]) == ("gpu-node2", "restart-service")
    assert plan.returncode == 0
    assert "proposed: not in heal.allow" in plan.stdout
    assert approved.returncode == 0, approved.stderr
    assert ours("gpu-node2") == ["restart-service prometheus-node-exporter.service"]
    assert "return" not in away
    assert int(restarts) >= 1
    assert "slurmctld responds again" in said().partition("slurmctld does not respond: waiting")[2]
    assert undone.returncode == 0, undone.stderr
    assert ours("gpu-node1") == ["drain", "reboot"]  # the return is undone, and each was made once
    assert states(unit)["gpu-node1"][0] == "drained"
    assert states(unit)["gpu-node1"][1].startswith(f"wright: heal #{back['id']} gpu_lost")
    assert key in unit.sh("gpu-node2", "journalctl -o cat -u ssh | grep 'Accepted publickey for root'")
