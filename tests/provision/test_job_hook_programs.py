"""The programs around jobs, run on this machine with a driver that replays recordings (tests/data/nvidia_smi)."""

import os
import pwd
import re
import resource
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.provision.job_hooks import DATA, EXAMPLE, UID, codes

from clusterwright.check.checks.gpu_ecc import gpu_ecc
from clusterwright.check.checks.gpu_remap import gpu_remap
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster
from clusterwright.provision.render.job_hooks import FOLDER, PROGRAMS, RING_BUFFER, hook_texts

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="the programs run as root"),
    pytest.mark.skipif(not shutil.which("flock"), reason="flock is not here (apt-get install util-linux)"),
]


def cut(hooks):
    """The cable of the compute network is out."""
    hooks.say("links/eth1/operstate", "down\n")
    hooks.more("NETWORKS='compute=10.77.1.0/24'\n")


def ports(hooks, *states):
    """Two ports are declared, and these are there."""
    hooks.more("RDMA_PORTS=2 RDMA_LAYER=InfiniBand\n")
    for number, state in enumerate(states):
        (hooks.folder / f"rdma/mlx5_{number}/ports/1").mkdir(parents=True)
        hooks.say(f"rdma/mlx5_{number}/ports/1/link_layer", "InfiniBand\n")
        hooks.say(f"rdma/mlx5_{number}/ports/1/state", f"{state}\n")


def as_user(*argv):
    """A process of the job's user."""
    return subprocess.Popen(["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups", *argv])


def test_prolog_and_epilog_on_a_sound_host(hooks):
    """A folder of the user's own, and nothing left of it; no word said."""
    before = hooks.run("prolog")
    folder = hooks.scratch / "jobs" / "7"
    status = folder.stat()
    after = hooks.run("epilog")

    assert (before.returncode, before.stderr) == (0, "")
    assert (status.st_uid, status.st_mode & 0o7777) == (UID, 0o700)
    assert (after.returncode, after.stderr) == (0, "")
    assert not list((hooks.scratch / "jobs").iterdir())
    assert {path.name for path in hooks.run_folder.iterdir()} == {"lock"}


def test_they_are_quick(hooks):
    """A prolog that is slow is a prolog that hangs (pain 12): a fraction of a second of CPU each."""
    for name in ("prolog", "epilog", "health"):
        was = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert hooks.run(name, PATH="/nowhere").returncode in (0, 1)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert now.ru_utime + now.ru_stime - was.ru_utime - was.ru_stime < 0.5, name


def test_a_job_that_comes_again_finds_an_empty_folder(hooks):
    """Requeued: the same number, and what it had written before is gone."""
    hooks.run("prolog")
    (hooks.scratch / "jobs" / "7" / "old").write_text("x")
    again = hooks.run("prolog")

    assert again.returncode == 0
    assert not list((hooks.scratch / "jobs" / "7").iterdir())


def test_a_disk_that_is_not_mounted_is_the_hosts_fault(hooks):
    """The folder under it is on the system's disk, which jobs would fill."""
    hooks.say("mounts", "/dev/sda1 / ext4 rw 0 0\n")
    done = hooks.run("prolog")

    assert (done.returncode, codes(done)) == (1, ["scratch-not-mounted"])


def test_a_folder_that_a_user_has_put_there_is_not_used(hooks):
    """Neither a link nor a folder of somebody else's: jobs would write where a user wants."""
    (hooks.scratch / "jobs").symlink_to("/tmp")
    done = hooks.run("prolog")

    assert (done.returncode, codes(done)) == (1, ["scratch-unsafe"])
    assert not Path("/tmp/7").exists()


def test_links_in_a_jobs_folder_are_not_followed(hooks):
    """What they point to stays."""
    precious = hooks.folder / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    hooks.run("prolog")
    (hooks.scratch / "jobs" / "7" / "way").symlink_to(precious)
    (hooks.scratch / "jobs" / "7" / "deep").mkdir()
    done = hooks.run("epilog")

    assert done.returncode == 0
    assert (precious / "file").read_text() == "kept"
    assert not list((hooks.scratch / "jobs").iterdir())


def test_a_job_folder_that_is_a_link_is_left_alone(hooks):
    """Only root could have made it, and root knows why."""
    hooks.run("prolog")
    (hooks.scratch / "jobs" / "7").rmdir()
    precious = hooks.folder / "precious"
    precious.mkdir()
    (hooks.scratch / "jobs" / "7").symlink_to(precious)

    assert hooks.run("epilog").returncode == 0
    assert precious.is_dir()


def test_a_cache_folder_is_the_users_own_on_every_host(hooks):
    """Also if another user made it before only root could; what is in the user's own stays."""
    nobody = 65534  # an account on every host
    caches = hooks.folder / "caches"
    caches.mkdir()
    hooks.more(f"CACHES='{caches}'\n")
    own = caches / pwd.getpwuid(nobody).pw_name
    own.mkdir(mode=0o777)
    os.chown(own, UID, UID)
    (own / "kernel.so").write_text("of another user")
    first = hooks.run("prolog", uid=nobody)
    status = own.stat()
    (own / "kernel.so").write_text("own")
    second = hooks.run("prolog", uid=nobody)
    kept = (own / "kernel.so").read_text()
    shutil.rmtree(own)
    own.symlink_to("/tmp")
    hooks.run("prolog", uid=nobody)

    assert (codes(first), status.st_uid, status.st_mode & 0o7777) == (["cache-foreign"], nobody, 0o700)
    assert (codes(second), kept) == ([], "own")
    assert (own.is_symlink(), own.stat().st_uid) == (False, nobody)


def test_leftovers_of_the_user_are_ended_and_named(hooks):
    """What a job has left behind, where no other job of the user's is here."""
    hooks.run("prolog")
    left = as_user("sleep", "300")
    time.sleep(0.2)
    done = hooks.run("epilog")

    assert codes(done) == ["leftover-ended"]
    assert f"process {left.pid} (sleep)" in done.stderr
    assert left.wait(5) == -9


def test_another_job_of_the_user_protects_the_processes(hooks):
    """They may be its own; its epilog will look again."""
    hooks.run("prolog", job=7)
    hooks.run("prolog", job=8)
    process = as_user("sleep", "300")
    time.sleep(0.2)
    first = hooks.run("epilog", job=7)
    lives = process.poll() is None
    second = hooks.run("epilog", job=8)

    assert (codes(first), lives, codes(second)) == ([], True, ["leftover-ended"])
    assert process.wait(5) == -9


def test_the_systems_own_accounts_are_never_touched(hooks):
    """A job of root's ends, and root's processes do not."""
    hooks.run("prolog", uid=0)

    assert hooks.run("epilog", uid=0).returncode == 0


@pytest.fixture
def public(hooks):
    """A folder of all users on a full disk, with files of the job's user and of root, and a small one of another."""
    folder = hooks.folder / "public"
    folder.mkdir()
    folder.chmod(0o1777)
    (hooks.folder / "elsewhere").write_text("x")
    (folder / "deep").mkdir()
    (folder / "fill").write_bytes(bytes(65536))
    (folder / "deep" / "link").symlink_to(hooks.folder / "elsewhere")
    for path in ("deep", "fill", "deep/link"):
        os.chown(folder / path, UID, UID, follow_symlinks=False)
    (folder / "root").write_bytes(bytes(65536))
    (folder / "deep" / "other").write_text("x")
    os.chown(folder / "deep" / "other", UID + 1, UID + 1)
    hooks.more("LEAST_KIB=999999999999\nFILLER_KIB=32\nLOCAL=/nosuch\n")
    return folder


@pytest.mark.parametrize("name", ["epilog", "health"])
def test_what_a_user_has_left_on_a_full_disk_goes(hooks, public, name):
    """One user could drain every host with full disks, and they would stay drained after the job."""
    done = hooks.run(name)

    assert "space-cleared" in codes(done)
    assert not (public / "fill").exists()
    assert not (public / "deep" / "link").is_symlink()
    assert (public / "root").exists()
    assert (hooks.folder / "elsewhere").exists()
    assert (public / "deep" / "other").exists()


def test_files_of_users_who_are_here_stay_on_a_full_disk(hooks, public):
    """With a job, or with a process (an operator who has logged in)."""
    hooks.run("prolog", job=8)
    hooks.run("epilog", job=7)
    hooks.run("health")
    with_job = (public / "fill").exists()
    (hooks.run_folder / "8").unlink()
    process = as_user("sleep", "60")
    time.sleep(0.2)
    hooks.run("health")
    with_process = (public / "fill").exists()
    process.kill()
    process.wait()

    assert (with_job, with_process) == (True, True)


def test_with_space_left_no_file_is_removed(hooks, public):
    """They are the user's."""
    hooks.more("LEAST_KIB=1\n")
    hooks.run("epilog")
    hooks.run("health")

    assert (public / "fill").exists()


@pytest.mark.parametrize("name", ["prolog", "epilog"])
def test_without_a_job_nothing_is_done(hooks, name):
    """Also for a number that is none: it would be part of a path."""
    for job in ("", "../7", "7; id"):
        done = hooks.run(name, job=job)
        assert (done.returncode, codes(done)) == (0, ["hooks-unasked"])


def test_a_lost_gpu_keeps_jobs_away(hooks):
    """Three of four answer; the driver's own words are said."""
    hooks.gpus("lost_2")
    done = hooks.run("prolog")

    assert (done.returncode, codes(done)) == (1, ["gpu-lost"])
    assert "Unable to determine the device handle" in done.stderr


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda hooks: hooks.more("GPU_FILES='/dev/null /dev/nosuch'\n"), "gpu-file-missing"),
        (lambda hooks: hooks.say("kernel.log", (DATA / "kernel.log").read_text()), "gpu-xid"),
        (lambda hooks: hooks.more("MOUNTS=/data\n"), "mount-missing"),
        (lambda hooks: hooks.more("LEAST_KIB=999999999999\n"), "disk-full"),
        (cut, "link-down"),
        (lambda hooks: ports(hooks, "4: ACTIVE", "1: DOWN"), "rdma-down"),
    ],
)
def test_prolog_refuses_what_the_job_would_die_of(hooks, damage, code):
    """It leaves a note for the health program; where that keeps the host in use, the fault is named and no more."""
    damage(hooks)
    refused = hooks.run("prolog")
    note = (hooks.folder / "state" / "refused").read_text()
    (hooks.folder / "state" / "beyond").touch()
    let_in = hooks.run("prolog")

    assert (refused.returncode, let_in.returncode) == (1, 0)
    assert note.startswith(f"{code} ")
    assert code in codes(let_in)


def test_a_job_without_a_folder_is_refused_in_any_case(hooks):
    """It would have nowhere to write."""
    hooks.say("mounts", "/dev/sda1 / ext4 rw 0 0\n")
    (hooks.folder / "state").mkdir()
    (hooks.folder / "state" / "beyond").touch()

    assert hooks.run("prolog").returncode == 1


@pytest.mark.parametrize(
    ("put", "says"),
    [
        ("KERNEL_LOG='sleep 300'\nPROBE_S=1\n", "probe-slow sleep 300 gave no answer in 1 s"),
        ("KERNEL_LOG=false\n", "probe-blind false failed"),
        ("ADDRESSES='sleep 300'\nPROBE_S=1\nNETWORKS='storage=10.77.2.0/24'\n", "probe-slow sleep 300"),
    ],
)
def test_a_probe_that_says_nothing_is_named_and_refuses_no_job(hooks, put, says):
    """Blind is unknown, and never a fault."""
    hooks.more(put)
    done = hooks.run("prolog")

    assert done.returncode == 0
    assert says in done.stderr


def test_a_slow_driver_does_not_drain_a_host(hooks):
    """Without its persistence daemon it needs seconds; the health program finds out whether it hangs."""
    hooks.say("delay", "300")
    hooks.more("PROBE_S=1\n")
    done = hooks.run("prolog")
    slow = [line for line in done.stderr.splitlines() if "nvidia-smi gave no answer in 1 s" in line]

    assert (done.returncode, len(slow)) == (0, 1)
    assert set(codes(done)) == {"probe-slow"}


def test_a_job_without_gpus_asks_no_driver(hooks):
    """It has no part in them."""
    hooks.run("prolog", gpus="")
    hooks.run("epilog", gpus="")

    assert (hooks.folder / "calls").read_text() == ""


def test_a_process_on_a_gpu_is_named_before_and_ended_after(hooks):
    """By the number of the device file: Slurm's GPU 2 is what nvidia-smi calls 3. That of another GPU is let be."""
    process, other = as_user("sleep", "300"), as_user("sleep", "301")
    uuid, free = "GPU-00000003-aaaa-bbbb-cccc-000000000033", "GPU-00000002-aaaa-bbbb-cccc-000000000022"
    hooks.say("answer", (hooks.folder / "answer").read_text().replace(", 4\n", ", 900\n"))
    hooks.say("apps", f"{uuid}, {process.pid}\n{free}, {other.pid}\n")
    before = hooks.run("prolog", gpus="2")
    hooks.run("prolog", job=8, gpus="3")  # so that leftovers are not looked at
    after = hooks.run("epilog", gpus="2")
    lives = other.poll() is None
    other.kill()
    other.wait(5)

    assert (before.returncode, codes(before)) == (0, ["gpu-busy"])
    assert f"process {process.pid} (sleep)" in before.stderr
    assert (codes(after), lives) == (["gpu-freed"], True)
    assert process.wait(5) == -9


def test_the_clocks_of_the_jobs_gpus_are_put_back(hooks):
    """Of those alone."""
    hooks.run("prolog", gpus="0,1")
    hooks.run("epilog", gpus="0,1")
    calls = (hooks.folder / "calls").read_text().splitlines()

    ids = "GPU-00000000-aaaa-bbbb-cccc-000000000000,GPU-00000001-aaaa-bbbb-cccc-000000000011"
    assert f"-i {ids} --reset-gpu-clocks" in calls


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ("healthy", []),
        ("ecc_on_2", ["gpu-ecc"]),
        ("remap_pending_on_3", []),
        ("remap_failed_on_2", ["gpu-remap-failed"]),
        ("lost_2", ["gpu-lost"]),
    ],
)
def test_what_happened_to_any_gpu_during_the_job_is_said(hooks, after, says):
    """Every GPU of the host, also those of other jobs, each by itself (D1: one looked at the first alone)."""
    hooks.run("prolog", gpus="0")
    hooks.gpus(after)
    done = hooks.run("epilog", gpus="0")

    assert (done.returncode, codes(done)) == (1 if says else 0, says)


def test_counters_that_grew_meanwhile_are_told_and_refuse_no_job(hooks):
    """Of links, RDMA ports and the kernel's killer; what did not grow, or went back, is not told."""
    port = hooks.folder / "rdma" / "mlx5_0" / "ports" / "1" / "counters"
    port.mkdir(parents=True)

    def stand(down, errors, changes, kills):
        (port / "link_downed").write_text(f"{down}\n")
        (port / "symbol_error").write_text(f"{errors}\n")
        hooks.say("links/eth1/carrier_changes", f"{changes}\n")
        hooks.say("vmstat", f"nr_free_pages 9\noom_kill {kills}\n")

    stand(1, 7, 2, 3)
    hooks.run("prolog")
    stand(3, 6, 4, 4)
    done = hooks.run("epilog")

    assert done.returncode == 0
    assert sorted(line for line in done.stderr.splitlines() if "counted" in line) == [
        "wright: counted while job 7 was here: eth1 carrier_changes +2",
        "wright: counted while job 7 was here: host oom_kill +1",
        "wright: counted while job 7 was here: mlx5_0 port 1 link_downed +2",
    ]
    assert not (hooks.run_folder / "7.counters").exists()


def test_errors_from_before_the_job_are_not_the_jobs(hooks):
    """They are for the health program: an epilog that fails says that this job met a fault."""
    hooks.gpus("ecc_on_2")
    hooks.run("prolog")

    assert hooks.run("epilog").returncode == 0


def test_gpus_without_such_counters_are_sound(hooks):
    """[N/A] is no error."""
    hooks.gpus("without_ecc")

    assert hooks.run("prolog").returncode == 0
    assert hooks.run("epilog").returncode == 0
    assert "gpu-" not in hooks.run("health").stderr


def test_a_newline_in_a_name_begins_no_message(hooks):
    """Records as /dev/kmsg has them, by the command of a real host; its dmesg prints what a user put into a name."""
    hooks.more(f"KERNEL_LOG='{RING_BUFFER.replace('/dev/kmsg', str(hooks.folder / 'kernel.log'))}'\n")
    uptime_s = int(float(Path("/proc/uptime").read_text().split()[0]))
    xid = "NVRM: Xid (PCI:0000:{}:00): 79, pid=1, GPU has fallen off the bus."
    forged = f"a.out[9]: segfault in x\\x0a[{uptime_s:5d}.000000] {xid.format('3b')}"
    for rows, said in (((forged,), []), ((forged, xid.format("91")), ["(0000:91:00)"])):
        records = (f"4,{n},{uptime_s}00000{n},-,caller=T1;{row}\n" for n, row in enumerate(rows))
        hooks.run("prolog")
        hooks.say("kernel.log", "".join(records))
        (hooks.run_folder / "7.uptime").write_text("0.00\n")
        done = hooks.run("epilog")
        found = [line.split()[-1] for line in done.stderr.splitlines() if " gpu-xid " in line]
        assert (found, done.returncode) == (said, bool(said))


@pytest.mark.parametrize(
    ("since", "says"),
    [
        (0, ["48", "79", "119", "20034"]),
        (250, ["79", "119", "20034"]),
        (500, []),
    ],
)
def test_xids_of_the_hardware_since_the_prolog_are_said_once(hooks, since, says):
    """A program's own mistake (31) is not among them, nor what was there before; a repeated one is said once."""
    hooks.run("prolog")
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    later_s = max(0, int(uptime_s) - 3600)  # as if the log's machine had been up as long as this one
    stamped = re.sub(
        r"(?m)^\[ *(\d+)\.", lambda stamp: f"[{int(stamp[1]) + later_s}.", (DATA / "kernel.log").read_text()
    )
    hooks.say("kernel.log", stamped)
    (hooks.run_folder / "7.uptime").write_text(f"{since + later_s}.00\n")
    done = hooks.run("epilog")
    found = [line.split()[2] for line in done.stderr.splitlines() if " gpu-xid " in line]

    assert sorted(found, key=int) == sorted(says, key=int)
    assert done.returncode == bool(says)


NOT_OURS = ("munge-silent", "clock-off", "swap-on", "probe-slow")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda hooks: None, ""),
        (lambda hooks: hooks.gpus("lost_2"), "gpu-lost"),
        (lambda hooks: hooks.gpus("ecc_on_2"), "gpu-ecc"),
        (lambda hooks: hooks.gpus("remap_pending_on_3"), ""),
        (lambda hooks: hooks.say("kernel.log", (DATA / "kernel.log").read_text()), "gpu-xid"),
        (lambda hooks: hooks.more("NETWORKS='compute=10.77.1.0/24'\n"), ""),
        (lambda hooks: hooks.more("NETWORKS='storage=10.77.2.0/24'\n"), "network-missing"),
        (cut, "link-down"),
        (lambda hooks: ports(hooks, "4: ACTIVE", "4: ACTIVE"), ""),
        (lambda hooks: ports(hooks, "4: ACTIVE", "1: DOWN"), "rdma-down"),
        (ports, ""),
        (lambda hooks: hooks.gpus("remap_failed_on_2"), "gpu-remap-failed"),
        (lambda hooks: hooks.more("GPU_FILES='/dev/null /dev/nosuch'\n"), "gpu-file-missing"),
        (lambda hooks: hooks.more("NVIDIA_SMI=/nosuch\n"), "gpu-driver-missing"),
        (lambda hooks: hooks.more("NVIDIA_SMI=/nosuch GPU_DRIVER=if-there\n"), ""),
        (lambda hooks: hooks.more("MOUNTS=/data\n"), "mount-missing"),
        (lambda hooks: hooks.say("mounts", "/dev/sda1 / ext4 ro,relatime 0 0\n"), "mount-read-only"),
        (lambda hooks: hooks.more("LEAST_KIB=999999999999\n"), "disk-full"),
    ],
)
def test_health_names_each_fault(hooks, damage, code):
    """And nothing on a sound host; munge, chrony and speed are this machine's own matter: left out."""
    damage(hooks)
    done = hooks.run("health")
    own = list(dict.fromkeys(each for each in codes(done) if each not in NOT_OURS))

    assert own == ([code] if code else [])


SINFO = "#!/bin/sh\ncat {folder}/nodes {folder}/own\n"
SCONTROL = """#!/bin/sh
for argument; do case $argument in
  Reason=*) printf 'n1|drained|2026-01-02T00:00:00|%s\\n' "${{argument#Reason=}}" >{folder}/own ;;
  State=RESUME) echo 'n1|idle|Unknown|none' >{folder}/own ;;
esac; done
"""


@pytest.mark.parametrize(
    ("others", "fault", "state"),
    [
        (0, "LEAST_KIB=999999999999", "drained"),
        (1, "LEAST_KIB=999999999999", "idle"),
        (1, "SCRATCH=/nosuch; faults='scratch-unsafe x'", "drained"),
    ],
)
def test_prologs_drain_no_more_hosts_than_the_share(hooks, others, fault, state):
    """One user's jobs could make the prologs of all hosts fail, by full disks; without scratch no job could start."""
    rows = [
        f"n{number}|drained|2026-01-01T00:00:00|wright: x [0123abcd]\n" for number in range(2, 2 + others)
    ]
    hooks.say("nodes", "".join(rows) + "".join(f"m{number}|idle|Unknown|none\n" for number in range(8)))
    hooks.say("own", "n1|drained|2026-01-01T00:00:01|Prolog error\n")
    (hooks.folder / "slurm").mkdir()
    for name, text in (("sinfo", SINFO), ("scontrol", SCONTROL)):
        hooks.say(f"slurm/{name}", text.format(folder=hooks.folder))
        (hooks.folder / "slurm" / name).chmod(0o755)
    (hooks.folder / "state").mkdir()
    hooks.say("state/refused", "disk-full\n")
    hooks.more(f"PATH={hooks.folder}/slurm:$PATH\n{fault}\n")
    done = hooks.run("health", SLURMD_NODENAME="n1")
    now = (hooks.folder / "own").read_text()

    assert now.startswith(f"n1|{state}|"), done.stderr
    assert "Prolog error" not in now
    assert (hooks.folder / "state" / "beyond").exists() == (state == "idle")


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.csv")))
def test_health_drains_for_what_a_check_calls_a_fault(hooks, name):
    """Of each GPU that answers: memory errors and rows that could not be remapped, by one rule in both."""
    hooks.gpus(name)
    drains = {line.split()[2] for line in hooks.run("health").stderr.splitlines() if " GPU-0" in line}
    want = HostSpec(load_cluster(EXAMPLE), load_cluster(EXAMPLE).host("gpu-node1"))
    driver = Driver(tuple(answering((DATA / f"{name}.csv").read_text())), ())
    verdicts = [*gpu_ecc.judge(want, driver), *gpu_remap.judge(want, driver)]
    failed = {f"gpu {v.part.split()[-1]}" for v in verdicts if v.status is Status.FAIL}

    assert {f"gpu {gpu.index}" for gpu in driver.gpus if gpu.uuid in drains} == failed


def answering(text):
    """The GPUs of a recording, as the check's own fact has them."""
    for row in (line.split(", ") for line in text.splitlines() if ", GPU-" in line):
        errors = int(row[3]) if row[3].isdigit() else None
        yield Gpu(
            int(row[0]),
            row[1],
            uncorrected=errors,
            remap_pending=row[4] == "Yes",
            remap_failed=row[5] == "Yes",
        )


def test_health_sweeps_up_what_a_crash_has_left(hooks):
    """Folders whose prolog's note is gone with the last boot; those of running jobs stay."""
    hooks.run("prolog", job=7)
    hooks.run("prolog", job=8)
    (hooks.run_folder / "7").unlink()
    hooks.run("health")
    end = time.monotonic() + 150
    while (hooks.scratch / "jobs" / "7").exists() and time.monotonic() < end:
        time.sleep(0.05)

    assert [path.name for path in (hooks.scratch / "jobs").iterdir()] == ["8"]


def test_task_prolog_says_where_the_folder_is(hooks):
    """To its owner alone, and it leaves a TMPDIR of the user's own as it is."""
    hooks.run("prolog")
    folder = hooks.scratch / "jobs" / "7"
    argv = [
        "setpriv",
        "--reuid",
        str(UID),
        "--regid",
        str(UID),
        "--clear-groups",
        hooks.folder / "task_prolog",
    ]
    said = [
        subprocess.run(
            argv, env={"SLURM_JOB_ID": "7"} | more, capture_output=True, text=True, check=True
        ).stdout
        for more in ({}, {"TMPDIR": "/mine"})
    ]

    assert said == [f"export SCRATCH={folder}\nexport TMPDIR={folder}\n", f"export SCRATCH={folder}\n"]
    assert hooks.run("task_prolog").stdout == ""


def test_a_program_for_each_name():
    """What Slurm is told to run is there."""
    assert {f"{FOLDER}/{name}" for name in PROGRAMS} <= set(hook_texts(""))
