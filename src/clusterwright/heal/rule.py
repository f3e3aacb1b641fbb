"""Rules are read from `rules/NAME.toml`: what a rule answers, the ladder of actions, and what proves that it helped."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright.heal.observation import Finding
from clusterwright.i18n import _

FOLDER = Path(__file__).parent / "rules"
ACTIONS = (
    "restart-service", "exclude", "requeue", "drain", "reapply", "reset-gpu", "reboot", "replace", "return", "tell",
)  # fmt: skip  # the cheapest first
SOURCES = ("check", "health", "slurm", "why")


@dataclass(frozen=True, slots=True)
class Step:
    """One rung: an action, how often it is tried for one fault, and of which unit."""

    do: str
    times: int = 1
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done about one kind of fault.

    `answers` has, by source, beginnings of codes, of whole words: `xid-7` does not answer `xid-79`. A fault is
    believed after so many `looks` in a row, or by as many witnesses; a `final` one needs no second look. `proof`
    names the checks that must pass before the host takes jobs again.
    """

    name: str
    about: str
    tell: str
    answers: Mapping[str, tuple[str, ...]]
    steps: tuple[Step, ...]
    proof: tuple[str, ...] = ()
    final: bool = False
    looks: int = 2

    def specificity(self, finding: Finding) -> int:
        """How particularly it answers the finding: the length of what it names; 0 for not at all."""
        answers = self.answers.get(finding.source, ())
        return max((len(code) for code in answers if _begins(finding.code, code)), default=0)


def _begins(code: str, prefix: str) -> bool:
    """True when the code begins with the word, and the word does not end amid one of the code's."""
    return code.startswith(prefix) and not re.match(r"\w\w", code[len(prefix) - 1 :])


def rule_for(finding: Finding, rules: Iterable[Rule]) -> Rule | None:
    """The most particular rule; None where nobody has written one."""
    best = max(rules, key=lambda rule: rule.specificity(finding), default=None)
    return best if best is not None and best.specificity(finding) else None


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, by name."""
    return tuple(parse(path.stem, tomllib.loads(path.read_text())) for path in sorted(FOLDER.glob("*.toml")))


def parse(name: str, table: Mapping[str, Any]) -> Rule:
    """A rule of its table.

    Raises:
        ValueError: a key, a source or an action that there is not; with the rule's name.
    """
    allowed_keys = {"about", "tell", "answers", "step", "proof", "final", "looks"}
    if strange := (set(table) - allowed_keys) or (set(table["answers"]) - set(SOURCES)):
        raise ValueError(_("rule {name}: there is no key `{strange}`", name=name, strange=min(strange)))
    steps = tuple(Step(**step) for step in table.get("step", ()))
    if wrong := [step.do for step in steps if step.do not in ACTIONS]:
        raise ValueError(
            _(
                "rule {name}: there is no action `{wrong}`; the actions are {actions}",
                name=name,
                wrong=wrong[0],
                actions=", ".join(ACTIONS),
            )
        )
    answers = {source: tuple(codes) for source, codes in table["answers"].items()}
    return Rule(
        name,
        table["about"],
        table["tell"],
        answers,
        steps,
        tuple(table.get("proof", ())),
        final=table.get("final", False),
        looks=table.get("looks", 2),
    )
