"""Hosts that join and leave, over hosts that answer by a function: what is done in which order, and what stops it."""

import json
import zlib
from pathlib import Path

import pytest

from clusterwright.config.reader import read
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.change.fields import ClusterFile
from clusterwright.provision.change.hosts import with_hosts, without_hosts
from clusterwright.provision.grow import Growth, grow, preview
from clusterwright.provision.shrink import Removal, refuse_reserved, remembered, remove_hosts

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
CHANGE = {
    "id": "file:/etc/x",
    "summary": "rewrite",
    "verbs": ["rewrite"],
    "diff": "+a",
    "cost": "restart",
    "drift": "changed",
}


class Site:
    """A cluster file, agents that always find one change, and a Slurm whose answers a test sets."""

    def __init__(self, path):
        self.path = path
        self.path.write_text(LAB.read_text())
        self.did, self.jobs, self.reservations, self.errors = [], [], "No reservations in the system", {}
        self.down = set()
        self.states = {}

    def said(self):
        """What the file says now."""
        return ClusterFile.from_source(read(self.path.read_text(), str(self.path)))

    def remote(self):
        """The way to its hosts."""
        return FakeRemote(self.answer, down=frozenset(self.down))

    def answer(self, host, command, stdin):
        """An agent's answer, or Slurm's."""
        if stdin:
            return self.agent(host, stdin)
        word = command.split()[0]
        self.did.append((word, host, command))
        if word == "squeue":
            return self.jobs.pop(0) if self.jobs else ""
        if word == "sinfo" and "--nodes" not in command:
            return "gpu-node2|idle|none\ngpu-node4|down*|Not responding\ngpu-node3|drained|alice: a fan\n"
        if word == "sinfo":
            return "".join(f"{name}|{state}|none\n" for name, state in self.states.items())
        return self.reservations if "reservation" in command else ""

    def agent(self, host, stdin):
        """One change each; an apply makes it."""
        length, _, rest = stdin.partition(b"\n")
        order = json.loads(zlib.decompress(rest[int(length) :]))
        if order["mode"] == "apply":
            self.did.append(("apply", host, self.path.read_text()))
        error = self.errors.get(host, "")
        facts = {"interrupted": False, "job_steps": 0, "reached_at": ""}
        done = order["mode"] == "apply" and not error
        answer = {"facts": facts, "changes": [CHANGE | {"applied": done}], "notes": [], "error": error}
        return f"{ANSWER}{json.dumps(answer | {'stale': False, 'sum': 'x'})}\n"

    def order(self, word):
        """On which hosts that was done, in order."""
        return [host for done, host, _ in self.did if done == word]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The lab's file in a folder of its own; secrets and journals too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Site(tmp_path / "cluster.yaml")


def growth(site, *hosts):
    """These hosts are to join a100."""
    text = with_hosts(site.said(), "a100", hosts)
    return Growth(site.path, ClusterFile.from_source(read(text, str(site.path))), hosts)


def leaving(site, *hosts, **how):
    """These hosts are to leave."""
    return Removal(site.path, site.said(), hosts, **({"wait_s": 60} | how))


def test_new_hosts_are_ready_before_the_file_and_the_others_know_of_them(site):
    """The file is written between the two; Slurm's word ends it."""
    site.states = {"gpu-node5": "idle", "gpu-node6": "mixed"}
    done = grow(growth(site, "gpu-node5", "gpu-node6"), site.remote(), print, clock=FakeClock())
    applied = [(host, "gpu-node[1-6]" in text) for word, host, text in site.did if word == "apply"]

    assert done.ok
    assert sorted(applied[:2]) == [("gpu-node5", False), ("gpu-node6", False)]
    assert all(written for _, written in applied[2:])
    assert {host for host, _ in applied[2:]} >= {"control", "gpu-node1", "gpu-node4"}


def test_a_new_host_that_fails_disturbs_nobody(site):
    """Neither the file nor another host is touched."""
    asked = growth(site, "gpu-node5", "gpu-node6")
    site.errors = {"gpu-node6": "no space left"}
    done = grow(asked, site.remote(), print, clock=FakeClock())

    assert (done.ok, done.other_report) == (False, None)
    assert site.path.read_text() == LAB.read_text()
    assert not {"control", "gpu-node1"}.intersection(site.order("apply"))


def test_new_hosts_that_do_not_answer_are_named_before_anything_is_done(site):
    """With ssh's own words."""
    site.down = {"gpu-node6"}

    with pytest.raises(WrightError, match="gpu-node6: ssh: connect to host gpu-node6"):
        preview(growth(site, "gpu-node5", "gpu-node6"), site.remote())
    assert site.order("apply") == []


def test_a_host_that_slurm_does_not_get_is_no_success(site):
    """It does not answer slurmctld: the state is told."""
    site.states = {"gpu-node5": "down*"}
    done = grow(growth(site, "gpu-node5"), site.remote(), print, clock=FakeClock())

    assert (done.ok, done.states) == (False, {"gpu-node5": "DOWN*"})


def test_growing_may_be_cut_short_and_run_again(site):
    """The file has the host already; the rest is done."""
    asked = growth(site, "gpu-node5")
    site.path.write_text(asked.cluster_file.source.text)
    site.states = {"gpu-node5": "idle"}

    assert grow(growth(site, "gpu-node5"), site.remote(), print, clock=FakeClock()).ok


def test_hosts_leave_only_when_their_jobs_have_ended(site):
    """Drained first; waited for; then the file, the others, and slurmd off."""
    site.jobs = ["7\n8\n", "8\n", ""]
    said = []
    done = remove_hosts(leaving(site, "gpu-node2"), site.remote(), said.append, clock=FakeClock())
    words = [word for word, _, _ in site.did]

    assert done.ok
    # `if`: whether a host has a munge key, while the operator's is not stored yet
    changing = [word for word in words if word != "if"]
    assert changing[:7] == ["sinfo", "scontrol", "squeue", "squeue", "squeue", "systemctl", "apply"]
    assert "gpu-node2" not in site.order("apply")
    assert site.path.read_text() == without_hosts(
        ClusterFile.from_source(read(LAB.read_text(), "c")), ["gpu-node2"]
    )
    assert ("waiting for jobs 7, 8" in said, "waiting for jobs 8" in said) == (True, True)
    assert remembered("lab") == ()


def test_another_persons_reason_stays(site):
    """The host is drained already: nothing has to be done, and nothing is written over it."""
    done = remove_hosts(leaving(site, "gpu-node3"), site.remote(), print, clock=FakeClock())

    assert done.ok
    assert not any("State=DRAIN" in command for _, _, command in site.did)


def test_jobs_that_outlast_the_wait_leave_the_hosts_drained_and_all_else_as_it_was(site):
    """No job is cancelled unasked; how to go on and how to take it back is said."""
    site.jobs = ["7\n"] * 99

    with pytest.raises(WrightError, match="jobs 7 still run on gpu-node2") as error:
        remove_hosts(leaving(site, "gpu-node2", wait_s=0), site.remote(), print, clock=FakeClock())
    assert "State=RESUME" in str(error.value)
    assert site.path.read_text() == LAB.read_text()
    assert [word for word, _, _ in site.did] == ["sinfo", "scontrol", "squeue"]


def test_jobs_are_cancelled_when_that_is_asked(site):
    """By their ids."""
    site.jobs = ["7\n", "7\n", ""]
    remove_hosts(leaving(site, "gpu-node2", cancel=True, wait_s=0), site.remote(), print, clock=FakeClock())

    assert [command for word, _, command in site.did if word == "scancel"] == ["scancel 7"]


def test_a_leave_that_was_cut_short_goes_on_though_the_file_has_no_such_host(site, monkeypatch):
    """The journal knows it: slurmd is stopped, and the others are told."""
    monkeypatch.setattr("clusterwright.provision.shrink.stop", lambda *_: 1 / 0)  # the moment of the cut
    with pytest.raises(ZeroDivisionError):
        remove_hosts(leaving(site, "gpu-node2"), site.remote(), print, clock=FakeClock())
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(site.path.parent / "state"))
    begun = remembered("lab")
    site.path.write_text(without_hosts(site.said(), ["gpu-node2"]))
    done = remove_hosts(leaving(site, "gpu-node2"), site.remote(), print, clock=FakeClock())

    assert (begun, remembered("lab"), done.ok) == (("gpu-node2",), (), True)
    assert site.order("systemctl") == ["gpu-node2"]


def test_a_host_that_is_off_can_leave_too(site):
    """It cannot be told to stop its daemon; that is said, and Slurm forgets it all the same."""
    site.down = {"gpu-node4"}
    said = []
    done = remove_hosts(leaving(site, "gpu-node4"), site.remote(), said.append, clock=FakeClock())

    assert done.ok
    assert any(line.startswith("note: gpu-node4: slurmd was not stopped") for line in said)
    assert "gpu-node[1-3]" in site.path.read_text()


def test_reservations_made_by_hand_keep_their_hosts(site):
    """By name, with the command that frees them."""
    site.reservations = (
        "ReservationName=root_1 StartTime=2026-11-21T19:00:00 Nodes=gpu-node[2-3] NodeCnt=2\n"
        "ReservationName=other StartTime=2026-11-21T19:00:00 Nodes=(null) NodeCnt=0\n"
    )

    with pytest.raises(WrightError, match="gpu-node3 is in Slurm reservation `root_1`"):
        refuse_reserved(leaving(site, "gpu-node3"), site.remote())
    refuse_reserved(leaving(site, "gpu-node4"), site.remote())


def test_purge_takes_our_files_along(site):
    """The agent there is told to want nothing but the names of hosts."""
    remove_hosts(leaving(site, "gpu-node2", purge=True), site.remote(), print, clock=FakeClock())

    assert "gpu-node2" in site.order("apply")
