"""Lines of slurm.conf from keys and values; options of the cluster file replace keys of other fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Row = tuple[str, str]

# The processors of a node: a site that writes one of them describes all of them.
CPU_KEYS = frozenset(
    {"boards", "cpus", "procs", "sockets", "socketsperboard", "corespersocket", "threadspercore"}
)
# Names of one key; an option replaces the row of either name.
_ALIASES = {"feature": "features", "shared": "oversubscribe", "priority": "prioritytier"}


def conf_line(rows: Iterable[Row], options: Mapping[str, str]) -> str:
    """Return a line of KEY=VALUE pairs: the rows that no option replaces, then the options.

    Any option about CPUs replaces all rows about CPUs.
    """
    names = {canonical(key) for key in options}
    if names & CPU_KEYS:
        names |= CPU_KEYS
    remaining = [(key, value) for key, value in rows if canonical(key) not in names]
    return " ".join(f"{key}={_quoted(value)}" for key, value in [*remaining, *options.items()]) + "\n"


def canonical(key: str) -> str:
    """Return the canonical name of a key of slurm.conf: lower case, an older name replaced by its newer one."""
    return _ALIASES.get(key.lower(), key.lower())


def _quoted(value: str) -> str:
    return f'"{value}"' if any(map(str.isspace, value)) and '"' not in value else value
