"""Nobody is on the GPUs but jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpu_processes import Process, Processes, gpu_processes
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import MiB

# facebookresearch/gcm: 15 MiB. Drivers before 510 count what they keep for themselves (up to some 500 MiB on large
# GPUs) as used; those say nothing of `memory.reserved`, and this cannot be told from a leftover there.
_LEAST = 15 * MiB
_MAX_DRIVER_BYTES = 1024 * MiB  # ours: more than any driver keeps


@check(
    (gpus, gpu_processes),
    when=has_gpus,
    on=("deploy", "periodic", "prolog"),
    fix="`ps -o user,lstart,args -p PID` says whose it is; end it; with memory used by nobody reset the GPU",
)
def gpu_idle(spec: HostSpec, have: Driver, running: Processes) -> Iterator[Verdict]:
    """Every process on a GPU belongs to a Slurm job, and a GPU without a process has no memory in use."""
    by_gpu: dict[str, list[Process]] = {}
    for process in running.processes:
        by_gpu.setdefault(process.uuid, []).append(process)
    expected = _(
        "processes of Slurm jobs only, {least} MiB used at most on a GPU without one", least=_LEAST // MiB
    )
    unsupported = _("this driver does not say how much memory is used")
    return gpu_verdicts(
        spec,
        have,
        lambda gpu: _wrong(gpu, by_gpu),
        expected=expected,
        read_value=lambda gpu: gpu.memory_used_bytes,
        unsupported=unsupported,
    )


def _wrong(gpu: Gpu, by_gpu: Mapping[str, list[Process]]) -> Iterator[Wrong]:
    processes = by_gpu.get(gpu.uuid, [])
    for process in processes:
        if not process.job:
            yield (
                _(
                    "has a process of no job: {pid} ({process})",
                    pid=process.pid,
                    process=process.name or "gone",
                ),
                Status.FAIL,
            )
    used = gpu.memory_used_bytes or 0
    if not processes and not gpu.mig and used > _LEAST:
        observed = _("has {used:.0f} MiB in use and no process", used=used / MiB)
        yield observed, Status.FAIL if used > _MAX_DRIVER_BYTES else Status.WARN
