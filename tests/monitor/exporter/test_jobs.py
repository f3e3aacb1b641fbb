"""Jobs by their control groups, in both versions, from trees as Slurm makes them."""

import os
import subprocess

import pytest

from clusterwright.onhost.exporter import cgroups, job_records
from clusterwright.onhost.exporter.collectors import jobs

GIB = 2**30


class Host:
    """A host's /sys/fs/cgroup and /proc as files."""

    def __init__(self, folder, version, top=""):
        self.folder, self.version, self.top = folder, version, top

    def put(self, path, text):
        """A file of the kernel's."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(str(text))

    def job(self, number, *, pid=0, cpu_s=5, used=3 * GIB, cache=GIB, limit=16 * GIB, ooms=0, uid=1001):
        """A job with one step and one process in it."""
        if self.version == 2:
            at = f"cgroup/{self.top}system.slice/slurmstepd.scope/job_{number}"
            self.put(f"{at}/cpu.stat", f"usage_usec {int(cpu_s * 1e6)}\nuser_usec 1\n")
            self.put(f"{at}/memory.current", used)
            self.put(
                f"{at}/memory.stat", f"anon 1\ninactive_file {cache // 4}\nactive_file {cache - cache // 4}\n"
            )
            self.put(f"{at}/memory.max", limit or "max")
            self.put(f"{at}/memory.events", f"low 0\noom 9\noom_kill {ooms}\n")
            self.put(f"{at}/cpuset.cpus.effective", "0-3,8")
            self.put(f"{at}/step_0/user/task_0/cgroup.procs", f"{pid}\n")
            return
        at = f"{self.top}slurm/uid_{uid}/job_{number}"
        self.put(f"cgroup/cpuacct/{at}/cpuacct.usage", int(cpu_s * 1e9))
        self.put(f"cgroup/memory/{at}/memory.usage_in_bytes", used)
        self.put(
            f"cgroup/memory/{at}/memory.stat",
            f"cache 1\ntotal_inactive_file {cache // 4}\ntotal_active_file {cache - cache // 4}\n",
        )
        self.put(f"cgroup/memory/{at}/memory.limit_in_bytes", limit or 9223372036854771712)
        self.put(f"cgroup/memory/{at}/step_0/memory.oom_control", f"oom_kill_disable 0\noom_kill {ooms}\n")
        self.put(f"cgroup/memory/{at}/step_0/task_0/cgroup.procs", f"{pid}\n")
        self.put(f"cgroup/cpuset/{at}/cpuset.cpus", "0-3,8")

    def process(self, pid, *, started=7, ticks=300, read=100, written=50, **environ):
        """A process, and what Slurm has told it."""
        self.put(
            f"proc/{pid}/stat",
            f"{pid} (py) name) S "
            + " ".join(["0"] * 10 + [str(ticks), "0"] + ["0"] * 6 + [str(started), "0"]),
        )
        self.put(f"proc/{pid}/io", f"rchar: 1\nread_bytes: {read}\nwrite_bytes: {written}\n")
        self.put(f"proc/{pid}/environ", "\0".join(f"{name}={value}" for name, value in environ.items()))

    def gpus(self, count=4):
        """The driver's files: the order of the bus is not that of the device files."""
        for index in range(count):
            minor = count - 1 - index
            self.put(
                f"proc/driver/nvidia/gpus/0000:{index + 16:02x}:00.0/information",
                f"GPU UUID: \t GPU-{index}\nDevice Minor: \t {minor}\n",
            )


# A user's program has the environment that the user chooses.
LIES = {
    "SLURM_JOB_ID": "42", "SLURM_JOB_ACCOUNT": "otherteam", "SLURM_JOB_PARTITION": "other", "SLURM_JOB_NAME": "other",
    "SLURM_JOB_GPUS": "0,1,2,3", "SLURM_STEP_GPUS": "0,1,2,3", "SLURM_CPUS_ON_NODE": "999",
}  # fmt: skip
SQUEUE = """#!/bin/sh
echo "$*" >>%s
for argument; do case $argument in --format=*) mark=${argument#--format=}; mark=${mark%%%%"%%"*} ;; esac; done
printf '%%s42|language|train|RUNNING|gpt\n99|evil|evil|RUNNING|x\n' "$mark"
"""


@pytest.fixture(params=[1, 2])
def host(tmp_path, request):
    """With control groups of that version."""
    return Host(tmp_path, request.param)


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """The file of squeue's calls; its job 42 has a line feed and a row in its name."""
    program = tmp_path / "bin" / "squeue"
    program.parent.mkdir()
    program.write_text(SQUEUE % (tmp_path / "calls"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return tmp_path / "calls"


@pytest.fixture
def look(settings, samples, squeue):
    """`look(state)`: one round."""
    return lambda state: samples(jobs.collect(settings(slurmd=True), state))


def test_a_job_has_what_its_groups_say(host, look):
    """Processor time, memory without file pages, limits, processors."""
    host.job(42, pid=77, ooms=2)
    host.process(77, **LIES)
    found = look({})

    job = ("job", "42")
    assert found["job_cpu_seconds_total", job] == 5
    assert found["job_memory_bytes", job] == 2 * GIB
    assert found["job_memory_limit_bytes", job] == 16 * GIB
    assert found["job_cpus", job] == 5
    assert found["job_oom_kills_total", job] == 2
    assert found["job_read_bytes_total", job] == 100
    (info,) = [dict(key[1:]) for key in found if key[0] == "job_info"]
    assert (info["account"], info["partition"]) == ("language", "train")
    assert info["name"].startswith("gpt")


def test_a_job_without_a_limit_has_none(host, look):
    """The largest number of pages there is, or the word `max`."""
    host.job(42, pid=77, limit=None)

    assert ("job_memory_limit_bytes", ("job", "42")) not in look({})


def test_its_gpus_are_found_by_their_device_files(host, look):
    """Slurm counts those; NVML, and so every other family, counts along the bus."""
    host.job(42, pid=77)
    host.process(77, **LIES)
    host.gpus()
    host.put("hooks/jobs/42.held", "0,3\n")
    held = {(dict(key[1:])["gpu"], dict(key[1:])["uuid"]) for key in look({}) if key[0] == "gpu_job_info"}

    assert held == {("3", "GPU-3"), ("0", "GPU-0")}


def test_no_process_of_a_job_names_its_gpus(host, look):
    """The prolog does, as root; a user would take another's."""
    host.job(42, pid=77)
    host.process(77, **LIES)
    host.gpus()
    assert not [key for key in look({}) if key[0] == "gpu_job_info"]

    host.put("hooks/jobs/42.held", "2\n")
    assert [dict(key[1:])["gpu"] for key in look({}) if key[0] == "gpu_job_info"] == ["1"]


def test_slurm_is_queried_once_for_a_job(host, look, squeue):
    """And for one that it does not know, again after a minute: many hosts must not flood a controller that is down."""
    state = {}
    host.job(42, pid=77)
    for _ in range(3):
        look(state)
    assert len(squeue.read_text().splitlines()) == 1

    host.job(43, pid=78)
    for _ in range(3):
        found = look(state)
    assert len(squeue.read_text().splitlines()) == 2
    assert {dict(key[1:])["account"] for key in found if key[0] == "job_info"} == {"language", ""}


def test_new_jobs_by_the_second_make_few_queries(monkeypatch):
    """All hosts query the same slurmctld: a few in a row, then one a minute."""
    now, queries = [1_000.0], []
    monkeypatch.setattr(job_records.time, "monotonic", lambda: now[0])  # the real one takes an hour

    def squeue(argv, _limit_s):
        queries.append(argv[argv.index("--all") + 2])
        mark = argv[-1].removeprefix("--format=").partition("%")[0]
        return "".join(
            f"{mark}{number}|a|b|RUNNING|c\n" for number in queries[-1].partition("=")[2].split(",")
        )

    monkeypatch.setattr(job_records, "command_output", squeue)  # a program would take a minute in all
    records = job_records.JobRecords()
    for number in range(360):  # an hour, a new job each ten seconds
        records.update([str(number), str(number + 1)])
        now[0] += 10
    assert len(queries) <= job_records.BURST + 60

    now[0] += 600
    records.update(["999"])
    assert records.find("999").account == "a"


def test_sums_do_not_fall_when_processes_end(host, look, tmp_path):
    """Nor when a number is given to another process."""
    state = {}
    host.job(42, pid=77)
    host.process(77, read=100, **LIES)
    assert look(state)["job_read_bytes_total", ("job", "42")] == 100
    host.process(77, started=9, read=30, **LIES)
    assert look(state)["job_read_bytes_total", ("job", "42")] == 130
    host.job(42, pid=78)
    assert look(state)["job_read_bytes_total", ("job", "42")] == 130


def test_network_bytes_are_a_jobs_only_while_it_is_alone(host, look):
    """And not what came before."""
    state, key = {}, ("job_received_bytes_total", ("job", "42"))
    for name, received in (("eth0", 1000), ("lo", 5)):
        host.put(f"net/{name}/statistics/rx_bytes", received)
        host.put(f"net/{name}/statistics/tx_bytes", 1)
    host.job(42, pid=77)
    look(state)
    host.put("net/eth0/statistics/rx_bytes", 1700)
    assert look(state)[key] == 700
    host.job(43, pid=79)
    host.put("net/eth0/statistics/rx_bytes", 9000)

    assert key not in look(state)


def test_a_job_that_ended_is_forgotten(host, look, tmp_path):
    """Its memory too."""
    state = {}
    host.job(42, pid=77)
    look(state)
    subprocess.run(["rm", "-r", str(tmp_path / "cgroup")], check=True)
    (tmp_path / "cgroup").mkdir()

    assert look(state) == {}
    assert state["jobs"] == {}


@pytest.mark.parametrize("top", ["", "lxc/host/"])
@pytest.mark.parametrize("version", [1, 2])
def test_groups_are_found_inside_a_container_too(tmp_path, version, top):
    """Where another group lies above Slurm's."""
    host = Host(tmp_path, version, top)
    host.job(7)
    host.job(12)

    assert [group.job for group in cgroups.jobs(str(tmp_path / "cgroup"))] == ["7", "12"]


def test_without_accounting_groups_the_processes_are_added_up(tmp_path, settings, samples):
    """Version 1 where nobody asked for cpuacct: Slurm then makes no such group."""
    host = Host(tmp_path, 1)
    host.put("cgroup/memory/slurm/uid_1001/job_42/step_0/cgroup.procs", "77\n")
    host.process(77, ticks=300, **LIES)
    found = samples(jobs.collect(settings(slurmd=True), {}))

    assert found["job_cpu_seconds_total", ("job", "42")] == 300 / os.sysconf("SC_CLK_TCK")
