"""What the kernel said since boot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact
from clusterwright.check.kernel.faults import telling
from clusterwright.check.kernel.lines import Line, pci


@dataclass(frozen=True, slots=True)
class KernelLog:
    """The lines that warn or are known to tell something, and where they are from: journal, dmesg or nowhere."""

    now_s: float
    container: bool
    source: str
    lines: tuple[Line, ...]
    left_out: int
    minors: Mapping[str, int]

    @property
    def missing(self) -> str:
        """Why nothing can be read from it, or no text."""
        if self.source or self.container:
            return ""
        return "neither the journal nor dmesg has a line of the kernel"

    def gpu(self, address: str) -> str:
        """`gpu 3` by the number of its device file, or by its address where the driver does not say it."""
        return f"gpu {self.minors.get(address, address)}"


def _patterns(_spec: HostSpec) -> Sequence[str]:
    return ("|".join(f"(?:{pattern})" for pattern in telling()),)


@fact(_patterns, probe="kernel_log", limit_s=20)  # 100,000 lines of a journal took 4 s
def kernel_log(out: str) -> KernelLog:
    """Lines of this boot that warn or tell of GPUs, disks and links; what was rotated away is not seen."""
    document = json.loads(out)
    lines = tuple(Line(float(when), int(grave), str(text)) for when, grave, text in document["lines"])
    minors = {pci(address): int(number) for address, number in document["minors"].items()}
    return KernelLog(
        float(document["now"]),
        bool(document["container"]),
        str(document["source"]),
        lines,
        int(document["left_out"]),
        minors,
    )
