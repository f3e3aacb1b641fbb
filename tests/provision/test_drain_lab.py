"""A change that wants empty hosts, on hosts where jobs run."""

import pytest

from clusterwright.provision.carry import DisruptionPolicy

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

FEWER_GPUS = {"nodes.a100.gpus.count": 2}


def states(site):
    """Each compute host's state and reason, as Slurm has them."""
    rows = site.sh("control", "sinfo --noheader --Node --format='%N|%T|%E'").splitlines()
    return {row.split("|")[0]: row.split("|")[1:] for row in rows}


def test_hosts_with_jobs_are_left_out_or_drained_and_given_back(site):
    """Without --drain the job's host is named and not touched; with it, it is emptied, changed and idle again.

    What a person has drained stays drained. With more GPUs again, slurmctld takes out hosts whose slurmd has not
    read that yet: they are given back too.
    """
    site.apply()
    job = site.sh("control", "sbatch --parsable -w gpu-node2 -N1 -D /tmp --wrap 'sleep 600'").strip()
    runs = f"until [ $(squeue --noheader --job {job} --format=%T) = RUNNING ]; do sleep 0.5; done"
    site.sh("control", runs, timeout_s=90)
    site.sh("control", "scontrol update nodename=gpu-node3 state=drain reason='fan broken'")
    said = []

    def say(words):
        said.append(words)
        if "waiting for jobs" in words:  # it drained, and sees the job
            site.sh("control", f"scancel {job}")

    try:
        first = site.apply(FEWER_GPUS)
        devices = site.sh("gpu-node2", "cat /etc/slurm/gres.conf")
        running = site.sh("control", f"squeue --noheader --job {job} --format=%T").strip()
        second = site.apply(FEWER_GPUS, policy=DisruptionPolicy(drain=True, wait_s=120, on_progress=say))
        after = states(site)
        third = site.apply()
        grown = states(site)
    finally:
        site.sh("control", f"scancel {job}; scontrol update nodename=gpu-node3 state=resume")

    assert (first.ok, [host.host for host in first.left_out]) == (True, ["gpu-node2"])
    assert f"jobs run there ({job})" in first.left_out[0].left_out
    assert running == "RUNNING"
    assert "nvidia[0-3]" in devices or "nvidia3" in devices
    assert (second.ok, second.left_out, [host.host for host in second.hosts if host.changes]) == (
        True,
        (),
        ["gpu-node2"],
    )
    assert any(f"waiting for jobs {job}" in line for line in said)
    assert after["gpu-node2"][0].rstrip("*") in ("idle", "mixed")
    assert after["gpu-node3"] == ["drained", "fan broken"]
    assert third.ok
    assert [grown[host][0].rstrip("*") for host in ("gpu-node1", "gpu-node2", "gpu-node4")] == ["idle"] * 3
    assert grown["gpu-node3"][0] == "drained"
