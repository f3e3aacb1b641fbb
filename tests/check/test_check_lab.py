"""On real hosts: all green when applied; what hangs or is gone holds up nothing else. Faults: test_campaign_lab.py."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from clusterwright.check import run
from clusterwright.check.registry import all_checks
from clusterwright.check.verdict import Status

pytestmark = [pytest.mark.lab, pytest.mark.core, pytest.mark.timeout(600)]

WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()")
QUICK = tuple(
    each.id for each in all_checks() if each.id != "torch_imports"
)  # its 2 s of processor a host add nothing


def wright(*arguments):
    """The command, as a user runs it."""
    argv = [*WRIGHT, *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)


@contextmanager
def damaged(remote, host, damage, undo):
    """The host is damaged inside, and fixed after."""
    try:
        done = remote.run(host, damage)
        assert done.ok, done.err
        yield
    finally:
        done = remote.run(host, undo)
        assert done.ok, done.err


def not_green(verdicts):
    """What needs a look: status, check and subject."""
    return {
        (v.status.value, v.check, v.subject) for v in verdicts if v.status not in (Status.OK, Status.SKIPPED)
    }


def test_an_applied_lab_is_all_green(lab_cluster):
    """By the command: exit code 0, nothing failed, unknown or to be warned of; no token is left behind."""
    done = wright("check", "--cluster", lab_cluster.file, "--json")
    document = json.loads(done.stdout)

    assert [v for v in document["verdicts"] if v["status"] not in ("ok", "skipped")] == []
    assert done.returncode == 0
    assert document["counts"]["ok"] > 100
    assert lab_cluster.sh("control", "find /shared -name '.wright-check*'") == ""


def test_a_tool_that_hangs_is_named_and_holds_up_nothing_else(lab_cluster):
    """Its own check is unknown; everything else is judged."""
    cluster, remote = lab_cluster.cluster, lab_cluster.remote
    wedge = "printf '#!/bin/sh\\nsleep 300\\n' > /usr/local/bin/uname; chmod +x /usr/local/bin/uname"

    with damaged(remote, "gpu-node1", wedge, "rm /usr/local/bin/uname"):
        verdicts = run(
            cluster, remote, hosts=["gpu-node1"], only=["kernel_equal", "interfaces", "munge_on_host"]
        )
        left = remote.run("gpu-node1", "pgrep -f 'sleep 300'")

    found = {v.check: v for v in verdicts}
    assert found["kernel_equal"].observed == "`uname -r` exceeded its time limit of 10 s"
    assert found["kernel_equal"].status is Status.UNKNOWN
    assert found["interfaces"].status is found["munge_on_host"].status is Status.OK
    assert left.out == ""


def test_a_killed_host_fails_ssh_and_is_otherwise_unknown(lab_cluster):
    """Its peers are judged as before; what only looks towards it says so."""
    cluster, remote = lab_cluster.cluster, lab_cluster.remote
    wright("lab", "fault", "kill-host", "gpu-node4", "--name", cluster.name)
    try:
        verdicts = run(cluster, remote, only=QUICK)
    finally:
        wright("lab", "fault", "undo", "gpu-node4", "--name", cluster.name)
    of_it = {v.check: v.status for v in verdicts if v.subject == "gpu-node4"}
    others = {(status, check, host) for status, check, host in not_green(verdicts) if host != "gpu-node4"}

    assert of_it["ssh"] is Status.FAIL
    assert {check for check, status in of_it.items() if status is Status.FAIL} <= {"ssh", "node_states"}
    assert all(
        status in (Status.FAIL, Status.UNKNOWN, Status.SKIPPED)
        for check, status in of_it.items()
        if check
        not in (
            "node_states",
            "node_resources",
        )  # slurmctld still speaks for it, until its silence is noticed
    )
    assert others == {("fail", "ports_open", "control")}
    deadline = time.monotonic() + 120
    while left := not_green(run(cluster, remote, only=QUICK)):
        assert time.monotonic() < deadline, left
        time.sleep(2)
