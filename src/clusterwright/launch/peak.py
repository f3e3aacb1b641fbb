"""How many operations a second a job's GPUs could do at most, from the catalog: what an MFU is a share of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clusterwright.catalog.gpus import gpu, gpus
from clusterwright.catalog.records import Gpu
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.share import partition
from clusterwright.plan.machines import gpu_like

DRIVER = Path(
    "/proc/driver/nvidia/gpus"
)  # of NVIDIA's driver: a folder for each GPU, whose `information` names it


def peak(job: Job, cluster: Cluster) -> dict[str, Any] | None:
    """Of one GPU of the job's partition; None where they are of several kinds, or of none that the catalog has."""
    groups = [cluster.nodes[name].gpus for name in cluster.partitions[partition(job, cluster)].nodes]
    kinds = {group.model: group for group in groups if group}
    if len(kinds) != 1:
        return None
    try:
        return _document(gpu_like(next(iter(kinds.values())), gpus().values()))
    except WrightError:
        return None


def local_peak(driver: Path = DRIVER) -> dict[str, Any] | None:
    """Of this machine's GPUs; None without one, or where they are of several kinds."""
    texts = [path.read_text(errors="replace") for path in sorted(driver.glob("*/information"))]
    lines = {line for text in texts for line in text.splitlines() if line.startswith("Model:")}
    if len(lines) != 1:
        return None
    try:
        return _document(gpu(lines.pop().partition(":")[2].strip()))
    except WrightError:
        return None


def _document(gpu_record: Gpu) -> dict[str, Any]:
    return {"name": gpu_record.name, "peak": dict(gpu_record.peak), "source": gpu_record.source}
