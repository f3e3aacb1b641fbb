"""When a fault is confirmed: after consecutive polls, by as many witnesses, or at once if it is final."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterwright.heal.observation import FaultFinding, Observation
from clusterwright.heal.past import Past, Witness
from clusterwright.heal.rule import Rule, rule_for

Faults = Mapping[tuple[str, str], tuple[FaultFinding, ...]]  # by host and rule


def faults(observation: Observation, rules: Iterable[Rule]) -> Faults:
    """Group the findings by host and rule; findings without a rule are left to alerts."""
    all_rules = tuple(rules)
    findings_by_key: dict[tuple[str, str], list[FaultFinding]] = {}
    for finding in observation.findings:
        if rule := rule_for(finding, all_rules):
            findings_by_key.setdefault((finding.host, rule.name), []).append(finding)
    return {key: tuple(findings) for key, findings in findings_by_key.items()}


def witnesses(
    observation: Observation, past: Past, active_faults: Faults, window_s: float
) -> tuple[Witness, ...]:
    """Return all evidence of faults: states while they last, failed jobs for the policy's window."""
    previous = {
        (witness.host, witness.rule, witness.source, witness.key): witness for witness in past.witnesses
    }
    now: dict[tuple[str, str, str, str], Witness] = {}
    for (host, rule), findings in active_faults.items():
        for finding in findings:
            key: tuple[str, str, str, str] = (host, rule, finding.source, finding.job)
            count = 1 if finding.job else previous[key].count + 1 if key in previous else 1
            now[key] = Witness(host, rule, finding.source, finding.job, count, observation.now)
    for key, witness in previous.items():
        if key not in now and _is_valid(witness, observation, window_s):
            now[key] = witness
    return tuple(now.values())


def _is_valid(witness: Witness, observation: Observation, window_s: float) -> bool:
    """Return True if old evidence still counts: a failed job, or a check that did not run again since."""
    if witness.key:
        return observation.now.seconds_since(witness.time) < window_s
    return (
        witness.source == "check"
        and witness.host not in observation.passed
        and observation.now.seconds_since(witness.time) < window_s
    )


def believed(
    active_faults: Faults, current_witnesses: Iterable[Witness], rules: Mapping[str, Rule]
) -> tuple[tuple[str, str], ...]:
    """Return the current faults with enough evidence, or that are final."""
    polls: dict[tuple[str, str], int] = {}
    for witness in current_witnesses:
        polls[witness.host, witness.rule] = polls.get((witness.host, witness.rule), 0) + witness.count
    return tuple(
        key
        for key, findings in active_faults.items()
        if polls[key] >= rules[key[1]].polls or _final(rules[key[1]], findings)
    )


def _final(rule: Rule, findings: Iterable[FaultFinding]) -> bool:
    """Return True for a final fault with other evidence than logs, which may be misread."""
    return rule.final and any(finding.source != "diagnosis" for finding in findings)
