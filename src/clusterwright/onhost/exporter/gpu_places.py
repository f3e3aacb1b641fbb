"""The index, UUID and PCI address of each GPU, from files in /proc that respond even if the driver hangs."""

from __future__ import annotations

import os
import re
from typing import Dict, List, NamedTuple

from clusterwright.onhost.exporter.state_files import text_of


class GpuDevice(NamedTuple):
    """One GPU: `number` as nvidia-smi counts, `minor` of its device file, by which Slurm identifies it."""

    number: int
    minor: int
    uuid: str
    pci: str


def places(proc: str) -> List[GpuDevice]:
    """Return the GPUs that the driver found when it loaded, in PCI order, as NVML counts them."""
    folder = os.path.join(proc, "driver/nvidia/gpus")
    devices = []
    for index, name in enumerate(sorted(_names(folder))):
        rows = dict(
            re.findall(r"^([^:\n]+?)\s*:\s*(.*?)\s*$", text_of(f"{folder}/{name}/information"), re.MULTILINE)
        )
        minor = rows.get("Device Minor", "")
        devices.append(
            GpuDevice(
                index, int(minor) if minor.isdigit() else index, rows.get("GPU UUID", ""), address(name)
            )
        )
    return devices


def by_minor(proc: str) -> Dict[int, GpuDevice]:
    """Return the GPUs by the minor number of their device file, which Slurm uses."""
    return {device.minor: device for device in places(proc)}


def address(text: str) -> str:
    """Return a PCI address without the function, as 0000:3b:00; "" for a text that is none."""
    text = re.sub(r"\.[0-7]$", "", re.sub(r"^pci:", "", text.strip().lower()))
    parts = text.split(":")
    if len(parts) == 2:
        parts = ["0", *parts]
    if len(parts) != 3 or not all(re.fullmatch("[0-9a-f]+", part) for part in parts):
        return ""
    return f"{int(parts[0], 16):04x}:{parts[1]}:{parts[2]}"


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
