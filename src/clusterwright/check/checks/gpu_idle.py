"""Nobody is on the GPUs but jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpu_processes import Process, Processes, gpu_processes
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, each_gpu, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.units import MiB

# facebookresearch/gcm: 15 MiB. Drivers before 510 count what they keep for themselves (up to some 500 MiB on large
# GPUs) as used; those say nothing of `memory.reserved`, and this cannot be told from a leftover there.
_LEAST = 15 * MiB
_KEPT = 1024 * MiB  # ours: more than any driver keeps


@check(
    (gpus, gpu_processes),
    when=has_gpus,
    on=("deploy", "periodic", "prolog"),
    mend="`ps -o user,lstart,args -p PID` says whose it is; end it; with memory used by nobody reset the GPU",
)
def gpu_idle(want: Want, have: Driver, running: Processes) -> Iterator[Verdict]:
    """Every process on a GPU belongs to a Slurm job, and a GPU without a process has no memory in use."""
    by_gpu: dict[str, list[Process]] = {}
    for each in running.found:
        by_gpu.setdefault(each.uuid, []).append(each)
    wanted = f"processes of Slurm jobs only, {_LEAST // MiB} MiB used at most on a GPU without one"
    silent = "this driver does not say how much memory is used"
    return each_gpu(
        want,
        have,
        lambda gpu: _wrong(gpu, by_gpu),
        wanted=wanted,
        known=lambda gpu: gpu.memory_used_bytes,
        silent=silent,
    )


def _wrong(gpu: Gpu, by_gpu: Mapping[str, list[Process]]) -> Iterator[Wrong]:
    mine = by_gpu.get(gpu.uuid, [])
    for each in mine:
        if not each.job:
            yield f"has a process of no job: {each.pid} ({each.name or 'gone'})", Status.FAIL
    used = gpu.memory_used_bytes or 0
    if not mine and not gpu.mig and used > _LEAST:
        saw = f"has {used / MiB:.0f} MiB in use and no process"
        yield saw, Status.FAIL if used > _KEPT else Status.WARN
