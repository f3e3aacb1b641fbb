"""A run's figures as a short table and as Prometheus text. Pure."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from clusterwright.onhost.supervisor.goodput.figures import HOUR, WORTH_SAYING, Figures
from clusterwright.onhost.supervisor.goodput.timeline import SECOND

COLUMNS = 3  # bins side by side, which limits the table to about ten lines


def table(figures: Figures) -> List[str]:
    """Return a run's goodput as some ten lines: each non-empty bin of time, ratios, failures, checkpoint interval.

    One line if no job of the run has started.
    """
    accounting = figures.accounting
    if not accounting.total:
        return ["goodput: no job of this run has started"]
    about = " about" if accounting.estimated else ""
    hours = f"{accounting.total / HOUR:.4g} GPU hours{_money(figures)}"
    gpus = f"{accounting.gpus} GPU" if accounting.gpus == 1 else f"{accounting.gpus} GPUs"
    lines = [f"goodput:{about} {gpus} for {duration(accounting.wall)}, {hours}"]
    rows = sorted(((ticks, name) for name, ticks in accounting.bins.items() if ticks), reverse=True)
    cells = [
        f"{name:<9} {ticks / accounting.total:6.1%} {duration(ticks // max(1, accounting.gpus)):>8}"
        for ticks, name in rows
    ]
    lines += [
        "  " + "   ".join(cells[start : start + COLUMNS]).rstrip() for start in range(0, len(cells), COLUMNS)
    ]
    lines.append(f"ETTR {_percent(figures.ettr)}, goodput {_percent(figures.goodput)}{_failures(figures)}")
    return lines + list(_checkpoints(figures))


def duration(ticks: int) -> str:
    """Return ticks (microseconds) as text: 0.42 s, 12.3 s, 4m05s, 3h07m or 2d04h."""
    seconds = ticks / SECOND
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d{hours:02}h"
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{remainder:02}s"


def fast(now: Mapping[str, Any]) -> List[str]:
    """Return the speed of the newest steps, as far as known: 12.3k tokens/s, MFU 41.2 %, data wait 0.3 %."""
    return [*rates(now), *shares(now)]


def rates(now: Mapping[str, Any]) -> List[str]:
    """Return texts with throughput (tokens or samples per second) and MFU, as far as known."""
    texts = []
    if now.get("tokens_per_s"):
        texts.append(f"{_format_count(now['tokens_per_s'])} tokens/s")
    elif now.get("samples_per_s"):
        texts.append(f"{_format_count(now['samples_per_s'])} samples/s")
    if now.get("mfu"):
        texts.append(f"MFU {now['mfu']:.1%}")
    return texts


def shares(now: Mapping[str, Any]) -> List[str]:
    """Return texts with the shares of time in steps spent waiting for data and in exposed communication, if known."""
    waits = (("data wait", "data_wait"), ("communication", "communication"))
    return [f"{label} {now[key]:.1%}" for label, key in waits if now.get(key) is not None]


def _format_count(number: float) -> str:
    """Return a number as text: 812, 12.3k, 1.02M or 4G."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def metrics(run: str, figures: Figures, now: Mapping[str, Any]) -> str:
    """Return the run's metrics in the Prometheus text format; `now` is the status document."""
    label = f'run="{_escaped(run)}"'
    lines: List[str] = []
    for name, kind, meaning, rows in families(figures, now):
        samples = [(more, value) for more, value in rows if value is not None]
        if samples:
            lines += [f"# HELP clusterwright_run_{name} {meaning}", f"# TYPE clusterwright_run_{name} {kind}"]
        for more, value in samples:
            labels = ",".join([label, *(f'{key}="{_escaped(text)}"' for key, text in more.items())])
            lines.append(f"clusterwright_run_{name}{{{labels}}} {value:.17g}")
    return "\n".join(lines) + "\n"


_Rows = List[Tuple[Dict[str, str], Optional[float]]]
# Metric, key of the status document, help.
_GAUGES = (
    ("generation", "generation", "The newest generation."),
    ("step", "step", "The newest complete optimizer step."),
    ("steps_per_second", "steps_per_s", "Rate of the newest steps."),
    ("eta_seconds", "eta_s", "Time left at the rate of the newest steps."),
    ("loss", "loss", "Loss of the newest step."),
    ("learning_rate", "lr", "Learning rate of the newest step."),
    ("gradient_norm", "norm", "Gradient norm of the newest step, before clipping."),
    ("tokens_per_second", "tokens_per_s", "Tokens per second of the newest steps."),
    ("samples_per_second", "samples_per_s", "Samples per second of the newest steps."),
    ("mfu_ratio", "mfu", "Model FLOPs utilization: the model's operations per second over its GPUs' peak."),
    ("data_wait_ratio", "data_wait", "Share of the newest steps' time spent waiting for data."),
    ("communication_ratio", "communication", "Share of the newest steps' time in exposed communication."),
    ("memory_bytes", "memory", "Peak GPU memory of rank 0's tensors."),
    ("verified_checkpoint_step", "verified", "Step of the newest verified checkpoint."),
)


def families(figures: Figures, now: Mapping[str, Any]) -> Iterator[Tuple[str, str, str, _Rows]]:
    """Yield name, type, help and samples of each Prometheus metric of a run; unknown values are None."""
    bins: _Rows = [({"bin": name}, ticks / SECOND) for name, ticks in figures.accounting.bins.items()]
    kinds: _Rows = [({"kind": name}, float(count)) for name, count in figures.by_kind.items()]
    yield "gpu_seconds_total", "counter", "GPU time by bin of the goodput accounting.", bins
    yield "failures_total", "counter", "Failures by kind.", kinds
    yield (
        "ettr_ratio",
        "gauge",
        "Time in steps not repeated over time since submission.",
        [({}, figures.ettr)],
    )
    yield (
        "goodput_ratio",
        "gauge",
        "GPU time in steps not repeated over GPU time allocated.",
        [({}, figures.goodput)],
    )
    yield "mttr_seconds", "gauge", "Mean time from a fault to new progress.", [({}, _s(figures.mttr))]
    yield "mttf_seconds", "gauge", "Time with hosts allocated per failure.", [({}, _s(figures.mttf))]
    for name, key, meaning in _GAUGES:
        value = now.get(key)
        yield name, "gauge", meaning, [({}, None if value is None else float(value))]
    late = now.get("slow_rank") or {}
    which = {"rank": str(late.get("rank")), "host": str(late.get("host"))}
    ratio: _Rows = [(which, late.get("ratio"))]
    yield "slow_rank_ratio", "gauge", "Step time of the slowest rank over that of the others.", ratio


def _money(figures: Figures) -> str:
    if figures.cost is None or not figures.price:
        return ""
    return f", {figures.cost:.4g} {figures.price.get('currency', '')} at {figures.price['amount']:g} per GPU hour"


def _failures(figures: Figures) -> str:
    if not figures.failures:
        return "; no failures"
    count = len(figures.failures)
    kinds = ", ".join(f"{number} {reason}" for reason, number in figures.by_kind.items())
    times = sorted(failure.recovered for failure in figures.failures if failure.recovered is not None)
    recovery = f", MTTR {duration(figures.mttr)}" if figures.mttr is not None else ""
    recovery += f" (longest {duration(times[-1])})" if len(times) > 1 else ""
    every = f", MTTF {duration(figures.mttf)}" if figures.mttf is not None else ""
    return f"; {count} failure{'s' if count > 1 else ''} ({kinds}){recovery}{every}"


def _checkpoints(figures: Figures) -> Iterator[str]:
    """Yield a line with the checkpoint interval and stall, and with the best interval if failures determine one.

    Nothing if interval or stall are unknown; the saving only above WORTH_SAYING.
    """
    if figures.stall is None or figures.interval is None:
        return
    line = f"checkpoints every {duration(figures.interval)}, {duration(figures.stall)} of stall each"
    if figures.best_interval is None:
        yield line
        return
    line += f"; {len(figures.failures)} failures suggest one every {duration(figures.best_interval)}"
    if figures.interval_costs > WORTH_SAYING:
        line += f", which would save {figures.interval_costs:.1%}: set `checkpoint.every`"
    yield line


def _percent(ratio: Optional[float]) -> str:
    return "unknown" if ratio is None else f"{ratio:.1%}"


def _s(ticks: Optional[int]) -> Optional[float]:
    return None if ticks is None else ticks / SECOND


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
