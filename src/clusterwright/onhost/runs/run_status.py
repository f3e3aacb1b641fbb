"""The status of a run, on a host that has its folder (standard library, Python 3.8; sent with run_jobs.py)."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, List, Optional, Sequence

from clusterwright.onhost.lib.run_outcome import EXIT_CODES, RUNNING
from clusterwright.onhost.runs import run_checkpoints, run_decay, run_folders, run_state
from clusterwright.onhost.supervisor.goodput import advice, figures, history, reading, slow, speed
from clusterwright.onhost.supervisor.goodput.timeline import SECOND, JobTimeline, jobs

MAX_DAMAGED = 3  # number of damaged checkpoints listed
Event = Dict[str, Any]


def status(run: str) -> Dict[str, Any]:
    """Return the status document: state, progress, checkpoints, failures and goodput accounting."""
    run_history = history.read(run)
    job_ids = run_folders.job_ids(run)
    state, reason, ended_at = run_state.read_state(run, job_ids)
    now = time.time() if state == RUNNING else ended_at
    chain, totals = jobs(run_history.events, now), figures.work_out(run_history, now)
    document = {
        "run": os.path.basename(run),
        "folder": run,
        "state": state,
        "reason": reason,
        "code": EXIT_CODES.get(state),
        "jobs": [job.job_id for job in chain],
        **_members(chain[-1] if chain else None, run_history.events),
        **speed.progress(run_history.events, run_history.record, running=state == RUNNING),
        **_saved(run, run_history.events),
        "failures": [failure.document() for failure in totals.failures],
        "slow_rank": _slow(run_history.events),
        "decay": [decay.text for decay in run_decay.find_decays(run)],
    }
    return {
        **document,
        "ledger": figures.document(totals),
        "table": [*reading.table(totals), *advice.list_advice(run_history.events, run_history.record)],
        "metrics": reading.metrics(os.path.basename(run), totals, document),
    }


def _members(job: Optional[JobTimeline], events: Sequence[Event]) -> Dict[str, Any]:
    """Return as fields of the status the newest generation's number and hosts, standby, lost hosts, fork servers.

    `standbys` says of each host whether its fork server is ready.
    """
    if job is None:
        return {"generation": 0, "hosts": [], "spares": [], "away": [], "standbys": []}
    newest = job.generations[-1] if job.generations else None
    hosts = newest.hosts if newest else ()
    absent_hosts = [host for host, spans in job.absences.items() if spans and spans[-1][1] >= job.end]
    ready = {event.get("host"): event for event in events if event["event"] == "standby"}
    return {
        "generation": newest.number if newest else 0,
        "hosts": list(hosts),
        "away": absent_hosts,
        "spares": [host for host in job.hosts if host not in hosts and host not in absent_hosts],
        "standbys": [
            {
                "host": host,
                "ready": "seconds" in event,
                "reason": event.get("reason", ""),
                "seconds": event.get("seconds"),
            }
            for host, event in sorted(ready.items())
            if host in job.hosts and host not in absent_hosts
        ],
    }


def _slow(events: Sequence[Event]) -> Optional[Dict[str, Any]]:
    """Return the rank that all others wait for now, with host, ratio and step; None if there is none."""
    slow_rank = slow.now(events)
    return slow_rank and {
        "rank": slow_rank.rank,
        "host": slow_rank.host,
        "ratio": slow_rank.ratio,
        "step": slow_rank.step,
    }


def _saved(run: str, events: Sequence[Event]) -> Dict[str, Any]:
    """Return as fields of the status the steps that the run can resume from, None for those that do not exist.

    They are the newest verified, damaged ones, one on storage that is not verified yet, and one in memory.
    """
    listed = run_checkpoints.answer(run_checkpoints.listing, run)
    rows = listed.get("checkpoints", [])
    newest_verified = next((row for row in rows if row["state"] == "verified"), None)
    staged = [event["step"] for event in events if event["event"] == "checkpoint_staged"]
    writing = max(staged, default=None)
    replicas = [event for event in events if event["event"] == "copy"]
    refused = any(event["event"] == "copies_refused" for event in events)
    return {
        "verified": newest_verified["step"] if newest_verified else None,
        "verified_time": newest_verified["time"] if newest_verified else None,
        "damaged": [row["step"] for row in rows if row["state"] == "damaged"],
        "unverified": writing
        if writing and (not newest_verified or writing > newest_verified["step"])
        else None,
        "in_memory": None if refused or not replicas else replicas[-1]["step"],
        "copies_refused": refused,
    }


def lines(document: Dict[str, Any]) -> List[str]:
    """Return the status of a run as lines of text for a terminal: state, jobs, step, speed, failures and so on."""
    reason = f": {document['reason']}" if document["reason"] else ""
    hosts = ", ".join(document["hosts"]) or "none yet"
    extra_hosts = f"; standby {', '.join(document['spares'])}" if document["spares"] else ""
    extra_hosts += f"; lost {', '.join(document['away'])}" if document["away"] else ""
    rows = [
        ("state", f"{document['state']}{reason}"),
        ("jobs", ", ".join(document["jobs"]) or "none started"),
        ("generation", f"{document['generation']} on {hosts}{extra_hosts}"),
        ("step", _step(document)),
        ("speed", ", ".join(reading.fast(document)) or "unknown"),
        *([("decay", "; ".join(document["decay"]))] if document["decay"] else []),
        ("checkpoint", _checkpoint(document)),
        ("memory", _memory(document)),
        ("standby", _standby(document)),
        ("failures", str(len(document["failures"]) or "none")),
    ]
    text_rows = [f"{name:<11} {text}" for name, text in rows]
    return [*text_rows, *map(_failure, document["failures"]), *document["table"]]


def _step(document: Dict[str, Any]) -> str:
    if document["step"] is None:
        return "none yet"
    text = f"{document['step']}" + (f" of {document['total_steps']}" if document["total_steps"] else "")
    if document["steps_per_s"]:
        text += f", {document['steps_per_s']:.3g} steps/s"
    if document["state"] == RUNNING:
        remaining = (
            "unknown" if document["eta_s"] is None else reading.duration(round(document["eta_s"] * SECOND))
        )
        text += f", time left {remaining}"
    return text


def _checkpoint(document: Dict[str, Any]) -> str:
    text = "none verified"
    if document["verified"] is not None:
        text = f"step {document['verified']} verified"
        if document["verified_time"]:
            age = reading.duration(round(max(0.0, time.time() - document["verified_time"]) * SECOND))
            text += f", {age} ago"
    text += f"; step {document['unverified']} is being written" if document["unverified"] else ""
    few, more = document["damaged"][:MAX_DAMAGED], len(document["damaged"]) - MAX_DAMAGED
    text += f"; damaged: {', '.join(map(str, few))}" if few else ""
    return text + (f" and {more} more" if more > 0 else "")


def _memory(document: Dict[str, Any]) -> str:
    if document["copies_refused"]:
        return "no in-memory checkpoints: a host has too little memory"
    return "no in-memory checkpoint" if document["in_memory"] is None else f"step {document['in_memory']}"


def _standby(document: Dict[str, Any]) -> str:
    if not document["standbys"]:
        return "none; ranks start cold"
    ready = [standby["host"] for standby in document["standbys"] if standby["ready"]]
    cold = [
        f"{standby['host']}: {standby['reason']}" for standby in document["standbys"] if not standby["ready"]
    ]
    return "; ".join([f"ready on {', '.join(ready)}"] * bool(ready) + cold)


def _failure(failure: Dict[str, Any]) -> str:
    began = failure["first_failure"] or "first failure unknown"
    recovery_text = ""
    if failure["recovery_s"] is not None:
        recovery_text = f"; new progress after {reading.duration(round(failure['recovery_s'] * SECOND))}"
    return f"  generation {failure['generation']}, {failure['reason']}: {began}{recovery_text}"


def text(run: str, form: str) -> str:
    """Return the status of a run as text, in the form `metrics` (Prometheus), `json`, or else lines for people."""
    document = status(run)
    if form == "metrics":
        return str(document["metrics"])
    if form == "json":
        del document["metrics"], document["table"]
        return json.dumps(document, indent=2) + "\n"
    return "\n".join([str(document["run"]), *lines(document)]) + "\n"
