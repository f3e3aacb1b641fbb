"""VS Code's way and a shell's way into the job, on a lab."""

import os
import pty
import select
import subprocess
import time

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
# A simulated GPU has no driver behind it (ENXIO); one that is another's is not even asked (EPERM).
DENIED = (
    "for gpu in 0 1 2 3; do : < /dev/nvidia$gpu; done 2>&1 | grep -o 'nvidia[0-3]: Operation not permitted'"
)


def test_ssh_by_the_printed_block_is_held_to_the_jobs_gpus(dev, tmp_path):
    """bob, in the job's control group, with one GPU of four; sftp works, as VS Code needs it."""
    up = dev.up("--vscode")
    (tmp_path / "config").write_text(up["ssh_block"])
    ssh = ("ssh", "-o", "BatchMode=yes", "-F", str(tmp_path / "config"), f"wright-dev-{up['job']}")
    said = subprocess.run(
        [*ssh, f"id -un; hostname; echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_ID; {DENIED}; cat /proc/self/cgroup"],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip

    assert said.split()[:4] == ["bob", up["host"], "0", up["job"]]
    assert [f"nvidia{gpu}: Operation not permitted" in said for gpu in range(4)] == [False, True, True, True]
    assert f"/job_{up['job']}/" in said
    copied = subprocess.run(
        ["sftp", "-q", "-F", str(tmp_path / "config"), "-b", "-", f"wright-dev-{up['job']}"],
        input=f"get /etc/hostname {tmp_path}/got\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (tmp_path / "got").read_text().strip() == up["host"], copied.stderr


def test_another_machine_joins_with_a_key_of_its_own(dev, tmp_path, monkeypatch):
    """Each machine keeps its private half; a stranger's key is not let in."""
    first = dev.up("--vscode")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    second = dev.up("--vscode")

    assert (second["job"], second["joined"]) == (first["job"], True)
    assert first["ssh_block"] != second["ssh_block"]
    for name, up in (("a", first), ("b", second)):
        (tmp_path / name).write_text(up["ssh_block"])
        argv = ["ssh", "-o", "BatchMode=yes", "-F", str(tmp_path / name), f"wright-dev-{up['job']}", "id -un"]
        assert subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout == "bob\n"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "stranger")], check=True
    )
    own = str(tmp_path / "other" / "clusterwright" / dev.name / "dev" / "ssh" / "session")
    block = second["ssh_block"].replace(own, str(tmp_path / "stranger"))
    (tmp_path / "c").write_text(block)
    argv = ["ssh", "-o", "BatchMode=yes", "-F", str(tmp_path / "c"), f"wright-dev-{second['job']}", "id -un"]
    refused = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert "Permission denied" in refused.stderr


def in_terminal(argv, typed, wanted, limit_s=60):
    """What a program at a terminal says to what is typed, until it says what is wanted."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(argv[0], argv)
    said, end = "", time.monotonic() + limit_s
    os.write(terminal, typed.encode())
    while wanted not in said and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                said += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                break
    os.close(terminal)
    os.waitpid(child, 0)
    return said


def test_a_shell_is_a_step_of_the_job(dev):
    """The printed command opens it, as bob on the job's host."""
    up = dev.up("--shell", "--gpus", 2)

    said = in_terminal(up["shell"], f"pwd; {DENIED}; echo gpus=$CUDA_VISIBLE_DEVICES= on $(hostname)\nexit\n",
                       f"gpus=0,1= on {up['host']}")  # fmt: skip
    assert f"gpus=0,1= on {up['host']}" in said
    assert [f"nvidia{gpu}: Operation not permitted" in said for gpu in range(4)] == [False, False, True, True]
    assert said.count("/home/bob") > 0


def test_who_works_in_a_session_without_a_notebook_keeps_it(dev):
    """One that computes stays beyond the idle time; then it ends."""
    up = dev.up("--shell", "--idle", "15s")
    step = f"srun --jobid={up['job']} --overlap timeout 40 sh -c 'while :; do :; done'; true"
    began = time.monotonic()
    dev.sh("control", f"runuser -u bob -- {step}")

    assert time.monotonic() - began > 39
    assert dev.sh("control", "squeue -h -o %T").strip() == "RUNNING"
    dev.until("squeue -h", "", limit_s=90)


def test_all_sessions_of_a_user_end_at_once_and_are_listed_before(dev):
    """One of each kind; root sees whose they are."""
    for kind in ("--jupyter", "--vscode", "--shell"):
        dev.leave_waiting(kind)
    listed = dev.plain("list").stdout

    assert [kind in listed for kind in ("jupyter", "vscode", "shell", "bob")] == [True] * 4
    assert "there is no session 9999" in dev.plain("stop", "9999").stderr
    assert dev.plain("stop", "all", "--as", "bob").stderr.count("stopped") == 3
    dev.until("squeue -h", "")
    assert "no session is queued or running" in dev.plain("list").stderr
