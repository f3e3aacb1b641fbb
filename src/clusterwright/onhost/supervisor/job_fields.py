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
    """How few and how many hosts the job can run on."""

    min_nodes: int
    max_nodes: Optional[int]


class RecoveryFields(NamedTuple):
    """What happens when a rank or a host dies; nobody has to be there."""

    restarts: int
    on_host_loss: str
    spare_nodes: int
    successors: int
    heartbeat_timeout: int
    hang: Union[int, str]


class WarmFields(NamedTuple):
    """What is held ready on each host, so that a rank begins in a moment."""

    imports: Tuple[str, ...]
    standby: bool


class EveryFields(NamedTuple):
    """How often: after so many steps, or after so many seconds."""

    steps: Optional[int]
    seconds: Optional[int]


class CheckpointFields(NamedTuple):
    """What is kept of a training, and how often."""

    folder: Optional[str]
    every: EveryFields
    save_total_limit: int
    memory: Union[EveryFields, str]
    best: Optional[str]


class GradientsFields(NamedTuple):
    """How ranks add up their gradients (DistributedDataParallel)."""

    bucket: Optional[int]
    compress: str
    rank: int
    warm_up: int
    hierarchical: bool


class OuterFields(NamedTuple):
    """Ranks step by themselves, and meet each so many steps (DiLoCo); for networks that are slow beside the compute."""

    every: int
    lr: float
    momentum: float
    bits: int
    warm_up: int


class EnvironmentFields(NamedTuple):
    """What the processes find."""

    variables: Dict[str, str]
    python: Optional[str]
    workdir: Optional[str]
    modules: Tuple[str, ...]


class ContainerFields(NamedTuple):
    """A container image to run in; what starts it is what the cluster file offers."""

    image: str
    mounts: Tuple[str, ...]


class CodeFields(NamedTuple):
    """A folder of this machine that is copied into the run when it is submitted; later edits do not change the run."""

    folder: str
    exclude: Tuple[str, ...]
    limit: int


class DataFields(NamedTuple):
    """A folder that the training reads."""

    path: str
    stage: str


class JobFields(NamedTuple):
    """The whole training, as job.yaml says it."""

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
