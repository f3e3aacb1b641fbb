"""Rules that can work: what they name exists, and what they do is what there is."""

import pytest

from clusterwright.check.registry import choose
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.heal.actions import action
from clusterwright.heal.observation import FaultFinding
from clusterwright.heal.rule import ACTIONS, parse, rule_for, rules
from clusterwright.i18n import bilingual
from clusterwright.slurm.drain_reasons import parse_drain_reason

PERIODIC = {check.id for check in choose((), "periodic")}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_a_rule_names_what_there_is(rule):
    """Checks that a running cluster is asked, modes that `why` knows, and an action's file for each rung."""
    named = {code.partition(":")[0] for code in rule.answers.get("check", ())}
    named |= set(rule.proof)
    modes = list(knowledge())

    assert named <= PERIODIC
    assert all(any(mode.startswith(code) for mode in modes) for code in rule.answers.get("diagnosis", ()))
    assert all(action(step.do).COST for step in rule.steps)
    assert rule.fix.isascii()
    assert not bilingual(rule.fix)[1].isascii()


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_a_host_is_drained_before_what_needs_it_empty(rule):
    """No rung that needs a host without jobs comes before the drain."""
    steps = [step.do for step in rule.steps]
    needy = [steps.index(one) for one in ("reapply", "reset-gpu", "reboot", "replace") if one in steps]

    assert not needy or steps.index("drain") < min(needy)


def test_the_most_particular_rule_answers():
    """XID 79 is a lost GPU, any other one a reset; what nobody has written a rule for is nobody's."""

    def name(source, code):
        found = rule_for(FaultFinding("n1", source, code), rules())
        return found and found.name

    assert name("check", "gpu_xids:xid-79") == "gpu_lost"
    assert name("check", "gpu_xids:xid-48") == "gpu_reset"
    assert name("check", "gpu_xids:sxid-20034") is None
    assert name("health", "gpu-xid-79") == "gpu_lost"
    assert name("health", "gpu-xid-48") == "gpu_reset"
    assert name("check", "gpus_answer:driver-mismatch") == "gpu_driver"
    assert name("check", "gpus_answer") == "gpu_lost"
    assert name("slurm", parse_drain_reason("SlurmdSpoolDir is full").code) == "disk_full"
    assert name("check", "services:munge.service") == "munge"
    assert name("check", "services:chrony.service") == "service"
    assert name("slurm", parse_drain_reason("Node unexpectedly rebooted").code) == "rebooted"
    assert name("check", "cpu_load") is None


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("services:slurmd.service", "slurmd"),
        ("services:slurmdbd.service", "service"),
        ("gpu_xids:xid-790", "gpu_reset"),
        ("gpu_xids:xid-641", "gpu_reset"),
    ],
)
def test_a_code_is_answered_by_whole_words(code, rule):
    """The rule of slurmd is not that of slurmdbd, and Xid 79 is not Xid 790."""
    assert rule_for(FaultFinding("n1", "check", code), rules()).name == rule


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"step": [{"do": "pray"}]}, "unknown action `pray`"),
        ({"answers": {"rumour": ["x"]}}, "unknown key `rumour`"),
        ({"stop": 1}, "unknown key `stop`"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(table, words):
    """With its name."""
    with pytest.raises(ValueError, match=f"rule wrong: .*{words}"):
        parse("wrong", {"about": "", "fix": "", "answers": {}, **table})


def test_every_action_of_the_record_has_its_file_or_its_reason():
    """`fix` is the loop's own; `restart-in-place` is what a training's supervisor does by itself."""
    assert all(action(name).COST for name in ACTIONS if name != "notify")
