"""A launch line of torch's launchers as a command whose ranks the supervisor starts, as on a machine without Slurm."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.config.job import Job
from clusterwright.launch.command import launcher
from clusterwright.launch.lines.rewrite import command_lines, commands, is_torch
from clusterwright.onhost.adapters import registry
from clusterwright.onhost.adapters.launch_options import LaunchCommand

AGENT = "agent"  # sets the variables that torchrun sets


def unwrap(job: Job) -> Job | None:
    """Return the job with the script as its command, for a supervised launcher; None if its program is no such line."""
    lines = command_lines(job.program or ())
    if len(lines) != 1 or any(token.expands for token in lines[0]):
        return None
    launches = list(commands(lines[0]))
    if len(launches) != 1 or not is_torch(launches[0][0].launcher):
        return None
    launch, tokens, _outer = launches[0]
    command = _command(launch, [token.text for token in tokens])
    if not command:
        return None
    current = launcher(job)
    supervised = current if registry.launcher(current).is_supervised else AGENT
    fields = {"program": None, "command": command, "launcher": supervised}
    restarts = next((option.value for option in launch.options if option.name == "--max-restarts"), None)
    if restarts is not None and restarts.isdigit() and "recovery" not in job.model_fields_set:
        recovery = job.recovery.model_copy(update={"restarts": int(restarts)})
        return job.model_copy(update={**fields, "recovery": recovery})
    return job.model_copy(update=fields)


def _command(launch: LaunchCommand, tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments for Python; empty without a script, and for a program that is not Python."""
    names = {option.name for option in launch.options}
    program = tuple(tokens[launch.program :])
    if not program or "--no-python" in names:
        return ()
    return ("-m", *program) if names & {"-m", "--module"} else program
