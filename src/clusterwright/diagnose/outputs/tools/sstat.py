"""`sstat` and `sacct`: the largest memory of a task (MaxRSS) against the memory limit of its job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.diagnose.outputs.table import tables
from clusterwright.diagnose.outputs.value import Finding, Normal, Row, parse_number, parse_slurm_size, percent
from clusterwright.i18n import _
from clusterwright.units import human_percent, human_size

WARNING_SHARE = 0.9  # share of the limit from which a task is close to the end that the kernel gives it
_LIMITS = re.compile(
    r"--mem[= ](?P<option>\d+(?:\.\d+)?[KMGT]?)\b|\bReqMem=(?P<request>\d+(?:\.\d+)?[KMGT]n?)\b"
    r"|\bMinMemoryNode=(?P<node>\d+(?:\.\d+)?[KMGT])\b"
    r"|TRES=\S*?\bmem=(?P<all>\d+(?:\.\d+)?[KMGT])\S*?\bnode=(?P<hosts>\d+)",
    re.IGNORECASE,
)


def read(rows: Sequence[Row], memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding for each step whose MaxRSS is at least 90 % of the memory limit, else a normal value.

    The limit is that of the column ReqMem, else `memory_bytes`, else that of the text; without one the value is
    normal.
    """
    limit = memory_bytes or _limit_in_text(rows)
    for table in tables(rows, ("maxrss",), optional=("maxvmsize", "jobid")):
        requested = _requested(table)
        for row, cells in table:
            yield from _step(row, cells, requested or limit)


def _requested(table: Sequence[tuple[Row, Mapping[str, str]]]) -> int | None:
    """Return the bytes of memory per host that column ReqMem of sstat or sacct requests.

    The first line with a size counts. None if no line has one, or only one per CPU (`c`).
    """
    for _row, cells in table:
        text = cells.get("reqmem", "")
        size = None if text.lower().endswith("c") else parse_slurm_size(text)
        if size:
            hosts = parse_number(cells.get("nnodes", "1")) or 1
            return size if text.lower().endswith("n") else round(size / hosts)
    return None


def _limit_in_text(rows: Sequence[Row]) -> int | None:
    for row in rows:
        if match := _LIMITS.search(row.text):
            text = next(filter(None, match.groups()))
            size = parse_slurm_size(text if text[-1].isalpha() else f"{text}M")
            return size and size // int(match["hosts"] or 1)
    return None


def _step(row: Row, cells: Mapping[str, str], limit: int | None) -> Iterator[Finding | Normal]:
    step = cells.get("jobid") or _("the step")
    used = parse_slurm_size(cells.get("maxrss", ""))
    if used:
        yield _memory(row, step, used, limit)
    space = parse_slurm_size(cells.get("maxvmsize", ""))
    if space and used and space > used:
        size = human_size(space)
        yield Normal(
            row,
            _(
                "MaxVMSize {size} of {step} is address space, most of it reserved by CUDA and not in use: normal.",
                size=size,
                step=step,
            ),
        )


def _memory(row: Row, step: str, used: int, limit: int | None) -> Finding | Normal:
    size = human_size(used)
    if not limit:
        sentence = _(
            "MaxRSS of {step} is {size}; compare it with the memory limit of the job (`--mem 64G` names it).",
            step=step,
            size=size,
        )
        return Normal(row, sentence)
    share = used / limit
    if share >= WARNING_SHARE:
        return Finding(
            row, f"sstat: step {step}: MaxRSS {size} of {human_size(limit)} ({percent(100 * share)}%)"
        )
    return Normal(
        row,
        _(
            "MaxRSS of {step} is {size} of the memory limit of {limit} ({share}): normal.",
            step=step,
            size=size,
            limit=human_size(limit),
            share=human_percent(share),
        ),
    )
