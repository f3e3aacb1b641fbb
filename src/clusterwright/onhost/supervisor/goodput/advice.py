"""Advice on steps that wait, mainly for data, with the measurements behind it. Pure."""

from __future__ import annotations

import math
from typing import Any, List, Mapping, Optional, Sequence

from clusterwright.onhost.supervisor.goodput import communication, slow
from clusterwright.onhost.supervisor.goodput.speed import Reading, combine_generations
from clusterwright.onhost.supervisor.goodput.timeline import Event, format_seconds

WORTH_SAYING = 0.02  # share of the time in steps below which advice is not worthwhile
FEW = 10  # too few steps for a conclusion
FASTER = 2.0  # a rank that waits so much longer than rank 0 has a slow host
# CPU share of the readers' time: above, they are limited by CPU; below, by storage.
COMPUTES = 0.6


def list_advice(events: Sequence[Event], record: Mapping[str, Any]) -> List[str]:
    """Return lines of advice on a run's data, communication and slow ranks; `record` is the content of its job.json."""
    return [
        *lines(combine_generations(events), record),
        *bad(events),
        *communication.lines(events),
        *slow.lines(events),
    ]


def lines(reading: Optional[Reading], record: Mapping[str, Any]) -> List[str]:
    """Return a line with the share of step time spent waiting for data, and advice lines if that is much.

    No lines without a reading of enough steps.
    """
    if reading is None or reading.steps < FEW:
        return []
    line = f"data: steps waited {reading.share:.1%} of their time for their batches"
    if reading.share <= WORTH_SAYING:
        return [line]
    step_s = reading.busy_s / reading.steps
    line += f", {format_seconds(reading.share * step_s)} of {format_seconds(step_s)}"
    return [line + f"; {_readers(reading)}", *(f"  {item}" for item in _todo(reading, record))]


def bad(events: Sequence[Event]) -> List[str]:
    """Return a line with the number of bad samples that were skipped and the first one; empty if none was.

    A sample counts once for all ranks.
    """
    met = dict.fromkeys(str(event.get("message")) for event in events if event["event"] == "bad_sample")
    counted = sum(int(event.get("bad") or 0) for event in _last(events))
    firsts = [*met, *(str(sample) for event in _last(events) for sample in event.get("first_bad") or ())]
    if not firsts:
        return []
    count = len(met) + counted
    return [f"data: {count} bad sample{'s' if count != 1 else ''} skipped, the first: {firsts[0]}"]


def _last(events: Sequence[Event]) -> List[Event]:
    """Return the last event in which a recipe reports about its data, in a list; empty without one."""
    return [event for event in events if event["event"] == "data"][-1:]


def needed_workers(reading: Reading) -> int:
    """Return the number of data reader processes per rank that would keep up with the training.

    It is a batch's read time over a step's compute time, at least 1.
    """
    busy_share = max(1e-3, 1 - reading.share)
    return max(
        1, math.ceil(max(1, reading.workers) * (reading.share if not reading.workers else 1) / busy_share)
    )


def _readers(reading: Reading) -> str:
    readers = f"num_workers is {reading.workers}" if reading.workers else "the rank itself reads"
    return f"{readers}, {reading.cpus} CPUs per rank"


def _todo(reading: Reading, record: Mapping[str, Any]) -> List[str]:
    todo: List[str] = []
    if reading.share > FASTER * max(reading.rank0_share, WORTH_SAYING):
        todo.append(
            f"rank 0 waited {reading.rank0_share:.1%}: another host's "
            "storage or CPUs are slower; run wright check"
        )
    ratio, enough = _computing(reading), needed_workers(reading)
    if enough > reading.workers and enough < reading.cpus:
        todo.append(f"set num_workers to {enough} (runtime.Feeder measures the best value)")
    elif ratio is None or ratio >= COMPUTES:
        todo.append(
            f"num_workers {enough} would keep up: request more CPUs per GPU, or store the samples decoded"
        )
    if ratio is not None and ratio < COMPUTES:
        todo.append(f"readers computed {ratio:.0%} of their time and waited for storage the rest:")
        todo.append(_nearer(record))
    return todo


def _nearer(record: Mapping[str, Any]) -> str:
    remote_datasets = [
        dataset for dataset in (record.get("job") or {}).get("data") or [] if dataset.get("stage") != "local"
    ]
    if remote_datasets:
        return (
            "copy the data to the hosts' own disks first: set `stage: local` for "
            f"{remote_datasets[0].get('path')} in the job file"
        )
    return "read adjacent samples together (Sampler.over, by a dataset's blocks), or use fewer, larger files"


def _computing(reading: Reading) -> Optional[float]:
    """Return the readers' CPU time as a share of the time in which they had work; None if unknown."""
    if reading.cpu_s is None:
        return None
    had_s = reading.busy_s * (reading.workers or reading.rank0_share)
    return min(1.0, reading.cpu_s / had_s) if had_s else None
