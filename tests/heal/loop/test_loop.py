"""The loop with its real journal and its real shell, against a cluster of programs that pretend."""

import time

import pytest

from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.heal.actions import ActionOrder, Executor, action
from clusterwright.heal.loop.setup import loop_lock
from clusterwright.heal.observation import FaultFinding
from clusterwright.heal.past import Intent


def ticks(loop, count=8):
    """So many looks."""
    for _ in range(count):
        loop.tick()


def test_a_lost_gpu_is_mended_from_end_to_end(pretended):
    """Drained with our number in the reason, the job put back, rebooted, given back; each once."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")
    made.job("7", "gpu-node1")
    loop = made.loop(settle_s=0.0)

    loop.tick()
    reason = made.get("gpu-node1", "reason")
    ticks(loop)

    assert reason.startswith("wright: heal #1 gpu_lost: check: gpus_answer: gpu 1 is lost")
    assert made.effects() == [
        "drain gpu-node1",
        "requeue 7",
        "exclude 7 gpu-node1",
        "reboot gpu-node1",
        "resume gpu-node1",
    ]
    assert [entry.record.state for entry in loop.journal.entries()] == ["done"] * 4


def test_a_service_is_restarted_and_the_host_never_drained(pretended):
    """The cheapest action that helps."""
    made = pretended()
    made.put(
        "gpu-node2",
        fault_munge_on_host="no socket",
        fault_services="munge.service || munge.service is inactive (dead)",
    )

    ticks(made.loop(settle_s=0.0))

    assert made.effects() == ["restart gpu-node2 munge.service"]


def test_a_host_whose_munge_is_broken_has_no_slurmd_restarted(pretended):
    """Slurmctld does not hear it, and the cause is known: munge is tried, then the host is drained."""
    made = pretended()
    made.put(
        "gpu-node2", state="DOWN+NOT_RESPONDING", reason="Not responding", fault_munge_on_host="no socket",
        incurable="",
    )  # fmt: skip
    loop = made.loop(settle_s=0.0, pause_s=0.0, spares=())
    ticks(loop, 12)

    actions = [word for word in made.effects() if "gpu-node2" in word]
    assert actions == ["restart gpu-node2 munge.service"] * 2 + ["drain gpu-node2"]


def test_a_driver_that_is_only_slow_is_not_lost(pretended):
    """On a host that is busy nvidia-smi takes its time: three such looks are nothing, four are a hang."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="no-answer || 0 GPUs answer: nvidia-smi was silent")
    loop = made.loop(settle_s=0.0)
    ticks(loop, 3)
    before = made.effects()
    loop.tick()

    assert before == []
    assert made.effects() == ["drain gpu-node1"]
    assert loop.journal.entries()[0].record.intent.rule == "gpu_driver"


def test_a_reset_that_the_driver_refuses_is_followed_by_a_reboot(pretended):
    """What it said is in the journal."""
    made = pretended()
    made.put("gpu-node1", fault_gpu_xids="xid-48 || XID 48: double-bit error", no_reset="")
    loop = made.loop(settle_s=0.0)
    ticks(loop, 6)

    states = [(entry.record.intent.action, entry.record.state) for entry in loop.journal.entries()]
    assert states[:3] == [("drain", "done"), ("reset-gpu", "failed"), ("reboot", "done")]
    assert "primary GPU" in loop.journal.entries()[1].error


def test_a_reset_says_in_the_log_that_it_is_mended(pretended):
    """Else the check would find the old line for a day."""
    made = pretended()
    made.put("gpu-node1", fault_gpu_xids="xid-48 || XID 48: double-bit error")
    ticks(made.loop(settle_s=0.0))

    assert made.effects() == ["drain gpu-node1", "reset gpu-node1", "resume gpu-node1"]
    assert "repaired 00000000:07:00.0" in (made.folder / "logged").read_text()


def test_a_host_that_is_down_is_replaced_and_a_person_told(pretended):
    """Nobody holds its switch; once, in the journal and in Slurm's comment. Back on, it is given back."""
    made = pretended()
    made.put("gpu-node3", state="DOWN*", reason="Not responding", down="")
    loop = made.loop(settle_s=0.0)
    ticks(loop)
    before = made.effects()
    (made.folder / "nodes" / "gpu-node3" / "down").unlink()
    made.put("gpu-node3", state="IDLE+DRAIN")
    ticks(loop)

    assert before == ["drain gpu-node3", "resume gpu-node4"]
    assert "power" in made.get("gpu-node3", "comment")
    assert len((made.folder / "logged").read_text().splitlines()) == 1
    assert made.effects()[2:] == ["resume gpu-node3"]


def test_slurmctld_gone_is_waited_for(pretended):
    """In the middle of a repair; it goes on where it was, and says both."""
    made, said = pretended(), []
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")
    loop = made.loop(settle_s=0.0, say=said.append)
    loop.tick()
    (made.folder / "away").touch()
    ticks(loop, 5)
    during = made.effects()
    (made.folder / "away").unlink()
    ticks(loop)

    assert during == ["drain gpu-node1"]
    assert made.effects() == ["drain gpu-node1", "reboot gpu-node1", "resume gpu-node1"]
    assert [line for line in said if "slurmctld" in line] == [
        "slurmctld does not respond: waiting",
        "slurmctld responds again",
    ]


@pytest.mark.parametrize("jump_s", [-4e9, 4e9])
def test_a_clock_that_jumps_neither_hurries_nor_stops_it(pretended, jump_s):
    """The time of day goes 127 years back or on in the middle of a repair, which goes on as if nothing was."""
    made, wall = pretended(), [1.7e9]
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")
    made.put("gpu-node2", fault_munge_on_host="no socket", incurable="")
    loop = made.loop(settle_s=0.0, pause_s=3600.0, wall=lambda: wall[0])
    ticks(loop, 2)
    wall[0] += jump_s
    ticks(loop)

    restarts = [word for word in made.effects() if word.startswith("restart")]
    assert [word for word in made.effects() if "gpu-node1" in word] == [
        "drain gpu-node1", "reboot gpu-node1", "resume gpu-node1",
    ]  # fmt: skip
    assert restarts == ["restart gpu-node2 munge.service"]  # an hour's pause, whatever the clock says
    assert (loop.journal.entries()[-1].wall > 1.7e9) == (jump_s > 0)


def test_a_reapply_is_not_tried_where_the_secrets_are_not(pretended, monkeypatch, tmp_path):
    """To make new ones would shut the host out; what is said leads to the machine that has them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    made = pretended()
    made.put("gpu-node1", state="IDLE+DRAIN", reason="wright: heal #1 mount: x")
    order = ActionOrder(7, Intent("gpu-node1", "mount", "reapply"))
    hands = Executor(made.cluster, made.remote)
    given = action("reapply").prepare(order, hands)

    assert given == {}
    assert "run wright apply where they are stored" in action("reapply").execute(order, given, hands)
    assert action("reapply").happened(order, given, hands) is False


def test_a_reason_that_a_person_changes_between_look_and_act_is_left(pretended):
    """The shell on the control host compares, and does nothing."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")

    class Meddled:
        """A person is quicker, after the reason was read and before the drain."""

        sudo = False

        def run(self, host, command, **more):
            if "State=DRAIN" in command:
                made.put("gpu-node1", state="IDLE+DRAIN", reason="mine")
            return made.remote.run(host, command, **more)

    ticks(made.loop(remote=Meddled(), settle_s=0.0), 4)

    assert made.get("gpu-node1", "reason") == "mine"
    assert made.effects() == []


def test_a_reboot_that_never_returns_is_a_persons(pretended):
    """After its time it has failed; the host stays drained, and a person is told once."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")

    class Gone:
        """The host does not come back from its reboot."""

        sudo = False

        def run(self, host, command, **more):
            done = made.remote.run(host, command, **more)
            if "--no-block" in command:
                made.put(host, down="")
            return done

    loop = made.loop(remote=Gone(), settle_s=0.0, action_timeout_s=0.0, orphan_s=0.0)
    end = time.monotonic() + 60
    while not loop.journal.notifications() and time.monotonic() < end:
        loop.tick()

    assert made.effects()[:2] == ["drain gpu-node1", "reboot gpu-node1"]
    assert made.effects().count("reboot gpu-node1") == 1
    assert "resume gpu-node1" not in made.effects()
    assert {telling.host for telling in loop.journal.notifications()} == {"gpu-node1"}


def test_a_host_that_still_comes_up_is_left_to_it(pretended):
    """Its sshd answers for a moment and is gone again: no second reboot, and no return before it is up."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost", system="starting\n")
    loop = made.loop(settle_s=0.0)
    ticks(loop, 4)
    made.put("gpu-node1", down="")
    ticks(loop, 2)
    (made.folder / "nodes" / "gpu-node1" / "down").unlink()
    during = made.effects()
    made.put("gpu-node1", system="running\n")
    ticks(loop)

    assert during == ["drain gpu-node1", "reboot gpu-node1"]
    assert made.effects() == [*during, "resume gpu-node1"]


def test_jobs_that_blame_a_host_have_it_checked_and_nothing_more(pretended):
    """Ended jobs are looked into once each, by `reason`; a host that is none of the job's is not even checked."""
    made, asked = pretended(), []

    def why(job, _seconds):
        asked.append(job)
        return [
            FaultFinding(host, "diagnosis", "gpu-hardware/xid-79-fell-off-bus", "off the bus")
            for host in ("gpu-node1", "gpu-node2")
        ]

    for job, user in (("1", "ann"), ("2", "mallory")):
        record = f"JobId={job} UserId={user}(1) JobState=FAILED NodeList=gpu-node2 \n"
        (made.folder / "jobs" / job).write_text(record)
    loop = made.loop(settle_s=0.0, why=why)
    ticks(loop, 3)
    past = loop.journal.past(loop.runner.now(), loop.policy.window_s)

    assert asked == ["1", "2"]
    assert made.effects() == []
    assert {(each.host, each.key) for each in past.witnesses} == {
        ("gpu-node2", "ann"),
        ("gpu-node2", "mallory"),
    }


def test_a_host_that_a_job_blames_is_repaired_once_a_check_finds_the_fault(pretended):
    """The claim has it checked at each poll, long before all hosts are due."""
    made = pretended()

    def why(_job, _seconds):
        return [FaultFinding("gpu-node2", "diagnosis", "gpu-hardware/xid-79-fell-off-bus", "off the bus")]

    loop = made.loop(settle_s=0.0, why=why)
    ticks(loop)
    (made.folder / "jobs" / "1").write_text("JobId=1 UserId=ann(1) JobState=FAILED NodeList=gpu-node2 \n")
    ticks(loop)
    made.put("gpu-node2", fault_gpus_answer="gpu 1 is lost")
    ticks(loop)

    assert made.effects()[0] == "drain gpu-node2"


def test_with_approval_nothing_is_done_until_a_person_says_so(pretended):
    """Then it is, once; and what is not wanted any more is not."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")
    made.put("gpu-node2", fault_munge_on_host="no socket")
    loop = made.loop(settle_s=0.0, mode="approve")
    ticks(loop, 4)
    proposed = {entry.record.intent.host: entry.record for entry in loop.journal.entries("proposed")}
    (made.folder / "nodes" / "gpu-node2" / "fault_munge_on_host").unlink()
    for deed in proposed.values():
        loop.journal.set_state(deed.id, "approved", deed.time, wall=0.0)
    ticks(loop, 2)

    assert set(proposed) == {"gpu-node1", "gpu-node2"}
    assert made.effects() == ["drain gpu-node1"]
    assert loop.journal.entry(proposed["gpu-node2"].id).record.state == "stale"


def test_what_is_not_allowed_is_only_proposed(pretended):
    """Once, however often it is looked at."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")
    loop = made.loop(settle_s=0.0, allow=frozenset({"restart-service"}))
    ticks(loop)

    assert made.effects() == []
    assert [(entry.record.intent.action, entry.record.state) for entry in loop.journal.entries()] == [
        ("drain", "proposed")
    ]


def test_a_spare_that_is_only_proposed_stays_the_next_step(pretended):
    """A loop that was killed between its choice and its act has used up nothing."""
    made = pretended()
    made.put("gpu-node3", state="DOWN", reason="Not responding", down="")
    loop = made.loop(settle_s=0.0, allow=frozenset({"drain", "reboot"}))
    ticks(loop)
    chosen = [entry.record.intent.action for entry in loop.journal.entries()]
    ticks(made.loop(journal=loop.journal, settle_s=0.0))

    assert chosen == ["drain", "replace"]
    assert made.effects() == ["drain gpu-node3", "resume gpu-node4"]


def test_one_loop_at_a_time(tmp_path):
    """The second is refused; after the first has ended it is not."""
    with loop_lock(tmp_path), pytest.raises(WrightError, match="heal-runs-already"), loop_lock(tmp_path):
        pass

    with loop_lock(tmp_path):
        assert (tmp_path / "lock").exists()


def test_the_shell_that_is_sent_is_sound(pretended):
    """A reason full of a shell's signs is words, and nothing more."""
    made = pretended()
    made.put("gpu-node1", fault_gpus_answer="$(touch /tmp/never) `id` '; reboot; \" | \\ 测试")
    loop = made.loop(settle_s=0.0)
    loop.tick()

    assert made.effects() == ["drain gpu-node1"]
    assert "touch /tmp/never" in made.get("gpu-node1", "reason")
    assert run(("test", "-e", "/tmp/never")).code == 1
