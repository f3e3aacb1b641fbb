"""NVLink states of each GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.check.fact import fact

_GPU = re.compile(r"^GPU (\d+): ")
_LINK = re.compile(r"^\s+Link (\d+): (.*)$")


@fact("nvidia-smi", "nvlink", "-s", limit_s=30, codes=(0, 15))  # 15: a GPU is lost, the others are listed
def nvlinks(out: str) -> dict[str, tuple[bool, ...]]:
    """NVLinks by GPU index, True for an active link; empty for a GPU without NVLink."""
    links_by_gpu: dict[str, list[bool]] = {}
    for gpu, state in _rows(out):
        links_by_gpu.setdefault(gpu, [])
        if state:
            links_by_gpu[gpu].append("inactive" not in state.lower())
    if not links_by_gpu:
        raise ValueError(out)
    return {gpu: tuple(links) for gpu, links in links_by_gpu.items()}


def _rows(out: str) -> Iterator[tuple[str, str]]:
    gpu = ""
    for line in out.splitlines():
        if named := _GPU.match(line):
            gpu = named[1]
            yield gpu, ""
        elif gpu and (link := _LINK.match(line)):
            yield gpu, link[2]
