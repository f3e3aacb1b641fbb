"""Only Slurm jobs use the GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpu_processes import GpuProcess, Processes, gpu_processes
from clusterwright.check.facts.gpus import Driver, Gpu, gpus
from clusterwright.check.of_gpus import Wrong, gpu_verdicts, has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import MiB, human_size

# facebookresearch/gcm: 15 MiB. Drivers before 510 count their own memory (up to 500 MiB on large GPUs) as used and
# do not report `memory.reserved`, so that it looks like memory of a process there.
_LEAST = 15 * MiB
_MAX_DRIVER_BYTES = 1024 * MiB  # ours: more than any driver reserves


@check(
    (gpus, gpu_processes),
    when=has_gpus,
    on=("deploy", "periodic", "prolog"),
    fix="run `ps -o user,lstart,args -p PID` and end the process; if no process holds the memory, run "
    "`nvidia-smi --gpu-reset -i GPU`",
)
def gpu_idle(spec: HostSpec, have: Driver, running: Processes) -> Iterator[Verdict]:
    """Every process on a GPU belongs to a Slurm job, and a GPU without processes has no memory in use.

    15 MiB may be in use without a process; more is a warning, more than 1 GiB a failure.
    """
    by_gpu: dict[str, list[GpuProcess]] = {}
    for process in running.processes:
        by_gpu.setdefault(process.uuid, []).append(process)
    expected = _(
        "only processes of Slurm jobs use a GPU; at most {size} of its memory is used without a process",
        size=human_size(_LEAST),
    )
    unsupported = _("this GPU driver does not report used memory")
    return gpu_verdicts(
        spec,
        have,
        lambda gpu: _wrong(gpu, by_gpu),
        expected=expected,
        read_value=lambda gpu: gpu.memory_used_bytes,
        unsupported=unsupported,
    )


def _wrong(gpu: Gpu, by_gpu: Mapping[str, list[GpuProcess]]) -> Iterator[Wrong]:
    processes = by_gpu.get(gpu.uuid, [])
    for process in processes:
        if not process.job:
            yield (
                _(
                    "GPU {gpu}: process {pid} ({name}) belongs to no Slurm job",
                    gpu=gpu.index,
                    pid=process.pid,
                    name=process.name or _("ended"),
                ),
                Status.FAIL,
            )
    used = gpu.memory_used_bytes or 0
    if not processes and not gpu.mig and used > _LEAST:
        observed = _(
            "GPU {gpu}: {size} of memory are in use, although no process uses the GPU",
            gpu=gpu.index,
            size=human_size(used),
        )
        yield observed, Status.FAIL if used > _MAX_DRIVER_BYTES else Status.WARN
