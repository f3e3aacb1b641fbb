"""How fast a run is, and what of its steps was waiting for data. Pure, over the events of a run."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from clusterwright.onhost.supervisor.ledger import communication
from clusterwright.onhost.supervisor.ledger.timeline import Event

RECENT = 50  # the newest steps, over which rates are taken
# As torch names what it computes in, and as the catalog does.
PEAKS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


class Reading(NamedTuple):
    """What reading took of the steps of a run, and what read."""

    share: float  # of the time in steps, on the rank that waited longest
    here: float  # the same on rank 0
    busy_s: float
    steps: int
    workers: int
    cpus: int
    cpu_s: Optional[float]  # processor time of what read


def progress(events: Sequence[Event], record: Mapping[str, Any], *, running: bool) -> Dict[str, Any]:
    """How far, how fast, and how long yet; only of the newest generation, in which no step is done again."""
    steps = [event for event in events if event["event"] == "step"]
    plan = _plan(events)
    own = [event for event in steps if event.get("generation") == steps[-1].get("generation")][-RECENT:]
    last: Event = own[-1] if own else {}
    step, until, rate = last.get("step"), plan.get("until"), _rate(own)
    eta = max(0, until - step) / rate if rate and until and step is not None and running else None
    flops = rate * plan["flops"] if rate and plan.get("flops") else None
    peak = _peak(plan, record, events)
    found = reading(own, plan)
    return {
        "step": step,
        "until": until,
        "steps_per_s": rate,
        "eta_s": eta,
        "loss": last.get("loss"),
        "tokens_per_s": rate * last["tokens"] if rate and last.get("tokens") else None,
        "samples_per_s": rate * plan["batch"] if rate and plan.get("batch") else None,
        "flops_per_s": flops,
        "mfu": flops / peak if flops and peak else None,
        "data_wait": found.share if found else None,
        "communication": communication.share(own),
        "lr": last.get("lr"),
        "norm": last.get("norm"),
        "memory": next((event["memory"] for event in reversed(own) if "memory" in event), None),
    }


def whole(events: Sequence[Event]) -> Optional[Reading]:
    """What reading took of all generations together."""
    plan = _plan(events)
    parts: List[Reading] = []
    steps = [event for event in events if event["event"] == "step"]
    for number in dict.fromkeys(event.get("generation") for event in steps):
        found = reading([event for event in steps if event.get("generation") == number], plan)
        parts += [found] if found else []
    busy_s = sum(each.busy_s for each in parts)
    if not busy_s:
        return None
    cpu_s = [each.cpu_s for each in parts if each.cpu_s is not None]
    return Reading(
        sum(each.share * each.busy_s for each in parts) / busy_s,
        sum(each.here * each.busy_s for each in parts) / busy_s,
        busy_s,
        sum(each.steps for each in parts),
        parts[-1].workers,
        parts[-1].cpus,
        sum(cpu_s) if len(cpu_s) == len(parts) else None,
    )


def reading(steps: Sequence[Event], plan: Event) -> Optional[Reading]:
    """Of steps that followed each other; the first is left out, in which libraries are loaded and caches filled."""
    known = [event for event in steps if "waited" in event and "busy" in event]
    if len(known) < 2 or known[-1]["busy"] <= known[0]["busy"]:
        return None
    first, last = known[0], known[-1]
    busy_s = last["busy"] - first["busy"]
    here = last["waited"] - first["waited"]
    most = max(here, last.get("waited_most", 0) - first.get("waited_most", 0))
    read = [event["reading"] for event in known if "reading" in event]
    return Reading(
        min(1.0, most / busy_s),
        min(1.0, here / busy_s),
        busy_s,
        last["step"] - first["step"],
        int(plan.get("workers") or 0),
        int(plan.get("cpus") or 1),
        read[-1] - read[0] if len(read) > 1 else None,
    )


def _plan(events: Sequence[Event]) -> Dict[str, Any]:
    """The newest one, with what was found out later or said in an earlier generation."""
    found: Dict[str, Any] = {}
    for event in events:
        if event["event"] in ("plan", "readers"):
            found.update(
                {name: value for name, value in event.items() if value is not None or name == "until"}
            )
    return found


def _rate(own: Sequence[Event]) -> Optional[float]:
    if len(own) < 2 or own[-1]["time"] <= own[0]["time"]:
        return None
    return float((own[-1]["step"] - own[0]["step"]) / (own[-1]["time"] - own[0]["time"]))


def _peak(plan: Event, record: Mapping[str, Any], events: Sequence[Event]) -> Optional[float]:
    """Operations a second of all GPUs together, as the catalog has them; only where they are GPUs."""
    peaks = (record.get("gpu") or {}).get("peak") or {}
    each = peaks.get(PEAKS.get(str(plan.get("dtype")), ""))
    groups = [event for event in events if event["event"] == "group_ready"]
    if not each or not groups or plan.get("device") == "cpu":
        return None
    return float(each) * int(groups[-1].get("world_size") or 1)
