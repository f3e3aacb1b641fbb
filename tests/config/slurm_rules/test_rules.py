"""Each rule about Slurm's files finds its wrong example, and nothing in the corrected one."""

import pytest

from clusterwright.config.slurm_rules import all_rules, check
from clusterwright.config.slurm_rules.examples import example_conf


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_finds_its_wrong_example_only(rule):
    """The wrong example breaks this rule and no other; the corrected one breaks none."""
    assert {finding.code for finding in check(example_conf(rule.wrong))} == {rule.code}
    assert [str(finding) for finding in check(example_conf(rule.correct))] == []


def test_rules_have_codes_sources_and_reasons():
    """At least sixty rules, each with a code of its own, a page of Slurm's documentation and a sentence."""
    rules = all_rules()

    assert len(rules) >= 60
    assert len({rule.code for rule in rules}) == len(rules)
    assert [rule.code for rule in rules if not rule.source or not rule.about.endswith(".")] == []
