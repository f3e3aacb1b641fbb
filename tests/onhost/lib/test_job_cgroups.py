"""The Slurm job of a process by its cgroup: one reader for all programs on hosts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clusterwright.onhost.exporter import cgroups
from clusterwright.onhost.lib.job_cgroups import job_of_cgroups, job_of_process
from clusterwright.onhost.probes import gpu_processes

HOOKS = Path(__file__).parents[3] / "src/clusterwright/provision/render/hooks/common"
SCOPE = "/system.slice/gpu-node1_slurmstepd.scope"
OF_USER = "/user.slice/user-1001.slice/user@1001.service"
GROUPS = {
    f"0::{SCOPE}/job_78/step_0/user/task_0": "78",
    "0::/system.slice/slurmstepd.scope/job_78": "78",
    "0::/machine.slice/a/system.slice/slurmstepd.scope/job_78/step_0": "78",
    "5:memory:/slurm_gpu-node1/uid_1001/job_78/step_0/task_0\n1:name=systemd:/a": "78",
    "5:cpu,cpuacct:/slurm/uid_1001/job_78": "78",
    f"0::{SCOPE}/job_7/step_0/job_78": "7",
    f"0::{SCOPE}/job_7/step_0/user/task_0{SCOPE}/job_78": "7",
    f"0::{SCOPE}/job_7/step_0/user/task_0/slurm/uid_0/job_78": "7",
    f"0::{OF_USER}{SCOPE}/job_78": "",
    f"0::{OF_USER}/app.slice/slurm/uid_1001/job_78/step_0": "",
    f"0::{OF_USER}/job_78": "",
    f"0::/machine.slice/a{OF_USER}{SCOPE}/job_78": "",
    f"1:name=systemd:{OF_USER}{SCOPE}/job_78\n5:memory:/slurm/uid_1001/job_8/step_0": "8",
    "0::/user.slice/user-1001.slice/session-3.scope": "",
    "0::/system.slice/job_78": "",
    f"0::{SCOPE}/job_٧٨": "",
    f"0::{SCOPE}/job_78x": "",
    f"0::{SCOPE}x/job_78": "",
    "0::/a/notslurm/uid_1/job_78": "",
    "0::/": "",
    f"{SCOPE}/job_78": "",
    "": "",
}


@pytest.mark.parametrize(("text", "job"), GROUPS.items())
def test_a_process_belongs_to_the_job_of_its_cgroup(text, job):
    """Users name the cgroups of their own services."""
    assert job_of_cgroups(f"{text}\n") == job


@pytest.mark.parametrize("awk", ["mawk", "gawk", "busybox awk"])
def test_the_shell_of_the_programs_around_jobs_reads_the_same(tmp_path, awk):
    """Else a group that a user makes would protect what is in it from the epilog."""
    if not shutil.which(awk.split()[0]):
        pytest.skip(f"{awk} is not here")
    text = HOOKS.read_text().replace('"/proc/$1/cgroup"', '"$1"').replace("  awk -F :", f"  {awk} -F :")
    (tmp_path / "common").write_text(text)
    found = {}
    for number, groups in enumerate(GROUPS):
        (tmp_path / f"{number}").write_text(f"{groups}\n")
        command = f". {tmp_path}/common; job_of {tmp_path}/{number}"
        found[groups] = subprocess.check_output(["sh", "-c", command], text=True, timeout=60).strip()

    assert found == GROUPS


def test_a_process_that_has_ended_has_no_cgroup(tmp_path):
    """Unlike a process of no job."""
    (tmp_path / "8").mkdir()
    (tmp_path / "8" / "cgroup").write_bytes(b"0::/\xff\n")

    assert (job_of_process(7, str(tmp_path)), job_of_process(8, str(tmp_path))) == (None, "")


def test_the_exporter_counts_no_group_of_a_user_as_a_job(tmp_path):
    """At every depth where it searches."""
    for controller, path in (
        ("", "system.slice/slurmstepd.scope/job_7"),
        ("", "user.slice/user@1.service/system.slice/slurmstepd.scope/job_9"),
        ("memory", "user.slice/a/slurm/uid_1/job_9"),
        ("memory", "user.slice/slurm/uid_1/job_9"),
        ("", "system.slice/slurmstepd.scope/job_7/step_0/job_9"),
        ("", "system.slice/slurmstepd.scope/job_9x"),
    ):
        (tmp_path / controller / path).mkdir(parents=True)

    assert [group.job for group in cgroups.jobs(str(tmp_path))] == ["7"]


def test_a_process_on_a_gpu_hides_behind_no_group_of_its_user(tmp_path, monkeypatch):
    """The check for processes of no job reports it: its user has named a group of the user's manager `job_78`."""
    monkeypatch.setattr(gpu_processes, "job_of_process", lambda pid: job_of_process(pid, str(tmp_path)))
    for pid, path in ((7, f"{OF_USER}{SCOPE}/job_78"), (8, f"{SCOPE}/job_78/step_0")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(f"0::{path}\n")

    assert [gpu_processes.process(f"GPU-a, {pid}, 500")["job"] for pid in (7, 8)] == ["", "78"]
