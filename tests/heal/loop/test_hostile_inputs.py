"""Damaged and hostile inputs of heal: its loop goes on, and no host is touched because of them."""

import itertools
import sqlite3
from dataclasses import replace

import pytest

from clusterwright.check import Status, run
from clusterwright.edge.fakes import FakeRemote
from clusterwright.errors import WrightError
from clusterwright.heal.actions import Executor, exclude
from clusterwright.heal.actions.executor import ActionOrder
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.action_runner import ActionRunner
from clusterwright.heal.loop.gather import Gatherer, of_verdicts, required_checks
from clusterwright.heal.loop.loop import Loop
from clusterwright.heal.loop.setup import watch
from clusterwright.heal.moment import Moment
from clusterwright.heal.observation import FaultFinding, JobStatus
from clusterwright.heal.past import Intent
from clusterwright.heal.policy import policy_of
from clusterwright.heal.rule import rule_for, rules
from clusterwright.heal.slurm_text import with_record
from clusterwright.onhost.lib.safe_reader import OverBudgetError

FEW, MANY = 1_000, 100_000
COUNTS = pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
NODES = "".join(
    f"NodeName=gpu-node{number} Arch=x86_64 CPUAlloc=1 CPUTot=16 Gres=gpu:a100:4 State=MIXED Partitions=train "
    "BootTime=2026-11-21T10:00:00 Comment=a Reason=none\n"
    for number in (1, 2, 3)
)
QUEUE = "7|FAILED|mallory||gpu-node1\n8|RUNNING|victim|gpu-node3|gpu-node[1-2]\n"
JOB = b"JobId=8 JobName=j UserId=a(1) JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1 NodeList=gpu-node[1-2] \n"
pytestmark = pytest.mark.timeout(1800)


class HealthyCluster:
    """What heal reads of three healthy hosts; a test damages a part of it."""

    def __init__(self, cluster):
        self.slurm, self.claims, self._s = f"{NODES}@@\n{QUEUE}", [], 0.0
        self.remote = FakeRemote(lambda *_: self.slurm)
        policy = policy_of(cluster)
        self.journal = Journal(":memory:")
        runner = ActionRunner(
            self.journal, Executor(cluster, self.remote), policy, self.now, lambda: self._s, print, 1.0
        )
        gatherer = Gatherer(cluster, self.remote, lambda _hosts: [], lambda _job, _seconds: self.claims)
        self.loop = Loop(self.journal, gatherer, runner, policy, rules(), 0.0, lambda _text: None)

    def now(self):
        """A minute after the last moment."""
        self._s += 60
        return Moment("boot", self._s)

    def actions(self, polls=2):
        """The actions after some polls; heal requires a finding in two."""
        for _ in range(polls):
            self.loop.tick()
        return [entry.record.intent.action for entry in self.journal.entries()]


@pytest.fixture
def healthy(pretended):
    """A cluster on which heal may do everything."""
    return HealthyCluster(pretended().cluster)


@COUNTS
def test_damaged_records_of_slurm_drain_nobody(healthy, hostile, count):
    """Nodes and jobs, as a broken slurmctld or an exotic release prints them."""
    for data in hostile(count, healthy.slurm.encode()):
        healthy.slurm = data.decode("utf-8", "replace")
        assert healthy.actions() == []

    healthy.slurm = f"{NODES}@@\n".replace("State=MIXED", "State=DOWN+NOT_RESPONDING")
    assert healthy.actions() != []


@pytest.mark.parametrize(
    "state", ["MIXED Parti\ufffd]\ufffd*", "MIXED Parti*", "MI-XED*", "MIXED\u017f*", "[[1]]*", "*", "MIXED*"]
)
def test_a_damaged_state_is_not_an_unresponsive_host(healthy, state):
    """The mark of an unresponsive slurmd behind other text: the record is skipped."""
    healthy.slurm = healthy.slurm.replace(
        "State=MIXED Partitions=train BootTime=2026-11-21T10:00:00", f"State={state}"
    )

    assert healthy.actions() == []


@COUNTS
def test_what_a_log_claims_drains_nobody(healthy, hostile, count):
    """All codes that rules know, and damaged ones; of the job's own hosts and of others."""
    known = [
        f"{kind}:{code}".encode() for rule in rules() for kind in rule.answers for code in rule.answers[kind]
    ]
    codes = itertools.chain(known, hostile(count, *known))
    for number, data in enumerate(codes):
        code = data.decode("utf-8", "replace").rpartition(":")[2]
        healthy.slurm = f"{NODES}@@\n" + QUEUE.replace("7|", f"{number}|")
        healthy.claims = [FaultFinding(host, "check", code, code) for host in ("gpu-node1", "control", code)]
        assert healthy.actions(polls=1) == []


@COUNTS
def test_a_damaged_record_of_a_job_is_read(hostile, count):
    """Its job is not requeued by a number that is none."""
    job = JobStatus("8", "RUNNING", ("gpu-node1",))
    read = {with_record(job, data.decode("utf-8", "replace")).can_requeue for data in hostile(count, JOB)}
    assert read == {True, False}


@pytest.mark.parametrize("count", [20, pytest.param(2_000, marks=pytest.mark.long)])
def test_damaged_output_of_a_host_is_no_fault_of_it(pretended, hostile, count):
    """Checks whose facts cannot be parsed are unknown."""
    cluster = pretended().cluster
    for data in hostile(count, b'clusterwright-facts {"gpus": {"code": 0, "out": ""}}\n'):
        remote = FakeRemote(lambda *_, data=data: data.decode("utf-8", "replace"))
        verdicts = run(cluster, remote, hosts=("gpu-node1",), only=required_checks())
        assert [rule_for(finding, rules()) for finding in of_verdicts(verdicts)] == []
        assert {verdict.status for verdict in verdicts} <= {Status.UNKNOWN, Status.SKIPPED, Status.OK}


def test_a_journal_of_an_unknown_format_is_damage(tmp_path):
    """The number of the schema's format in the header of the file is none that SQLite knows."""
    path = tmp_path / "intents.sqlite"
    Journal(path).close()
    data = bytearray(path.read_bytes())
    data[44:48] = b"true"
    path.write_bytes(data)

    with pytest.raises(WrightError, match="state-damaged"):
        Journal(path)


def test_bytes_of_no_text_in_a_journal_are_damage(tmp_path):
    """SQLite names the damaged table in its report and its messages."""
    path = tmp_path / "intents.sqlite"
    Journal(path).close()
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes().replace(b"CREATE TABLE", b"CREATE \xd7\xd7BLE"))

    with pytest.raises(WrightError, match="state-damaged"):
        Journal(path)


@pytest.mark.parametrize(
    ("count", "seed"),
    [(200, 22), *(pytest.param(MANY // 10, seed, marks=pytest.mark.long) for seed in range(10))],
)
def test_a_damaged_journal_is_refused_or_read(tmp_path, hostile, count, seed):
    """Nothing but heal's own error, which names the file."""
    path = tmp_path / "intents.sqlite"
    journal = Journal(path)
    journal.close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    intact, outcomes = path.read_bytes(), set()
    for data in hostile(count, intact, seed=seed):
        path.write_bytes(data)
        for other in tmp_path.glob("*-*"):
            other.unlink()
        try:
            journal = Journal(path)
            outcomes.add(len(journal.entries()))
            journal.close()
        except WrightError as error:
            outcomes.add(error.findings[0].code)
    assert outcomes <= {0, "state-damaged", "state-newer"}
    assert "state-damaged" in outcomes


@pytest.mark.parametrize("error", [ValueError("int()"), RecursionError(), MemoryError(), OverBudgetError()])
def test_a_job_that_cannot_be_diagnosed_stops_no_poll(pretended, error):
    """It is not diagnosed again, and the reason is logged."""
    healthy, calls, log = HealthyCluster(pretended().cluster), [], []

    def fail(job, _seconds):
        calls.append(job)
        raise error

    healthy.loop.gatherer = replace(healthy.loop.gatherer, reason=fail, log=log.append)

    assert healthy.actions() == []
    assert calls == ["7"]
    assert "job 7 of mallory: no diagnosis" in log[0]


def test_an_error_in_a_poll_does_not_end_the_watch():
    """The next poll may succeed."""
    log = []

    class LoopThatFails:
        """A loop whose first poll cannot parse an answer."""

        def __init__(self):
            self.errors = iter([ValueError("int()"), RecursionError("deep"), KeyError("x")])
            self.log = log.append

        def tick(self):
            """Poll."""
            raise next(self.errors)

    with pytest.raises(StopIteration):
        watch(LoopThatFails(), 0.0, lambda _seconds: None)
    assert log == ["ValueError: int()", "RecursionError: deep", "KeyError: 'x'"]


def test_failed_jobs_of_one_user_delay_neither_the_polls_nor_those_of_others(healthy):
    """One of each user is diagnosed in each poll."""
    diagnosed = []
    healthy.loop.gatherer = replace(
        healthy.loop.gatherer, reason=lambda job, _seconds: diagnosed.append(job) or ()
    )
    healthy.slurm = f"{NODES}@@\n" + "".join(
        f"{number}|FAILED|{'victim' if number == 19 else 'mallory'}||gpu-node1\n" for number in range(10, 20)
    )
    healthy.loop.tick()
    assert diagnosed == ["10", "19"]

    healthy.loop.tick()
    assert diagnosed == ["10", "19", "11"]


@pytest.mark.parametrize("text", ["a[1-99999999]", "a[1-99999999]b[2-1],c", "@x", "a[1-"])
def test_hosts_that_a_job_excludes_are_read_within_limits(pretended, text):
    """Its user writes the list; one that cannot be read is left as it is."""
    cluster = pretended().cluster
    record = JOB.replace(b"NodeList=", b"ExcNodeList=" + text.encode() + b" NodeList=").replace(
        b"JobState=RUNNING", b"JobState=PENDING"
    )
    commands = []

    def answer(_host, command, _stdin):
        commands.append(command)
        return record.decode()

    order = ActionOrder(1, Intent("gpu-node1", "xid", "exclude", job="8"))
    executor = Executor(cluster, FakeRemote(answer))

    assert exclude.prepare(order, executor) is None
    assert not exclude.happened(order, {}, executor)
    assert exclude.undo(order, executor) == "the list of hosts that job 8 excludes is invalid"
    assert not any("update" in command for command in commands)
