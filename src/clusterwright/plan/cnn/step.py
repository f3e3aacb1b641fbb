"""Time of one iteration of data-parallel training of a convolutional network, input pipeline included."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf, log2
from typing import TYPE_CHECKING

from clusterwright.plan.cnn.coefficients import Coefficients, stored
from clusterwright.plan.cnn.products import demand
from clusterwright.plan.cnn.work import width, work
from clusterwright.plan.collectives import domain_size, seconds
from clusterwright.plan.prediction import Bound

if TYPE_CHECKING:
    from clusterwright.catalog.cnn import Cnn
    from clusterwright.plan.cnn.coefficients import Software
    from clusterwright.plan.cnn.products import Encoder
    from clusterwright.plan.run import Machine


IMAGENET_BYTES = 110e3  # of one JPEG of ImageNet-1k: 138 GB over 1.28 million (ILSVRC 2012)


@dataclass(frozen=True, slots=True)
class Feed:
    """Input pipeline of one node; infinite for synthetic data."""

    cores: float = inf
    # Decode, crop, flip: 735 MB/s by 24 cores with DALI (Mohan et al. 2007.06775, figure 1); PIL is slower.
    images_per_core_s: float = 735e6 / 24 / IMAGENET_BYTES
    storage_bytes_per_s: float = inf  # read rate of the data set per node
    image_bytes: float = IMAGENET_BYTES

    @property
    def images_per_s(self) -> float:
        """Highest rate at which the pipeline delivers images to a node."""
        return min(self.cores * self.images_per_core_s, self.storage_bytes_per_s / self.image_bytes)


BUCKET_BYTES = 25 * 2**20  # of gradients in one all-reduce (torch.nn.parallel.DistributedDataParallel)
BACKWARD = 2 / 3  # of an iteration's compute
MASTER_BYTES = 28  # per weight, read and written by the optimizer: fp32 weight, momentum, gradient; fp16 copy


@dataclass(frozen=True, slots=True)
class CnnJob:
    """A data-parallel training: network, machine, batch per GPU, precision, software and input pipeline."""

    network: Cnn | Encoder
    machine: Machine  # one replica on each of its GPUs
    batch: float  # images per GPU and iteration
    precision: str = "fp16"  # fp16 (mixed), bf16, tf32, fp32
    software: str = "pytorch"  # pytorch (channels last), pytorch-nchw, mxnet, tensorflow, bert
    feed: Feed = field(default_factory=Feed)


@dataclass(frozen=True, slots=True)
class CnnStep:
    """Seconds of one iteration by cause; the parts add up to `total`."""

    compute: float
    launch: float
    optimizer: float
    communication: float  # exposed
    jitter: float
    input: float  # waiting for images
    images: float  # per iteration, of all GPUs
    of_memory: bool = True  # GPU time is limited by memory bandwidth more than by matrix units

    @property
    def total(self) -> float:
        """Seconds of the whole iteration."""
        parts = (self.compute, self.launch, self.optimizer, self.communication, self.jitter, self.input)
        return sum(parts)

    @property
    def images_per_s(self) -> float:
        """Throughput of all GPUs together, in images/s."""
        return self.images / self.total

    @property
    def bound(self) -> Bound:
        """What limits the iteration: input or communication, if above 10% of its time, else memory or compute.

        Input counts only if it takes longer than communication.
        """
        if self.input > self.communication and self.input > 0.1 * self.total:
            return Bound.INPUT
        if self.communication > 0.1 * self.total:
            return Bound.DATA_PARALLEL
        return Bound.MEMORY_BANDWIDTH if self.of_memory else Bound.COMPUTE


def step(job: CnnJob, c: Coefficients | None = None, *, gpu_s: float | None = None) -> CnnStep:
    """Predict the time of one iteration.

    Args:
        job: the training and its machine.
        c: coefficients; default: those shipped with the package.
        gpu_s: measured seconds of one iteration on a single GPU, in place of the predicted compute, launch and
            optimizer time.
    """
    c = c or stored()
    machine = job.machine
    nodes = max(1.0, machine.gpus / machine.gpus_per_node)
    how = c.software.get(job.software) or c.software["pytorch"]
    image = work(job.network, machine.gpu, job.precision, job.batch, how, c)
    compute = job.batch * image.total if gpu_s is None else gpu_s
    launch, optimizer = _fixed_costs(job, how) if gpu_s is None else (0.0, 0.0)
    waiting = _exposed(job, compute, how)
    jitter = c.jitter * log2(nodes) * compute
    images = job.batch * machine.gpus
    busy = compute + launch + optimizer + waiting + jitter
    hungry = max(0.0, images / nodes / job.feed.images_per_s - busy)
    of_memory = image.memory > image.compute
    return CnnStep(compute, launch, optimizer, waiting, jitter, hungry, images, of_memory)


def _fixed_costs(job: CnnJob, how: Software) -> tuple[float, float]:
    """Return seconds that do not depend on the batch: (kernel launches of all layers, optimizer step)."""
    optimizer = job.network.parameters * MASTER_BYTES / job.machine.gpu.memory_bytes_per_s
    return how.layer_s * demand(job.network).layers, optimizer


def _exposed(job: CnnJob, compute: float, how: Software) -> float:
    """Return exposed seconds of the gradients' all-reduce: what does not overlap the backward pass; 0 for one GPU."""
    machine = job.machine
    if machine.gpus < 2:
        return 0.0
    size = job.network.parameters * (how.gradient_bytes if width(job.precision) == 2 else 4.0)
    buckets = ceil(size / BUCKET_BYTES)
    local_ranks = min(machine.gpus, domain_size(machine))
    bucket_s = float(seconds("all_reduce", size / buckets, machine, machine.gpus, local_ranks))
    return unhidden(bucket_s, buckets, compute, how.exposed)


def unhidden(bucket_s: float, buckets: int, compute_s: float, share: float) -> float:
    """Return the seconds of an all-reduce in buckets that the backward pass does not hide.

    The largest of: `share` of the whole all-reduce, its excess over the backward pass (a fixed part of `compute_s`),
    and one bucket.
    """
    total_s = bucket_s * buckets
    return max(share * total_s, total_s - BACKWARD * compute_s, bucket_s)
