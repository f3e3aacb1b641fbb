"""What can be undone over all hosts, and which apply is meant; the hosts' side is in agent/test_rollback.py."""

import json
import zlib

import pytest

from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.report import HostReport
from clusterwright.provision.rollback import fold_applies, rollback, undoable

FACTS = {"interrupted": False, "job_steps": 0, "reached_at": ""}
KEPT = {
    "control": ["100", "200"],
    "gpu-node1": ["100", "200", "300"],
    "gpu-node2": ["100"],
    "gpu-node3": [],
    "gpu-node4": ["100"],
}


class Hosts:
    """Each keeps some applies; and one change leads back, where it keeps the apply or a later one."""

    def __init__(self, kept=KEPT, down=()):
        self.kept, self.orders = kept, []
        self.remote = FakeRemote(self.answer, down=frozenset(down))

    def answer(self, host, _command, stdin):
        """An agent's line."""
        length, _, rest = stdin.partition(b"\n")
        order = json.loads(zlib.decompress(rest[int(length) :]))
        self.orders.append((host, order["mode"], order["to"]))
        answer = {"facts": FACTS, "changes": [], "notes": [], "error": "", "stale": False, "sum": "s"}
        if order["mode"] == "list":
            rows = [{"when": when, "source": "c.yaml", "to": "", "changed": 3} for when in self.kept[host]]
            return f"{ANSWER}{json.dumps(answer | {'applies': rows})}\n"
        if any(when >= order["to"] for when in self.kept[host]):
            change = {
                "id": "file:/etc/x",
                "summary": "restore content",
                "verbs": ["rewrite"],
                "diff": "",
                "cost": "live",
            }
            answer["changes"] = [change | {"applied": order["mode"] == "apply"}]
        return f"{ANSWER}{json.dumps(answer)}\n"

    def asked(self, mode):
        """Hosts and what they were asked to go back to."""
        return sorted((host, to) for host, asked, to in self.orders if asked == mode)


def test_applies_are_told_over_all_hosts_the_newest_first():
    """With the sum of what they changed."""
    reports = [
        HostReport(host, undoes=tuple((when, "c", "", 2) for when in whens))
        for host, whens in KEPT.items()
        if host != "control"
    ]
    found = fold_applies(reports)

    assert [(one.when, one.hosts, one.changed) for one in found] == [
        ("300", "gpu-node1", 2),
        ("200", "gpu-node1", 2),
        ("100", "gpu-node[1-2,4]", 6),
    ]


def test_a_host_that_does_not_say_is_named(cluster):
    """The list of the others is still shown."""
    found = undoable(cluster, "c.yaml", Hosts(down=["gpu-node1"]).remote, FakeClock())

    assert [one.when for one in found.applies] == ["200", "100"]
    assert [host.host for host in found.failed] == ["gpu-node1"]


def test_the_newest_apply_is_meant_where_none_is_named(cluster):
    """Only the host that has it goes back."""
    hosts = Hosts()
    report = rollback(cluster, "c.yaml", hosts.remote, clock=FakeClock())

    assert hosts.asked("apply") == [("gpu-node1", "300")]
    assert (report.ok, report.changed) == (True, 1)


def test_all_later_applies_are_undone_with_the_one_named(cluster):
    """Every host that has it or a later one."""
    hosts = Hosts()
    rollback(cluster, "c.yaml", hosts.remote, to="200", clock=FakeClock())

    assert hosts.asked("apply") == [("control", "200"), ("gpu-node1", "200")]


@pytest.mark.parametrize(
    ("kept", "to", "words"),
    [
        (KEPT, "150", "choose one of: 300, 200, 100"),
        (dict.fromkeys(KEPT, ()), "", "can be rolled back"),
    ],
)
def test_an_apply_that_nobody_keeps_is_refused(cluster, kept, to, words):
    """Before a plan is made; with those that there are."""
    hosts = Hosts(kept)
    with pytest.raises(WrightError, match=words) as error:
        rollback(cluster, "c.yaml", hosts.remote, to=to, clock=FakeClock())

    assert (error.value.findings[0].code, error.value.exit_code) == ("rollback-unknown", 2)
    assert {mode for _host, mode, _to in hosts.orders} == {"list"}


def test_a_dry_run_only_looks(cluster):
    """The plan of a rollback, shown."""
    hosts = Hosts()
    report = rollback(cluster, "c.yaml", hosts.remote, to="100", dry_run=True, clock=FakeClock())

    assert (report.dry, report.pending, hosts.asked("apply")) == (True, 4, [])
