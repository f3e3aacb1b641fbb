"""A task of Slurm's for each GPU, with PMIx where Slurm has it; ranks are not restarted."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Allocation, Launcher
from clusterwright.onhost.supervisor import schedulers


def arguments(allocation: Allocation, program: Sequence[str]) -> list[str]:
    """`--mpi=pmix` for tasks that may be MPI's."""
    _, listed = schedulers.slurm("srun", "--mpi=list")
    pmix = ["--mpi=pmix"] if "pmix" in listed else []
    return step(allocation, allocation.ranks, [*pmix, "--kill-on-bad-exit=1"], program)


def step(allocation: Allocation, tasks: int, options: Sequence[str], program: Sequence[str]) -> list[str]:
    """A step with so many tasks on each host, which share its processors."""
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
