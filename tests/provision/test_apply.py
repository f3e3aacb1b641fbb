"""An apply over hosts that answer by a function: who is asked what, and what becomes of each answer."""

import json
import zlib

import pytest

from clusterwright.config.field import Cost
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.secrets import munge_key, state_folder
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.work import read_answer

CHANGE = {"id": "file:/etc/x", "summary": "rewrite", "verbs": ["rewrite"], "diff": "+a", "cost": "restart"}
FACTS = {"interrupted": False, "job_steps": 0, "reached_at": ""}


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    """The key of these tests is not the user's, and there is one: no host is asked for its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    munge_key(state_folder("lab"))


def order_of(stdin):
    """What the agent on the host is given, from the bytes that ssh carries."""
    length, _, rest = stdin.partition(b"\n")
    return json.loads(zlib.decompress(rest[int(length) :]).decode())


class Hosts:
    """Answers as agents would: one change each, done when asked to apply."""

    def __init__(self, *, changes=(CHANGE,), stale=(), facts=FACTS, down=()):
        self.changes, self.stale, self.facts = changes, stale, facts
        self.orders = []
        self.remote = FakeRemote(self.answer, down=frozenset(down))

    def answer(self, host, _command, stdin):
        """One line of JSON after a banner that some shells print."""
        order = order_of(stdin)
        self.orders.append((host, order["mode"], order["expect"]))
        done = {"applied": True} if order["mode"] == "apply" and host not in self.stale else {}
        answer = {
            "facts": self.facts,
            "changes": [change | done for change in self.changes],
            "notes": [],
            "error": "",
            "stale": order["mode"] == "apply" and host in self.stale,
            "sum": f"sum-{host}",
            "timings": {"compare": 0.25},
        }
        return f"Welcome to {host}!\n{ANSWER}{json.dumps(answer)}\n"

    def asked(self, mode):
        """Hosts that were asked that."""
        return sorted(host for host, asked, _expect in self.orders if asked == mode)


ALL = ["control", "gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]


def test_a_dry_run_only_looks(cluster):
    """One round trip per host, nothing done."""
    hosts = Hosts()
    report = apply(cluster, "cluster.yaml", hosts.remote, dry_run=True, clock=FakeClock())

    assert (hosts.asked("check"), hosts.asked("apply")) == (ALL, [])
    assert (report.dry, report.pending, report.changed) == (True, 5, 0)


def test_some_hosts_alone_may_be_asked(cluster):
    """The others are neither looked at nor changed."""
    hosts = Hosts()
    report = apply(cluster, "cluster.yaml", hosts.remote, only={"gpu-node2"}, clock=FakeClock())

    assert hosts.asked("check") == hosts.asked("apply") == ["gpu-node2"]
    assert [host.host for host in report.hosts] == ["gpu-node2"]


def test_what_was_shown_is_what_is_done(cluster):
    """The sum of the plan goes back to each host."""
    hosts = Hosts()
    report = apply(cluster, "cluster.yaml", hosts.remote, clock=FakeClock())

    assert [expect for host, mode, expect in hosts.orders if (host, mode) == ("gpu-node2", "apply")] == [
        "sum-gpu-node2"
    ]
    assert (report.dry, report.pending, report.changed) == (False, 5, 5)


def test_a_host_without_changes_is_not_asked_again(cluster):
    """The second apply is one look."""
    hosts = Hosts(changes=())
    report = apply(cluster, "cluster.yaml", hosts.remote, clock=FakeClock())

    assert hosts.asked("apply") == []
    assert (report.ok, report.pending, report.restarts) == (True, 0, 0)


def test_a_host_that_is_down_holds_up_nobody(cluster):
    """It is named, with ssh's words; the others are finished."""
    hosts = Hosts(down=["gpu-node3"])
    report = apply(cluster, "cluster.yaml", hosts.remote, clock=FakeClock())

    assert (report.ok, report.unreached, report.changed) == (False, ("gpu-node3",), 4)
    assert "timed out" in next(host.error for host in report.hosts if not host.reached)


def test_no_means_no(cluster):
    """What is asked for is not done behind the back of the one who was asked."""
    hosts = Hosts()
    report = apply(
        cluster, "cluster.yaml", hosts.remote, agree=lambda report: report.pending != 5, clock=FakeClock()
    )

    assert hosts.asked("apply") == []
    assert report.dry


def test_a_host_that_changed_meanwhile_is_reported(cluster):
    """Its plan was old, so it was left alone."""
    report = apply(cluster, "cluster.yaml", Hosts(stale=["gpu-node1"]).remote, clock=FakeClock())

    assert [host.host for host in report.failed] == ["gpu-node1"]
    assert "changed since the plan was shown" in report.failed[0].error


def test_a_host_that_serves_a_folder_is_done_first(altered):
    """Mounts of a folder that is not exported yet would fail."""
    hosts = Hosts()
    nfs = altered({"storage.shared": {"kind": "nfs", "path": "/shared", "server": "control"}, "lab": None})
    apply(nfs, "cluster.yaml", hosts.remote, clock=FakeClock())

    assert next(host for host, mode, _expect in hosts.orders if mode == "apply") == "control"


@pytest.mark.parametrize(
    ("came_in_at", "refused"), [("192.168.1.5", True), ("10.77.2.11", True), ("10.77.0.11", False)]
)
def test_a_firewall_never_shuts_out_the_one_who_sets_it(cluster, came_in_at, refused):
    """SSH stays open on the management address only, so one must have come by it."""
    rules = CHANGE | {"id": "file:/etc/clusterwright/firewall.nft"}
    hosts = Hosts(changes=(rules,), facts=FACTS | {"reached_at": came_in_at})
    report = apply(cluster, "cluster.yaml", hosts.remote, clock=FakeClock())

    assert ("gpu-node1" not in hosts.asked("apply")) == refused
    assert (came_in_at in next(host.error for host in report.hosts if host.host == "gpu-node1")) == refused


def test_an_apply_that_was_cut_short_is_ended(cluster):
    """Also when no change is left to see: its journal is."""
    hosts = Hosts(changes=(), facts=FACTS | {"interrupted": True})
    apply(cluster, "cluster.yaml", hosts.remote, clock=FakeClock())

    assert hosts.asked("apply") == ALL


def test_sudo_is_used_where_root_does_not_log_in(altered):
    """Without asking, and never in a lab."""
    hosts = Hosts()
    hosts.remote.sudo = True
    apply(altered({"lab": None}), "c", hosts.remote, dry_run=True, clock=FakeClock())

    assert all(command.startswith("sudo -n ") for _host, command in hosts.remote.calls)


def test_a_lab_is_reached_by_its_own_ssh_config(cluster, real):
    """And a production file never is."""
    assert str(remote_of(cluster).config) == "/var/lib/clusterwright/labs/lab/ssh_config"
    assert remote_of(real).config is None


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (
            CommandResult((), 127, "", "bash: python3: command not found", 0.1),
            "python3 is not installed on the host",
        ),
        (CommandResult((), 124, "", "", 60.0), "no response after 60 s"),
        (CommandResult((), 1, "", "sudo: a password is required", 0.1), "sudo: a password is required"),
        (CommandResult((), 3, "", "", 0.1), "exited with code 3"),
    ],
)
def test_a_host_that_answers_nothing_says_why(done, words):
    """Reached, and yet not as wanted."""
    report = read_answer("gpu-node1", done)

    assert words in report.error
    assert report.reached
    assert not report.ok


def test_costs_come_back_as_costs(cluster):
    """The plan's cost column."""
    report = apply(cluster, "cluster.yaml", Hosts().remote, dry_run=True, clock=FakeClock())

    assert [(action.hosts, action.cost) for action in report.actions()] == [
        ("control,gpu-node[1-4]", Cost.RESTART)
    ]


def test_two_hundred_hosts_are_asked_once_each(altered):
    """What is wanted of each, and its bundle; how long that takes is measured by bench/scale.py."""
    subnets = {
        f"networks.{name}.subnet": f"10.{index}.0.0/16"
        for index, name in enumerate(("management", "compute", "storage"), 60)
    }
    addresses = {
        "nodes.control.addresses": {"management": "10.60.0.10", "storage": "10.62.0.10"},
        "nodes.a100.addresses": {"management": "10.60.1.1", "compute": "10.61.1.1", "storage": "10.62.1.1"},
    }
    many = altered(subnets | addresses | {"nodes.a100.hosts": "gpu-node[1-200]", "lab": None})
    hosts = Hosts(changes=())
    report = apply(many, "cluster.yaml", hosts.remote, clock=FakeClock())

    assert (len(hosts.asked("check")), report.ok) == (201, True)


def test_the_connection_of_a_cluster_knows_who_needs_sudo(cluster, altered):
    """A lab's, a site's with root, and one with another login."""
    assert remote_of(cluster).sudo is False
    assert remote_of(altered({"lab": None})).sudo is False
    assert remote_of(altered({"lab": None, "ssh.user": "ops"})).sudo is True


def test_every_step_of_every_host_is_timed(cluster):
    """Before ssh, on the host as it says, and the wait for the others; of the look and of the apply."""
    report = apply(cluster, "c", Hosts().remote, clock=FakeClock())

    for host in report.hosts:
        assert [(one.phase, one.step) for one in host.timings] == [
            ("check", "render"), ("check", "connect"), ("check", "compare"), ("all", "wait for other hosts"),
            ("apply", "render"), ("apply", "connect"), ("apply", "compare"), ("all", "wait for other hosts"),
        ]  # fmt: skip
        assert host.timings[2].seconds == 0.25
    assert not any(host.timings for host in report.without_timings().hosts)
