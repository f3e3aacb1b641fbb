"""What is done about one fault, and about two, and about what only looks like one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.heal.observation import FaultFinding
from clusterwright.heal.rule import rules


def test_a_fault_is_believed_at_the_second_look(world, acting):
    """A check that fails once, and passes at the next look, has nothing done about it."""
    w = world(policy=acting())
    w.faults["n1"] = {"services"}

    first = w.tick()
    w.faults["n1"] = set()
    w.tick()
    w.faults["n1"] = {"munge_on_host"}
    w.tick()

    assert (first, w.done) == ((), [])
    assert [intent.action for intent in w.tick()] == ["restart-service"]


def test_a_final_fault_is_believed_at_once(world, acting):
    """A GPU off the bus does not come back by being looked at."""
    w = world(policy=acting())
    w.faults["n1"] = {"gpus_answer"}

    assert [(intent.host, intent.action, intent.rule) for intent in w.tick()] == [("n1", "drain", "gpu_lost")]


def test_a_lost_gpu_is_drained_waited_for_rebooted_and_given_back(world, acting):
    """The job that runs there ends first; the host comes back after two good looks."""
    w = world(policy=acting(allow=frozenset({"drain", "reboot"})))
    w.faults["n1"] = {"gpus_answer"}
    w.job("7", "n1", again=False)

    for _ in range(4):
        w.tick()
    during = w.actions()
    w.end("7")
    for _ in range(5):
        w.tick()

    assert during == ["drain"]
    assert w.actions() == ["drain", "reboot", "return"]
    assert w.nodes["n1"].holder == "free"


def test_a_job_that_may_be_started_anew_goes_elsewhere(world, acting):
    """The one that may not runs on; a training of ours is such a one, its supervisor sees to it."""
    w = world(policy=acting())
    w.faults["n1"] = {"gpus_answer"}
    w.job("7", "n1", again=True)
    w.job("8", "n1", again=False)

    for _ in range(4):
        w.tick()

    assert w.actions() == ["drain", "requeue"]
    assert [intent.job for intent in w.done] == ["", "7"]


def test_a_service_is_restarted_before_anything_dearer(world, acting):
    """Twice, with a pause between; then the host is drained, and so on."""
    w = world(policy=acting())
    w.helps = False
    w.faults["n1"] = {"munge_on_host"}

    for _ in range(60):
        w.tick()

    assert w.actions()[:4] == ["restart-service", "restart-service", "drain", "reapply"]
    assert w.done[0].unit == "munge.service"


def test_two_faults_on_one_host_are_mended_one_after_the_other(world, acting):
    """The cheaper first; drained once, given back once, when both are gone."""
    w = world(policy=acting())
    w.faults["n1"] = {"gpus_answer", "munge_on_host"}

    for _ in range(12):
        w.tick()

    assert w.actions() == ["drain", "restart-service", "reboot", "return"]


def test_a_diagnosis_that_changes_its_mind_does_not_start_again(world, acting):
    """The same action on the same host counts over all rules."""
    w = world(policy=acting(max_attempts=2, pause_s=60))
    w.helps = False
    for turn in range(80):
        w.faults["n1"] = {"gpus_answer"} if turn % 4 < 2 else {"kernel_faults"}
        w.tick()

    assert w.actions("n1").count("reboot") <= 2
    assert w.actions("n1").count("drain") == 1
    assert any(tell.topic == "hand-over" for tell in w.told)


def test_a_flapping_check_ends_with_a_person(world, acting):
    """Out and back at most so many times; then it stays out, and is told once."""
    w = world(policy=acting(max_attempts=2, pause_s=60))
    for turn in range(200):
        w.faults["n1"] = {"gpus_answer"} if turn % 8 < 4 else set()
        w.tick()

    assert w.actions("n1").count("return") == 2
    assert w.nodes["n1"].holder == "heal"
    assert len([tell for tell in w.told if tell.topic == "flaps"]) == 1


def test_the_hand_over_is_once_and_hands_off(world, acting):
    """With everything that was seen; after it nothing more is done until the fault is gone."""
    w = world(policy=acting())
    w.helps = False
    w.faults["n1"] = {"gpus_answer"}
    for _ in range(100):
        w.tick()

    handed = [tell for tell in w.told if tell.topic == "hand-over"]
    assert len(handed) == 1
    assert "gpus_answer fails" in handed[0].text
    assert "reseat" in handed[0].text
    assert w.actions() == ["drain", "reboot"]


def test_what_a_person_has_mended_comes_back(world, acting):
    """After a hand-over too: from our drain, once the checks pass."""
    w = world(policy=acting())
    w.helps = False
    w.faults["n1"] = {"gpus_answer"}
    for _ in range(20):
        w.tick()
    w.faults["n1"] = set()
    for _ in range(4):
        w.tick()

    assert w.actions() == ["drain", "reboot", "return"]


def test_a_person_who_drains_in_the_middle_of_a_repair_has_it(world, acting):
    """Nothing more is done to it, it is said once, and it is never given back by us."""
    w = world(policy=acting())
    w.faults["n1"] = {"gpus_answer"}
    w.job("7", "n1", again=False)
    w.tick()
    w.hold("n1", "person", "I look at it")
    w.end("7")
    for _ in range(5):
        w.tick()
    w.faults["n1"] = set()
    for _ in range(5):
        w.tick()

    assert w.actions() == ["drain"]
    assert [tell.topic for tell in w.told] == ["left"]
    assert "I look at it" in w.told[0].text
    assert w.nodes["n1"].holder == "person"


def test_the_control_host_is_only_told_of(world, acting):
    """Whatever is wrong with it; once."""
    w = world(policy=acting())
    w.faults["control"] = {"munge_on_host", "services"}
    for _ in range(10):
        w.tick()

    assert w.done == []
    assert sorted({tell.incident.host for tell in w.told}) == ["control"]
    assert len(w.told) == len({(tell.incident.rule, tell.topic) for tell in w.told})


def test_while_slurmctld_is_away_nothing_is_done(world, acting):
    """It is waited for; then it goes on where it was."""
    w = world(policy=acting())
    w.faults["n1"] = {"gpus_answer"}
    w.tick()
    w.slurm = False
    away = [w.tick() for _ in range(5)]
    w.slurm = True
    for _ in range(5):
        w.tick()

    assert set(away) == {()}
    assert w.actions() == ["drain", "reboot", "return"]


def test_the_share_holds_and_is_said_once(world, acting):
    """Two of eight at 25 %: the third stays in service though it is faulty."""
    w = world(policy=acting(max_unavailable_percent=25))
    w.helps = False
    w.hold("n8", "person", "maintenance")
    for host in ("n1", "n2"):
        w.faults[host] = {"gpus_answer"}
    for _ in range(10):
        w.tick()

    out = [name for name, node in w.nodes.items() if node.out]
    assert sorted(out) == ["n1", "n8"]
    assert [tell.incident.host for tell in w.told if tell.topic == "held-back"] == ["n2"]


def test_a_user_who_fills_disks_delays_drains_but_no_other_repair(world, acting):
    """Health programs have drained the hosts of her jobs: the share is used up until they are back in service."""
    w = world(policy=acting(max_unavailable_percent=25))
    for host in ("n7", "n8"):
        w.hold(host, "health", "wright: health: disk-full")
    w.faults = {"n1": {"gpus_answer"}, "n2": {"munge_on_host"}}
    w.helps = False
    for _ in range(4):
        w.tick()
    before = {(intent.host, intent.action) for intent in w.done}
    w.free("n8")
    w.tick()

    assert ("n2", "restart-service") in before
    assert not {host for host, action in before if action == "drain"}
    assert [tell.incident.host for tell in w.told if tell.topic == "held-back"] == ["n1"]
    assert ("n1", "drain") in {(intent.host, intent.action) for intent in w.done}


def test_a_fault_of_many_hosts_at_once_is_not_theirs(world, acting):
    """A file server that is gone is no reason to reboot everybody."""
    w = world(policy=acting(max_unavailable_percent=50))
    for number in range(1, 8):
        w.faults[f"n{number}"] = {"mounted"}
    for _ in range(10):
        w.tick()

    assert w.done == []
    assert all("a common cause is likely" in tell.text for tell in w.told)
    assert len(w.told) == 7


def test_a_host_that_is_down_is_replaced_by_a_sound_spare(world, acting):
    """The first spare has a fault of its own, so the second one is taken; the host stays drained."""
    w = world(policy=acting(spares=("n7", "n8")))
    w.hold("n7", "spare", "wright: spare")
    w.hold("n8", "spare", "wright: spare")
    w.faults["n7"] = {"gpus_answer"}
    w.down("n1")
    for _ in range(6):
        w.tick()

    assert [(intent.action, intent.spare) for intent in w.done[:2]] == [
        ("drain", ""),
        ("replace", "n8"),
    ]
    assert w.nodes["n7"].holder == "spare"
    assert "n7" in {tell.incident.host for tell in w.told}


def test_a_spare_that_fails_is_not_used_and_a_person_is_told(world, acting):
    """With no sound spare the ladder goes on without one."""
    w = world(policy=acting(spares=("n8",)))
    w.hold("n8", "spare", "wright: spare")
    w.faults["n8"] = {"services"}
    w.down("n1")
    for _ in range(6):
        w.tick()

    assert "replace" not in w.actions()
    assert {tell.incident.host for tell in w.told} >= {"n8"}


def test_a_boot_of_the_machine_that_looks_frees_no_try(world, acting):
    """Its clock begins again: of what was before it only that is known. Pauses are not shortened by it."""
    w = world(policy=acting(max_attempts=1, pause_s=3600))
    w.helps = False
    w.faults["n1"] = {"munge_on_host"}
    for _ in range(3):
        w.tick()
    w.boot, w.s = "two", 100.0
    for _ in range(5):
        w.tick()

    assert w.actions().count("restart-service") == 1


def told(job, user="mallory", code="gpu-hardware/xid-79-fell-off-bus"):
    """What `reason` read from the end of a job that ran on n1."""
    return FaultFinding("n1", "diagnosis", code, "off the bus", job=job, user=user)


CLAIMS = sorted({(rule.name, code) for rule in rules() for code in rule.answers.get("diagnosis", ())})


@pytest.mark.parametrize(("rule", "code"), CLAIMS)
@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=15)
def test_no_rule_acts_on_a_healthy_host_by_what_jobs_printed(world, acting, rule, code, jobs):
    """However many jobs of however many users say so, at once or one after the other; the host is checked instead."""
    w = world(policy=acting())
    for number, (user, together) in enumerate(jobs):
        w.tick(*(told(f"{number}{copy}", user, code) for copy in range(3 if together else 1)))
    w.tick()

    assert w.done == []
    assert w.told == []
    past = w.journal.past(w.now, w.policy.window_s)
    assert [each.rule for each in past.witnesses] == [rule] * len({user for user, _ in jobs})


def test_a_claim_does_not_make_one_failed_check_a_fault(world, acting):
    """A user can load a host so that one check of it fails, and print what explains it."""
    w = world(policy=acting())
    w.faults["n1"] = {"file_systems_answer"}
    w.tick(told("1", code="storage-io/read-only"), told("2", "bob", "storage-io/read-only"))
    once = list(w.done)
    w.tick()

    assert once == []
    assert w.actions() == ["drain"]


def test_a_claim_keeps_no_host_out(world, acting):
    """The checks pass, so it comes back, whatever is printed meanwhile."""
    w = world(policy=acting())
    w.faults["n1"] = {"gpus_answer"}
    w.tick()
    w.faults["n1"] = set()
    for number in range(6):
        w.tick(told(str(number)))

    assert w.actions() == ["drain", "return"]


def test_without_a_word_of_the_file_nothing_is_done(world):
    """The default policy proposes."""
    w = world()
    w.faults["n1"] = {"gpus_answer"}

    assert [intent.action for intent in w.tick()] == ["drain"]
    assert w.done == []
