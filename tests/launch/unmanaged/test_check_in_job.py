"""`wright check` on a cluster learned from Slurm: a job of the user reads the facts, here on this machine."""

import json

import pytest
from tests.launch.unmanaged.conftest import wright

from clusterwright.check.bench.bench_job import HostRequest
from clusterwright.check.bench.script import JobResources, partition_of, script
from clusterwright.check.in_job import run_in_job, with_allocated_gpus
from clusterwright.check.registry import all_checks
from clusterwright.config.cluster import Unmanaged
from clusterwright.edge.ssh import LocalMachine
from clusterwright.launch.unmanaged.gather import learned_cluster
from clusterwright.onhost.probes import reader


def test_a_job_reads_the_facts_of_free_nodes(user):
    """Verdicts of the node that ran the job; the others are named; the job is canceled and leaves no folder."""
    only = ("kernel_equal", "memory_present", "services", "munge_key_permissions")
    result = wright(
        "check", "--cluster", "here", "--json", *(word for name in only for word in ("--only", name))
    )
    document = json.loads(result.stdout)
    verdicts = {
        (row["check"], row["subject"]): (row["status"], row["observed"]) for row in document["verdicts"]
    }

    assert result.returncode == 0, result.stderr
    assert verdicts["kernel_equal", "n1"][0] == verdicts["memory_present", "n1"][0] == "ok"
    assert verdicts["services", "tiny"] == (
        "skipped",
        "the check compares the hosts with a cluster file, and none was given",
    )
    assert verdicts["munge_key_permissions", "tiny"] == ("skipped", "the check needs root on the host")
    assert verdicts["python_agent", "n2"] == (
        "skipped",
        "the host was not checked: its node is drained in Slurm",
    )
    assert verdicts["python_agent", "n3"] == (
        "skipped",
        "the host was not checked, because it is allocated to a job",
    )
    assert "n2: the host was not checked: its node is drained in Slurm" in result.stderr
    assert (user.home / "canceled").read_text() == "7\n"
    assert list((user.home / "wright" / "bench").iterdir()) == []
    job = (user.home / "job.sh").read_text()
    assert "--exclusive" not in job
    assert "#SBATCH --mem=2G\n" in job
    assert "#SBATCH --time=0-00:10:00\n" in job


def test_a_job_that_waits_shows_slurms_reason_and_is_canceled(user):
    """After the longest wait; nothing stays in the queue."""
    (user.home / "job-record").write_text("JobId=7 JobState=PENDING Reason=QOSMaxJobsPerUserLimit\n")
    result = wright("check", "--cluster", "here", "--hosts", "n1", "--wait", "1s")
    err = result.stderr

    assert result.returncode == 1
    assert "job 7 is pending; Slurm's reason: QOSMaxJobsPerUserLimit" in err
    assert "bench-hosts-busy" in err
    assert (user.home / "canceled").read_text() == "7\n"


def test_an_interrupt_cancels_the_job(user):
    """Ctrl-C while the job runs."""
    cluster = learned_cluster(Unmanaged())

    def interrupt(_text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_job(cluster, LocalMachine(), HostRequest(hosts=("n1",)), log=interrupt)

    assert (user.home / "canceled").read_text() == "7\n"


def test_gpus_are_judged_by_what_the_job_has(tiny):
    """A job sees its own GPUs only; a whole host has all of them."""

    def gpus(**options):
        changed = with_allocated_gpus(tiny, ["g1"], HostRequest(allocation=JobResources(**options)))
        group = changed.host("g1").group
        return group.gpus.count if group.gpus else 0

    assert (gpus(is_exclusive=True), gpus(is_exclusive=False, gpus=2), gpus(is_exclusive=False)) == (4, 2, 0)
    text = script(
        tiny, ["g1"], "/f", limit_s=60, partition="gpu", allocation=JobResources("j", False, 2, "physics")
    )
    for line in ("--gres=gpu:2", "--account=physics", "--job-name=j", "--mem=2G"):
        assert f"#SBATCH {line}\n" in text
    assert "--exclusive" not in text


def test_the_partition_is_one_that_has_the_hosts(tiny):
    """Slurm's default partition, unless the hosts are in another one."""
    assert (partition_of(tiny), partition_of(tiny, ["g1"])) == ("debug", "gpu")


def test_checks_in_jobs_need_no_declaration(tiny):
    """No check that a job judges reads services, accounts or networks of a cluster file."""
    in_jobs = {check.id for check in all_checks() if check.in_jobs}

    assert {"gpu_ecc", "gpus_answer", "free_space", "node_states", "gpu_xids"} <= in_jobs
    assert not in_jobs & {
        "services",
        "interfaces",
        "users_present",
        "name_resolution",
        "munge_key_equal",
        "ssh",
    }


def test_a_users_commands_also_see_the_users_path(monkeypatch):
    """Slurm's commands may be in a folder of the site; root's are never looked for there."""
    monkeypatch.setenv("PATH", "/opt/site/bin")
    monkeypatch.setattr(reader.os, "geteuid", lambda: 1000)
    assert reader.environment()["PATH"].endswith(":/sbin:/bin:/opt/site/bin")
    monkeypatch.setattr(reader.os, "geteuid", lambda: 0)
    assert "/opt/site/bin" not in reader.environment()["PATH"]
