"""Measure the memory bandwidth of every host, counted as STREAM counts it.

The cluster file does not declare the kind of memory, so a host is only compared with the others.
"""

from __future__ import annotations

from clusterwright.check.bench.host_bench import BenchFigure, HostBench, measure
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.stage import StageAnswer, StagedPart
from clusterwright.i18n import N_, _

LIMIT_S = 300.0  # importing torch on a busy host, and 16 passes over a sixteenth of its memory
FIX = N_(
    "check that all memory modules are present, in the right channels and at their rate (dmidecode -t memory)"
)


def memory(site: BenchSite) -> BenchOutcome:
    """Measure the memory bandwidth of every host on all its cores, with the Python that has torch."""
    python = site.cluster.software.python

    def part(host: str) -> StagedPart:
        return StagedPart("memory", {"memory_bytes": site.host(host).group.memory}, LIMIT_S, python)

    return measure(site, HostBench("memory", part, figures, FIX))


def figures(answer: StageAnswer) -> tuple[BenchFigure, ...]:
    """Parse what one host measured.

    Raises:
        ValueError: A computed sum was wrong.
    """
    document = answer.document
    if not document["right"]:
        raise ValueError(_("the memory of the host returned other data than was written"))
    how = {"array_bytes": document["array_bytes"], "threads": document["threads"]}
    return tuple(BenchFigure(f"memory {name}", "bytes/s", document[name], how) for name in ("copy", "triad"))
