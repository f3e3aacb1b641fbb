"""Measure a folder on every host: the program's arguments, and the parsing of its answer."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bench.host_bench import BenchFigure
from clusterwright.check.bench.parsers.fio import fio
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.bench.stage import StageAnswer, StagedPart

SECONDS, SIZE_MIB = 10, 1024
LAB_SECONDS, LAB_SIZE_MIB = 2, 32  # one machine's disk is the file server and all local disks at once
START_S, JOBS = 60.0, 3
LASTING = ("write of a large file", "read of a large file", "random reads of 4 KiB")  # by fio, for seconds


def part(site: BenchSite, folder: str) -> StagedPart:
    """Return the part that measures large files, random reads and many small files in the folder."""
    seconds, size = (LAB_SECONDS, LAB_SIZE_MIB) if site.cluster.lab else (SECONDS, SIZE_MIB)
    arguments = {"folder": folder, "seconds": seconds, "size_mib": size}
    return StagedPart(
        "disks", arguments, START_S + JOBS * 2 * 4 * seconds
    )  # each twice, if direct I/O is refused


def figures(answer: StageAnswer) -> tuple[BenchFigure, ...]:
    """Parse what one host measured.

    Raises:
        ValueError: fio ended with an error; has its message.
    """
    return tuple(_figures(answer))


def _figures(answer: StageAnswer) -> Iterator[BenchFigure]:
    for name, job in answer.document["fio"].items():
        result, conditions = fio(job["out"]), {"direct": job["direct"]}
        if name == "random read":
            yield BenchFigure("random reads of 4 KiB", "1/s", result.iops, conditions)
        else:
            yield BenchFigure(
                f"{name} of a large file",
                "bytes/s",
                result.bytes_per_s,
                conditions,
            )
    for step, rate in answer.document["files"].items():
        yield BenchFigure(f"small files {step}", "1/s", rate)
