"""Options that exclude or need one another, by command: judged before a command starts, with all other mistakes.

A rule with a code of its own says so; the code of all others is `usage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts.argument import Argument

    from clusterwright.errors import Finding


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Options of which a line has at most one."""

    options: tuple[str, ...]
    code: str = "usage"

    def finding(self, typed: frozenset[str]) -> Finding | None:
        """Return what is wrong with a line of these options; None if nothing is."""
        from clusterwright.errors import Finding

        present = [option for option in self.options if option in typed]
        if len(present) < 2:
            return None
        message = _("{options} exclude each other", options=", ".join(present))
        return Finding(self.code, message, _("leave out {options}", options=_(" or ").join(present)))


@dataclass(frozen=True, slots=True)
class RequiredOption:
    """An option that has no effect without one of some others."""

    option: str
    prerequisites: tuple[str, ...]
    code: str = "usage"

    def finding(self, typed: frozenset[str]) -> Finding | None:
        """Return what is wrong with a line of these options; None if nothing is."""
        from clusterwright.errors import Finding

        if self.option not in typed or typed & {*self.prerequisites}:
            return None
        prerequisites = _(" or ").join(self.prerequisites)
        message = _("{option} has no effect without {others}", option=self.option, others=prerequisites)
        fix = _("add {others}, or leave out {option}", option=self.option, others=prerequisites)
        return Finding(self.code, message, fix)


_DISRUPTION = (RequiredOption("--wait", ("--drain", "--reboot")),)
_MONEY = (RequiredOption("--exchange-rate", ("--currency",), "exchange-rate"),)
_LAYOUT = (
    "--model",
    "--seq",
    "--global-batch",
    "--micro-batch",
    "--tp",
    "--pp",
    "--cp",
    "--ep",
    "--interleave",
)
_OF_ROW = (*_LAYOUT, "--zero", "--recompute", "--precision", "--software")
RULES: Mapping[str, tuple[Exclusion | RequiredOption, ...]] = {
    "plan size": (Exclusion(("--samples", "--tokens"), "size-workload"), *_MONEY),
    "plan cost": _MONEY,
    "plan fabric": _MONEY,
    "plan explain": tuple(Exclusion(("--row", option)) for option in _OF_ROW),
    "simulate": (Exclusion(("--trace", "--teams"), "trace-which"),),
    "adopt": (
        Exclusion(("--control", "--folder"), "adopt-source"),
        RequiredOption("--hosts", ("--control",), "adopt-source"),
    ),
    "apply": _DISRUPTION,
    "rollback": _DISRUPTION,
    "remove-hosts": (Exclusion(("--now", "--wait")),),
    "upgrade": (Exclusion(("--slurm", "--driver"), "upgrade-what"), RequiredOption("--wait", ("--driver",))),
    "train": (
        Exclusion(("--local", "--hostfile")),
        Exclusion(("--show", "--local"), "train-words"),
        Exclusion(("--show", "--hostfile"), "train-words"),
        RequiredOption("--out", ("--local", "--hostfile", "--resume")),
    ),
    "checkpoints verify": (Exclusion(("--step", "--all")),),
    "checkpoints convert": (Exclusion(("--to", "--from"), "checkpoint-form"),),
    "dev": (Exclusion(("--jupyter", "--vscode", "--shell"), "dev-kind"),),
    "web": (
        RequiredOption("--tls-cert", ("--tls-key",), "web-tls"),
        RequiredOption("--tls-key", ("--tls-cert",), "web-tls"),
        RequiredOption("--role", ("--add-user",)),
    ),
}


def contradictions(command: tuple[str, ...], arguments: Iterable[Argument]) -> Iterator[Finding]:
    """Yield a finding for each rule that the options of a line violate."""
    rules = RULES.get(" ".join(command), ())
    if not rules:
        return
    typed = frozenset(argument.name for argument in arguments if argument.tokens)
    yield from (finding for rule in rules if (finding := rule.finding(typed)))


def refuse_contradictions(command: tuple[str, ...], arguments: Iterable[Argument]) -> None:
    """Refuse options that contradict each other, before a value is converted.

    Raises:
        WrightError: with all of them.
    """
    if findings := list(contradictions(command, arguments)):
        from clusterwright.errors import EXIT_USAGE, WrightError

        raise WrightError(*findings, exit_code=EXIT_USAGE)
