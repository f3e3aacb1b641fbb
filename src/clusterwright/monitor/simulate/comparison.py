"""Two replays side by side, for people and as one document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.monitor.simulate.result import Result
from clusterwright.monitor.simulate.trace import Trace

Row = tuple[str, ...]
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def figures(results: Sequence[Result]) -> tuple[Row, list[Row]]:
    """Heading and rows: a figure a line, a setting a column."""
    heading = ("", *(result.name for result in results))
    rows = [
        ("used", *(f"{result.used:.1%}" for result in results)),
        ("held", *(f"{result.held:.1%}" for result in results)),
        ("fairness (Jain)", *(f"{result.fairness:.3f}" for result in results)),
        ("wait, median", *(span(result.waits.median_s) for result in results)),
        ("wait, 9 of 10 less than", *(span(result.waits.p90_s) for result in results)),
        ("bounded slowdown, mean", *(f"{result.waits.slowdown:.1f}" for result in results)),
        ("waiting when the last came", *(str(result.still) for result in results)),
        ("all done after", *(span(result.span_s) for result in results)),
        ("cut at a time limit", *(str(result.cut) for result in results)),
        ("never ran", *(str(result.never) for result in results)),
    ]
    return heading, rows


def teams(results: Sequence[Result]) -> tuple[Row, list[Row]]:
    """A team and a setting a line."""
    names = list(dict.fromkeys(name for result in results for name in result.teams))
    heading = (
        "team",
        "settings",
        "jobs",
        "wait, median",
        "9 of 10",
        "slowdown",
        "GPU hours",
        "promised",
        "got/promised",
    )
    return heading, [row for name in names for row in _team(name, results)]


def _team(name: str, results: Sequence[Result]) -> Iterator[Row]:
    for result in results:
        if name in result.teams:
            team = result.teams[name]
            ratio = f"{team.got_hours / team.promised_hours:.2f}" if team.promised_hours else "-"
            yield (
                clean(name),
                result.name,
                str(team.waits.jobs),
                span(team.waits.median_s),
                span(team.waits.p90_s),
                f"{team.waits.slowdown:.1f}",
                f"{team.got_hours:.0f}",
                f"{team.promised_hours:.0f}",
                ratio,
            )


def notes(trace: Trace, results: Sequence[Result]) -> list[str]:
    """What of the text was left out, and what of the jobs was moved."""
    lines = [f"{len(trace.jobs)} jobs, {len({job.team for job in trace.jobs})} teams"]
    if trace.steps or trace.never_ran:
        lines.append(f"left out: {trace.steps} steps, {trace.never_ran} jobs that never ran")
    if trace.bad:
        lines.append(f"left out: {trace.bad} bad lines; {bad(trace)}")
    moved = max((result.moved for result in results), default=0)
    if moved:
        lines.append(
            f"{moved} jobs name a partition that is not in the file: they are sent to the default one"
        )
    for result in results:
        if result.strangers:
            names = ", ".join(clean(name) for name in result.strangers[:5])
            lines.append(
                f"{result.name} does not name {len(result.strangers)} teams ({names}): they have one share each"
            )
        if result.left_out:
            lines.append(
                f"{result.name}: not in the model, and so without effect here: {', '.join(result.left_out)}"
            )
    return lines


def bad(trace: Trace) -> str:
    """The first of them by number, and how many there are of the commonest kinds."""
    first_errors = "; ".join(
        f"line {bad_line.line}: {clean(bad_line.reason)}" for bad_line in trace.first_bad
    )
    kinds = ", ".join(f"{count} x {clean(kind)}" for kind, count in trace.bad_kinds.most_common(3))
    return f"{first_errors} ({kinds})"


def document(trace: Trace, results: Sequence[Result]) -> dict[str, Any]:
    """All figures: seconds, GPU hours, ratios from 0 to 1."""
    return {
        "schema": 1,
        "trace": {
            "jobs": len(trace.jobs),
            "steps": trace.steps,
            "never_ran": trace.never_ran,
            "bad": trace.bad,
            "first_bad": [asdict(bad_line) for bad_line in trace.first_bad],
        },
        "settings": [asdict(result) for result in results],
    }


def span(seconds: float) -> str:
    """0 s, 48 s, 12 min, 3.4 h, 2.1 d."""
    if seconds < _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.1f} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.1f} d"


def clean(text: str) -> str:
    """A stranger's text without what would move a terminal's cursor or the direction of writing."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:120])
