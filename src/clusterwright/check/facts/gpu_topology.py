"""How every two GPUs of a host are joined, as the driver says."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_GPU = re.compile(r"GPU(\d+)$")
_WAYS = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|N/A")


@fact("nvidia-smi", "topo", "-m", limit_s=30, codes=(0, 15))  # 15: a GPU is lost, the others are told
def gpu_topology(out: str) -> dict[int, dict[int, str]]:
    """By GPU and GPU: NV# for so many NVLinks, PIX, PXB, PHB, NODE or SYS for the way over PCIe."""
    lines = [line.split("\t") for line in _COLOUR.sub("", out).splitlines() if "\t" in line]
    head = [found and int(found[1]) for found in (_GPU.match(word.strip()) for word in lines[0][1:])]
    rows = {int(found[1]): row[1:] for row in lines[1:] if (found := _GPU.match(row[0].strip()))}
    found_rows = {
        gpu: {
            other: row[at].strip() for at, other in enumerate(head) if isinstance(other, int) and other != gpu
        }
        for gpu, row in rows.items()
    }
    words = {word for row in found_rows.values() for word in row.values()}
    if not found_rows or not all(_WAYS.fullmatch(word) for word in words):
        raise ValueError(out[:200])
    return found_rows
