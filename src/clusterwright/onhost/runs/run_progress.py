"""A run's progress, speed and state as one small object (standard library, Python 3.8; sent with run_jobs.py)."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Optional

from clusterwright.onhost.lib.run_outcome import RUNNING
from clusterwright.onhost.runs import run_folders, run_state
from clusterwright.onhost.supervisor.goodput import figures, history, reading, speed
from clusterwright.onhost.supervisor.goodput.timeline import SECOND, jobs

LARGEST = 3  # number of bins named as losses


def read_progress(run: str) -> Dict[str, Any]:
    """Return state, progress, speed and losses of a run; unknown values are None."""
    run_history = history.read(run)
    state, reason, ended_at = run_state.read_state(run, run_folders.job_ids(run))
    now = time.time() if state == RUNNING else ended_at
    chain, totals = jobs(run_history.events, now), figures.work_out(run_history, now)
    newest = chain[-1].generations[-1] if chain and chain[-1].generations else None
    saved = [event.get("step") for event in run_history.events if event["event"] == "checkpoint"]
    return {
        "run": os.path.basename(run),
        "state": state,
        "reason": reason,
        "generation": newest.number if newest else 0,
        "hosts": len(newest.hosts) if newest else 0,
        **speed.progress(run_history.events, run_history.record, running=state == RUNNING),
        "goodput": totals.goodput,
        "losses": _losses(totals),
        "failures": len(totals.failures),
        "saved": saved[-1] if saved else None,
    }


def _losses(totals: figures.Figures) -> Dict[str, float]:
    """Return the LARGEST bins of the accounting besides `step` and `queue`, as shares of the allocated GPU time.

    Empty if no GPU time was allocated; empty bins are left out.
    """
    accounting = totals.accounting
    allocated = accounting.total - accounting.bins["queue"]
    if allocated <= 0:
        return {}
    losses = [
        (ticks, name) for name, ticks in accounting.bins.items() if name not in ("step", "queue") and ticks
    ]
    return {name: ticks / allocated for ticks, name in sorted(losses, reverse=True)[:LARGEST]}


def line(now: Dict[str, Any]) -> str:
    """Return a run's progress as one line, the most important first, since a terminal may cut off its end.

    Only state and reason before the first step; unknown figures are left out.
    """
    if now["step"] is None:
        return ": ".join(filter(None, (now["state"], now["reason"])))
    parts: List[Optional[str]] = [
        f"step {now['step']}" + (f"/{now['total_steps']}" if now["total_steps"] else ""),
        None if now["loss"] is None else f"loss {now['loss']:.4g}",
        *reading.rates(now),
        _remaining_time(now),
        *reading.shares(now),
        None if now["goodput"] is None else f"goodput {now['goodput']:.1%}{_named(now['losses'])}",
        f"generation {now['generation']}" if now["generation"] > 1 else None,
        None if now["saved"] is None else f"saved {now['saved']}",
        None if now["state"] == RUNNING else ": ".join(filter(None, (now["state"], now["reason"]))),
    ]
    return ", ".join(filter(None, parts))


def _remaining_time(now: Dict[str, Any]) -> Optional[str]:
    return None if now["eta_s"] is None else f"{reading.duration(round(now['eta_s'] * SECOND))} left"


def _named(losses: Dict[str, float]) -> str:
    items = [f"{name} {share:.1%}" for name, share in losses.items() if share >= 0.001]
    return f" ({', '.join(items)})" if items else ""
