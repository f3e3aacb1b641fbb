"""Who follows a supervisor; the whole of it, with real Slurm, is in test_recovery_lab.py."""

import json
import os

import pytest

from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor import failover, schedulers
from clusterwright.onhost.supervisor.failover import Failover, child_environment
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.job import read_record

ORDERS = {"number": 1, "beat": 0.1, "supervisor": "n1"}


@pytest.fixture
def orphan(tmp_path, monkeypatch, write_record):
    """An agent of job 7 whose supervisor beat five times, the last time half a second ago; Slurm answers."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(schedulers, "in_reach", lambda _: True)  # Slurm itself is in a lab
    folder = Folder(str(tmp_path))
    folder.claim("chain/1", "7")
    folder.write("pulse", {"job_id": "7", "number": 1, "beats": 5, "address": "10.0.0.1", "port": 20001})
    write_record(
        tmp_path, {"name": "gpt", "recipe": "gpt", "time": "1d", "recovery": {"heartbeat_timeout": "3s"}}
    )
    record = read_record(str(tmp_path))._replace(local=False)
    one = Failover(folder, record, ("10.0.0.1", 20001))
    one.started = []
    one._start = lambda number, *_: one.started.append(number)  # the process is in a lab
    one.greeted(ORDERS)
    one.record_beats(5)
    one._heartbeat.last_beat_at -= 0.5  # what half a second of waiting would do
    return one


def beat(folder, number, beats, **more):
    """A supervisor shows itself."""
    Folder(str(folder)).write(
        "pulse",
        {"job_id": "7", "number": number, "beats": beats, "address": "10.0.0.2", "port": 20002, **more},
    )


def test_a_still_pulse_lets_an_agent_claim_the_next_number(orphan, tmp_path):
    """Once, and then it gives the one it has started time to show itself."""
    orphan.turn()
    orphan.turn()

    assert orphan.started == [2]
    assert (tmp_path / "chain" / "2").read_text() == "7"


def test_of_two_claimants_one_starts(orphan, tmp_path):
    """The other one waits for it, and follows it when it shows itself."""
    assert Folder(str(tmp_path)).claim("chain/2", "7")
    orphan.turn()
    assert orphan.started == []

    beat(tmp_path, 2, 1)
    orphan.turn()
    assert orphan.supervisor_address == ("10.0.0.2", 20002)


def test_a_claimant_that_never_shows_itself_is_followed(orphan, tmp_path):
    """By the number after its own."""
    assert Folder(str(tmp_path)).claim("chain/2", "7")
    orphan.turn()
    orphan._heartbeat.last_beat_at -= failover.START_S
    orphan.turn()
    assert orphan.started == []

    orphan._heartbeat.last_beat_at -= 0.5  # missed heartbeats
    orphan.turn()

    assert orphan.started == [3]


def test_a_pulse_that_goes_on_means_that_we_are_cut_off(orphan, tmp_path):
    """The supervisor lives; nothing is claimed."""
    beat(tmp_path, 1, 9)
    orphan.turn()

    assert orphan.started == []
    assert not (tmp_path / "chain" / "2").exists()


def test_who_does_not_reach_slurm_claims_nothing(orphan, tmp_path, monkeypatch):
    """It could neither call a successor nor end the job."""
    monkeypatch.setattr(schedulers, "in_reach", lambda _: False)
    orphan.turn()

    assert orphan.started == []
    assert not (tmp_path / "chain" / "2").exists()


def test_a_later_job_of_the_run_leaves_an_agent_nothing_to_do(orphan, tmp_path):
    """Nor does one that has been called and has not begun: who called it says so with its last beat."""
    assert not orphan.over
    beat(tmp_path, 1, 6, over=True)
    assert orphan.over

    beat(tmp_path, 2, 1, job_id="8")
    assert orphan.over


def test_what_srun_said_of_one_step_is_no_option_of_the_next(monkeypatch):
    """The job's own id stays, and what the job's user has set."""
    for name in ("SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_NODELIST", "PMIX_RANK", "SRUN_DEBUG"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    left = child_environment()

    assert {name for name in left if name.startswith(("SLURM", "SRUN", "PMI"))} <= {
        "SLURM_JOB_ID", "SLURM_EXPORT_ENV", "SLURM_CONF",
    }  # fmt: skip
    assert left["OMP_NUM_THREADS"] == "4"
    assert left["PATH"] == os.environ["PATH"]


def test_who_takes_over_reads_the_same_record(orphan, tmp_path, monkeypatch):
    """It is told the run's folder, and its orders hold what the record does not."""
    started = []
    monkeypatch.setattr(failover.processes, "start", lambda argv, *_, **__: started.append(argv) or Child())
    del orphan._start
    orphan.turn()

    assert started[0][1:] == module_arguments(
        "clusterwright.onhost.supervisor.failover_supervisor", str(tmp_path)
    )
    assert json.loads(Child.said) == {
        **ORDERS,
        "number": 2,
        "lost_host": "n1",
        "heartbeat_age_s": pytest.approx(0.5, abs=0.3),
    }


class Child:
    """A process that hears its orders."""

    pid, said = 4711, b""

    @property
    def stdin(self):
        """What is written into it."""
        return self

    def write(self, data):
        """Orders."""
        Child.said += data

    def close(self):
        """No more."""
