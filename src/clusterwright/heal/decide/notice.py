"""When a fault is believed: after some looks in a row, or by as many witnesses, or at once where it is final."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterwright.heal.past import Past, Witness
from clusterwright.heal.rule import Rule, rule_for
from clusterwright.heal.seen import Finding, Seen

Faults = Mapping[tuple[str, str], tuple[Finding, ...]]  # by host and rule


def faults(seen: Seen, rules: Iterable[Rule]) -> Faults:
    """What is seen now, by host and rule; what no rule answers is left to alerts."""
    known = tuple(rules)
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in seen.findings:
        if rule := rule_for(finding, known):
            found.setdefault((finding.host, rule.name), []).append(finding)
    return {key: tuple(each) for key, each in found.items()}


def witnesses(seen: Seen, past: Past, found: Faults, window_s: float) -> tuple[Witness, ...]:
    """Everybody who has told of a fault: states as long as they last, ended jobs for the policy's window."""
    before = {(one.host, one.rule, one.source, one.key): one for one in past.witnesses}
    now: dict[tuple[str, str, str, str], Witness] = {}
    for (host, rule), each in found.items():
        for finding in each:
            key: tuple[str, str, str, str] = (host, rule, finding.source, finding.job)
            count = 1 if finding.job else before[key].count + 1 if key in before else 1
            now[key] = Witness(host, rule, finding.source, finding.job, count, seen.now)
    for key, one in before.items():
        if key not in now and _still(one, seen, window_s):
            now[key] = one
    return tuple(now.values())


def _still(one: Witness, seen: Seen, window_s: float) -> bool:
    """An ended job stays a witness; a check that was not asked has said nothing else since."""
    if one.key:
        return seen.now.since(one.at) < window_s
    return one.source == "check" and one.host not in seen.passed and seen.now.since(one.at) < window_s


def believed(
    found: Faults, told: Iterable[Witness], rules: Mapping[str, Rule]
) -> tuple[tuple[str, str], ...]:
    """Faults that are seen now, and were seen often enough, or are final."""
    looks: dict[tuple[str, str], int] = {}
    for one in told:
        looks[one.host, one.rule] = looks.get((one.host, one.rule), 0) + one.count
    return tuple(
        key for key, each in found.items() if looks[key] >= rules[key[1]].looks or _final(rules[key[1]], each)
    )


def _final(rule: Rule, found: Iterable[Finding]) -> bool:
    """A log alone may be misread; a state is what it is."""
    return rule.final and any(each.source != "why" for each in found)
