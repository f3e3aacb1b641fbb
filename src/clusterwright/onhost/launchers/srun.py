"""One Slurm task for each GPU, with PMIx if Slurm has it; ranks are not restarted."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Allocation, Launcher
from clusterwright.onhost.supervisor import schedulers


def arguments(allocation: Allocation, program: Sequence[str]) -> list[str]:
    """Return the command line of one task per GPU, with `--mpi=pmix` if srun lists it."""
    _, listed = schedulers.slurm("srun", "--mpi=list")
    pmix = ["--mpi=pmix"] if "pmix" in listed else []
    return step(allocation, allocation.ranks, [*pmix, "--kill-on-bad-exit=1"], program)


def step(allocation: Allocation, tasks: int, options: Sequence[str], program: Sequence[str]) -> list[str]:
    """Return srun's command line for a step with `tasks` tasks per host, which share the host's CPUs."""
    count = len(allocation.hosts)
    return [
        "srun",
        *options,
        f"--nodes={count}",
        f"--nodelist={','.join(allocation.hosts)}",
        f"--ntasks={count * tasks}",
        f"--ntasks-per-node={tasks}",
        f"--cpus-per-task={allocation.cpus * allocation.ranks // tasks}",
        "--distribution=block",
        "--export=ALL",
        *program,
    ]


LAUNCHER = Launcher(job_command=arguments, kind="task", has_task_per_rank=True, programs=("srun",))
