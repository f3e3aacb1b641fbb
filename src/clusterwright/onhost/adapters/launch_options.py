"""Options of launch commands: what each means for the allocation, and how many values it takes.

Names are spelled with dashes; torch, accelerate and DeepSpeed accept underscores too. Sources:
torch/distributed/run.py, accelerate/commands/launch.py, deepspeed/launcher/runner.py, srun(1), mpirun(1), pyxis.
"""

from __future__ import annotations

import os
import re
from typing import Dict, FrozenSet, NamedTuple, Optional, Sequence, Tuple

# Meanings: of numbers that the allocation fixes, and of places that only the allocation knows.
NODES, STEP_NODES, RANKS_PER_NODE, RANKS = "nodes", "step-nodes", "ranks-per-node", "ranks"
NODE_RANK, ADDRESS, HOSTS = "node-rank", "address", "hosts"
MPI, CONTAINER, GPUS = "mpi", "container", "gpus"
PLACES = (NODE_RANK, ADDRESS, HOSTS)


class LaunchOptions(NamedTuple):
    """The options of one launch command."""

    meanings: Dict[str, str]
    flags: FrozenSet[str]  # options that take no value
    pairs: FrozenSet[str] = frozenset()  # options that take two values
    has_short: bool = False  # a short option may have its value attached: -N4
    reads_allocation: bool = False  # without options it starts what the allocation has
    sets_variables: bool = False  # its tasks get variables for torch's launchers (adapters/task_variables.py)


def _options(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


TORCH = LaunchOptions(
    meanings={
        "--nnodes": NODES,
        "--nproc-per-node": RANKS_PER_NODE,
        "--node-rank": NODE_RANK,
        "--master-addr": ADDRESS,
        "--rdzv-endpoint": ADDRESS,
        "--standalone": ADDRESS,
    },
    flags=_options(
        "--standalone -m --module --no-python --run-path --use-env --virtual-local-rank -h --help"
    ),
)
ACCELERATE = LaunchOptions(
    meanings={
        "--num-machines": NODES,
        "--num-processes": RANKS,
        "--machine-rank": NODE_RANK,
        "--main-process-ip": ADDRESS,
        "--deepspeed-hostfile": HOSTS,
    },
    flags=_options(
        "--cpu --multi-gpu --tpu --ipex --use-xpu --use-deepspeed --use-fsdp --use-megatron-lm --debug -q --quiet"
        " -m --module --no-python --same-network --dynamo-use-fullgraph --dynamo-use-dynamic --tpu-cluster"
        " --no-tpu-cluster --tpu-use-sudo --enable-cpu-affinity --use-parallelism-config -h --help"
    ),
)
DEEPSPEED = LaunchOptions(
    meanings={
        "--num-nodes": NODES,
        "--num-gpus": RANKS_PER_NODE,
        "--node-rank": NODE_RANK,
        "--master-addr": ADDRESS,
        "--hostfile": HOSTS,
        "-H": HOSTS,
        "--include": HOSTS,
        "-i": HOSTS,
        "--exclude": HOSTS,
        "-e": HOSTS,
    },
    flags=_options(
        "--no-local-rank --no-python --force-multi --save-pid --module --no-ssh --no-ssh-check --elastic-training"
        " --bind-cores-to-rank -h --help"
    ),
)
SRUN = LaunchOptions(
    meanings={
        "-N": STEP_NODES,
        "--nodes": STEP_NODES,
        "-n": RANKS,
        "--ntasks": RANKS,
        "--ntasks-per-node": RANKS_PER_NODE,
        "-w": HOSTS,
        "--nodelist": HOSTS,
        "-F": HOSTS,
        "--nodefile": HOSTS,
        "--mpi": MPI,
        "--gres": GPUS,
        "--gpus": GPUS,
        "-G": GPUS,
        "--gpus-per-node": GPUS,
        "--gpus-per-task": GPUS,
        "--container-image": CONTAINER,
        "--container-mounts": CONTAINER,
        "--container-name": CONTAINER,
        "--container-workdir": CONTAINER,
        "--container-save": CONTAINER,
        "--container-env": CONTAINER,
        "--container-mount-home": CONTAINER,
        "--container-writable": CONTAINER,
        "--container-remap-root": CONTAINER,
        "--container-readonly": CONTAINER,
    },
    flags=_options(
        "-E --preserve-env -H --hold -h --help -K --kill-on-bad-exit -k --no-kill -l --label -O --overcommit"
        " -Q --quiet -s --oversubscribe -u --unbuffered -V --version -v --verbose -X --disable-status -Z --no-allocate"
        " --exact --exclusive --contiguous --multi-prog --nice --overlap --propagate --pty --spread-job"
        " --use-min-nodes --whole --reboot --resv-ports --interactive --bcast --no-bcast --external"
        " --container-mount-home --no-container-mount-home --container-remap-root --no-container-remap-root"
        " --container-writable --container-readonly --container-entrypoint --no-container-entrypoint"
    ),
    has_short=True,
    reads_allocation=True,
    sets_variables=True,
)
MPIRUN = LaunchOptions(
    meanings={
        "-np": RANKS,
        "--np": RANKS,
        "-n": RANKS,
        "--n": RANKS,
        "-c": RANKS,
        "-N": RANKS_PER_NODE,
        "--npernode": RANKS_PER_NODE,
        "-npernode": RANKS_PER_NODE,
        "-ppn": RANKS_PER_NODE,
        "-H": HOSTS,
        "--host": HOSTS,
        "-host": HOSTS,
        "--hosts": HOSTS,
        "-hosts": HOSTS,
        "--hostfile": HOSTS,
        "-hostfile": HOSTS,
        "--machinefile": HOSTS,
        "-machinefile": HOSTS,
        "-f": HOSTS,
    },
    flags=_options(
        "--allow-run-as-root --oversubscribe -oversubscribe --nooversubscribe -v --verbose -q --quiet -V --version"
        " --display-map --display-allocation --report-bindings --tag-output --timestamp-output --use-hwthread-cpus"
        " --enable-recovery --disable-recovery -nolocal --nolocal -bynode --bynode -byslot --byslot --do-not-launch"
        " --debug-daemons -d -h --help"
    ),
    reads_allocation=True,
    pairs=_options("--mca -mca --gmca -gmca --pmixmca --prtemca --omca -genv -env"),
)

PROGRAMS = {
    "torchrun": TORCH,
    "accelerate": ACCELERATE,
    "deepspeed": DEEPSPEED,
    "srun": SRUN,
    "mpirun": MPIRUN,
    "mpiexec": MPIRUN,
    "mpiexec.hydra": MPIRUN,
    "mpirun.openmpi": MPIRUN,
}
MODULES = {
    "torch.distributed.run": TORCH,
    "torch.distributed.launch": TORCH,
    "deepspeed.launcher.runner": DEEPSPEED,
    "accelerate.commands.launch": ACCELERATE,
}
_PYTHON = re.compile(r"python(3(\.\d+)?)?")


class LaunchOption(NamedTuple):
    """One option of a command line; `start` and `stop` delimit its arguments."""

    name: str  # spelled with dashes
    value: Optional[str]  # None for an option without a value
    start: int
    stop: int
    meaning: str = ""


class LaunchCommand(NamedTuple):
    """A command line taken apart: which launcher, its options, and where the program that it starts begins."""

    launcher: str  # torchrun, srun, torch.distributed.launch ...
    spec: LaunchOptions
    options: Tuple[LaunchOption, ...]
    program: int  # index of the first argument after the options


def parse(arguments: Sequence[str]) -> Optional[LaunchCommand]:
    """Return launcher and options of a command line, and the index of its program; None if it begins with no launcher.

    `python -m MODULE` with a launcher's module is a launcher, too; `accelerate` is one only with `launch`.
    """
    head = _launcher(arguments)
    if head is None:
        return None
    launcher, spec, index = head
    options = []
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] not in ("-", "--"):
        option = _option(arguments, index, spec)
        options.append(option)
        index = option.stop
    if index < len(arguments) and arguments[index] == "--":
        index += 1
    return LaunchCommand(launcher, spec, tuple(options), index)


def _launcher(arguments: Sequence[str]) -> Optional[Tuple[str, LaunchOptions, int]]:
    """Return name and options of the launcher that the arguments begin with, and where its options begin.

    None without one; of Python's options, only -u, -O and -B may stand before `-m`.
    """
    name = os.path.basename(arguments[0]) if arguments else ""
    if name == "accelerate":
        return (name, ACCELERATE, 2) if list(arguments[1:2]) == ["launch"] else None
    if name in PROGRAMS:
        return name, PROGRAMS[name], 1
    if not _PYTHON.fullmatch(name):
        return None
    index = 1
    while index < len(arguments) and arguments[index] in ("-u", "-O", "-B"):
        index += 1
    if index + 1 < len(arguments) and arguments[index] == "-m" and arguments[index + 1] in MODULES:
        return arguments[index + 1], MODULES[arguments[index + 1]], index + 2
    return None


def _option(arguments: Sequence[str], index: int, spec: LaunchOptions) -> LaunchOption:
    argument = arguments[index]
    name, has_value, value = argument.partition("=")
    if spec.has_short and not argument.startswith("--"):
        name, value = argument[:2], argument[2:].lstrip("=")
        has_value = value
    if name.startswith("--"):
        name = name.replace("_", "-")
    meaning = spec.meanings.get(name, "")
    if has_value:
        return LaunchOption(name, value, index, index + 1, meaning)
    if name in spec.flags:
        return LaunchOption(name, None, index, index + 1, meaning)
    stop = min(len(arguments), index + (3 if name in spec.pairs else 2))
    return LaunchOption(name, " ".join(arguments[index + 1 : stop]), index, stop, meaning)
