"""`topo -m` and `nvlink -s`: connections between GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.lab.gpus.smi.nvml import NvmlError, SimulatedGpu

_LINK_COUNT, _LINK_SPEED_MBPS = 91, 90  # NVML_FI_DEV_NVLINK_LINK_COUNT, _SPEED_MBPS_COMMON
_LABELS = {40: "NODE", 50: "SYS"}
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def links(gpu: SimulatedGpu) -> list[bool]:
    """Return whether each NVLink of the GPU is active; [] without NVLinks."""
    try:
        count = gpu.field(_LINK_COUNT)
        return [bool(gpu.number("nvmlDeviceGetNvLinkState", link)) for link in range(count)]
    except NvmlError:
        return []


def topology(gpus: Sequence[SimulatedGpu]) -> Iterator[str]:
    """Yield the lines of a matrix of the connections between all GPUs (`nvidia-smi topo -m`)."""
    yield "\t".join(["", *(f"GPU{gpu.index}" for gpu in gpus), "CPU Affinity", "NUMA Affinity"])
    for source in gpus:
        node = str(source.number("nvmlDeviceGetNumaNodeId"))
        yield "\t".join(
            [f"GPU{source.index}", *(_topology_label(source, peer) for peer in gpus), "N/A", node]
        )
    yield LEGEND


def _topology_label(gpu: SimulatedGpu, peer: SimulatedGpu) -> str:
    if gpu is peer:
        return " X "
    if joined := min(sum(links(gpu)), sum(links(peer))):
        return f"NV{joined}"
    return _LABELS.get(gpu.common_ancestor(peer), "PHB")


def link_lines(gpus: Sequence[SimulatedGpu]) -> Iterator[str]:
    """Yield a line for every NVLink of every GPU, with its rate or <inactive> (`nvlink -s`)."""
    for gpu in gpus:
        yield f"GPU {gpu.index}: {gpu.text('nvmlDeviceGetName')} (UUID: {gpu.text('nvmlDeviceGetUUID')})"
        for number, active in enumerate(links(gpu)):
            speed = f"{gpu.field(_LINK_SPEED_MBPS) / 1000:g} GB/s"
            yield f"\t Link {number}: {speed if active else '<inactive>'}"


_COUNTERS = ("Replay Errors", "Recovery Errors", "CRC Errors")


def error_lines(gpus: Sequence[SimulatedGpu]) -> Iterator[str]:
    """Yield the error counters of every NVLink of every GPU (`nvlink -e`)."""
    for gpu in gpus:
        yield f"GPU {gpu.index}: {gpu.text('nvmlDeviceGetName')} (UUID: {gpu.text('nvmlDeviceGetUUID')})"
        for number, _ in enumerate(links(gpu)):
            for counter, label in enumerate(_COUNTERS):
                count = gpu.big("nvmlDeviceGetNvLinkErrorCounter", number, counter)
                yield f"\t Link {number}: {label}: {count}"
