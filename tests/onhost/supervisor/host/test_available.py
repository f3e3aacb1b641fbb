"""The memory that a job can still allocate, by the files of cgroup v1 and v2."""

import pytest

from clusterwright.onhost.lib.job_cgroups import job_of_cgroups
from clusterwright.onhost.supervisor.host import available

V1 = "7:memory:/slurm_n1/uid_1000/job_7/step_0\n0::/system.slice/slurmd.service\n"
V2 = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"


@pytest.mark.parametrize(
    ("text", "job", "limit", "usage"),
    [(V1, "slurm_n1/uid_1000/job_7", "memory.limit_in_bytes", "memory.usage_in_bytes"),
     (V2, "system.slice/slurmstepd.scope/job_7", "memory.max", "memory.current")],
    ids=["v1", "v2"],
)  # fmt: skip
def test_the_limit_of_the_job_counts_for_its_tasks(tmp_path, monkeypatch, text, job, limit, usage):
    """Slurm sets it some levels above the process; a level without a limit sets none."""
    monkeypatch.setattr(available, "V1", str(tmp_path / "fs"))
    monkeypatch.setattr(available, "V2", str(tmp_path / "fs"))
    folder = tmp_path / "fs" / job
    folder.mkdir(parents=True)
    (folder / limit).write_text("1000\n")
    (folder / usage).write_text("400\n")
    (folder.parent / limit).write_text("max\n")
    (folder.parent / usage).write_text("900\n")
    (tmp_path / "cgroup").write_text(text)

    assert available._groups(str(tmp_path / "cgroup")) == [600]
    assert job_of_cgroups(text) == "7"
    prefix = "total_" if text == V1 else ""
    (folder / "memory.stat").write_text(f"anon 1\n{prefix}inactive_file 90\n{prefix}active_file 10\nx y z\n")
    assert available._groups(str(tmp_path / "cgroup")) == [700]  # cached files can be dropped
