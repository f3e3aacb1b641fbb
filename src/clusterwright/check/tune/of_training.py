"""The knobs of a training that need no change of its program; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.check.tune.knobs import Knob, of_network
from clusterwright.config.job import Job
from clusterwright.config.recipes import arguments_of
from clusterwright.i18n import _
from clusterwright.units import MiB, format_size


@dataclass(frozen=True, slots=True)
class RunTarget:
    """Where the training runs: the backend of its collectives, the interface for gradients, and CPUs of a host."""

    backend: str
    interface: str
    cpus: int


def knobs(job: Job, target: RunTarget) -> tuple[Knob, ...]:
    """Return the knobs that can matter to this job: threads, gradients on several hosts, microbatch, loaders."""
    return (
        *_threads(job, target),
        *(_gradients(target) if job.nodes > 1 else ()),
        *_pieces(job),
        *_readers(job, target),
    )


def usual(job: Job, target: RunTarget) -> dict[str, str]:
    """Return the current values that no variable sets: defaults of our launcher and torch, and job file fields."""
    gradients = job.gradients
    return {
        "OMP_NUM_THREADS": str(_threads_of_a_rank(job, target)),
        "GLOO_SOCKET_IFNAME": target.interface,
        "NCCL_SOCKET_IFNAME": target.interface,
        "gradients.bucket": format_size(gradients.bucket or 25 * MiB),
        "gradients.compress": gradients.compress,
        **{f"arguments.{name}": _argument(job, name) for name in ("microbatch", "workers")},
    }


def _argument(job: Job, name: str) -> str:
    """Return the value of a recipe's argument in the job, or its default, as text; empty if the recipe has none."""
    arguments = {**arguments_of(job.recipe), **job.arguments} if job.recipe else {}
    return str(arguments.get(name, ""))


def _threads_of_a_rank(job: Job, target: RunTarget) -> int:
    return max(1, target.cpus // job.gpus_per_node)


def _doubled_up_to(most: int) -> tuple[str, ...]:
    """Return 1, 2, 4 and so on, up to `most`."""
    return tuple(str(2**power) for power in range(most.bit_length()))


def _threads(job: Job, target: RunTarget) -> Iterator[Knob]:
    """Yield the knobs of CPU threads: their number, up to twice a rank's share of CPUs, and binding.

    The knob of binding is yielded with one rank a host only, as it binds all ranks of a host to the same CPUs.
    """
    counts = _doubled_up_to(2 * _threads_of_a_rank(job, target))
    yield Knob(
        "OMP_NUM_THREADS",
        counts,
        _("with too many threads, threads wait for each other; with too few, CPUs are idle"),
    )
    if job.gpus_per_node == 1:
        yield Knob("OMP_PROC_BIND", ("true",), _("a pinned thread keeps its CPU caches"))


def _gradients(target: RunTarget) -> Iterator[Knob]:
    yield from of_network(target.backend, target.interface)
    sizes = tuple(format_size(size * MiB) for size in (1, 4, 100))
    yield Knob(
        "gradients.bucket",
        sizes,
        _("small gradient buckets are sent earlier during the backward pass; large buckets cost less"),
    )
    reason = _("gradients of 16 bits are half the bytes; the rounding changes results")
    yield Knob("gradients.compress", ("bf16", "fp16"), reason, numbers=True)


def _pieces(job: Job) -> Iterator[Knob]:
    """Yield the knob of a recipe's microbatch, which does not change the batch of a step.

    Nothing for a job without that argument, with batch norm, whose statistics are per microbatch, or if `parallel` sets
    the microbatch.
    """
    microbatch, norm = _argument(job, "microbatch"), _argument(job, "norm")
    if microbatch.isdecimal() and norm != "batch" and not (job.parallel and job.parallel.micro_batch > 1):
        now = int(microbatch)
        sizes = (str(size) for size in (now // 2, now * 2, now * 4) if size > 0)
        reason = _(
            "larger microbatches use the GPU better and take more memory; the global batch is unchanged"
        )
        yield Knob("arguments.microbatch", tuple(sizes), reason)


def _readers(job: Job, target: RunTarget) -> Iterator[Knob]:
    """Yield the knob of a recipe's loader processes, up to a rank's number of CPUs; by default it chooses itself."""
    if _argument(job, "workers"):
        counts = ("0", *_doubled_up_to(_threads_of_a_rank(job, target)))
        yield Knob(
            "arguments.workers",
            counts,
            _("too few DataLoader workers delay the step, too many take the CPUs of the training"),
        )
