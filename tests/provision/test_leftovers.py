"""Processes that a user leaves behind on purpose: accounts and processes of this machine, and the epilog."""

import os
import shutil
import subprocess
import time

import pytest

from clusterwright.provision.render.job_hooks import FOLDER, hook_texts

NAMES = [f"cw-sec-hosts-{os.getpid()}-{number}" for number in (1, 2)]
# Each program writes a byte in each round. Lists of processes show one that lives less than a millisecond rarely.
PASS_ON = """import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while os.write(1, b"."):
  if os.fork(): os._exit(0)
"""
# As many as the limit permits, in sessions of their own; half of them end and are replaced all the time.
STORM = """import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while os.write(1, b"."):
  try: child = os.fork()
  except OSError: time.sleep(0.001); continue
  if not child: os.setsid()
  elif os.getpid() % 2: os._exit(0)
"""
# Stops and kills whatever it may: also what would end it.
KILLS = """import os
while os.write(1, b"."):
  for number in (19, 9):
    try: os.kill(-1, number)
    except OSError: pass
"""
FIRST_THREAD_ENDS = """import ctypes, os, threading, time
def live():
  while os.write(1, b"."): time.sleep(0.01)
threading.Thread(target=live).start()
ctypes.CDLL(None).pthread_exit(None)
"""
PROGRAMS = {"chain": PASS_ON, "storm": STORM, "kills": KILLS, "thread": FIRST_THREAD_ENDS}

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="the programs run as root"),
    pytest.mark.skipif(not shutil.which("useradd"), reason="needs useradd"),
]


@pytest.fixture(scope="module")
def users():
    """Two accounts, and nothing of them at the end."""
    for name in NAMES:
        subprocess.run(["useradd", "--no-create-home", name], check=True, timeout=60)
    yield [int(subprocess.check_output(["id", "-u", name], timeout=60)) for name in NAMES]
    for name in NAMES:
        kill = ["setpriv", "--reuid", name, "--clear-groups", "sh", "-c", "kill -KILL -1"]
        subprocess.run(kill, check=False, timeout=60)
        subprocess.run(["userdel", name], check=True, timeout=60)


@pytest.fixture
def host(tmp_path):
    """The programs around jobs, on a host without GPUs."""
    for path, text in hook_texts("# header\n").items():
        file = tmp_path / path.removeprefix(f"{FOLDER}/")
        file.write_text(text)
        file.chmod(0o755)
    (tmp_path / "declared").write_text(
        f"RUN={tmp_path}/run STATE={tmp_path}/state CACHES='' SCRATCH='' ISOLATION='' FIRST_USER=1000\nLEFTOVERS_S=1 "
        f"GPU_FILES='' NVIDIA_SMI=/nowhere LINKS={tmp_path} RDMA={tmp_path} MOST_DRAINED=10 RDMA_PORTS=0\n"
        f"MOUNT_TABLE=/dev/null MOUNTS='' NETWORKS='' LOCAL=/ LEAST_KIB=1 SWAP=1 VMSTAT=/dev/null\n"
        "CLOCK_OFF_S=9999\n"
    )
    return tmp_path


def run(host, program, uid):
    """A program around a job of the user."""
    env = {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": str(uid), "PATH": os.environ["PATH"]}
    return subprocess.run([host / program], env=env, capture_output=True, text=True, timeout=60, check=False)


def start(uid, program, output):
    """A Python program of the user's, outside of any job: at most 60 processes."""
    limit = ["setsid", "--fork", "prlimit", "--nproc=60", "--fsize=100000000"]
    drop = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    python = ["/usr/bin/python3", "-I", "-c", program]
    with output.open("ab") as stream:
        subprocess.run(
            [*limit, *drop, *python], check=True, stdout=stream, stderr=subprocess.DEVNULL, timeout=60
        )


def is_alive(output, wait_s):
    """Whether the programs that write this file write on within the time."""
    before = output.stat().st_size
    end = time.monotonic() + wait_s
    while output.stat().st_size == before:
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_process_of_the_user_survives(host, users, name):
    """However fast it forks, whatever it kills; the processes of others stay."""
    user, other = users
    own, others = host / "own", host / "others"
    start(other, FIRST_THREAD_ENDS, others)
    run(host, "prolog", user)
    for _ in range(2):
        start(user, PROGRAMS[name], own)
    assert is_alive(own, 10)
    assert is_alive(others, 10)
    done = run(host, "epilog", user)

    assert not is_alive(own, 1)
    assert is_alive(others, 10)
    assert done.returncode == 0


def test_the_host_is_drained_while_a_process_survives(host, users):
    """Here SIGKILL is made to fail; when it works again, `health` ends the process and nothing is wrong any more."""
    user, _other = users
    output = host / "own"
    program = host / "leftovers"
    text = program.read_text()
    program.write_text(text.replace("os.kill(-1, 9)", "pass"))
    start(user, FIRST_THREAD_ENDS, output)
    assert is_alive(output, 10)
    done = run(host, "epilog", user)
    still = run(host, "health", user)
    program.write_text(text)
    after = run(host, "health", user)

    assert done.returncode == 1
    assert "leftover-alive SIGKILL does not end" in done.stderr
    assert "leftover-alive" in (host / "state" / "refused").read_text()
    assert "leftover-alive" in still.stderr
    assert "leftover-alive" not in after.stderr
    assert not is_alive(output, 1)
