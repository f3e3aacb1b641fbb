"""The speed of a run, and the share of its steps spent waiting for data. Pure, over the events of a run."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from clusterwright.onhost.supervisor.goodput import communication
from clusterwright.onhost.supervisor.goodput.timeline import Event

RECENT = 50  # number of newest steps over which rates are computed
# Data types by torch's name and by the catalog's.
PEAKS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


class Reading(NamedTuple):
    """How much of their time the steps of a run waited for data, and the processes that read it."""

    share: float  # share of the time in steps, on the rank that waited longest
    rank0_share: float  # the same on rank 0
    busy_s: float
    steps: int
    workers: int
    cpus: int
    cpu_s: Optional[float]  # CPU time of the reader processes


def progress(events: Sequence[Event], record: Mapping[str, Any], *, running: bool) -> Dict[str, Any]:
    """Return step, speed, time left, loss and memory of the newest generation; unknown values are None.

    The rates are of its last RECENT steps; the time left only if `running`.
    """
    steps = [event for event in events if event["event"] == "step"]
    plan = _plan(events)
    recent_steps = [event for event in steps if event.get("generation") == steps[-1].get("generation")][
        -RECENT:
    ]
    last: Event = recent_steps[-1] if recent_steps else {}
    step, total_steps, rate = last.get("step"), plan.get("total_steps"), _rate(recent_steps)
    eta = max(0, total_steps - step) / rate if rate and total_steps and step is not None and running else None
    flops = rate * plan["flops"] if rate and plan.get("flops") else None
    peak = _peak(plan, record, events)
    data_reading = reading(recent_steps, plan)
    return {
        "step": step,
        "total_steps": total_steps,
        "steps_per_s": rate,
        "eta_s": eta,
        "loss": last.get("loss"),
        "tokens_per_s": rate * last["tokens"] if rate and last.get("tokens") else None,
        "samples_per_s": rate * plan["batch"] if rate and plan.get("batch") else None,
        "flops_per_s": flops,
        "mfu": flops / peak if flops and peak else None,
        "data_wait": data_reading.share if data_reading else None,
        "communication": communication.share(recent_steps),
        "lr": last.get("lr"),
        "norm": last.get("norm"),
        "memory": next((event["memory"] for event in reversed(recent_steps) if "memory" in event), None),
    }


def combine_generations(events: Sequence[Event]) -> Optional[Reading]:
    """Return the wait for data of the steps of all generations; None without measurements."""
    plan = _plan(events)
    parts: List[Reading] = []
    steps = [event for event in events if event["event"] == "step"]
    for number in dict.fromkeys(event.get("generation") for event in steps):
        data_reading = reading([event for event in steps if event.get("generation") == number], plan)
        parts += [data_reading] if data_reading else []
    busy_s = sum(part.busy_s for part in parts)
    if not busy_s:
        return None
    cpu_s = [part.cpu_s for part in parts if part.cpu_s is not None]
    return Reading(
        sum(part.share * part.busy_s for part in parts) / busy_s,
        sum(part.rank0_share * part.busy_s for part in parts) / busy_s,
        busy_s,
        sum(part.steps for part in parts),
        parts[-1].workers,
        parts[-1].cpus,
        sum(cpu_s) if len(cpu_s) == len(parts) else None,
    )


def reading(steps: Sequence[Event], plan: Event) -> Optional[Reading]:
    """Return how much of one generation's step time was spent waiting for data; None without two measured steps.

    The first step does not count: it loads libraries and fills caches.
    """
    timed_steps = [event for event in steps if "waited" in event and "busy" in event]
    if len(timed_steps) < 2 or timed_steps[-1]["busy"] <= timed_steps[0]["busy"]:
        return None
    start, last = timed_steps[0], timed_steps[-1]
    busy_s = last["busy"] - start["busy"]
    rank0_s = last["waited"] - start["waited"]
    most = max(rank0_s, last.get("waited_most", 0) - start.get("waited_most", 0))
    read = [event["reading"] for event in timed_steps if "reading" in event]
    return Reading(
        min(1.0, most / busy_s),
        min(1.0, rank0_s / busy_s),
        busy_s,
        last["step"] - start["step"],
        int(plan.get("workers") or 0),
        int(plan.get("cpus") or 1),
        read[-1] - read[0] if len(read) > 1 else None,
    )


def _plan(events: Sequence[Event]) -> Dict[str, Any]:
    """Return the fields of all `plan` and `readers` events merged, newer ones over older; None values do not count."""
    plan: Dict[str, Any] = {}
    for event in events:
        if event["event"] in ("plan", "readers"):
            plan.update(
                {name: value for name, value in event.items() if value is not None or name == "until"}
            )
    return plan


def _rate(recent_steps: Sequence[Event]) -> Optional[float]:
    if len(recent_steps) < 2 or recent_steps[-1]["time"] <= recent_steps[0]["time"]:
        return None
    return float(
        (recent_steps[-1]["step"] - recent_steps[0]["step"])
        / (recent_steps[-1]["time"] - recent_steps[0]["time"])
    )


def _peak(plan: Event, record: Mapping[str, Any], events: Sequence[Event]) -> Optional[float]:
    """Return the peak FLOP/s of all GPUs by the catalog; None if unknown or on a CPU."""
    peaks = (record.get("gpu") or {}).get("peak") or {}
    gpu_peak = peaks.get(PEAKS.get(str(plan.get("dtype")), ""))
    groups = [event for event in events if event["event"] == "group_ready"]
    if not gpu_peak or not groups or plan.get("device") == "cpu":
        return None
    return float(gpu_peak) * int(groups[-1].get("world_size") or 1)
