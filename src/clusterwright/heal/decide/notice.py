"""Confirm faults: after consecutive polls, by as many witnesses (pieces of evidence), or at once if the fault is final.

Lines of users' jobs count only as claims, for every rule: heal checks the host that they name at each poll for a
while, and acts only on what these checks, the host's health check program or Slurm itself find.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterwright.heal.observation import FaultFinding, Observation
from clusterwright.heal.past import Past, Witness
from clusterwright.heal.rule import Rule, rule_for

Faults = Mapping[tuple[str, str], tuple[FaultFinding, ...]]  # by host and rule


def faults(observation: Observation, rules: Iterable[Rule]) -> Faults:
    """Group the findings by host and rule, without claims; findings without a rule are left to alerts."""
    return _grouped((finding for finding in observation.findings if not finding.is_claim), rules)


def claims(observation: Observation, rules: Iterable[Rule]) -> Faults:
    """Group the claims (findings from users' logs) by host and rule."""
    return _grouped((finding for finding in observation.findings if finding.is_claim), rules)


def _grouped(all_findings: Iterable[FaultFinding], rules: Iterable[Rule]) -> Faults:
    all_rules = tuple(rules)
    findings_by_key: dict[tuple[str, str], list[FaultFinding]] = {}
    for finding in all_findings:
        if rule := rule_for(finding, all_rules):
            findings_by_key.setdefault((finding.host, rule.name), []).append(finding)
    return {key: tuple(findings) for key, findings in findings_by_key.items()}


def witnesses(
    observation: Observation, past: Past, active_faults: Faults, active_claims: Faults, window_s: float
) -> tuple[Witness, ...]:
    """Return all evidence of faults: states while they last, with the number of polls, and claims of users' jobs.

    Claims, one per user, and checks that have not run again count within `window_s`.
    """
    previous = {
        (witness.host, witness.rule, witness.source, witness.key): witness for witness in past.witnesses
    }
    now: dict[tuple[str, str, str, str], Witness] = {}
    for (host, rule), findings in active_faults.items():
        for finding in findings:
            key: tuple[str, str, str, str] = (host, rule, finding.source, "")
            count = previous[key].count + 1 if key in previous else 1
            now[key] = Witness(host, rule, finding.source, "", count, observation.now)
    for (host, rule), findings in active_claims.items():
        for finding in findings:
            user = finding.user or "unknown"
            now[host, rule, finding.source, user] = Witness(
                host, rule, finding.source, user, 1, observation.now
            )
    for key, witness in previous.items():
        if key not in now and _is_valid(witness, observation, window_s):
            now[key] = witness
    return tuple(now.values())


def _is_valid(witness: Witness, observation: Observation, window_s: float) -> bool:
    """Return whether evidence of an earlier poll still holds within `window_s`: a claim, or a check not run since."""
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
    """Return (host, rule) of the active faults that are confirmed.

    A fault is confirmed by evidence in as many polls as its rule requires, summed over all sources, or at once if the
    rule is `final`. Claims, which come from the logs of users' jobs, do not count.
    """
    polls: dict[tuple[str, str], int] = {}
    for witness in current_witnesses:
        if witness.key:  # a claim
            continue
        polls[witness.host, witness.rule] = polls.get((witness.host, witness.rule), 0) + witness.count
    return tuple(key for key in active_faults if polls[key] >= rules[key[1]].polls or rules[key[1]].final)
