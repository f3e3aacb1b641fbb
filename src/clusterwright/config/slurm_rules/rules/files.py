"""The files themselves: keys that are set twice, and files that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

# Keys that have several lines: controllers, programs and power actions.
_SEVERAL = (
    "slurmctldhost",
    "prolog",
    "epilog",
    "prologslurmctld",
    "epilogslurmctld",
    "poweraction",
    "autodetect",
    "mutuallyexclusive",
)


@rule(
    Severity.WARNING,
    "slurm.conf(5), DESCRIPTION",
    wrong="SlurmdTimeout=300\nSlurmdTimeout=60",
    correct="SlurmdTimeout=300",
)
def key_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A key is set once, or always to the same value; Slurm takes the last line."""
    for keys in conf.settings.values():
        for key, lines in keys.items():
            for earlier, setting in pairwise(lines):
                if key not in _SEVERAL and earlier.value.lower() != setting.value.lower():
                    values = {"key": earlier.key, "value": earlier.value, "line": earlier.line}
                    message = _("line {line} sets {key}={value}, and Slurm takes the last line", **values)
                    yield Problem(setting, message, remove(earlier))


@rule(
    Severity.ERROR,
    "slurm.conf(5), INCLUDE",
    wrong="Include nodes.conf\n--- includes\nnodes.conf",
    correct="ClusterName=c",
)
def include_missing(conf: SlurmConf) -> Iterator[Problem]:
    """An included file exists: Slurm's daemons do not start otherwise."""
    for include in conf.missing_includes:
        yield Problem(include, _("{path} does not exist", path=include.value), f"Include {include.value}")
