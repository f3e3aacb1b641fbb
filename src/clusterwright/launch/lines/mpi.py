"""The MPI plug-in that a launch line requests from Slurm (`srun --mpi=...`), compared with those that Slurm has."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.lines.rewrite import command_lines, commands
from clusterwright.onhost.adapters.launch_options import MPI
from clusterwright.slurm.mpi_plugins import parse_mpi_plugins

_LISTS = ("list", "")


def requested_mpi(program: Sequence[str]) -> tuple[str, ...]:
    """Return the plug-ins that options `--mpi` of the launch line name literally, each once."""
    return tuple(
        dict.fromkeys(
            option.value or ""
            for line in command_lines(program)
            for launch, tokens, _outer in commands(line)
            for option in launch.options
            if option.meaning == MPI
            and option.value not in _LISTS
            and not any(token.expands for token in tokens[option.start : option.stop])
        )
    )


def require_mpi(requested: Sequence[str], listing: str, host: str) -> None:
    """Compare the requested plug-ins with the output of `srun --mpi=list`; an empty list is no answer.

    Raises:
        WrightError: `mpi-plugin`: Slurm does not have one of them.
    """
    plugins = parse_mpi_plugins(listing)
    missing = [name for name in requested if name not in plugins] if plugins else []
    if not missing:
        return
    pmix = next((name for name in ("pmix", "pmi2", "none") if name in plugins), plugins[0])
    message = _(
        "the launch line requests `--mpi={plugin}`, but Slurm on {host} has {plugins}",
        plugin=missing[0],
        host=host,
        plugins=", ".join(plugins),
    )
    fix = _("write `--mpi={plugin}`", plugin=pmix)
    raise WrightError.from_code("mpi-plugin", message, fix, exit_code=EXIT_USAGE)
