"""Draw the timeline: steps over time, and below them one row per host (or rank) on the same time axis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clusterwright.drawing.svg import (
    Scale,
    is_narrow,
    label,
    line,
    path,
    scale,
    short,
    svg_image,
    tag,
    text_element,
    ticks,
)
from clusterwright.i18n import N_, _, bilingual, both_languages
from clusterwright.lab.demo.lanes import Lane, LaneSpan
from clusterwright.lab.demo.report import DemoReport

TOP, PROGRESS, GAP, ROW, BAR = 50.0, 150.0, 22.0, 34.0, 24.0  # in the drawing's units
LETTER = 7.2  # width of a letter of the labels, measured on the page
LABELS = {
    "training": N_("training"),
    "starting": N_("starting"),
    "waiting": N_("waiting"),
    "spare": N_("held ready"),
    "down": N_("down"),
    "booting": N_("booting"),
    "back": N_("back in Slurm"),
}


def timeline(report: DemoReport, width: float) -> str:
    """Return an SVG image of what happened when in the demo, a row for each host or rank, from the job's start on."""
    left = 82.0 if is_narrow(width) else 92.0
    ends = [span.end for lane in report.lanes for span in lane.spans] + [
        marker.time for marker in report.marks
    ]
    x = scale(0, max([*ends, 1.0]), left, width - 12)
    rows = TOP + PROGRESS + GAP
    bottom = rows + ROW * len(report.lanes)
    parts = [
        *_clock(x, max([*ends, 1.0]), bottom, width),
        *_recovery(report, x, bottom),
        *_progress(report, x, left),
        *(piece for number, lane in enumerate(report.lanes) for piece in _row(lane, rows + number * ROW, x)),
        *_fault(report, x, bottom, width),
    ]
    return svg_image(
        (width, bottom + 30), _("Timeline of the training with the fault"), _description(report), *parts
    )


def _clock(x: Scale, end: float, bottom: float, width: float) -> list[str]:
    drawn = []
    for value in ticks(0, end, 4 if is_narrow(width) else 9):
        drawn.append(line(x(value), TOP, x(value), bottom, "grid"))
        drawn.append(text_element(f"{short(value)} s", x(value), bottom + 18, "tick", text_anchor="middle"))
    return drawn


def _recovery(report: DemoReport, x: Scale, bottom: float) -> list[str]:
    """Return the SVG of a band between the fault and new progress; nothing without both."""
    if not (report.fault and report.recovery):
        return []
    start = report.fault["at_s"]
    wide = x(start + report.recovery.seconds) - x(start)
    return [tag("rect", x=x(start), y=TOP, width=wide, height=bottom - TOP, class_="band")]


def _progress(report: DemoReport, x: Scale, left: float) -> list[str]:
    """Return the SVG of complete steps over time; the line falls back to the resumed checkpoint."""
    y = scale(0, max(report.steps_total, 1), TOP + PROGRESS, TOP)
    drawn = [text_element(both_languages("steps"), 2, TOP - 12, "axis")]
    drawn += [
        text_element(short(value), left - 8, y(value) + 4, "tick", text_anchor="end")
        for value in ticks(0, report.steps_total, 3)
    ]
    runs = [[(x(time), y(step)) for step, time in run] for run in _runs(report)]
    for previous, current in pairwise(runs):
        drawn.append(path([previous[-1], (current[0][0], previous[-1][1]), current[0]], "fallen"))
    drawn += [path(run, "progress") for run in runs]
    for marker in report.marks:
        if marker.what == "checkpoint" and marker.step is not None:
            drawn.append(
                _diamond(x(marker.time), y(marker.step), _("checkpoint of step {step}", step=marker.step))
            )
    return drawn


def _runs(report: DemoReport) -> Iterator[list[tuple[int, float]]]:
    """Yield the steps with their times in runs of rising step numbers; a repeated step begins a new one."""
    run: list[tuple[int, float]] = []
    for step, time in report.done:
        if run and step <= run[-1][0]:
            yield run
            run = []
        run.append((step, time))
    if run:
        yield run


def _diamond(x: float, y: float, title: str) -> str:
    corners = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
    return tag("polygon", tag("title", title), points=corners, class_="checkpoint")


def _row(lane: Lane, top: float, x: Scale) -> Iterator[str]:
    yield text_element(lane.place, 2, top + BAR / 2 + 5, "place")
    if not lane.spans:
        yield text_element(both_languages("not in the job"), x(0) + 7, top + BAR / 2 + 4.5, "nobody")
    for span in lane.spans:
        yield from _span(lane.place, span, top, x)


def _span(worker: str, span: LaneSpan, top: float, x: Scale) -> Iterator[str]:
    start, wide = x(span.start), max(x(span.end) - x(span.start), 1.0)
    tooltip = _(
        "{worker}: {doing}, {start:.1f} to {end:.1f} s",
        worker=worker,
        doing=span.doing,
        start=span.start,
        end=span.end,
    )
    style = f"span {span.doing}"
    yield tag("rect", tag("title", tooltip), x=start, y=top, width=wide, height=BAR, rx=3, class_=style)
    text = LABELS[span.doing]
    for caption in (both_languages(text), *bilingual(text)):
        if wide > LETTER * len(caption) + 12 + 6 * (not caption.isascii()):
            yield text_element(caption, start + 7, top + BAR / 2 + 4.5, f"said on-{span.doing}")
            return


def _fault(report: DemoReport, x: Scale, bottom: float, width: float) -> Iterator[str]:
    if not report.fault:
        return
    fault_x = x(report.fault["at_s"])
    victim = report.fault["host"] if report.mode == "lab" else f"rank {report.fault['rank']}"
    yield line(fault_x, TOP - 18, fault_x, bottom, "fault-line")
    yield label(
        _("{victim} killed, {seconds:.1f} s", victim=victim, seconds=report.fault["at_s"]),
        fault_x,
        TOP - 30,
        "fault-text",
        (0, width),
    )
    if report.recovery:
        recovery_s = report.recovery.seconds
        back = x(report.fault["at_s"] + recovery_s)
        yield line(back, TOP - 4, back, bottom, "new-line")
        yield label(
            _("first new step, +{recovery_s:.1f} s", recovery_s=recovery_s),
            back,
            TOP - 9,
            "new-text",
            (0, width),
        )


def _description(report: DemoReport) -> str:
    if not report.fault:
        return _("No fault was injected.")
    recovery = report.recovery
    ending = (
        _("The first new step was complete {seconds:.1f} seconds later.", seconds=recovery.seconds)
        if recovery
        else _("The training did not continue.")
    )
    kind, host, at_s = (report.fault[key] for key in ("kind", "host", "at_s"))
    return _(
        "{kind} on {host} {at_s:.1f} seconds after the start. {outcome}",
        kind=kind,
        host=host,
        at_s=at_s,
        outcome=ending,
    )
