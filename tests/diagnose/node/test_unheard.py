"""A host that Slurm does not hear and that answers: its own logs say why, as Slurm 22.05 and munge 0.5.15 wrote them.

Recorded with munged killed under a running slurmd; the host's name and the socket's path are neutral stand-ins.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.diagnose.gather.journal_rows import rows

from clusterwright.diagnose.gather.node import lately, record
from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.node import explain
from clusterwright.diagnose.node.diagnoses import follows, node_diagnoses, past
from clusterwright.diagnose.reading import of_text, read
from clusterwright.edge.fakes import FakeRemote
from clusterwright.i18n import in_language

NODE = (
    "NodeName=gpu-7 Arch=x86_64 CPUTot=2 State=DOWN+NOT_RESPONDING ThreadsPerCore=1 Partitions=p"
    " BootTime=2026-11-22T10:43:18 Reason=Not responding [root@2026-11-23T07:42:50]"
)
MUNGE_NOW = 'munge: Error: Failed to connect to "/run/munge/munge.socket.2": Connection refused'
SLURMD = (Path(__file__).parent / "slurmd-without-munge.log").read_text()
UNIT = "2026-11-23T07:42:15+0000 gpu-7 systemd[1]: munge.service: Failed with result 'signal'."


def cluster(down=(), line=NODE, now="2026-11-23T07:43:20", given=(), **parts):
    """A control host that knows the node and who gave it back, and the node with what its programs said.

    A text is what they said whenever they are asked; `(before, since)` differ by whether munge is asked now.
    """

    def answer(host, command, _stdin):
        if host == "control":
            return "\n".join((line, now, *given)) + "\n"
        texts = {
            name: text if isinstance(text, str) else text["munge now" in command]
            for name, text in parts.items()
        }
        texts |= {
            name: rows(text)
            for name, text in texts.items()
            if name in ("kernel", "slurmd", "munge", "health")
        }
        return "".join(f"@@ {name.replace('_', ' ')}\n{text}\n" for name, text in texts.items())

    return FakeRemote(answer, down=frozenset(down))


def asked(remote):
    """What `wright why gpu-7` finds."""
    known = record(remote, "control", "gpu-7")
    said = lately(remote, "gpu-7", 1795419800, known)
    judged, older = (judge(read(list(each), knowledge())) for each in (said.after_resume, said.before_resume))
    now = node_diagnoses(explain(known.record), judged, answers=said.answers, follows=follows())
    return [*now, *past(older)]


@pytest.mark.parametrize(
    "parts",
    [
        {"slurmd": SLURMD},
        {"munge_now": MUNGE_NOW},
        {"munge": UNIT},
        {"slurmd": SLURMD, "munge_now": MUNGE_NOW},
    ],
    ids=["slurmd's log", "munge itself", "its unit", "all"],
)
def test_a_host_whose_munged_is_gone_is_not_lost(parts):
    """The cause is munge; that Slurm does not hear the host follows from it, and the host is excluded all the same."""
    cause, *rest = asked(cluster(**parts))

    assert (cause.kind, cause.mode, cause.role) == ("slurm-auth", "slurm-auth/munge-not-running", "root")
    assert (cause.exclude, cause.retry) == ("gpu-7", "fixed")
    assert [(each.kind, each.role) for each in rest][:1] == [("node-lost", "cascade")]
    assert rest[0].confidence <= 0.4 < cause.confidence


def test_munge_is_asked_at_once_since_slurmd_tries_for_a_minute_before_it_complains():
    """The command that goes to the host makes a credential, and reads the log of munged's unit."""
    remote = cluster(munge_now=MUNGE_NOW)
    asked(remote)

    (sent,) = [command for host, command in remote.calls if host == "gpu-7"]
    assert "munge -n" in sent
    assert "_SYSTEMD_UNIT=munge.service" in sent


def test_what_munge_says_of_itself_comes_back_through_a_real_shell(tmp_path, monkeypatch):
    """Its complaint goes to standard error, and the credential that it makes is no business of ours."""
    remote = cluster(munge_now=MUNGE_NOW)
    asked(remote)
    program = tmp_path / "munge"
    program.write_text(f"#!/bin/sh\necho MUNGE:AwQDAA\necho '{MUNGE_NOW}' >&2\nexit 6\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    done = subprocess.run(
        ["sh", "-c", dict(remote.calls)["gpu-7"]], capture_output=True, text=True, check=False
    )

    assert done.stdout.endswith(f"@@ munge now\n{MUNGE_NOW}\n")
    assert "MUNGE:" not in done.stdout


def test_a_host_without_munge_says_nothing_of_it(tmp_path, monkeypatch):
    """A cluster may have another way to prove who one is; a missing program is no failure then."""
    remote = cluster()
    asked(remote)
    for name in ("sh", "timeout", "tail"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path))

    done = subprocess.run(
        ["sh", "-c", dict(remote.calls)["gpu-7"]], capture_output=True, text=True, check=False
    )

    assert done.stdout.endswith("@@ munge now\n")


def test_what_was_said_long_before_slurm_lost_it_is_not_asked_for():
    """A quarter of an hour before the reason was written, and a day where none is."""
    remote = cluster()
    asked(remote)
    unknown = cluster(line=NODE.partition(" Reason=")[0])
    asked(unknown)

    (sent,) = [command for host, command in remote.calls if host == "gpu-7"]
    assert f"--since @{1795419800 - 30 - 900}" in sent
    assert f"--since @{1795419800 - 86400}" in dict(unknown.calls)["gpu-7"]


GIVEN = (
    "2026-11-23T07:31:53+0000 control slurmctld[9]: slurmctld: update_node: node gpu-7 state set to IDLE",
    "[2026-11-23T07:41:40.986] update_node: node gpu-7 state set to IDLE",
)
XID = "2026-11-23T07:31:00+0000 gpu-7 kernel: NVRM: Xid (PCI:0000:07:00): 79, GPU has fallen off the bus."


def test_what_was_mended_before_it_was_given_back_is_no_cause_of_what_is_wrong_now():
    """A GPU was lost, the host was fixed and given back, and then munged died: the GPU is past."""
    line = NODE.partition(" Reason=")[0].replace("DOWN+NOT_RESPONDING", "MIXED")
    remote = cluster(line=line, given=GIVEN, kernel=(XID, ""), munge_now=("", MUNGE_NOW))
    cause, *_, older = asked(remote)

    assert (cause.kind, older.kind) == ("slurm-auth", "gpu-hardware")
    assert older.cause.startswith("Before the last resume: ")
    first, second = [command for host, command in remote.calls if host == "gpu-7"]
    assert f"--since @{1795419800 - 100}" in first
    assert "--until" not in first  # whole seconds: the lines of the last one would be missing
    assert f"--since @{1795419800 - 86400} --until @{1795419800 - 100}" in second


def test_a_host_that_was_given_back_and_has_nothing_since_says_so_first():
    """What had been wrong with it is still there to be read."""
    line = NODE.partition(" Reason=")[0].replace("DOWN+NOT_RESPONDING", "IDLE")
    said = asked(cluster(line=line, given=GIVEN, kernel=(XID, "")))

    assert [(each.role, each.kind) for each in said] == [("benign", "other"), ("root", "gpu-hardware")]


def test_who_gave_it_back_is_read_from_slurmctlds_own_words(tmp_path, monkeypatch):
    """By a real shell: the journal and the file, neither a drain nor another host, the last of each."""
    remote = cluster()
    asked(remote)
    drained = "[2026-11-23T07:42:00.1] update_node: node gpu-7 state set to DRAINED"
    another = "[2026-11-23T07:43:00.1] update_node: node gpu-77 state set to IDLE"
    (tmp_path / "slurmctld.log").write_text("\n".join((GIVEN[1], drained, another)) + "\n")
    log = f"SlurmctldLogFile = {tmp_path}/slurmctld.log"
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\n[ $2 = node ] && echo '{NODE}' || echo '{log}'\n")
    (tmp_path / "journalctl").write_text(f"#!/bin/sh\nprintf '%s\\n' '{GIVEN[0]}' '{GIVEN[0]}'\n")
    for program in ("scontrol", "journalctl"):
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    done = subprocess.run(
        ["sh", "-c", dict(remote.calls)["control"]], capture_output=True, text=True, check=False
    )

    assert done.stdout.splitlines()[0] == NODE
    assert tuple(done.stdout.splitlines()[2:]) == GIVEN


def test_a_host_that_does_not_answer_is_lost():
    """There is nothing of its own that could say more."""
    (only,) = asked(cluster(down=["gpu-7"], munge_now=MUNGE_NOW))

    assert (only.kind, only.role) == ("node-lost", "root")


def test_what_another_failure_leaves_in_the_log_is_no_cause_of_silence():
    """A process out of GPU memory does not make a host silent: it comes after Slurm's own word."""
    said = asked(cluster(slurmd="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"))

    assert (said[0].kind, said[0].role) == ("node-lost", "root")
    assert {each.kind for each in said[1:]} == {"gpu-oom"}


def test_a_drained_host_keeps_its_reason_first():
    """Only where Slurm itself knows no more than that it hears nothing."""
    line = NODE.replace("DOWN+NOT_RESPONDING", "IDLE+DRAIN").replace("Not responding", "a fan is loud")

    assert asked(cluster(line=line, munge_now=MUNGE_NOW))[0].mode == "node/person"


def test_the_cause_is_told_in_chinese():
    """In its own words, not in English ones."""
    with in_language("zh"):
        cause = asked(cluster(munge_now=MUNGE_NOW))[0].cause

    assert "munge" in cause
    assert "守护进程" in cause


@pytest.mark.parametrize(
    "line",
    [
        "error: slurm_receive_msgs: [[gpu-7]:39018] failed: Socket timed out on send/recv operation",
        "error: service_connection: slurm_receive_msg: Socket timed out on send/recv operation",
        "srun: error: Task launch for StepId=34.0 failed on node gpu-7: Socket timed out on send/recv operation",
    ],
)
def test_a_time_out_between_daemons_blames_nobody(line):
    """So slurmctld, slurmd and srun wrote while munged was dead: what timed out is a consequence of something."""
    said = judge(read([of_text("slurmctld.log", line)], knowledge()))

    assert said[0].role == "cascade"
    assert said[0].confidence <= 0.4
