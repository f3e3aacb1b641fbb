"""Compare replays, as tables and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.i18n import _, _n
from clusterwright.monitor.simulate.result import SimulationResult
from clusterwright.monitor.simulate.trace import Trace
from clusterwright.units import human_duration, human_number

Row = tuple[str, ...]


def figures(results: Sequence[SimulationResult]) -> tuple[Row, list[Row]]:
    """Return the table of utilization, waits and fairness: its heading, and rows per figure, columns per setting."""
    heading = ("", *(result.name for result in results))
    rows = [
        (_("GPUs used"), *(f"{result.used:.1%}" for result in results)),
        (_("GPUs allocated"), *(f"{result.held:.1%}" for result in results)),
        (_("fairness (Jain)"), *(f"{result.fairness:.3f}" for result in results)),
        (_("median wait"), *(human_duration(result.waits.median_s) for result in results)),
        (_("90% of the jobs waited at most"), *(human_duration(result.waits.p90_s) for result in results)),
        (_("mean bounded slowdown"), *(f"{result.waits.slowdown:.1f}" for result in results)),
        (_("jobs pending at the last submission"), *(str(result.still) for result in results)),
        (_("all jobs ended after"), *(human_duration(result.span_s) for result in results)),
        (_("jobs that ended at a time limit"), *(str(result.cut) for result in results)),
        (_("never ran"), *(str(result.never) for result in results)),
    ]
    return heading, rows


def teams(results: Sequence[SimulationResult]) -> tuple[Row, list[Row]]:
    """Return the table of teams: the heading, and a row per team and setting with jobs, waits, GPU hours and shares."""
    names = list(dict.fromkeys(name for result in results for name in result.teams))
    heading = (
        _("team"),
        _("settings"),
        _("jobs"),
        _("median wait"),
        _("90% wait"),
        _("slowdown"),
        _("GPU hours"),
        _("share"),
        _("used/share"),
    )
    return heading, [row for name in names for row in _team(name, results)]


def _team(name: str, results: Sequence[SimulationResult]) -> Iterator[Row]:
    for result in results:
        if name in result.teams:
            team = result.teams[name]
            ratio = f"{team.got_hours / team.promised_hours:.2f}" if team.promised_hours else "-"
            yield (
                clean(name),
                result.name,
                str(team.waits.jobs),
                human_duration(team.waits.median_s),
                human_duration(team.waits.p90_s),
                f"{team.waits.slowdown:.1f}",
                human_number(team.got_hours),
                human_number(team.promised_hours),
                ratio,
            )


def notes(trace: Trace, results: Sequence[SimulationResult]) -> list[str]:
    """Return sentences: numbers of jobs and teams, then what was skipped, moved, unknown or outside the model."""
    teams = len({job.team for job in trace.jobs})
    lines = [_("jobs: {jobs}, teams: {teams}", jobs=len(trace.jobs), teams=teams)]
    if trace.steps or trace.never_ran:
        lines.append(
            _("skipped: {steps} steps, {jobs} jobs that never ran", steps=trace.steps, jobs=trace.never_ran)
        )
    if trace.bad:
        lines.append(
            _n(
                "skipped: {count} bad line; {examples}",
                "skipped: {count} bad lines; {examples}",
                trace.bad,
                examples=bad(trace),
            )
        )
    if moved := max((result.moved for result in results), default=0):
        lines.append(
            _n(
                "{count} job requests a partition that the cluster file lacks, and runs in the default partition",
                "{count} jobs request a partition that the cluster file lacks, and run in the default partition",
                moved,
            )
        )
    for result in results:
        if result.strangers:
            lines.append(
                _n(
                    "{settings} does not have {count} team of the trace ({teams}), which gets one share",
                    "{settings} does not have {count} teams of the trace ({teams}), which get one share each",
                    len(result.strangers),
                    settings=result.name,
                    teams=", ".join(clean(name) for name in result.strangers[:5]),
                )
            )
        if result.left_out:
            names = ", ".join(result.left_out)
            lines.append(
                _(
                    "{settings}: not in the model, without effect here: {names}",
                    settings=result.name,
                    names=names,
                )
            )
    return lines


def bad(trace: Trace) -> str:
    """Return the first lines that cannot be parsed, and the counts of the most frequent kinds, as a text."""
    first_errors = "; ".join(
        _("line {line}: {reason}", line=bad_line.line, reason=clean(bad_line.reason))
        for bad_line in trace.first_bad
    )
    kinds = ", ".join(f"{count} x {clean(kind)}" for kind, count in trace.bad_kinds.most_common(3))
    return f"{first_errors} ({kinds})"


def document(trace: Trace, results: Sequence[SimulationResult]) -> dict[str, Any]:
    """Return trace and results of a simulation as a dict for JSON: seconds, GPU hours, ratios from 0 to 1."""
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


def clean(text: str) -> str:
    """Return the first 120 characters of an untrusted text, with U+FFFD for control and direction characters."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:120])
