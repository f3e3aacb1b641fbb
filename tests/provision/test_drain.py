"""Hosts emptied for a change, against Slurm's answers as recorded (Slurm 22.05.8, in a lab)."""

import pytest

from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.edge.slurm import NAMED_FIELDS
from clusterwright.provision.drain import Drains, is_ours, is_out, jobs_on
from clusterwright.slurm.jobs import parse_queue
from clusterwright.slurm.nodes import parse_sinfo

SINFO = """gpu-node1|idle|none
gpu-node2|draining|wright: apply 20261121-190000
gpu-node3|drained*|fan broken | call Ann
gpu-node3|drained*|fan broken | call Ann
gpu-node4|mixed|none
"""
QUEUE = """7|alice|RUNNING|1:00|1:00:00|2|gpu-node[1-2]|None|gpt
8|bob|COMPLETING|1:00|1:00:00|1|gpu-node2|None|a|b
9|bob|PENDING|0:00|1:00:00|1||Resources|wait
5|bob|COMPLETED|1:00|1:00:00|1|gpu-node4|None|old
"""


def drains(cluster, answers, *, wait_s=60):
    """Over a control host that answers these commands, each by the first word; a list is one answer a call."""
    said = []

    def answer(_host, command, _stdin):
        given = answers.get(command.split()[0], "")
        return given.pop(0) if isinstance(given, list) else given

    remote = FakeRemote(answer)
    return Drains(cluster, remote, FakeClock(), wait_s, said.append, "20261121-200000"), remote, said


def test_nodes_are_read_with_the_reasons_that_people_wrote():
    """A bar in a reason is part of it."""
    nodes = parse_sinfo(SINFO)

    assert [name for name, node in nodes.items() if is_out(node)] == ["gpu-node2", "gpu-node3"]
    assert [name for name, node in nodes.items() if is_ours(node)] == ["gpu-node2"]
    assert nodes["gpu-node3"].reason == "fan broken | call Ann"


def test_a_job_holds_its_hosts_until_it_is_gone():
    """Also while it is completing; neither before it starts nor afterwards."""
    assert jobs_on(parse_queue(QUEUE, NAMED_FIELDS)) == {"gpu-node1": ["7"], "gpu-node2": ["7", "8"]}


def test_only_hosts_that_nobody_drained_are_drained(cluster):
    """Another person's reason stays as it is."""
    some, remote, said = drains(cluster, {"sinfo": SINFO})

    assert some.drain(["gpu-node1", "gpu-node2", "gpu-node3"]) == {}
    assert [command for _host, command in remote.calls if "update" in command] == [
        "scontrol update NodeName=gpu-node1 State=DRAIN Reason='wright: apply 20261121-200000'"
    ]
    assert said == ["gpu-node1: drained, no new job starts on these hosts"]


def test_only_hosts_that_we_drained_are_resumed(cluster):
    """Also those of an apply that was cut short; never those of a person."""
    some, remote, _said = drains(cluster, {"sinfo": SINFO})

    assert some.resume(["gpu-node1", "gpu-node2", "gpu-node3"]) == ("gpu-node2",)
    assert remote.calls[-1] == ("control", "scontrol update NodeName=gpu-node2 State=RESUME")


def test_it_waits_until_the_last_job_is_gone(cluster):
    """Said once for each change of what it waits for."""
    later = QUEUE.replace("7|alice|RUNNING", "7|alice|COMPLETED")
    some, _remote, said = drains(cluster, {"squeue": [QUEUE, QUEUE, later, ""]})

    assert some.wait(["gpu-node1", "gpu-node2"]) == {}
    assert said == ["gpu-node[1-2]: waiting for jobs 7, 8", "gpu-node2: waiting for jobs 8"]


def test_it_waits_no_longer_than_told_in_all(cluster):
    """The time of the first batch counts for the second."""
    some, _remote, _said = drains(cluster, {"squeue": QUEUE}, wait_s=20)
    first = some.wait(["gpu-node1"])
    second = some.wait(["gpu-node2"])

    assert (first, second) == ({"gpu-node1": ["7"]}, {"gpu-node2": ["7", "8"]})
    assert some.clock.monotonic() - FakeClock().monotonic() == pytest.approx(20)


def test_a_slurmctld_that_does_not_answer_is_not_an_empty_host(cluster):
    """It may just be starting anew."""
    some, _remote, _said = drains(cluster, {}, wait_s=10)
    some.remote = FakeRemote(lambda *_: "", down=frozenset({"control"}))

    assert some.busy() is None
    assert some.wait(["gpu-node1"]) == {"gpu-node1": ["?"]}
    assert some.drain(["gpu-node1"]) == {"gpu-node1": "slurmctld does not respond"}


def test_sudo_is_used_where_root_does_not_log_in(altered):
    """Slurm takes a drain from its operators only."""
    some, remote, _said = drains(altered({"lab": None}), {"sudo": SINFO})
    remote.sudo = True
    some.drain(["gpu-node1"])

    assert all(command.startswith("sudo -n ") for _host, command in remote.calls)


def test_what_slurm_took_out_for_a_moment_is_in_service_again(cluster):
    """Slurmctld had the new count of GPUs before the host did; a person's drain stays, and another reason too."""
    before = SINFO.replace("gpu-node4|mixed|none", "gpu-node4|drained|Kill task failed")
    after = """gpu-node1|drained|gres/gpu count reported lower than configured (2 < 4)
gpu-node2|drained|gres/gpu count reported lower than configured (2 < 4)
gpu-node3|drained|Low RealMemory (reported:1 < 100.00% of configured:2)
gpu-node4|drained|Kill task failed
"""
    busy = after.replace("gpu-node2|drained", "gpu-node2|inval")
    some, remote, said = drains(cluster, {"sinfo": [before, busy, after]})
    held = some.operator_drained()
    refused = some.settle(["gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"], held)

    assert held == {"gpu-node3", "gpu-node4"}
    assert refused == {}
    assert remote.calls[-1][1] == "scontrol update NodeName='gpu-node[1-2]' State=RESUME"
    assert len(said) == 1


def test_a_host_that_slurm_goes_on_refusing_is_told_with_slurms_words(cluster):
    """It really has fewer GPUs: it is not put in service."""
    text = "gpu-node1|inval|gres/gpu count reported lower than configured (3 < 4)\n"
    some, remote, _said = drains(cluster, {"sinfo": text})

    assert some.settle(["gpu-node1"], frozenset()) == {
        "gpu-node1": "Slurm rejects the host: gres/gpu count reported lower than configured (3 < 4)"
    }
    assert not [command for _host, command in remote.calls if "update" in command]


def test_nothing_is_resumed_where_slurmctld_did_not_say_what_an_operator_drained(cluster):
    """It was starting anew before the change: any host may have been drained by a person."""
    after = "gpu-node1|drained|Low RealMemory (reported:1 < 100.00% of configured:2)\ngpu-node2|idle|none\n"
    some, remote, said = drains(cluster, {"sinfo": ["", after]})
    held = some.operator_drained()
    out = some.settle(["gpu-node1", "gpu-node2"], held)

    assert held is None
    assert list(out) == ["gpu-node1"]
    assert "slurmctld did not respond before the change" in out["gpu-node1"]
    assert not [command for _host, command in remote.calls if "update" in command]
    assert said == []
