"""DeepSpeed: torch's variables for a script; its own launcher gets the hosts as options, without hostfile and ssh."""

from __future__ import annotations

import base64
import json
import os

from clusterwright.onhost.adapters.adapter import Adapter, Argv, has
from clusterwright.onhost.adapters.process_context import ProcessContext

_NO_VALUE = (
    "--no_local_rank",
    "--no_python",
    "--force_multi",
    "--save_pid",
    "--module",
    "--no_ssh",
    "--no_ssh_check",
)
_OURS = ("--hostfile", "-H", "--no_ssh", "--no_ssh_check", "--force_multi", "--node_rank", "--num_nodes", "--num_gpus",
         "--master_addr", "--master_port", "--include", "--exclude", "-i", "-e")  # fmt: skip
MODULE = ("-m", "deepspeed.launcher.launch")


def arguments(argv: Argv, context: ProcessContext) -> tuple[str, ...]:
    """Return the command that `deepspeed OPTIONS train.py ...` would start on each host by ssh.

    Source: deepspeed/launcher/runner.py. Options that choose hosts are dropped, since Slurm has chosen them; all
    others are passed on. Any other command line is returned unchanged.
    """
    if not context.starts_ranks or os.path.basename(argv[0]) != "deepspeed":
        return tuple(argv)
    options, program = split(argv[1:])
    world = {host: list(range(context.ranks)) for host in context.hosts}
    world_info = base64.urlsafe_b64encode(json.dumps(world).encode()).decode()
    launcher_options = [
        argument
        for name, *value in options
        if name.partition("=")[0] not in _OURS
        for argument in (name, *value)
    ]
    meets = [
        argument
        for name, *value in options
        if has((name,), "--master_addr", "--master_port")
        for argument in (name, *value)
    ]
    if not has(meets, "--master_addr"):
        meets.append(f"--master_addr={context.address}")
    if not has(meets, "--master_port"):
        meets.append(f"--master_port={context.port}")
    return (
        "python",
        "-u",
        *MODULE,
        f"--world_info={world_info}",
        f"--node_rank={context.host}",
        *meets,
        *launcher_options,
        *program,
    )


def split(argv: Argv) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the options at the start of a deepspeed command line, each with its value, and the remaining program."""
    options, remaining = [], list(argv)
    while remaining and remaining[0].startswith("-"):
        bare = "=" in remaining[0] or remaining[0] in _NO_VALUE
        count = 1 if bare else 2
        options.append(tuple(remaining[:count]))
        remaining = remaining[count:]
    return tuple(options), tuple(remaining)


ADAPTER = Adapter(
    module="deepspeed",
    install="pip install deepspeed",
    arguments=arguments,
    programs=("deepspeed",),
    modules=("deepspeed.launcher.runner",),
)
