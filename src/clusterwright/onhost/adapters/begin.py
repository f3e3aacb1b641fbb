"""Start the user's program in a process of the job.

`python -m clusterwright.onhost.adapters.begin KIND FRAMEWORK WORDS`: KIND is `rank` (of torch's launchers),
`task` (of Slurm or MPI), or `host` or `batch` (programs that start ranks themselves). Variables that the
framework needs are set unless the user has set them.
"""

from __future__ import annotations

import os
import sys
from typing import Dict, List, Mapping, Sequence

from clusterwright.onhost.adapters import process_context
from clusterwright.onhost.adapters.adapter import Adapter
from clusterwright.onhost.adapters.registry import adapter
from clusterwright.onhost.frameworks import pytorch
from clusterwright.onhost.supervisor import network
from clusterwright.onhost.supervisor.folder import set_umask
from clusterwright.onhost.supervisor.host import private, rank
from clusterwright.onhost.supervisor.host.generation import QUIET

COMPUTE, LOGS, RUN = "CLUSTERWRIGHT_COMPUTE", "CLUSTERWRIGHT_LOGS", "CLUSTERWRIGHT_RUN"
TORCHRUN = "torchrun"
PYTHON = "python"  # before a script: replaced by the job's Python


def missing_variables(
    kind: str, context: process_context.ProcessContext, framework: Adapter, environ: Mapping[str, str]
) -> Dict[str, str]:
    """Return torch's and the framework's variables that are not set yet; torch's not for kinds `rank` and `batch`.

    A torch launcher has set them for `rank`; a batch script starts its ranks itself.
    """
    of_torch = {} if kind in ("rank", "batch") else pytorch.variables(context)
    variables = {**of_torch, **framework.variables(context)}
    return {name: text for name, text in variables.items() if name not in environ}


def main(arguments: Sequence[str]) -> None:
    """Set the variables and options that the framework needs and the user has not set, then become the job's program.

    The arguments are how the process was started (rank, task, host or batch), the framework, and the program.
    """
    kind, name, *argv = arguments
    framework = adapter(name)
    environ = os.environ
    # The folder of the job's Python comes first, as in an activated environment.
    environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), environ.get("PATH", os.defpath)])
    if kind != "rank":
        _prepare(kind)
    context = process_context.read(environ, starts_ranks=kind in ("host", "batch"))
    environ.update(missing_variables(kind, context, framework, environ))
    if kind in ("task", "host"):
        _log(context)
    argv = list(framework.arguments(argv, context))
    if kind == "rank" and argv[0] == PYTHON:
        rank.program(argv[1:])
        return
    run(argv)


def run(command: List[str]) -> None:
    """Replace this process by the program; `python` stands for the job's Python. Exit if the program cannot be started.

    Without a torchrun, its module in that Python is started.
    """
    argv = [sys.executable, "-u", *command[1:]] if command[0] == PYTHON else command
    try:
        os.execvp(argv[0], argv)  # noqa: S606 (the job's own program)
    except OSError as error:
        if argv[0] == TORCHRUN:  # not beside this Python, or installed for another path
            run([PYTHON, "-m", "torch.distributed.run", *argv[1:]])
        sys.exit(f"{argv[0]}: {error.strerror} on {os.uname().nodename}")


def _prepare(kind: str) -> None:
    """Set variables, unless they are set, that an agent sets for its ranks: network interface, secrets, cache, threads.

    Also the run's umask.
    """
    environ = os.environ
    if RUN in environ:
        set_umask(environ[RUN])  # mpirun's daemons and container runtimes set their own
    interface = network.inside(environ[COMPUTE], network.interfaces()) if COMPUTE in environ else None
    ours = {**QUIET, **private.compile_cache(environ), **private.secrets_of_user()}
    if kind == "task":  # the CPUs that Slurm allocates to one task
        ours = {"OMP_NUM_THREADS": environ.get("SLURM_CPUS_PER_TASK", "1"), **ours}
    if interface:
        ours = {"GLOO_SOCKET_IFNAME": interface[0], "NCCL_SOCKET_IFNAME": interface[0], **ours}
    for name, text in ours.items():
        environ.setdefault(name, text)


def _log(context: process_context.ProcessContext) -> None:
    """Redirect this process's stdout and stderr to `HOST/LOCAL_RANK.out` and `.err` in the run's log folder.

    Nothing without such a folder.
    """
    folder = os.environ.get(LOGS)
    if not folder:
        return
    host_folder = os.path.join(folder, context.hosts[context.host])
    os.makedirs(host_folder, exist_ok=True)
    for number, name in ((1, "out"), (2, "err")):
        path = os.path.join(host_folder, f"{max(0, context.local_rank)}.{name}")
        target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(target, number)
        os.close(target)


if __name__ == "__main__":
    main(sys.argv[1:])
