"""Hosts that are off during an apply: named, held against what they were last made, and given back."""

import json
from types import SimpleNamespace

import pytest

from clusterwright.config.field import Cost
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.powered_down import STATE_PATH, PoweredDownHosts
from clusterwright.provision.report import Change, ChangeReport, HostReport
from clusterwright.provision.resources import File
from clusterwright.provision.work import HostWork

SAVING = {"idle": "30m", "provider": {"kind": "lab"}}


class Control:
    """Slurm's nodes and our file on the control host, changed by the commands that come."""

    def __init__(self, states):
        self.states, self.reasons, self.kept, self.asked = states, {}, "", []
        self.remote = FakeRemote(self.answer)

    def answer(self, _host, command, stdin):
        """What the shell would print."""
        self.asked.append(command)
        if command.startswith("sinfo"):
            return "".join(
                f"{name}|{state}|{self.reasons.get(name, 'none')}\n" for name, state in self.states.items()
            )
        if command == f"cat {STATE_PATH}":
            return self.kept
        if "cat >" in command:
            self.kept = stdin.decode()
        return ""


@pytest.fixture
def asleep(altered):
    """`asleep(control, text)`: as it is where every host wants a file with that text."""
    cluster = altered({"slurm.power_saving": SAVING})

    def of(control, text="old"):
        return PoweredDownHosts.load(
            HostWork(
                cluster, "cluster.yaml", control.remote, FakeClock(), "20270101-000000",
                resources=lambda host: (File(path="/etc/x", content=f"{host} {text}"),),
            )
        )  # fmt: skip

    return of


STATES = {"gpu-node1": "idle", "gpu-node2": "idle~", "gpu-node3": "idle%", "gpu-node4": "mixed#*"}
ALL = ["gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]


def done(*hosts):
    """A report of an apply that was well there."""
    change = Change("file:/etc/x", "rewrite", "", Cost.LIVE, (Verb.REWRITE,), applied=True)
    return ChangeReport(tuple(HostReport(host, changes=(change,)) for host in hosts), dry=False)


def test_who_is_off_or_on_the_way_is_left_out(asleep):
    """By Slurm's own marks; they are no failures."""
    reports = asleep(Control(STATES)).reports(ALL)

    assert [report.host for report in reports] == ["gpu-node2", "gpu-node3", "gpu-node4"]
    assert all(report.ok and not report.reached and report.left_out for report in reports)
    assert ChangeReport(reports, dry=False).unreached == ()


def test_one_that_has_all_is_told_from_one_that_misses_something(asleep):
    """Held against what was kept of the last apply that was there; not known is missing."""
    control = Control(dict.fromkeys(ALL, "idle"))
    asleep(control).store(done(*ALL[:3]))
    control.states = STATES
    same = {report.host: report.left_out for report in asleep(control).reports(ALL)}
    other = {report.host: report.left_out for report in asleep(control, "new").reports(ALL)}

    assert set(json.loads(control.kept)["sums"]) == set(ALL[:3])
    assert "its configuration is up to date" in same["gpu-node2"]
    assert "its configuration is outdated" in same["gpu-node4"]
    assert all("its configuration is outdated" in words for words in other.values())


def test_one_that_misses_something_is_drained_and_given_back_after_an_apply_there(asleep):
    """Nobody else's drain is touched."""
    control = Control(dict.fromkeys(ALL, "idle"))
    asleep(control).store(done(*ALL))
    control.states = STATES | {"gpu-node3": "drained~"}
    control.reasons["gpu-node3"] = "ann: new fan"
    asleep(control, "new").store(done("gpu-node1"))
    drains = [command for command in control.asked if "State=DRAIN" in command]
    control.states = dict.fromkeys(ALL, "drained")
    control.reasons["gpu-node2"] = control.reasons["gpu-node4"] = (
        drains[0].partition("Reason='")[2].rstrip("'")
    )
    asleep(control, "new").store(done(*ALL))
    resumes = [command for command in control.asked if "State=RESUME" in command]

    assert [command.split()[2] for command in drains] == ["NodeName='gpu-node[2,4]'"]
    assert [command.split()[2] for command in resumes] == ["NodeName='gpu-node[2,4]'"]


@pytest.mark.parametrize(("reason", "given_back"), [("none", 1), ("ann: new fan", 0)])
def test_one_whose_reason_slurm_forgot_is_given_back_all_the_same(asleep, reason, given_back):
    """A node that comes up loses its reason and stays drained; what a person wrote meanwhile holds."""
    control = Control(dict.fromkeys(ALL, "idle"))
    asleep(control).store(done(*ALL))
    control.states = STATES
    asleep(control, "new").store(done("gpu-node1"))
    control.states = STATES | {"gpu-node2": "drained"}
    control.reasons["gpu-node2"] = reason
    for _ in range(2):
        asleep(control, "new").store(done("gpu-node2"))
        control.states = STATES | {"gpu-node2": "idle"}
    resumes = [command for command in control.asked if "State=RESUME" in command]

    assert [command.split()[2] for command in resumes] == ["NodeName=gpu-node2"] * given_back


def test_one_that_is_switched_off_meanwhile_has_not_failed(asleep):
    """Its ssh ends in the middle; it is named with those that were off, and takes no job until an apply was there."""
    control = Control(dict.fromkeys(ALL, "idle"))
    began = asleep(control)
    control.states = dict.fromkeys(ALL, "idle") | {"gpu-node2": "idle%"}
    lost = [HostReport(host, error="ssh ended with code 255") for host in ("gpu-node2", "gpu-node3")]
    ended, report = began.recheck(ChangeReport((*done("gpu-node1").hosts, *lost), dry=False))
    ended.store(report)

    assert [host.host for host in report.hosts if not host.ok] == ["gpu-node3"]
    assert [host.host for host in ended.reports(ALL)] == ["gpu-node2"]
    assert [command.split()[2] for command in control.asked if "State=DRAIN" in command] == [
        "NodeName=gpu-node2"
    ]


def test_what_was_not_done_is_not_kept(asleep):
    """A plan that was declined, a host that failed, one that was left out."""
    control = Control(dict.fromkeys(ALL, "idle"))
    pending = HostReport(
        "gpu-node1", changes=(Change("file:/etc/x", "rewrite", "", Cost.LIVE, (Verb.REWRITE,)),)
    )
    rows = (
        pending,
        HostReport("gpu-node2", error="no space"),
        HostReport("gpu-node3", left_out="jobs run there"),
    )
    asleep(control).store(ChangeReport(rows, dry=True))

    assert control.kept == ""


def test_nobody_is_asked_where_hosts_stay_on(cluster):
    """No ssh more than before."""
    control = Control(STATES)
    work = SimpleNamespace(cluster=cluster, remote=control.remote)

    assert PoweredDownHosts.load(work).reports(ALL) == ()
    assert control.asked == []


def test_hosts_that_power_saving_starts_are_no_hosts_that_come_and_go(altered):
    """With a provider Slurm's own state decides, whatever State the node lines have."""
    changes = {"nodes.a100.options": {"State": "CLOUD"}}

    assert altered(changes).transient_hosts() == set(ALL)
    assert altered(changes | {"slurm.power_saving": SAVING}).transient_hosts() == set()
