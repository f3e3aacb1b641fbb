"""What to do about steps that wait, for data above all, with what was seen. Pure."""

from __future__ import annotations

import math
from typing import Any, List, Mapping, Optional, Sequence

from clusterwright.onhost.supervisor.ledger import communication, slow
from clusterwright.onhost.supervisor.ledger.speed import Reading, whole
from clusterwright.onhost.supervisor.ledger.timeline import Event

WORTH_SAYING = 0.02  # a share of the time in steps; below it nothing is to be gained
FEW = 10  # steps, of which nothing is concluded
FASTER = 2.0  # a rank that waits so much longer than rank 0 has a host of its own to blame
# Of the time that readers had: above, they compute; below, they wait for the storage.
COMPUTES = 0.6


def of(events: Sequence[Event], record: Mapping[str, Any]) -> List[str]:
    """All that is to be said of a run's data, of its communication, and of ranks that others waited for."""
    return [*lines(whole(events), record), *bad(events), *communication.lines(events), *slow.lines(events)]


def lines(found: Optional[Reading], record: Mapping[str, Any]) -> List[str]:
    """One line that says how much, and one for each thing to do."""
    if found is None or found.steps < FEW:
        return []
    said = f"data: steps waited {found.share:.1%} of their time for their batches"
    if found.share <= WORTH_SAYING:
        return [said]
    said += f", {found.share * found.busy_s / found.steps * 1000:.3g} ms of {found.busy_s / found.steps * 1000:.3g} ms"
    return [said + f"; {_readers(found)}", *(f"  {each}" for each in _todo(found, record))]


def bad(events: Sequence[Event]) -> List[str]:
    """How many samples were passed over, and the first of them: each once, however many ranks and epochs met it."""
    met = dict.fromkeys(str(event.get("words")) for event in events if event["event"] == "bad_sample")
    counted = sum(int(event.get("bad") or 0) for event in _last(events))
    firsts = [*met, *(str(each) for event in _last(events) for each in event.get("first") or ())]
    if not firsts:
        return []
    return [f"data: {len(met) + counted} bad samples were passed over, the first: {firsts[0]}"]


def _last(events: Sequence[Event]) -> List[Event]:
    """What a recipe said of its data when it read it last."""
    return [event for event in events if event["event"] == "data"][-1:]


def wanted(found: Reading) -> int:
    """How many processes would have kept up: what one batch takes to read, over what a step takes without waiting."""
    rest = max(1e-3, 1 - found.share)
    return max(1, math.ceil(max(1, found.workers) * (found.share if not found.workers else 1) / rest))


def _readers(found: Reading) -> str:
    who = f"{found.workers} processes read" if found.workers else "the rank itself reads"
    return f"{who}, {found.cpus} processors for each rank"


def _todo(found: Reading, record: Mapping[str, Any]) -> List[str]:
    todo: List[str] = []
    if found.share > FASTER * max(found.here, WORTH_SAYING):
        todo.append(
            f"rank 0 waited {found.here:.1%}: another host's storage or processors are slower; see wright check"
        )
    ratio, enough = _computing(found), wanted(found)
    if enough > found.workers and enough < found.cpus:
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
    far = [each for each in (record.get("job") or {}).get("data") or [] if each.get("stage") != "local"]
    if far:
        return (
            f"copy it to the hosts' own disks first: `stage: local` for {far[0].get('path')} in the job file"
        )
    return (
        "read neighbours together (Sampler.over, which knows a dataset's blocks), or use fewer, larger files"
    )


def _computing(found: Reading) -> Optional[float]:
    """How much of the time in which readers had work they computed."""
    if found.cpu_s is None:
        return None
    had_s = found.busy_s * (found.workers or found.here)
    return min(1.0, found.cpu_s / had_s) if had_s else None
