"""What a framework wants of whoever starts it; all else is the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Dict, Sequence, Tuple

if TYPE_CHECKING:
    from clusterwright.onhost.adapters.process_context import ProcessContext

Argv = Sequence[str]


def nothing(_context: ProcessContext) -> Dict[str, str]:
    """No variables."""
    return {}


def unchanged(argv: Argv, _context: ProcessContext) -> Tuple[str, ...]:
    """The line as it was written."""
    return tuple(argv)


@dataclass(frozen=True)
class Adapter:
    """One framework. What it says only fills gaps: a variable or an option that is there already stays as it is."""

    module: str  # what Python must find, empty for nothing
    install: str  # the line that installs it
    launcher: str = "agent"  # what starts it where the job does not say
    variables: Callable[[ProcessContext], Dict[str, str]] = nothing
    arguments: Callable[[Argv, ProcessContext], Tuple[str, ...]] = unchanged
    programs: Tuple[str, ...] = ()  # its own launchers, by the first word of a line: once on each host
    modules: Tuple[str, ...] = ()  # the same behind `python -m`
    global_batch: str = ""  # its option for the samples of a step, over all replicas
    micro_batch: str = ""  # and for those that go through a replica at once

    @property
    def needs_only_torch(self) -> bool:
        """True when torch's variables, which every launcher sets, are all that it wants."""
        return self.variables is nothing and self.arguments is unchanged


def has(argv: Argv, *names: str) -> bool:
    """Whether an option is on the line, with `_` or `-` in its name, with its value behind = or in the next word."""
    option_names = {name.replace("_", "-") for name in names}
    return any(argument.partition("=")[0].replace("_", "-") in option_names for argument in argv)


def missing(argv: Argv, **options: object) -> Tuple[str, ...]:
    """`name value` as --name=value, for each that is not on the line; None and False are left out, True is bare."""
    added = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False or has(argv, option):
            continue
        added.append(option if value is True else f"{option}={value}")
    return tuple(added)
