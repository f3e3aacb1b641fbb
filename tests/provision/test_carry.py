"""Wave by wave over hosts that answer by a function: what stops an apply, what does not, and who is left out."""

import json
import shlex
import zlib

import pytest

from clusterwright.config.names import expand
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.carry import DisruptionPolicy, carry_out
from clusterwright.provision.work import HostWork

RESTART = {"id": "file:/etc/x", "summary": "rewrite", "verbs": ["rewrite"], "diff": "", "cost": "restart"}
DRAIN = RESTART | {"cost": "drain"}
FACTS = {"interrupted": False, "job_steps": 0, "reached_at": ""}
COMPUTE = ["gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]


class Slurm:
    """Node states and jobs, changed by the commands that come."""

    def __init__(self, jobs=()):
        self.reasons, self.jobs, self.patience = {}, dict(jobs), 0

    def answer(self, command):
        """What sinfo, squeue and scontrol would say; each look at the queue brings the end of the jobs nearer."""
        if command.startswith("sinfo"):
            return "".join(
                f"{host}|{'drained' if host in self.reasons else 'idle'}|{self.reasons.get(host, 'none')}\n"
                for host in COMPUTE
            )
        if command.startswith("squeue"):
            self.patience -= 1
            jobs = self.jobs if self.patience >= 0 else {}
            return "".join(f"{job}|ann|RUNNING|1|2|1|{host}|None|n\n" for host, job in jobs.items())
        words = dict(word.split("=", 1) for word in shlex.split(command) if "=" in word)
        for host in expand(words["NodeName"]):
            self.reasons.pop(host, None)
            if words["State"] == "DRAIN":
                self.reasons[host] = words["Reason"]
        return ""


class Hosts:
    """Answers as agents would; `fails` maps a host to its error and whose fault that is."""

    def __init__(self, change=RESTART, *, fails=(), slurm=None, facts=(), down=()):
        self.change, self.fails, self.facts = change, dict(fails), dict(facts)
        self.slurm = slurm or Slurm()
        self.acted, self.idle = [], set()
        self.remote = FakeRemote(self.answer, down=frozenset(down))

    def answer(self, host, command, stdin):
        """An agent's line, or Slurm's words."""
        if "m.main()" not in command:
            return self.slurm.answer(command)
        length, _, rest = stdin.partition(b"\n")
        order = json.loads(zlib.decompress(rest[int(length) :]))
        answer = {
            "facts": FACTS | self.facts.get(host, {}),
            "notes": [],
            "error": "",
            "stale": False,
            "sum": "s",
        }
        change = self.change if isinstance(self.change, dict) else self.change(host)
        answer["changes"] = [change] if change else []
        if order["mode"] == "apply":
            self.acted.append(host)
            self.idle.add(order["idle"])
            if host in self.fails:
                answer["error"], answer["fault_domain"] = self.fails[host]
            else:
                answer["changes"] = [one | {"applied": True} for one in answer["changes"]]
        return f"{ANSWER}{json.dumps(answer)}\n"


@pytest.fixture
def run(cluster):
    """Looks and acts over such hosts."""

    def run(hosts, *, dry_run=False, **care):
        said = []
        work = HostWork(cluster, "c", hosts.remote, FakeClock(), "1")
        names = [host.name for host in cluster.hosts()]
        report = carry_out(
            work, names, policy=DisruptionPolicy(on_progress=said.append, **care), dry_run=dry_run
        )
        report_of = {host.host: host for host in report.hosts}
        return report, report_of, said

    return run


def test_a_failing_change_stops_after_its_batch_and_names_what_was_not_begun(run):
    """One compute host has tried it: the other three run on."""
    hosts = Hosts(fails={"gpu-node1": ("slurmd.service is failed", "change")})
    report, of, _said = run(hosts, batch="1")

    assert hosts.acted == ["control", "gpu-node1"]
    assert not report.ok
    assert [host.host for host in report.left_out] == ["gpu-node2", "gpu-node3", "gpu-node4"]
    assert of["gpu-node2"].left_out == "not started, because the change failed on gpu-node1"
    assert (report.changed, report.pending) == (1, 5)


def test_a_change_that_the_control_host_refuses_reaches_no_compute_host(run):
    """slurm.conf is wrong everywhere if it is wrong there."""
    hosts = Hosts(fails={"control": ("no such key", "change")})
    run(hosts)

    assert hosts.acted == ["control"]


@pytest.mark.parametrize("where", ["control", "gpu-node1"])
def test_one_hosts_own_trouble_stops_nobody(run, where):
    """A full disk on the first host of the rolling change, even."""
    hosts = Hosts(fails={where: ("the disk is full", "host")})
    report, _of, _said = run(hosts, batch="1")

    assert hosts.acted == ["control", *COMPUTE]
    assert ([host.host for host in report.failed], report.left_out) == ([where], ())


def test_what_failed_is_still_wanted(run):
    """The report of a host where nothing could be done keeps its plan."""
    hosts = Hosts(fails={"gpu-node1": ("another apply is running on this host", "host")})
    _report, of, _said = run(hosts)

    assert [(change.id, change.applied) for change in of["gpu-node1"].changes] == [("file:/etc/x", False)]


def test_hosts_with_jobs_are_left_out_of_a_change_that_wants_none(run):
    """By the host's own words or Slurm's; the others are changed, and nothing was drained."""
    hosts = Hosts(DRAIN, facts={"gpu-node1": {"job_steps": 2}}, slurm=Slurm({"gpu-node3": "12"}))
    hosts.slurm.patience = 99
    report, of, _said = run(hosts)

    assert hosts.acted == ["control", "gpu-node2", "gpu-node4"]
    assert (report.ok, [host.host for host in report.left_out]) == (True, ["gpu-node1", "gpu-node3"])
    assert of["gpu-node3"].left_out.startswith("jobs 12 run on the host")
    assert (hosts.slurm.reasons, hosts.idle) == ({}, {True})


def test_with_drain_hosts_are_emptied_changed_and_given_back(run):
    """In the order of the waves; the job has ended by itself."""
    hosts = Hosts(DRAIN, slurm=Slurm({"gpu-node1": "12"}))
    hosts.slurm.patience = 3
    report, _of, said = run(hosts, drain=True, batch="1")

    assert hosts.acted == ["control", *COMPUTE]
    assert (report.ok, report.changed, report.left_out, hosts.slurm.reasons) == (True, 5, (), {})
    assert said[:3] == [
        "gpu-node1: drained, no new job starts on these hosts",
        "gpu-node1: waiting for jobs 12",
        "gpu-node1: back in service",
    ]


def test_a_job_that_does_not_end_leaves_its_host_drained_and_named(run):
    """The others are changed; running again goes on where this ended."""
    hosts = Hosts(DRAIN, slurm=Slurm({"gpu-node1": "12"}))
    hosts.slurm.patience = 99
    report, of, _said = run(hosts, drain=True, wait_s=30)
    hosts.slurm.patience = 0
    hosts.change = lambda host: DRAIN if host == "gpu-node1" else None
    again, _of, _said = run(hosts, drain=True)

    assert (report.ok, [host.host for host in report.left_out]) == (True, ["gpu-node1"])
    assert of["gpu-node1"].left_out.startswith("jobs 12 still run after 30 s; the host stays drained")
    assert (again.changed, again.left_out, hosts.slurm.reasons) == (1, (), {})


def test_another_persons_drain_is_never_taken_back(run):
    """Changed all the same, since no job is there."""
    hosts = Hosts(DRAIN)
    hosts.slurm.reasons["gpu-node2"] = "fan broken"
    report, _of, _said = run(hosts, drain=True)

    assert (report.changed, hosts.slurm.reasons) == (5, {"gpu-node2": "fan broken"})


def test_a_host_on_which_the_change_failed_stays_drained(run):
    """Jobs would start on what is half changed."""
    hosts = Hosts(DRAIN, fails={"gpu-node1": ("no", "change")})
    run(hosts, drain=True)

    assert list(hosts.slurm.reasons) == ["gpu-node1"]


def test_what_an_interrupted_apply_left_drained_is_given_back(run):
    """It was killed after the change and before the resume: nothing is to be changed now."""
    hosts = Hosts(lambda _host: None)
    hosts.slurm.reasons |= {"gpu-node1": "wright: apply 1", "gpu-node2": "wright: remove"}
    run(hosts, drain=True)

    assert hosts.slurm.reasons == {"gpu-node2": "wright: remove"}


def test_a_clock_that_is_off_is_an_error_of_that_host(run):
    """Before anything it is a note; after an apply that changed nothing about time, the host is not as wanted."""
    now = FakeClock().now()
    clocks = {"gpu-node2": {"now": now + 600}, "gpu-node3": {"now": now - 299}}
    shown, of_shown, _said = run(Hosts(facts=clocks), dry_run=True)
    report, of, _said = run(Hosts(facts=clocks))

    assert (shown.ok, "10 min ahead" in of_shown["gpu-node2"].notes[0]) == (True, True)
    assert [host.host for host in report.failed] == ["gpu-node2"]
    assert "chronyc makestep" in of["gpu-node2"].error
    assert (report.changed, of["gpu-node2"].fault_domain) == (5, "host")


def test_a_clock_that_was_just_set_up_is_given_time(run):
    """Chrony has been started a second ago."""
    chrony = RESTART | {"id": "file:/etc/chrony/chrony.conf"}
    report, _of, _said = run(Hosts(chrony, facts={"gpu-node2": {"now": FakeClock().now() + 600}}))

    assert report.ok


def test_a_batch_that_is_no_size_touches_no_host(run):
    """Not even to look."""
    hosts = Hosts()
    with pytest.raises(WrightError, match="--batch 4"):
        run(hosts, batch="many")

    assert hosts.remote.calls == []
