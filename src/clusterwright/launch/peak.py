"""The peak performance of a job's GPUs from the catalog, the reference of MFU."""

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
)  # NVIDIA's driver: a folder for each GPU, with its name in `information`


def peak(job: Job, cluster: Cluster) -> dict[str, Any] | None:
    """Return the peak of one GPU of the job's partition; None if it has several models, or none in the catalog."""
    groups = [cluster.nodes[name].gpus for name in cluster.partitions[partition(job, cluster)].nodes]
    kinds = {group.model: group for group in groups if group}
    if len(kinds) != 1:
        return None
    try:
        return _document(gpu_like(next(iter(kinds.values())), gpus().values()))
    except WrightError:
        return None


def local_peak(driver: Path = DRIVER) -> dict[str, Any] | None:
    """Return the peak of one GPU of this machine; None without GPUs, with several models, or one not in the catalog."""
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
