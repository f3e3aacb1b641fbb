"""Commands that do not exist: the one that is meant, by habits of other tools, by spelling, or by its group."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._examples import examples
from clusterwright.cli._foreign_options import SPECS
from clusterwright.cli._misplaced import name_line, unquoted_line, verb_line
from clusterwright.errors import did_you_mean
from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts import App

_SIMILAR = 0.7  # less is another word: login and logs, clean and plan
# A command, and what other tools and habits call it.
_OTHER_NAMES = {
    "train": "sbatch srun torchrun mpirun mpiexec deepspeed accelerate python submit run launch resume restart requeue",
    "jobs": "squeue ps list ls runs queue get",
    "cancel": "scancel kill stop delete rm terminate",
    "top": "sinfo nodes node hosts host htop watch monitor nvidia-smi nvtop metrics alerts dashboard-cli inventory",
    "web": "dashboard ui serve grafana",
    "apply": "install deploy provision setup ansible ansible-playbook configure bootstrap",
    "lab": "up down start destroy vagrant docker compose",
    "init": "create new config",
    "check": "verify test doctor health nhc dcgmi",
    "why": "diagnose debug",
    "logs": "log tail",
    "bench": "benchmark nccl-tests nccl all_reduce all-reduce allreduce burnin burn-in fio hpl stress",
    "heal": "fix repair drain undrain reboot reset history events",
    "status": "show info describe inspect",
    "checkpoints": "ckpt checkpoint",
    "kubernetes": "k8s kubectl helm",
    "report": "sacct sreport usage users user quota accounting",
    "rollback": "undo revert",
    "plan": "search cost size fabric power storage",
    "plan catalog": "catalog gpus gpu models model prices",
    "dev": "salloc shell ssh exec attach login jupyter notebook",
    "guide": "tutorial quickstart",
    "image": "conda pip container build requirements env",
    "upgrade": "update",
    "lint": "slurm.conf slurm",
}
# Commands of a group, and what users call them.
_OTHER_SUBCOMMANDS = {
    "wright bench": {
        "collectives": "nccl nccl-tests allreduce all-reduce all_reduce rccl",
        "storage": "disk disks fio io nfs lustre",
        "burn-in": "burnin stress soak all hpl",
        "rdma": "ib infiniband roce perftest",
        "gpu": "gemm flops gpus",
    },
    "wright plan": {
        "catalog": "gpu gpus model models prices",
        "search": "layout parallel parallelism train training",
        "power": "rack racks cooling",
        "fabric": "network switches topology",
        "size": "nodes hosts",
        "cost": "price tco",
    },
    "wright tune": {"network": "nccl all"},
    "wright report": {"cluster": "month gpu gpus nodes", "team": "user users account accounts"},
}


# Values of choices, and what users call them.
_ALIASES = {
    "torch": "pytorch pt pth bin ckpt state_dict",
    "safetensors": "hf huggingface transformers st",
    "dcp": "distributed sharded fsdp torch.distributed",
    "hgx": "dgx h100 h200 b200 superpod",
    "google-cloud": "gcp google gce",
    "aws": "amazon ec2",
    "azure": "microsoft",
    "alibaba": "aliyun",
    "tencent": "qcloud",
    "university": "campus uni department",
}


def alias_of(value: str, choices: Sequence[str]) -> str:
    """Return the choice that users also call `value`, or what it begins with; empty if there is none."""
    spellings = (value.lower(), *re.split(r"[-_. ]", value.lower()))
    return next(
        (
            choice
            for choice in choices
            for spelling in spellings
            if spelling in _ALIASES.get(choice, "").split()
        ),
        "",
    )


def rank_choices(value: str, choices: Sequence[str]) -> list[str]:
    """Return the choices in the order of their similarity to a value, which is none of them."""
    alias = alias_of(value, choices)

    def similarity(choice: str) -> float:
        return 1.0 if choice == alias else SequenceMatcher(None, value.lower(), choice.lower()).ratio()

    return sorted(choices, key=similarity, reverse=True)


def command_fix(command: str, tokens: Sequence[str], app: App) -> str:
    """Return what to write in place of a command that `command` does not have; `tokens` are what follows `command`."""
    name, subcommands = tokens[0], [subcommand for subcommand in app if not subcommand.startswith("-")]
    if line := verb_line(command, tokens, subcommands) if command != "wright" else "":
        return _("run `{command}`", command=line)
    if line := unquoted_line(command, name, subcommands):
        return _("remove the quotes: {line}", line=line)
    if Path(name).suffix in SPECS:
        return _("write the command first: {line}", line=shlex.join(("wright", "validate", name)))
    if line := _respelled(command, tokens, app):
        return _("write {line}", line=line)
    if command_name := _other_name(command, name.lower()):
        return _example_fix(command_name)
    if guess := did_you_mean(name, subcommands, _SIMILAR).strip():
        return _("{guess} All commands: {line}", guess=guess, line=f"{command} --help")
    if line := _name_line(command, tokens):
        return _("run `{command}`", command=line)
    return _("choose one of {choices}", choices=", ".join(subcommands))


def _example_fix(command: str) -> str:
    """Return the command that is meant, with a line of it to copy."""
    line = next(iter(examples(command.split())), f"wright {command} --help")
    return _("the command is `wright {name}`: {line}", name=command, line=line)


def _other_name(command: str, name: str) -> str:
    if command == "wright":
        return next(
            (command_name for command_name, names in _OTHER_NAMES.items() if name in names.split()), ""
        )
    names_by_command = _OTHER_SUBCOMMANDS.get(command, {})
    command_name = next(
        (command_name for command_name, names in names_by_command.items() if name in names.split()), ""
    )
    return f"{command.removeprefix('wright ')} {command_name}" if command_name else ""


def _respelled(command: str, tokens: Sequence[str], app: App) -> str:
    """Return the line in lower case, with `-` for `_`, or with a blank between a group and its command.

    Empty if that is no command either.
    """
    name, names = tokens[0].lower().replace("_", "-"), list(app)
    if name in names:
        return shlex.join((*command.split(), name, *tokens[1:]))
    group, _hyphen, subcommand = name.partition("-")
    if group in names and subcommand in list(app[group]):
        return shlex.join((*command.split(), group, subcommand, *tokens[1:]))
    return ""


def _name_line(command: str, tokens: Sequence[str]) -> str:
    """Return the line for a group that was typed with a run or host only; empty if the word is not like one.

    A run or host has a digit, is a path, or is `last`.
    """
    is_name = tokens[0] == "last" or any(letter.isdigit() or letter == "/" for letter in tokens[0])
    return name_line(command, tokens) if is_name else ""
