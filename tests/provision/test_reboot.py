"""Hosts that are rebooted: what is waited for, in which order, and what is said of those that do not come back."""

import json
import zlib

import pytest

from clusterwright.config.names import expand
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.carry import DisruptionPolicy, carry_out
from clusterwright.provision.reboot import BY_SYSTEMD, Reboots
from clusterwright.provision.work import HostWork

COMPUTE = ["gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]
DRIVER = {"id": "package:driver", "summary": "1 -> 2", "verbs": ["upgrade"], "diff": "", "cost": "reboot"}
NCCL = {"id": "package:nccl", "summary": "1 -> 2", "verbs": ["upgrade"], "diff": "", "cost": "drain"}
PLAIN = {"id": "file:/etc/x", "summary": "rewrite", "verbs": ["rewrite"], "diff": "", "cost": "live"}


class Cluster:
    """Hosts that boot, a slurmctld that hears of their slurmd, and agents that owe reboots; each may fail at it."""

    def __init__(self, changes=(DRIVER,), *, lost=(), owes=(), jobs=(), **fails):
        self.changes, self.lost = changes, lost
        self.stuck, self.dark, self.deaf = (fails.get(name, ()) for name in ("stuck", "dark", "deaf"))
        self.boots = dict.fromkeys(COMPUTE, 1)
        self.starts = dict.fromkeys(COMPUTE, 1)
        self.reasons, self.jobs, self.log = {}, dict(jobs), []
        self.owes = {host: ["package:driver"] for host in owes}
        self.done = set()
        self.remote = FakeRemote(self.answer)

    def answer(self, host, command, stdin):
        """An agent's line, a host's words, or Slurm's."""
        if "m.main()" in command:
            return self.agent(host, stdin)
        if command == BY_SYSTEMD:
            self.reboot(host)
            return ""
        if "boot_id" in command:
            return "" if host in self.dark and self.boots[host] > 1 else f"{self.boots[host]}\n"
        return self.slurm(command)

    def reboot(self, host):
        """Unless it is stuck."""
        self.log.append(f"reboot {host}")
        if host not in self.stuck:
            self.boots[host] += 1
            self.starts[host] += host not in self.deaf
            self.owes.pop(host, None)

    def slurm(self, command):
        """What sinfo, squeue and scontrol would say."""
        if command.startswith("sinfo"):
            rows = ((host, "drained" if host in self.reasons else "idle") for host in COMPUTE)
            return "".join(f"{host}|{state}|{self.reasons.get(host, 'none')}\n" for host, state in rows)
        if command.startswith("squeue"):
            return "".join(f"{job}|ann|RUNNING|1|2|1|{host}|None|n\n" for host, job in self.jobs.items())
        if "show node" in command:
            return "".join(f"NodeName={h} State=IDLE SlurmdStartTime={self.starts[h]}\n" for h in COMPUTE)
        for host in expand(command.partition("NodeName=")[2].split()[0].strip("'")):
            self.log.append(f"{'drain' if 'State=DRAIN' in command else 'resume'} {host}")
            self.reasons.pop(host, None)
            if "State=DRAIN" in command:
                self.reasons[host] = command.partition("Reason='")[2].rstrip("'")
        return ""

    def agent(self, host, stdin):
        """Changes are made once; packages that are lost are left, the others owe a reboot if they cost one."""
        length, _, rest = stdin.partition(b"\n")
        order = json.loads(zlib.decompress(rest[int(length) :]))
        changes = [
            dict(one) for one in self.changes if host in COMPUTE and (host, one["id"]) not in self.done
        ]
        answer = {"changes": changes, "notes": [], "error": "", "stale": False, "sum": "s"}
        ids = [name for lost_host, name in self.lost if lost_host == host]
        if order["mode"] == "fetch":
            self.log.append(f"fetch {host}")
            answer |= {
                "changes": [],
                "unavailable": dict.fromkeys(ids, "not reached"),
                "unavailable_ids": ids,
            }
        if order["mode"] == "apply":
            self.log.append(f"change {host}")
            for one in changes:
                one["applied"] = one["id"] not in order["skip_sets"]
                if one["applied"]:
                    self.done.add((host, one["id"]))
            names = [one["id"] for one in changes if one["applied"] and one["cost"] == "reboot"]
            self.owes |= {host: names} if names else {}
            if order["skip_sets"]:
                answer |= {"error": "packages not changed: not reached", "fault_domain": "host"}
        facts = {"interrupted": False, "job_steps": 0, "reached_at": ""}
        facts |= {"boot": str(self.boots.get(host, 0)), "owes": self.owes.get(host, [])}
        return f"{ANSWER}{json.dumps(answer | {'facts': facts})}\n"


@pytest.fixture
def run(cluster):
    """An apply over such hosts: the report, hosts by name, and what was said."""

    def run(hosts, **care):
        said = []
        work = HostWork(cluster, "c", hosts.remote, FakeClock(), "1")
        names = [host.name for host in cluster.hosts()]
        report = carry_out(
            work, names, policy=DisruptionPolicy(**{"on_progress": said.append, "wait_s": 30} | care)
        )
        return report, {host.host: host for host in report.hosts}, said

    return run


def test_a_host_is_fetched_for_drained_changed_rebooted_looked_at_and_given_back(run):
    """In this order on each; and one after the other where a batch is one."""
    hosts = Cluster()
    report, _of, _said = run(
        hosts,
        reboot=True,
        batch="1",
        health_check=lambda names: hosts.log.extend(f"look {one}" for one in names) or {},
    )

    steps = ("fetch", "drain", "change", "reboot", "look", "resume")
    assert hosts.log == [f"{step} {host}" for host in COMPUTE for step in steps]
    assert (report.ok, report.changed, report.left_out) == (True, 4, ())


def test_without_leave_the_hosts_are_left_out_even_by_drain(run):
    """Nothing is touched."""
    hosts = Cluster()
    report, of, _said = run(hosts, drain=True)

    assert [host.host for host in report.left_out] == COMPUTE
    assert of["gpu-node1"].left_out == (
        "a reboot is required for package:driver: pass --reboot, which drains the host first"
    )
    assert hosts.log == []


def test_a_reboot_that_is_owed_is_named_then_made(run):
    """It was changed, and the apply was cut short; nothing else is to be done there."""
    hosts = Cluster(changes=(), owes=["gpu-node2"])
    hosts.reasons["gpu-node2"] = "wright: apply 0"
    named, of, _said = run(hosts, drain=True)
    before = dict(hosts.reasons)
    made, _of, _said = run(hosts, reboot=True)

    assert [host.host for host in named.left_out] == ["gpu-node2"]
    assert "changes wait for a reboot (package:driver): pass --reboot" in of["gpu-node2"].left_out
    assert before == {"gpu-node2": "wright: apply 0"}
    assert hosts.log == ["change gpu-node2", "reboot gpu-node2", "resume gpu-node2"]
    assert (made.ok, made.left_out, hosts.reasons) == (True, (), {})


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("stuck", "the host did not shut down within 15 min"),
        ("dark", "the host did not respond within 15 min of its reboot: check its console"),
        ("deaf", "slurmd has not registered since the reboot"),
    ],
)
def test_a_host_that_is_not_back_stays_drained_and_stops_the_rest(run, trouble, words):
    """Slurm shows why; the next batch might end the same."""
    hosts = Cluster(**{trouble: ["gpu-node1"]})
    report, of, _said = run(hosts, reboot=True, batch="2")

    assert words in of["gpu-node1"].error
    assert of["gpu-node1"].error.endswith("; the host stays drained")
    assert list(hosts.reasons) == ["gpu-node1"]
    assert hosts.reasons["gpu-node1"].startswith(f"wright: apply 1: {words.partition(':')[0]}")
    assert [host.host for host in report.left_out] == COMPUTE[1:]
    assert not report.ok


def test_a_host_that_the_checks_refuse_stays_drained(run):
    """With what they saw."""
    hosts = Cluster()
    _report, of, _said = run(
        hosts, reboot=True, batch="1", health_check=lambda names: dict.fromkeys(names, "gpus_answer: 7 GPUs")
    )

    assert of["gpu-node1"].error == "gpus_answer: 7 GPUs; the host stays drained"
    assert list(hosts.reasons) == ["gpu-node1"]
    assert "reboot gpu-node2" not in hosts.log


def test_no_host_is_drained_for_packages_that_do_not_come(run):
    """What else there is to do there is done; hosts that have them go on."""
    hosts = Cluster((DRIVER, PLAIN), lost=[("gpu-node2", "package:driver")])
    report, of, _said = run(hosts, reboot=True)

    assert "drain gpu-node2" not in hosts.log
    assert "reboot gpu-node2" not in hosts.log
    assert of["gpu-node2"].error.startswith("packages not changed")
    assert ("gpu-node2", "file:/etc/x") in hosts.done
    assert [host.host for host in report.failed] == ["gpu-node2"]
    assert (hosts.reasons, [hosts.boots[host] for host in COMPUTE]) == ({}, [2, 1, 2, 2])


def test_a_host_that_lacks_some_packages_is_given_back_with_the_others(run):
    """The driver came and was rebooted for; the library did not."""
    hosts = Cluster((DRIVER, NCCL), lost=[("gpu-node2", "package:nccl")])
    _report, of, _said = run(hosts, reboot=True)

    assert hosts.boots["gpu-node2"] == 2
    assert of["gpu-node2"].error.startswith("packages not changed")
    assert hosts.reasons == {}


def test_jobs_that_do_not_end_keep_their_host_from_the_reboot(run):
    """It stays drained, and is named."""
    hosts = Cluster(jobs={"gpu-node1": "12"})
    _report, of, _said = run(hosts, reboot=True, batch="1")

    assert of["gpu-node1"].left_out.startswith("jobs 12 still run")
    assert (hosts.boots["gpu-node1"], list(hosts.reasons)) == (1, ["gpu-node1"])


def test_hosts_that_slurm_does_not_have_are_only_waited_for(cluster):
    """A login or control host has no slurmd to come back."""
    hosts = Cluster()
    hosts.boots["control"], hosts.starts["control"] = 1, 1
    reboots = Reboots(cluster, hosts.remote, FakeClock(), lambda _words: None, "1")

    assert reboots.make({"control": "1"}) == {}
    assert hosts.boots["control"] == 2
    assert reboots.make({}) == {}
