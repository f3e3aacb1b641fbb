"""Rules of self-healing, read from `rules/NAME.toml`: faults, a ladder of actions, and the proof of recovery."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright.heal.observation import FaultFinding
from clusterwright.i18n import _

FOLDER = Path(__file__).parent / "rules"
ACTIONS = (
    "restart-service", "exclude", "requeue", "drain", "reapply", "reset-gpu", "reboot", "replace", "return", "notify",
)  # fmt: skip  # cheapest first
SOURCES = ("check", "health", "slurm", "diagnosis")


@dataclass(frozen=True, slots=True)
class RuleStep:
    """One step of the ladder: an action, its maximum number of attempts per fault, and its unit."""

    do: str
    times: int = 1
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """How one kind of fault is repaired.

    `answers` maps a source to prefixes of fault codes that end at a word boundary: `xid-7` does not match `xid-79`. A
    fault is confirmed after `polls` consecutive polls or by as many witnesses; a `final` fault needs no second poll.
    `proof` lists the checks that must pass before the host is resumed.
    """

    name: str
    about: str
    fix: str
    answers: Mapping[str, tuple[str, ...]]
    steps: tuple[RuleStep, ...]
    proof: tuple[str, ...] = ()
    final: bool = False
    polls: int = 2

    def specificity(self, finding: FaultFinding) -> int:
        """Return the length of the longest code of the rule that matches the finding; 0 if none does."""
        answers = self.answers.get(finding.source, ())
        return max((len(code) for code in answers if _begins(finding.code, code)), default=0)


def _begins(code: str, prefix: str) -> bool:
    """Return True if `prefix` is a prefix of the code that ends at a word boundary."""
    return code.startswith(prefix) and not re.match(r"\w\w", code[len(prefix) - 1 :])


def rule_for(finding: FaultFinding, rules: Iterable[Rule]) -> Rule | None:
    """Return the rule that matches the finding most specifically, the first of equals; None if no rule matches."""
    best = max(rules, key=lambda rule: rule.specificity(finding), default=None)
    return best if best is not None and best.specificity(finding) else None


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule of self-healing, sorted by name."""
    return tuple(parse(path.stem, tomllib.loads(path.read_text())) for path in sorted(FOLDER.glob("*.toml")))


def parse(name: str, table: Mapping[str, Any]) -> Rule:
    """Build a rule from its table; `final` is False and `polls` 2 if not set.

    Raises:
        ValueError: a key, source or action is unknown; the message names the rule.
    """
    allowed_keys = {"about", "fix", "answers", "step", "proof", "final", "polls"}
    if strange := (set(table) - allowed_keys) or (set(table["answers"]) - set(SOURCES)):
        raise ValueError(_("rule {name}: unknown key `{key}`", name=name, key=min(strange)))
    steps = tuple(RuleStep(**step) for step in table.get("step", ()))
    if wrong := [step.do for step in steps if step.do not in ACTIONS]:
        raise ValueError(
            _(
                "rule {name}: unknown action `{action}`; use one of {names}",
                name=name,
                action=wrong[0],
                names=", ".join(ACTIONS),
            )
        )
    answers = {source: tuple(codes) for source, codes in table["answers"].items()}
    return Rule(
        name,
        table["about"],
        table["fix"],
        answers,
        steps,
        tuple(table.get("proof", ())),
        final=table.get("final", False),
        polls=table.get("polls", 2),
    )
