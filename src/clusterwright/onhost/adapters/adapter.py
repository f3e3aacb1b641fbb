"""The interface of a framework: the variables and options that it needs from its launcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Dict, Sequence, Tuple

if TYPE_CHECKING:
    from clusterwright.onhost.adapters.process_context import ProcessContext

Argv = Sequence[str]


def nothing(_context: ProcessContext) -> Dict[str, str]:
    """Return no variables; the default of `Adapter.variables`."""
    return {}


def unchanged(argv: Argv, _context: ProcessContext) -> Tuple[str, ...]:
    """Return the command line unchanged; the default of `Adapter.arguments`."""
    return tuple(argv)


@dataclass(frozen=True)
class Adapter:
    """One framework: the variables and options that Clusterwright adds to a job; those of the user take precedence."""

    module: str  # module that must be installed; empty for none
    install: str  # command that installs it
    launcher: str = "agent"  # default launcher
    variables: Callable[[ProcessContext], Dict[str, str]] = nothing
    arguments: Callable[[Argv, ProcessContext], Tuple[str, ...]] = unchanged
    programs: Tuple[str, ...] = ()  # names of the framework's own launcher programs, which run once per host
    modules: Tuple[str, ...] = ()  # the same as module names, for `python -m`
    global_batch: str = ""  # its option for the global batch size
    micro_batch: str = ""  # its option for the micro-batch size
    # its options for the sizes that, multiplied, are the GPUs of a replica
    replica_sizes: Tuple[str, ...] = ()

    @property
    def needs_only_torch(self) -> bool:
        """Return True if the framework needs no variables or options beyond torch's.

        Every launcher sets those.
        """
        return self.variables is nothing and self.arguments is unchanged


def has(argv: Argv, *names: str) -> bool:
    """Return True if the command line has one of the options, spelled with `_` or `-`, as NAME=VALUE or NAME VALUE."""
    option_names = {name.replace("_", "-") for name in names}
    return any(argument.partition("=")[0].replace("_", "-") in option_names for argument in argv)


def missing(argv: Argv, **options: object) -> Tuple[str, ...]:
    """Return --name=value for each option that the command line lacks; True gives --name, None and False nothing."""
    added = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False or has(argv, option):
            continue
        added.append(option if value is True else f"{option}={value}")
    return tuple(added)
