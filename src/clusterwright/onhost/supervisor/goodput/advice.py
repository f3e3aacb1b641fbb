"""What to do about steps that wait, for data above all, with what was seen. Pure."""

from __future__ import annotations

import math
from typing import Any, List, Mapping, Optional, Sequence

from clusterwright.onhost.supervisor.goodput import communication, slow
from clusterwright.onhost.supervisor.goodput.speed import Reading, combine_generations
from clusterwright.onhost.supervisor.goodput.timeline import Event

WORTH_SAYING = 0.02  # a share of the time in steps; below it nothing is to be gained
FEW = 10  # steps, of which nothing is concluded
FASTER = 2.0  # a rank that waits so much longer than rank 0 has a host of its own to blame
# Of the time that readers had: above, they compute; below, they wait for the storage.
COMPUTES = 0.6


def list_advice(events: Sequence[Event], record: Mapping[str, Any]) -> List[str]:
    """All that is to be said of a run's data, of its communication, and of ranks that others waited for."""
    return [
        *lines(combine_generations(events), record),
        *bad(events),
        *communication.lines(events),
        *slow.lines(events),
    ]


def lines(reading: Optional[Reading], record: Mapping[str, Any]) -> List[str]:
    """One line that says how much, and one for each thing to do."""
    if reading is None or reading.steps < FEW:
        return []
    line = f"data: steps waited {reading.share:.1%} of their time for their batches"
    if reading.share <= WORTH_SAYING:
        return [line]
    line += (
        f", {reading.share * reading.busy_s / reading.steps * 1000:.3g} "
        f"ms of {reading.busy_s / reading.steps * 1000:.3g} ms"
    )
    return [line + f"; {_readers(reading)}", *(f"  {item}" for item in _todo(reading, record))]


def bad(events: Sequence[Event]) -> List[str]:
    """How many samples were passed over, and the first of them: each once, however many ranks and epochs met it."""
    met = dict.fromkeys(str(event.get("words")) for event in events if event["event"] == "bad_sample")
    counted = sum(int(event.get("bad") or 0) for event in _last(events))
    firsts = [*met, *(str(sample) for event in _last(events) for sample in event.get("first") or ())]
    if not firsts:
        return []
    return [f"data: {len(met) + counted} bad samples were passed over, the first: {firsts[0]}"]


def _last(events: Sequence[Event]) -> List[Event]:
    """What a recipe said of its data when it read it last."""
    return [event for event in events if event["event"] == "data"][-1:]


def needed_workers(reading: Reading) -> int:
    """How many processes would have kept up: what one batch takes to read, over what a step takes without waiting."""
    busy_share = max(1e-3, 1 - reading.share)
    return max(
        1, math.ceil(max(1, reading.workers) * (reading.share if not reading.workers else 1) / busy_share)
    )


def _readers(reading: Reading) -> str:
    readers = f"{reading.workers} processes read" if reading.workers else "the rank itself reads"
    return f"{readers}, {reading.cpus} processors for each rank"


def _todo(reading: Reading, record: Mapping[str, Any]) -> List[str]:
    todo: List[str] = []
    if reading.share > FASTER * max(reading.rank0_share, WORTH_SAYING):
        todo.append(
            f"rank 0 waited {reading.rank0_share:.1%}: another host's "
            "storage or processors are slower; see wright check"
        )
    ratio, enough = _computing(reading), needed_workers(reading)
    if enough > reading.workers and enough < reading.cpus:
        todo.append(f"let {enough} processes read ahead (num_workers; runtime.Feeder finds it out)")
    elif ratio is None or ratio >= COMPUTES:
        todo.append(
            f"{enough} processes would be needed: ask for more processors a GPU, or store the samples decoded"
        )
    if ratio is not None and ratio < COMPUTES:
        todo.append(f"readers computed {ratio:.0%} of their time, and waited for the storage in the rest:")
        todo.append(_nearer(record))
    return todo


def _nearer(record: Mapping[str, Any]) -> str:
    remote_datasets = [
        dataset for dataset in (record.get("job") or {}).get("data") or [] if dataset.get("stage") != "local"
    ]
    if remote_datasets:
        return (
            "copy it to the hosts' own disks first: `stage: local` for "
            f"{remote_datasets[0].get('path')} in the job file"
        )
    return (
        "read neighbours together (Sampler.over, which knows a dataset's blocks), or use fewer, larger files"
    )


def _computing(reading: Reading) -> Optional[float]:
    """How much of the time in which readers had work they computed."""
    if reading.cpu_s is None:
        return None
    had_s = reading.busy_s * (reading.workers or reading.rank0_share)
    return min(1.0, reading.cpu_s / had_s) if had_s else None
