"""The whole way from answers to verdicts: healthy, damaged one thing at a time, blind, and in part."""

import json
from pathlib import Path

import pytest

from clusterwright.check.verdict import Status
from clusterwright.edge.bundler import program_command
from clusterwright.edge.host import as_root
from clusterwright.errors import WrightError

DAMAGE = json.loads((Path(__file__).parent / "damage.json").read_text())


def not_green(verdicts):
    """What needs a look: status, check and subject."""
    return {
        (v.status.value, v.check, v.subject) for v in verdicts if v.status not in (Status.OK, Status.SKIPPED)
    }


def test_a_healthy_cluster_has_no_fault(answers):
    """From outputs recorded on a healthy lab every verdict is ok, or skipped with the lab's reason."""
    verdicts = answers.check()

    assert not_green(verdicts) == set()
    assert {v.subject for v in verdicts} == set(answers.hosts)
    assert all(v.observed for v in verdicts)
    assert sum(v.status is Status.OK for v in verdicts) > 100


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_makes_exactly_the_right_check_fail(answers, name):
    """One host says one thing that is not wanted: one check says so, of that host, with a fix."""
    damage = DAMAGE[name]
    out = damage["says"] if "says" in damage else answers.recorded(damage["fact"], damage["case"])
    for old, new in damage.get("put", {}).items():
        assert old in out
        out = out.replace(old, new)
    answers.say("gpu-node2", damage["fact"], out)

    verdicts = answers.check()
    found = {f"{status} {check}" for status, check, subject in not_green(verdicts) if subject == "gpu-node2"}

    assert found == ({damage["found"]} if damage["found"] else set())
    assert len(not_green(verdicts)) == len(found)
    assert all(v.fix for v in verdicts if v.status in (Status.FAIL, Status.WARN))


def test_every_host_is_asked_once_and_the_control_host_twice(answers):
    """One ssh for all facts of a host; one more for what needs all of them."""
    answers.check()

    assert sorted(host for host, _ in answers.asked) == sorted([*answers.hosts, "control"])
    assert set(answers.asked[-1][1]) == {"munge_decoded", "shared_folder_visibility", "trespass"}


def test_states_of_nodes_are_told_with_slurms_reason(answers):
    """A node that does not answer is a fault, one that a person drained a warning with the person's words."""
    answers.say("control", "slurm_nodes", answers.recorded("slurm_nodes", "held_and_down"))

    verdicts = answers.check()

    assert not_green(verdicts) == {("fail", "node_states", "gpu-node2"), ("warn", "node_states", "gpu-node3")}
    assert any("bad fan, see ticket 12" in v.observed for v in verdicts)


def test_a_node_that_offers_less_is_told(answers):
    """Three GPUs where the file says four."""
    answers.say(
        "control",
        "slurm_nodes",
        answers.recorded("slurm_nodes", "lab_control").replace("gpu:a100:4", "gpu:a100:3", 1),
    )

    assert not_green(answers.check()) == {("fail", "node_resources", "gpu-node1")}


def test_a_shared_folder_that_is_another_one_is_told(answers):
    """The control host does not find what the host wrote: the same path, but not the same folder."""
    answers.say(
        "control",
        "shared_folder_visibility",
        json.dumps({"/shared": {host: answers.token for host in answers.hosts if host != "gpu-node4"}}),
    )

    assert not_green(answers.check()) == {("fail", "shared_folders", "gpu-node4")}


def test_a_credential_that_cannot_be_decoded_is_told(answers):
    """Munge's own words on the host whose credential it was."""
    words = dict.fromkeys(answers.hosts, "Success") | {"gpu-node2": "Invalid credential"}
    answers.say("control", "munge_decoded", json.dumps(words))

    verdicts = answers.check()

    assert not_green(verdicts) == {("fail", "munge_between", "gpu-node2")}
    assert any(v.observed == "Invalid credential" for v in verdicts)


def test_a_port_that_should_be_closed_is_told(answers):
    """The control host could really connect to it."""
    answers.say("gpu-node2", "listening", "LISTEN 0 5 0.0.0.0:8888 0.0.0.0:*\n")
    answers.say(
        "control",
        "trespass",
        '{"10.79.0.12:8888": "open", "10.79.0.12:22": "open", "10.79.0.11:9": "silent"}',
    )

    assert not_green(answers.check()) == {("fail", "ports_closed", "gpu-node2")}


def test_a_host_without_a_firewall_lets_an_unused_port_answer(answers):
    """A refusal comes from the host itself: nothing dropped the packet."""
    answers.say("control", "trespass", '{"10.79.0.12:9": "refused"}')
    answers.say("gpu-node1", "ports", '{"10.79.0.10:6817": "open", "10.79.0.10:9": "refused"}')

    assert not_green(answers.check()) == {
        ("fail", "ports_closed", "gpu-node2"),
        ("fail", "ports_closed", "control"),
    }


def test_a_host_that_is_down_fails_ssh_and_is_otherwise_unknown(answers):
    """Nothing of it is green, and the other hosts' verdicts stay."""
    answers.down = {"gpu-node4"}

    verdicts = answers.check()
    of_it = [
        v for v in verdicts if v.subject == "gpu-node4" and v.check not in ("node_states", "node_resources")
    ]

    assert [v.check for v in of_it if v.status is Status.FAIL] == ["ssh"]
    assert {v.status for v in of_it} == {Status.FAIL, Status.UNKNOWN, Status.SKIPPED}
    assert all("timed out" in v.observed for v in of_it if v.status is Status.UNKNOWN)
    assert not_green(v for v in verdicts if v.subject != "gpu-node4") == set()


def test_a_control_host_that_is_down_leaves_slurm_unknown(answers):
    """What is seen from there is unknown; what hosts say of themselves is still judged."""
    answers.down = {"control"}

    verdicts = answers.check()

    assert ("fail", "ssh", "control") in not_green(verdicts)
    assert ("unknown", "node_states", "control") in not_green(verdicts)
    assert not any(status == "fail" for status, _, subject in not_green(verdicts) if subject != "control")
    assert any(v.check == "gpu_device_files" and v.status is Status.OK for v in verdicts)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (
            {"out": "", "code": 1, "err": "boot failed\nno such daemon\n"},
            "exited with code 1: no such daemon",
        ),
        (
            {"out": "", "code": 127, "stopped": "No such file or directory"},
            "could not run: No such file or directory",
        ),
        ({"out": "slurm", "code": -9, "stopped": "overran"}, "exceeded its time limit of 10 s"),
        ({"out": "?? ??\n???", "code": 0}, "printed unexpected output: ???"),
    ],
)
def test_what_cannot_be_seen_is_unknown_with_its_reason(answers, end, reason):
    """A tool that fails, is missing, overran or raves is never read as good."""
    answers.say("gpu-node1", "slurm_version", **end)

    (found,) = [v for v in answers.check(only=["slurm_as_declared"]) if v.subject == "gpu-node1"]

    assert found.status is Status.UNKNOWN
    assert found.observed == f"`slurmd -V` {reason}"


def test_a_host_without_python_is_told_once_and_otherwise_unknown(answers):
    """Reached, but nothing can be asked there."""
    answers.answer, healthy = (
        (lambda h, c, s: "sh: 1: python3: not found\n" if h == "gpu-node1" else healthy(h, c, s)),
        answers.answer,
    )

    found = {v.check: v for v in answers.check() if v.subject == "gpu-node1"}

    assert found["ssh"].status is Status.OK
    assert found["python_agent"].status is Status.FAIL
    assert "python3: not found" in found["python_agent"].observed
    assert found["munge_on_host"].status is Status.UNKNOWN


@pytest.mark.parametrize(
    "said",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"facts": 3}',
        '{"facts": {"kernel": 1}}',
        '{"facts": {}, "began": "x"}',
        "{" * 9999,
    ],
)
def test_a_host_that_raves_is_unknown(answers, said):
    """Whatever a host prints in place of an answer breaks nothing and is not green."""
    answers.answer, healthy = (
        (lambda h, c, s: f"{'@clusterwright-facts '}{said}\n" if h == "gpu-node1" else healthy(h, c, s)),
        answers.answer,
    )

    found = [v for v in answers.check(only=["kernel_equal", "python_agent"]) if v.subject == "gpu-node1"]

    assert {v.check: v.status for v in found} == {"kernel_equal": Status.UNKNOWN, "python_agent": Status.FAIL}


def test_chosen_hosts_are_judged_alone_but_against_the_control_host(answers):
    """--hosts asks them and the control host, and shows only them."""
    answers.say("gpu-node2", "kernel", "5.10.0\n")

    verdicts = answers.check(hosts=["gpu-node2"])

    assert {v.subject for v in verdicts} == {"gpu-node2"}
    assert {host for host, _ in answers.asked} == {"control", "gpu-node2"}
    assert not_green(verdicts) == {("warn", "kernel_equal", "gpu-node2")}


def test_a_chosen_check_asks_only_for_its_facts(answers):
    """--only reads what it needs, no more."""
    verdicts = answers.check(only=["kernel_equal"])

    assert {v.check for v in verdicts} == {"kernel_equal"}
    assert {tuple(facts) for _, facts in answers.asked} == {("kernel",)}


def test_an_occasion_asks_only_for_what_its_checks_need(answers):
    """Before a job nothing is asked of slurmctld, and no check of another occasion runs."""
    verdicts = answers.check(on="prolog")

    checks = {v.check for v in verdicts}
    assert "gpu_device_files" in checks
    assert "node_states" not in checks
    assert not {"slurm_nodes", "slurmctld_ping"} & {fact for _, facts in answers.asked for fact in facts}


@pytest.mark.parametrize(
    ("choice", "code", "fix"),
    [
        ({"only": ["munge-betwen"]}, "no-such-check", "`munge_between`"),
        ({"only": ["disk"]}, "no-such-check", "choose one of disks_present"),
        ({"only": ["zzz"]}, "no-such-check", "choose one of above_4g"),
        ({"hosts": ["gpu-nod1"]}, "no-such-host", "`gpu-node1`"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_with_a_near_one(answers, choice, code, fix):
    """Nothing is asked of any host; exit code 2."""
    with pytest.raises(WrightError) as caught:
        answers.check(**choice)

    assert caught.value.findings[0].code == code
    assert fix in caught.value.findings[0].fix
    assert caught.value.exit_code == 2
    assert answers.asked == []


def test_a_user_that_is_not_root_uses_sudo(answers):
    """`ssh.user` other than root reads the same facts by sudo, which asks nothing."""
    answers.sudo = True
    commands = []
    answers.answer, healthy = (lambda h, c, s: commands.append(c) or healthy(h, c, s)), answers.answer

    answers.check(only=["kernel_equal"])

    assert set(commands) == {as_root(program_command())}


def test_a_host_that_keeps_its_jobs_in_spite_of_a_fault_is_told(answers):
    """Its health program found the share of drained hosts used up, and left a comment."""
    comment = " Comment=wright: not drained, the share is used up: gpu-lost 3 GPUs answer the driver"
    lines = answers.recorded("slurm_nodes", "lab_control").splitlines()
    said = "\n".join(line + comment * ("NodeName=gpu-node2 " in line) for line in lines)
    answers.say("control", "slurm_nodes", said)
    (found,) = (v for v in answers.check() if v.check == "node_states" and v.subject == "gpu-node2")

    assert (found.status, "gpu-lost 3 GPUs" in found.observed) == (Status.FAIL, True)
    assert "reboot the host" in found.fix


def test_a_check_reports_each_host_until_it_has_answered(answers):
    """All are announced, one that is down is done as well, and the control host is read a second time."""
    seen = []
    answers.down.add("gpu-node3")
    verdicts = answers.check(on_event=seen.append)
    hosts = set(answers.hosts)

    assert {event.host for event in seen[: len(hosts)]} == hosts
    assert not any(event.doing or event.is_finished for event in seen[: len(hosts)])
    assert {event.host for event in seen if event.is_finished} == hosts
    assert [(event.host, event.doing) for event in seen if event.doing == "comparing the hosts"] == [
        ("control", "comparing the hosts")
    ]
    assert verdicts
