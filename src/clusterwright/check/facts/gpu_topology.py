"""The connection between each pair of GPUs, from the driver."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact

_COLOR = re.compile(r"\x1b\[[\d;]*m")
_GPU = re.compile(r"GPU(\d+)$")
_LINK_TYPE = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|N/A")


@fact("nvidia-smi", "topo", "-m", limit_s=30, codes=(0, 15))  # 15: a GPU is lost, the others are listed
def gpu_topology(out: str) -> dict[int, dict[int, str]]:
    """Connection type by GPU and peer GPU: NV# (number of NVLinks), or PIX, PXB, PHB, NODE, SYS over PCIe."""
    lines = [line.split("\t") for line in _COLOR.sub("", out).splitlines() if "\t" in line]
    head = [match and int(match[1]) for match in (_GPU.match(cell.strip()) for cell in lines[0][1:])]
    rows = {int(match[1]): row[1:] for row in lines[1:] if (match := _GPU.match(row[0].strip()))}
    links = {
        gpu: {
            peer: row[column].strip()
            for column, peer in enumerate(head)
            if isinstance(peer, int) and peer != gpu
        }
        for gpu, row in rows.items()
    }
    link_types = {link_type for row in links.values() for link_type in row.values()}
    if not links or not all(_LINK_TYPE.fullmatch(link_type) for link_type in link_types):
        raise ValueError(out[:200])
    return links
