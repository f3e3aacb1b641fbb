"""The fields of a job as job.json holds them; made from config/job.py by clusterwright.cli._reference."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

_EMPTY: Dict[str, Any] = {}


class ParallelFields(NamedTuple):
    """Sizes of the parallel groups; their product is the number of GPUs."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    expert_tensor: int = 1
    data: Optional[int] = None
    shard: str = "none"
    shard_group: Optional[int] = None
    micro_batch: int = 1
    interleave: int = 1
    schedule: str = "1f1b"
    recompute: str = "none"
    sequence_parallel: bool = False
    offload: str = "none"


class ElasticFields(NamedTuple):
    """The range of hosts that the training can run on."""

    min_nodes: int
    max_nodes: Optional[int] = None


class RecoveryFields(NamedTuple):
    """Automatic recovery from failed ranks and lost hosts."""

    restarts: int = 3
    on_host_loss: str = "successor"
    spare_nodes: int = 0
    successors: int = 5
    heartbeat_timeout: int = 3
    hang: Union[int, str] = "auto"


class WarmFields(NamedTuple):
    """Warm start of ranks: a process on each host with modules already imported."""

    imports: Tuple[str, ...] = ()
    standby: bool = True


class EveryFields(NamedTuple):
    """An interval: a number of steps or of seconds; one of the two is set."""

    steps: Optional[int] = None
    seconds: Optional[int] = None


class CheckpointFields(NamedTuple):
    """Checkpoints: where, how often, and how many are retained."""

    folder: Optional[str] = None
    every: EveryFields = EveryFields(seconds=600)
    save_total_limit: int = 3
    memory: Union[EveryFields, str] = "auto"
    best: Optional[str] = None
    upload_to: Optional[str] = None
    endpoint: Optional[str] = None


class GradientsFields(NamedTuple):
    """All-reduce of gradients (DistributedDataParallel)."""

    bucket: Optional[int] = None
    compress: str = "none"
    rank: int = 4
    warm_up: int = 100
    hierarchical: bool = False


class OuterFields(NamedTuple):
    """DiLoCo: ranks train independently and synchronize every few steps; for networks slow relative to compute."""

    every: int
    lr: float = 0.7
    momentum: float = 0.9
    bits: int = 32
    warm_up: int = 0


class EnvironmentFields(NamedTuple):
    """Python, modules and environment variables of the processes."""

    variables: Dict[str, str] = _EMPTY
    python: Optional[str] = None
    workdir: Optional[str] = None
    modules: Tuple[str, ...] = ()


class ContainerFields(NamedTuple):
    """Container image of the training; the cluster file lists the container runtimes."""

    image: str
    mounts: Tuple[str, ...] = ()


class CodeFields(NamedTuple):
    """A code folder that is copied into the run at submission; later edits do not change the run."""

    folder: str
    exclude: Tuple[str, ...] = ()
    limit: int = 67108864


class DataFields(NamedTuple):
    """A folder that the training reads."""

    path: str
    stage: str = "none"


class JobFields(NamedTuple):
    """The whole training: the model of job.yaml."""

    name: str
    time: int
    command: Optional[Tuple[str, ...]] = None
    program: Optional[Tuple[str, ...]] = None
    framework: str = "pytorch"
    recipe: Optional[str] = None
    arguments: Dict[str, Union[str, int, float, bool]] = _EMPTY
    nodes: int = 1
    gpus_per_node: int = 1
    partition: Optional[str] = None
    team: Optional[str] = None
    user: Optional[str] = None
    parallel: Optional[ParallelFields] = None
    elastic: Optional[ElasticFields] = None
    recovery: RecoveryFields = RecoveryFields()
    warm: WarmFields = WarmFields()
    launcher: str = "agent"
    checkpoint: CheckpointFields = CheckpointFields()
    gradients: GradientsFields = GradientsFields()
    outer: Optional[OuterFields] = None
    environment: EnvironmentFields = EnvironmentFields()
    container: Optional[ContainerFields] = None
    code: Optional[CodeFields] = None
    array: Optional[str] = None
    sweep: Dict[str, Tuple[Union[str, int, float, bool], ...]] = _EMPTY
    dependencies: Tuple[str, ...] = ()
    data: Tuple[DataFields, ...] = ()
    trackers: Tuple[str, ...] = ()
