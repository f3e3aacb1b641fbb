"""The kernel log since boot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact
from clusterwright.check.kernel.faults import telling
from clusterwright.check.kernel.lines import KernelLine, pci
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class KernelLog:
    """Warnings and lines that a pattern of `telling` matches; `source` is `journal`, `dmesg` or empty."""

    now_s: float
    container: bool
    source: str
    lines: tuple[KernelLine, ...]
    left_out: int
    minors: Mapping[str, int]

    @property
    def missing(self) -> str:
        """Why the kernel log could not be read; empty if it could be read, and in a container."""
        if self.source or self.container:
            return ""
        return _("neither journalctl nor dmesg returned a line of the kernel")

    def gpu(self, address: str) -> str:
        """Return `gpu 3` by the number of its device file; `gpu ADDRESS` where the driver does not report it."""
        return f"gpu {self.minors.get(address, address)}"


def _patterns(_spec: HostSpec) -> Sequence[str]:
    return ("|".join(f"(?:{pattern})" for pattern in telling()),)


@fact(_patterns, probe="kernel_log", limit_s=20, permission="journal")  # 100,000 lines of a journal took 4 s
def kernel_log(out: str) -> KernelLog:
    """Warnings of this boot and lines about GPUs, disks and links; lines lost by log rotation are missing.

    Its source is empty where neither the journal nor dmesg can be read.
    """
    document = parse_document(out)
    lines = tuple(KernelLine(float(when), int(grave), str(text)) for when, grave, text in document["lines"])
    minors = {pci(address): int(number) for address, number in document["minors"].items()}
    return KernelLog(
        float(document["now"]),
        bool(document["container"]),
        str(document["source"]),
        lines,
        int(document["left_out"]),
        minors,
    )
