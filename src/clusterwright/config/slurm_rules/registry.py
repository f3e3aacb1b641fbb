"""The rules about Slurm's files: every function of a module in rules/ with the decorator `rule` is registered by it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from clusterwright.config.slurm_rules import rules as rules_folder
from clusterwright.config.slurm_rules.conf import ConfEntry, Setting, SlurmConf
from clusterwright.i18n import N_, _


class Severity(StrEnum):
    """How grave a finding is."""

    ERROR = N_("error")  # slurmctld, slurmd or slurmdbd does not start, or jobs fail
    WARNING = N_("warning")  # Slurm ignores the line, or does not do what the line was written for
    NOTE = N_("note")  # works as the manual has it, with a consequence that is often overlooked


@dataclass(frozen=True)
class Problem:
    """What a rule found: the line, the message, and the right line."""

    location: Setting | ConfEntry
    message: str
    fix: str


Find = Callable[[SlurmConf], Iterator[Problem]]


@dataclass(frozen=True)
class LintRule:
    """A rule: its code, the section of the manual, an example that breaks it, and the same example corrected.

    An example is the text of slurm.conf; a line `--- gres.conf` starts another file.
    """

    code: str
    group: str
    severity: Severity
    source: str
    wrong: str
    correct: str
    about: str
    find: Find


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A finding in Slurm's files: where, which rule, the message, the right line and the section of the manual."""

    file: str
    line: int
    key: str
    code: str
    severity: str
    message: str
    fix: str
    source: str


def rule(severity: Severity, source: str, *, wrong: str, correct: str) -> Callable[[Find], LintRule]:
    """Register a function as a rule; its docstring is the sentence that holds for correct files.

    `wrong` and `correct` are examples of the files; `source` is where Slurm documents it.
    """

    def register(find: Find) -> LintRule:
        name, group = find.__name__, find.__module__.rpartition(".")[2]
        about = inspect.getdoc(find) or ""
        return LintRule(
            name.replace("_", "-"), group, severity, source, wrong.strip(), correct.strip(), about, find
        )

    return register


def remove(location: Setting) -> str:
    """Return the fix text that says to remove this line."""
    return _("remove the line {line}", line=f"{location.key}={location.value}")


@cache
def all_rules() -> tuple[LintRule, ...]:
    """Return every rule, by group and in the order of the source."""
    names = [module.name for module in pkgutil.iter_modules(rules_folder.__path__)]
    modules = [importlib.import_module(f"{rules_folder.__name__}.{name}") for name in names]
    return tuple(
        member for module in modules for member in vars(module).values() if isinstance(member, LintRule)
    )


def check(conf: SlurmConf) -> tuple[RuleFinding, ...]:
    """Return the findings of all rules, by file and line."""
    findings = [
        RuleFinding(
            problem.location.file,
            problem.location.line,
            problem.location.key,
            lint_rule.code,
            lint_rule.severity.value,
            problem.message,
            problem.fix,
            lint_rule.source,
        )
        for lint_rule in all_rules()
        for problem in lint_rule.find(conf)
    ]
    return tuple(sorted(findings, key=lambda finding: (finding.file, finding.line, finding.code)))
