"""How a run stands, on a host that has its folder (standard library, Python 3.8; sent with far.py)."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from clusterwright.onhost.lib.safe_reader import read_object
from clusterwright.onhost.runs import run_checkpoints
from clusterwright.onhost.runs.run_files import call
from clusterwright.onhost.supervisor.ledger import advice, figures, history, reading, slow, speed
from clusterwright.onhost.supervisor.ledger.timeline import SECOND, Job, jobs

# A supervisor beats once a second or faster; clocks of hosts in step by chrony differ by far less.
SILENT_S = 10.0
SHOWN = 3  # damaged checkpoints that are named
Event = Dict[str, Any]


def status(run: str) -> Dict[str, Any]:
    """One object: what the run is, how far it is, what it could go back to, what went wrong, where its time went."""
    told = history.read(run)
    ended, alive_at = read_object(os.path.join(run, "ended.json")), beat(run)
    state, why = state_of(run, ended, alive_at)
    until = time.time() if state == "running" else None
    chain, found = jobs(told.events, until), figures.work_out(told, until)
    document = {
        "run": os.path.basename(run),
        "folder": run,
        "state": state,
        "why": why,
        "code": ended.get("code"),
        "jobs": [job.job_id for job in chain],
        **_members(chain[-1] if chain else None, told.events),
        **speed.progress(told.events, told.record, running=state == "running"),
        **_saved(run, told.events),
        "failures": [each.document() for each in found.failures],
        "slow_rank": _slow(told.events),
    }
    return {
        **document,
        "ledger": figures.document(found),
        "table": [*reading.table(found), *advice.of(told.events, told.record)],
        "metrics": reading.metrics(os.path.basename(run), found, document),
    }


def beat(run: str) -> float:
    """When its supervisor was heard last, in seconds since the epoch; 0 for never."""
    try:
        return os.stat(os.path.join(run, "pulse")).st_mtime
    except OSError:
        return 0.0


def state_of(run: str, ended: Dict[str, Any], alive_at: float) -> Tuple[str, str]:
    """What it does now, and why; Slurm is asked only when the run itself has nothing to say."""
    if ended:
        return str(ended.get("outcome")), str(ended.get("why", ""))
    silent = time.time() - alive_at
    if alive_at and silent < SILENT_S:
        return "running", ""
    beat = f"its supervisor was last heard {silent:.0f} s ago" if alive_at else ""
    if read_object(os.path.join(run, "job.json")).get("local"):
        return ("gone", f"{beat}; nobody goes on with it") if alive_at else ("starting", "")
    code, out = call("squeue", "--noheader", f"--name={os.path.basename(run)}", "--format=%T %r")
    if code != 0:
        return "unknown", "; ".join(filter(None, (beat, "Slurm does not answer here")))
    queued = out.split()
    if "RUNNING" in queued:
        return ("silent", beat) if alive_at else ("starting", "")
    if "PENDING" in queued:
        return "queued", queued[queued.index("PENDING") + 1]
    return "gone", "; ".join(filter(None, (beat, "no job of it is left in Slurm")))


def _members(job: Optional[Job], events: Sequence[Event]) -> Dict[str, Any]:
    """The hosts: which train, which stand ready, which are away; and whether ranks can be forked on each."""
    if job is None:
        return {"generation": 0, "hosts": [], "spares": [], "away": [], "standbys": []}
    newest = job.generations[-1] if job.generations else None
    hosts = newest.hosts if newest else ()
    away = [host for host, spans in job.away.items() if spans and spans[-1][1] >= job.end]
    ready = {event.get("host"): event for event in events if event["event"] == "standby"}
    return {
        "generation": newest.number if newest else 0,
        "hosts": list(hosts),
        "away": away,
        "spares": [host for host in job.hosts if host not in hosts and host not in away],
        "standbys": [
            {
                "host": host,
                "ready": "seconds" in event,
                "why": event.get("why", ""),
                "seconds": event.get("seconds"),
            }
            for host, event in sorted(ready.items())
            if host in job.hosts and host not in away
        ],
    }


def _slow(events: Sequence[Event]) -> Optional[Dict[str, Any]]:
    """The rank that all others wait for now."""
    found = slow.now(events)
    return found and {"rank": found.rank, "host": found.host, "ratio": found.ratio, "step": found.step}


def _saved(run: str, events: Sequence[Event]) -> Dict[str, Any]:
    """What the run could go back to: on disk, and in the memory of its hosts."""
    listed = run_checkpoints.answer(run_checkpoints.listing, run)
    rows = listed.get("checkpoints", [])
    good = next((row for row in rows if row["state"] == "verified"), None)
    staged = [event["step"] for event in events if event["event"] == "checkpoint_staged"]
    writing = max(staged, default=None)
    copies = [event for event in events if event["event"] == "copy"]
    refused = any(event["event"] == "copies_refused" for event in events)
    return {
        "verified": good["step"] if good else None,
        "verified_time": good["time"] if good else None,
        "damaged": [row["step"] for row in rows if row["state"] == "damaged"],
        "unverified": writing if writing and (not good or writing > good["step"]) else None,
        "in_memory": None if refused or not copies else copies[-1]["step"],
        "copies_refused": refused,
    }


def lines(found: Dict[str, Any]) -> List[str]:
    """The same for people."""
    why = f": {found['why']}" if found["why"] else ""
    hosts = ", ".join(found["hosts"]) or "none yet"
    beside = f"; spare {', '.join(found['spares'])}" if found["spares"] else ""
    beside += f"; away {', '.join(found['away'])}" if found["away"] else ""
    rows = [
        ("state", f"{found['state']}{why}"),
        ("jobs", ", ".join(found["jobs"]) or "none has begun"),
        ("generation", f"{found['generation']} on {hosts}{beside}"),
        ("step", _step(found)),
        ("speed", ", ".join(reading.fast(found)) or "unknown"),
        ("checkpoint", _checkpoint(found)),
        ("memory", _memory(found)),
        ("standby", _standby(found)),
        ("failures", str(len(found["failures"]) or "none")),
    ]
    shown = [f"{name:<11} {text}" for name, text in rows]
    return [*shown, *map(_failure, found["failures"]), *found["table"]]


def _step(found: Dict[str, Any]) -> str:
    if found["step"] is None:
        return "none yet"
    text = f"{found['step']}" + (f" of {found['until']}" if found["until"] else "")
    if found["steps_per_s"]:
        text += f", {found['steps_per_s']:.3g} steps/s"
    if found["state"] == "running":
        left = "unknown" if found["eta_s"] is None else reading.duration(round(found["eta_s"] * SECOND))
        text += f", time left {left}"
    return text


def _checkpoint(found: Dict[str, Any]) -> str:
    text = "none verified"
    if found["verified"] is not None:
        text = f"step {found['verified']} verified"
        if found["verified_time"]:
            age = reading.duration(round(max(0.0, time.time() - found["verified_time"]) * SECOND))
            text += f", {age} ago"
    text += f"; step {found['unverified']} is being written" if found["unverified"] else ""
    few, more = found["damaged"][:SHOWN], len(found["damaged"]) - SHOWN
    text += f"; damaged: {', '.join(map(str, few))}" if few else ""
    return text + (f" and {more} more" if more > 0 else "")


def _memory(found: Dict[str, Any]) -> str:
    if found["copies_refused"]:
        return "no copies: no room for them on some host"
    return "no copies" if found["in_memory"] is None else f"step {found['in_memory']}"


def _standby(found: Dict[str, Any]) -> str:
    if not found["standbys"]:
        return "none; ranks start cold"
    ready = [each["host"] for each in found["standbys"] if each["ready"]]
    cold = [f"{each['host']}: {each['why']}" for each in found["standbys"] if not each["ready"]]
    return "; ".join([f"ready on {', '.join(ready)}"] * bool(ready) + cold)


def _failure(each: Dict[str, Any]) -> str:
    began = each["first"] or "nobody saw how it began"
    after = ""
    if each["recovery_s"] is not None:
        after = f"; new progress after {reading.duration(round(each['recovery_s'] * SECOND))}"
    return f"  generation {each['generation']}, {each['why']}: {began}{after}"


def text(run: str, form: str) -> str:
    """As the command shows it: `text`, `metrics`, or `json`."""
    found = status(run)
    if form == "metrics":
        return str(found["metrics"])
    if form == "json":
        del found["metrics"], found["table"]
        return json.dumps(found, indent=2) + "\n"
    return "\n".join([str(found["run"]), *lines(found)]) + "\n"
