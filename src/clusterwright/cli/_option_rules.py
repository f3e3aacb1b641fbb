"""Options that exclude or need one another, by command: judged before a command starts, with all other mistakes.

Only what a user typed is judged, never a default. An option that a command does not read is refused where the user
would get another result than the line describes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import N_, _

if TYPE_CHECKING:
    from cyclopts.argument import Argument

    from clusterwright.errors import Finding, WrightError

Values = Mapping[str, object]  # of the options that are typed, by name; without "", 0 and False


@dataclass(frozen=True, slots=True)
class OptionRule:
    """How many of some options a line may have.

    In the texts, {option} is the first of those that are typed, {options} and {words} are all of them; {mode} is the
    option that the rule is for, {choices} those that it may need.
    """

    options: tuple[str, ...]
    code: str
    message: str
    fix: str
    least: int = 0
    most: int = 1
    option: str = ""  # the rule is for lines with this one; empty: for all lines
    is_exempt: Callable[[Values], bool] | None = None

    def finding(self, values: Values) -> Finding | None:
        """Return the finding if the options on a line (`values`) contradict this rule; None if they do not."""
        from clusterwright.errors import Finding

        present = [option for option in self.options if option in values]
        if self.option not in {"", *values} or self.least <= len(present) <= self.most:
            return None
        if self.is_exempt and self.is_exempt(values):
            return None
        texts = {
            "option": present[0] if present else "",
            "options": ", ".join(present),
            "words": " ".join(present),
            "mode": self.option,
            "choices": ", ".join(self.options),
        }
        return Finding(self.code, _(self.message).format(**texts), _(self.fix).format(**texts))

    def error(self, *options: str) -> WrightError:
        """Return the error of a line with these options, for callers that do not parse a line."""
        from clusterwright.errors import EXIT_USAGE, WrightError

        finding = self.finding(dict.fromkeys(options, True))
        return WrightError(*filter(None, (finding,)), exit_code=EXIT_USAGE)


def _no_effect(mode: str, *options: str, is_exempt: Callable[[Values], bool] | None = None) -> OptionRule:
    """Return the rule of options that a command does not read if another one is typed."""
    message, fix = N_("{options}: no effect with {mode}"), N_("remove {words}, or remove {mode}")
    return OptionRule(options, "usage", message, fix, most=0, option=mode, is_exempt=is_exempt)


def _needs(option: str, *choices: str) -> OptionRule:
    """Return the rule of an option that a command reads only together with one of others."""
    message, fix = (
        N_("{mode} has no effect without {choices}"),
        N_("remove {mode}, or pass {choices} as well"),
    )
    return OptionRule(choices, "usage", message, fix, least=1, most=len(choices), option=option)


def _exclusive(*options: str) -> OptionRule:
    """Return the rule of options of which a command reads only one."""
    return OptionRule(options, "usage", N_("{options} exclude each other"), N_("pass only one of {options}"))


def _has_teams(values: Values) -> bool:
    """Return True for a line with --teams, which the rule of two traces refuses."""
    return "--teams" in values


def _resumes(values: Values) -> bool:
    """Return True for a line that resumes a run, whose cluster may be named."""
    return "--resume" in values


def _only_prints(values: Values) -> bool:
    """Return True for a line of `wright train` that prints what a job file would start."""
    return "PROGRAM" in values and bool({"--show", "--dry-run"} & values.keys())


def _is_learned(values: Values) -> bool:
    """Return True for `--cluster here` and ssh://HOST, whose GPU Slurm may not report, and for a row of a table."""
    from pathlib import Path

    from clusterwright.cli._connection import is_unmanaged

    return "--row" in values or is_unmanaged(Path(str(values["--cluster"])))


def _changes_users(values: Values) -> bool:
    """Return True if the line adds or removes a user of the web page, and so serves no page."""
    return "--add-user" in values or "--remove-user" in values


_MACHINE = OptionRule(
    ("--gpu", "--gpus-per-node", "--network", "--nics", "--nic-rate"),
    "usage",
    N_("--cluster and {options} exclude each other"),
    N_("remove {words}, or remove --cluster"),
    most=0,
    option="--cluster",
    is_exempt=_is_learned,
)
EXCHANGE_RATE = OptionRule(
    ("--currency",),
    "exchange-rate",
    N_("--exchange-rate has no effect without --currency"),
    N_("pass --currency CNY with it"),
    least=1,
    option="--exchange-rate",
)
_TRACE_FIX = N_("pass --trace FILE or --teams 5")
NO_TRACE = OptionRule(
    ("--trace", "--teams"),
    "trace-which",
    N_("the command has no trace to replay"),
    _TRACE_FIX,
    least=1,
    most=2,
)
TWO_TRACES = OptionRule(
    ("--trace", "--teams"), "trace-which", N_("--trace and --teams exclude each other"), _TRACE_FIX
)
SOURCE = OptionRule(
    ("--control", "--folder"),
    "adopt-source",
    N_("adopt reads either a control host or a folder"),
    N_("pass --control HOST, or --folder FOLDER with a copy of /etc/slurm"),
    least=1,
)
TARGET = OptionRule(
    ("--slurm", "--driver"),
    "upgrade-what",
    N_("exactly one of --slurm and --driver is required"),
    N_("pass --slurm VERSION or --driver VERSION"),
    least=1,
)
_TLS = (
    "web-tls",
    N_("only one of --tls-cert and --tls-key is set"),
    N_("set both --tls-cert and --tls-key"),
)
# Of the training, and of the machines unless they are those of a cluster file.
_FIELDS = (
    "--model --seq --global-batch --micro-batch --tp --pp --cp --ep --interleave --zero --recompute --precision"
    " --software --gpu --gpus --gpus-per-node --network --nics --nic-rate --oversubscription --cluster --group"
)
_OF_JOB = "--nodes --gpus --partition --time --name --framework --launcher --code --array --dependency --set"
_OF_SLURM = ("--cluster", "--partition", "--dependency", "--as")
_GROUP = _needs("--group", "--cluster")
RULES: Mapping[str, tuple[OptionRule, ...]] = {
    "plan search": (_MACHINE, _GROUP),
    "plan explain": (_MACHINE, _GROUP, _no_effect("--row", *_FIELDS.split())),
    "plan claims": (_exclusive("--json", "--markdown"),),
    "plan size": (
        OptionRule(
            ("--samples", "--tokens"),
            "size-workload",
            N_("both --samples and --tokens are given"),
            N_("give either --samples 52k or --tokens 1e9"),
        ),
        _MACHINE,
        _GROUP,
        EXCHANGE_RATE,
    ),
    "plan cost": (EXCHANGE_RATE,),
    "plan fabric": (EXCHANGE_RATE,),
    "simulate": (
        NO_TRACE,
        TWO_TRACES,
        *(_no_effect("--trace", option, is_exempt=_has_teams) for option in ("--days", "--load", "--seed")),
        _no_effect("--teams", "--skip-bad"),
    ),
    "rollback": (
        _no_effect("--list", "--to", "--dry-run", "--yes", "--batch", "--drain", "--reboot", "--wait"),
    ),
    "adopt": (SOURCE,),
    "upgrade": (TARGET,),
    "train": (
        OptionRule(
            ("--hostfile", "--local"),
            "train-words",
            N_("--show prints the variables of a cluster's job, and {option} runs without a cluster"),
            N_("use --dry-run, which prints the script with its variables and starts nothing"),
            most=0,
            option="--show",
        ),
        OptionRule(
            ("--show", "--dry-run"),
            "train-words",
            N_("{option} needs a job file or a program, and --resume names a run"),
            N_("remove {option}, or name the job file as well"),
            most=0,
            option="--resume",
            is_exempt=lambda values: "PROGRAM" in values,
        ),
        OptionRule(
            ("PROGRAM", *_OF_JOB.split()),
            "train-words",
            N_("a resumed run has its own program and options: {options} have no effect with --resume"),
            N_("leave them out: wright train --resume RUN; for another run, remove --resume"),
            most=0,
            option="--resume",
            is_exempt=_only_prints,
        ),
        _no_effect("--local", *_OF_SLURM, is_exempt=_resumes),
        _no_effect("--hostfile", *_OF_SLURM, is_exempt=_resumes),
    ),
    "checkpoints verify": (_exclusive("--step", "--all"),),
    "checkpoints convert": (
        OptionRule(
            ("--to", "--from"),
            "checkpoint-form",
            N_("exactly one of --to (torch, dcp or safetensors) and --from (torch or dcp) is required"),
            N_("pass --to FORMAT or --from FORMAT"),
            least=1,
        ),
    ),
    "dev": (
        OptionRule(
            ("--jupyter", "--vscode", "--shell"),
            "dev-kind",
            N_("--jupyter, --vscode and --shell exclude each other"),
            N_("pass only one of these options"),
        ),
        _exclusive("--python", "--environment"),
    ),
    "web": (
        _exclusive("--add-user", "--remove-user"),
        _needs("--role", "--add-user"),
        OptionRule(("--tls-key",), *_TLS, least=1, option="--tls-cert", is_exempt=_changes_users),
        OptionRule(("--tls-cert",), *_TLS, least=1, option="--tls-key", is_exempt=_changes_users),
    ),
}


def contradictions(
    command: tuple[str, ...], arguments: Iterable[Argument], *, with_missing: bool = True
) -> Iterator[Finding]:
    """Yield a finding for each rule that a line violates; without `with_missing`, not for lines that lack options."""
    rules = RULES.get(" ".join(command), ())
    values = dict(_values(arguments)) if rules else {}
    for rule in rules:
        if with_missing or values.keys() & {rule.option, *(() if rule.option else rule.options)}:
            yield from filter(None, (rule.finding(values),))


def _values(arguments: Iterable[Argument]) -> Iterator[tuple[str, object]]:
    """Yield name and value of each option on the line that has a value which is not empty or false.

    For a value that its option does not take, its text.
    """
    from cyclopts import CycloptsError

    from clusterwright.errors import WrightError

    for argument in arguments:
        if argument.tokens:
            try:
                value = argument.convert()
            except (CycloptsError, WrightError):
                value = argument.tokens[0].value
            if value:
                yield argument.name, value


def refuse_contradictions(command: tuple[str, ...], arguments: Iterable[Argument]) -> None:
    """Refuse options that contradict each other, before the command starts, which itself refuses lines that lack some.

    Raises:
        WrightError: with all of them.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError

    if findings := tuple(contradictions(command, arguments, with_missing=False)):
        raise WrightError(*findings, exit_code=EXIT_USAGE)
