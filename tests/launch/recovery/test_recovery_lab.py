"""Trainings under real Slurm on real hosts, which are then killed; needs root."""

import contextlib
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.cli import report
from clusterwright.cli.cancel import cancel
from clusterwright.cli.jobs import jobs
from clusterwright.cli.status import status
from clusterwright.cli.why import why
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.events import RemoteReader, events, wait
from clusterwright.launch.submission import submit

pytestmark = [pytest.mark.lab, pytest.mark.core, pytest.mark.train, pytest.mark.timeout(240)]
COUNTING = Path(__file__).parents[2] / "onhost" / "supervisor" / "counting.py"
STEP_S = 0.2


class Trial:
    """A counting run on the lab, seen through the shared folder of this machine."""

    def __init__(self, where):
        self.where, self.run = where, None
        self.there = RemoteReader(where.remote, where.cluster.control.name)
        self.program = f"{where.cluster.shared_folder}/counting.py"

    def submit(self, steps=1000, **fields):
        """Two hosts with one rank each, unless `fields` say otherwise."""
        plain = {"name": "count", "command": [self.program, str(steps), str(STEP_S)], "nodes": 2, "time": "10m",
                 "user": "alice", "checkpoint": {"every": "5 steps"}}  # fmt: skip
        self.run = submit(
            Job.model_validate({**plain, **fields}, strict=False), self.where.cluster, self.where.remote
        )
        return self

    def events(self, kind, **wanted):
        """Events of one kind so far."""
        found = events(self.run, self.there)
        return [
            one
            for one in found
            if one["event"] == kind and all(one.get(key) == value for key, value in wanted.items())
        ]

    def until(self, kind, count=1, limit_s=150, **wanted):
        """Those events, once there are so many."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            with contextlib.suppress(WrightError):  # a busy machine does not answer every ssh in time
                found = self.events(kind, **wanted)
                if len(found) >= count:
                    return found
            time.sleep(0.3)
        raise AssertionError(f"no {kind} {wanted} within {limit_s} s:\n{self.said()}")

    def said(self):
        """What supervisors, agents and Slurm said."""
        run = self.run.folder
        return self.where.remote.run(
            "control", f"tail -n 40 {run}/slurm-*.out {run}/logs/agents.log; squeue; sinfo -N"
        ).out

    def members(self):
        """The supervisor's host, and another one that trains."""
        batch = self.until("job_start")[-1]["host"]
        hosts = self.until("generation_start")[-1]["hosts"]
        return batch, next(host for host in hosts if host != batch)

    def enough(self):
        """Let it finish, and see that it does."""
        self.where.sh("control", f"touch {self.run.folder}/enough")
        end = wait(self.run, self.there, limit_s=200)
        assert end.outcome == "finished", self.said()

    def nothing_left(self):
        """No job of the run is in Slurm, and none of its processes on any host that is up."""
        # a job stays in Slurm until a dead host of it counts as lost (15 s in the lab)
        end = time.monotonic() + 120
        while queue(self.where, self.run.name) and time.monotonic() < end:
            time.sleep(0.5)
        assert queue(self.where, self.run.name) == ""
        for host in self.where.cluster.hosts("compute"):
            left = self.where.remote.run(host.name, f"pgrep -af {self.run.name} | grep -v pgrep; true")
            assert left.out == ""


def queue(where, name):
    """Jobs of that name that Slurm has not finished with."""
    return where.sh("control", f"squeue --noheader --name={name} --format='%i %T %r'")


@pytest.fixture
def trial(lab_cluster):
    """All hosts up and idle, and a run that is over afterwards."""
    one = Trial(lab_cluster)
    lab_cluster.rest()
    lab_cluster.sh("control", f"cat > {one.program} <<'END'\n{COUNTING.read_text()}\nEND")
    yield one
    if one.run:
        lab_cluster.remote.run("control", f"touch {one.run.folder}/cancelled; scancel --name={one.run.name}")
    lab.undo(lab_cluster.cluster.name, "all")


def kill_host(trial, host):
    """Power off; the time of it."""
    at = time.time()
    lab.fault(trial.where.cluster.name, "kill-host", host)
    return at


def recovered(trial, at, generation=2):
    """Wait for the first step that was not complete at the fault; how soon it comes is bench/resilience's matter."""
    before = max(one["step"] for one in trial.events("step") if one["time"] <= at)
    trial.until("resumed", generation=generation)
    end = time.monotonic() + 200
    while not any(one["step"] > before for one in trial.events("step", generation=generation)):
        assert time.monotonic() < end, trial.said()
        time.sleep(0.3)


def test_a_killed_rank_is_restarted_in_place(trial):
    """The next generation has the same hosts, in the same job."""
    trial.submit().until("step", 7)
    rank = trial.until("resumed", rank=1)[0]
    trial.where.sh(rank["host"], f"kill -9 {rank['pid']}")

    again = trial.until("resumed", 2, rank=1)[-1]
    assert (again["generation"], again["step"] >= 5) == (2, True)
    assert len({tuple(one["hosts"]) for one in trial.events("generation_start")}) == 1
    assert len(trial.events("job_start")) == 1
    trial.enough()


def test_a_spare_takes_over_from_a_killed_host(trial):
    """Within the same job; the host comes back afterwards, and Slurm takes it."""
    trial.submit(recovery={"on_host_loss": "spare", "spare_nodes": 1}).until("step", 7)
    _, victim = trial.members()
    recovered(trial, kill_host(trial, victim))

    assert len(trial.events("job_start")) == 1
    assert victim not in trial.events("generation_start")[-1]["hosts"]
    trial.enough()
    trial.nothing_left()


def test_a_host_whose_ranks_network_passes_nothing_is_replaced(trial):
    """Its agent is heard, in another network: who starts again there does not reach the store, and others do."""
    trial.submit(recovery={"on_host_loss": "spare", "spare_nodes": 1}).until("step", 7)
    _, victim = trial.members()
    rank = trial.until("resumed", rank=1)[0]
    lab.fault(trial.where.cluster.name, "half-open-link", victim, network="compute")
    at = time.time()
    trial.where.sh(rank["host"], f"kill -9 {rank['pid']}")

    (lost,) = trial.until("host_lost", lost_host=victim)
    assert "on the ranks' network" in lost["reason"]
    recovered(trial, at, generation=3)
    assert victim not in trial.events("generation_start")[-1]["hosts"]
    assert len(trial.events("job_start")) == 1
    trial.enough()


def test_the_hosts_left_go_on_alone(trial):
    """`shrink` with nobody to replace the killed host."""
    trial.submit(recovery={"on_host_loss": "shrink"}, elastic={"min_nodes": 1}).until("step", 7)
    batch, victim = trial.members()
    kill_host(trial, victim)

    assert trial.until("generation_start", 2)[-1]["hosts"] == [batch]
    trial.enough()


def test_a_successor_job_takes_over_from_a_killed_host(trial):
    """A new job on other hosts, within seconds; the one that stood by is gone."""
    trial.submit(recovery={"on_host_loss": "successor"}).until("step", 7)
    _, victim = trial.members()
    recovered(trial, kill_host(trial, victim))

    assert victim not in trial.until("job_start", 2)[-1]["hosts"]
    trial.enough()


@pytest.mark.parametrize("fault", ["kill-host", "link-down"])
def test_a_job_goes_on_inside_itself_without_its_batch_host(trial, fault):
    """A spare takes its place, another host supervises, and the end of the run ends the job."""
    trial.submit(recovery={"on_host_loss": "spare", "spare_nodes": 1, "heartbeat_timeout": "4s"}).until(
        "step", 7
    )
    batch, _ = trial.members()
    at = time.time()
    lab.fault(trial.where.cluster.name, fault, batch)
    recovered(trial, at)

    assert [one["lost_host"] for one in trial.events("failover")] == [batch]
    assert len(trial.events("job_start")) == 1
    assert batch not in trial.events("generation_start")[-1]["hosts"]
    trial.enough()
    lab.undo(trial.where.cluster.name, "all")
    trial.nothing_left()


def test_the_supervisors_own_host_may_be_killed(trial):
    """The agents that are left call the successor and end the job."""
    trial.submit().until("step", 7)
    batch, _ = trial.members()
    recovered(trial, kill_host(trial, batch))

    assert batch not in trial.until("job_start", 2)[-1]["hosts"]
    trial.enough()


def test_a_job_of_one_host_survives_it(trial):
    """Nobody of the job is left: the job that stood by begins when Slurm has noticed."""
    trial.submit(nodes=1).until("step", 7)
    kill_host(trial, trial.until("job_start")[0]["host"])

    resumed = trial.until("resumed", limit_s=150, generation=2)
    assert resumed[0]["step"] >= 5
    trial.enough()


def test_a_time_limit_hands_over_to_a_successor(trial):
    """USR1 comes before the limit; the ranks save, and the next job goes on at that step."""
    trial.submit(nodes=1, time="1m").until("step", 3)
    stopped = trial.until("stopped", limit_s=150)[0]
    resumed = trial.until("resumed", generation=2)[0]

    assert resumed["step"] == stopped["step"]
    trial.enough()


def test_a_cancelled_run_leaves_nothing(trial):
    """The ranks save; no successor, no job, no process is left."""
    trial.submit().until("step", 7)
    trial.where.sh("control", f"touch {trial.run.folder}/cancelled")

    assert wait(trial.run, trial.there, limit_s=150).outcome == "cancelled"
    assert trial.events("stopped")
    trial.nothing_left()


def test_all_commands_agree_about_a_canceled_run(trial, capfd):
    """`cancel` ends it; `jobs`, `status`, `report job` and `why` then name the same outcome, and no failure."""
    trial.submit().until("step", 7)
    name, file = trial.run.name, trial.where.file
    assert cancel(name, cluster=file) == 0
    assert wait(trial.run, trial.there, limit_s=150).outcome == "cancelled"
    capfd.readouterr()

    answers = {}
    for command in (jobs, status, report.job, why):
        code = command(cluster=file) if command is jobs else command(name, cluster=file)
        answers[command.__name__] = (code, capfd.readouterr().out)
    assert {code for code, _ in answers.values()} == {0}, answers
    of_run = next(line for line in answers["jobs"][1].splitlines() if name in line)
    for text in (of_run, answers["status"][1], answers["job"][1], answers["why"][1]):
        assert "cancel" in text, answers
        assert not {"FAILED", "node-lost"} & set(text.split()), text


def test_scancel_alone_ends_the_whole_run(trial):
    """Who cancels the job by Slurm's own command does not want it to come back."""
    trial.submit().until("step", 7)
    trial.where.sh("control", f"scancel {trial.run.job_id}")

    assert wait(trial.run, trial.there, limit_s=150).outcome == "cancelled"
    trial.nothing_left()
    assert len(trial.events("job_start")) == 1


def test_a_killed_supervisor_is_replaced(trial):
    """Its job fails, and the one that stood by goes on."""
    trial.submit().until("step", 7)
    batch, _ = trial.members()
    trial.where.sh(batch, "kill -9 $(pgrep -f 'onhost.supervisor.[s]upervisor')")
    trial.until("resumed", generation=2)

    assert len(trial.events("job_start")) == 2
    trial.enough()
    trial.nothing_left()
