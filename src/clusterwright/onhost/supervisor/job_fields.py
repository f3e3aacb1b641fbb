"""The fields of a job as job.json holds them; made from config/job.py by clusterwright.cli._reference."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple, Union


class ParallelFields(NamedTuple):
    """Sizes of the parallel groups; their product is the number of GPUs."""

    tensor: int
    pipeline: int
    context: int
    expert: int
    expert_tensor: int
    data: Optional[int]
    shard: str
    shard_group: Optional[int]
    micro_batch: int
    interleave: int
    schedule: str
    recompute: str
    sequence_parallel: bool
    offload: str


class ElasticFields(NamedTuple):
    """The range of hosts that the training can run on."""

    min_nodes: int
    max_nodes: Optional[int]


class RecoveryFields(NamedTuple):
    """Automatic recovery from failed ranks and lost hosts."""

    restarts: int
    on_host_loss: str
    spare_nodes: int
    successors: int
    heartbeat_timeout: int
    hang: Union[int, str]


class WarmFields(NamedTuple):
    """Warm start of ranks: a process on each host with modules already imported."""

    imports: Tuple[str, ...]
    standby: bool


class EveryFields(NamedTuple):
    """An interval: a number of steps or of seconds; one of the two is set."""

    steps: Optional[int]
    seconds: Optional[int]


class CheckpointFields(NamedTuple):
    """Checkpoints: where, how often, and how many are retained."""

    folder: Optional[str]
    every: EveryFields
    save_total_limit: int
    memory: Union[EveryFields, str]
    best: Optional[str]


class GradientsFields(NamedTuple):
    """All-reduce of gradients (DistributedDataParallel)."""

    bucket: Optional[int]
    compress: str
    rank: int
    warm_up: int
    hierarchical: bool


class OuterFields(NamedTuple):
    """DiLoCo: ranks train independently and synchronize every few steps; for networks slow relative to compute."""

    every: int
    lr: float
    momentum: float
    bits: int
    warm_up: int


class EnvironmentFields(NamedTuple):
    """Environment of the processes."""

    variables: Dict[str, str]
    python: Optional[str]
    workdir: Optional[str]
    modules: Tuple[str, ...]


class ContainerFields(NamedTuple):
    """Container image of the training; the cluster file lists the container runtimes."""

    image: str
    mounts: Tuple[str, ...]


class CodeFields(NamedTuple):
    """A code folder that is copied into the run at submission; later edits do not change the run."""

    folder: str
    exclude: Tuple[str, ...]
    limit: int


class DataFields(NamedTuple):
    """A folder that the training reads."""

    path: str
    stage: str


class JobFields(NamedTuple):
    """The whole training: the model of job.yaml."""

    name: str
    command: Optional[Tuple[str, ...]]
    program: Optional[Tuple[str, ...]]
    framework: str
    recipe: Optional[str]
    arguments: Dict[str, Union[str, int, float, bool]]
    nodes: int
    gpus_per_node: int
    time: int
    partition: Optional[str]
    team: Optional[str]
    user: Optional[str]
    parallel: Optional[ParallelFields]
    elastic: Optional[ElasticFields]
    recovery: RecoveryFields
    warm: WarmFields
    launcher: str
    checkpoint: CheckpointFields
    gradients: GradientsFields
    outer: Optional[OuterFields]
    environment: EnvironmentFields
    container: Optional[ContainerFields]
    code: Optional[CodeFields]
    array: Optional[str]
    sweep: Dict[str, Tuple[Union[str, int, float, bool], ...]]
    dependencies: Tuple[str, ...]
    data: Tuple[DataFields, ...]
    trackers: Tuple[str, ...]
