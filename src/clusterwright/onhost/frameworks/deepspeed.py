"""DeepSpeed: a script finds torch's variables; its own launcher is told the hosts in place of a hostfile and ssh."""

from __future__ import annotations

import base64
import json
import os

from clusterwright.onhost.adapters.adapter import Adapter, Words, has
from clusterwright.onhost.adapters.place import Place

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


def arguments(words: Words, place: Place) -> tuple[str, ...]:
    """`deepspeed OPTIONS train.py ...` as what it starts on each host itself (deepspeed/launcher/runner.py).

    Options about hosts are left out: Slurm has chosen them. The others are handed on.
    """
    if not place.starts_ranks or os.path.basename(words[0]) != "deepspeed":
        return tuple(words)
    options, program = split(words[1:])
    world = {host: list(range(place.ranks)) for host in place.hosts}
    told = base64.urlsafe_b64encode(json.dumps(world).encode()).decode()
    kept = [
        word for name, *value in options if name.partition("=")[0] not in _OURS for word in (name, *value)
    ]
    meets = [
        word
        for name, *value in options
        if has((name,), "--master_addr", "--master_port")
        for word in (name, *value)
    ]
    if not has(meets, "--master_addr"):
        meets.append(f"--master_addr={place.address}")
    if not has(meets, "--master_port"):
        meets.append(f"--master_port={place.port}")
    return (
        "python",
        "-u",
        *MODULE,
        f"--world_info={told}",
        f"--node_rank={place.host}",
        *meets,
        *kept,
        *program,
    )


def split(words: Words) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The launcher's own options, each with its value, and what it starts."""
    options, rest = [], list(words)
    while rest and rest[0].startswith("-"):
        bare = "=" in rest[0] or rest[0] in _NO_VALUE
        take = 1 if bare else 2
        options.append(tuple(rest[:take]))
        rest = rest[take:]
    return tuple(options), tuple(rest)


ADAPTER = Adapter(
    module="deepspeed",
    install="pip install deepspeed",
    arguments=arguments,
    programs=("deepspeed",),
    modules=("deepspeed.launcher.runner",),
)
