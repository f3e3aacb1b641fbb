"""The time line: steps over time above, one row per host (or rank) beneath, the same clock for both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clusterwright.drawing.svg import (
    Scale,
    is_narrow,
    label,
    line,
    path,
    picture,
    scale,
    short,
    tag,
    ticks,
    words,
)
from clusterwright.lab.demo.lanes import Lane, Span
from clusterwright.lab.demo.report import Report

TOP, PROGRESS, GAP, ROW, BAR = 50.0, 150.0, 22.0, 34.0, 24.0  # in the drawing's own units
LETTER = 7.2  # width of a letter of the labels, measured on the page
SAID = {
    "training": "training 训练",
    "starting": "starting 启动",
    "waiting": "waiting 等待",
    "spare": "held ready 备用",
    "down": "down 断电",
    "booting": "booting 重启",
    "back": "back in Slurm 归队",
}


def timeline(made: Report, width: float) -> str:
    """What happened when, from the job's start to its end."""
    left = 82.0 if is_narrow(width) else 92.0
    ends = [span.end for lane in made.lanes for span in lane.spans] + [mark.time for mark in made.marks]
    x = scale(0, max([*ends, 1.0]), left, width - 12)
    rows = TOP + PROGRESS + GAP
    bottom = rows + ROW * len(made.lanes)
    parts = [
        *_clock(x, max([*ends, 1.0]), bottom, width),
        *_recovery(made, x, bottom),
        *_progress(made, x, left),
        *(piece for number, lane in enumerate(made.lanes) for piece in _row(lane, rows + number * ROW, x)),
        *_fault(made, x, bottom, width),
    ]
    return picture((width, bottom + 30), "Time line of the training with the fault", _told(made), *parts)


def _clock(x: Scale, end: float, bottom: float, width: float) -> list[str]:
    drawn = []
    for value in ticks(0, end, 4 if is_narrow(width) else 9):
        drawn.append(line(x(value), TOP, x(value), bottom, "grid"))
        drawn.append(words(f"{short(value)} s", x(value), bottom + 18, "tick", text_anchor="middle"))
    return drawn


def _recovery(made: Report, x: Scale, bottom: float) -> list[str]:
    """The time without progress, as a band."""
    if not (made.fault and made.recovery):
        return []
    start = made.fault["at_s"]
    wide = x(start + made.recovery.seconds) - x(start)
    return [tag("rect", x=x(start), y=TOP, width=wide, height=bottom - TOP, class_="band")]


def _progress(made: Report, x: Scale, left: float) -> list[str]:
    """Steps complete over time; the line falls back to the checkpoint that was resumed."""
    y = scale(0, max(made.steps_total, 1), TOP + PROGRESS, TOP)
    drawn = [words("steps 步", 2, TOP - 12, "axis")]
    drawn += [
        words(short(value), left - 8, y(value) + 4, "tick", text_anchor="end")
        for value in ticks(0, made.steps_total, 3)
    ]
    runs = [[(x(time), y(step)) for step, time in run] for run in _runs(made)]
    for before, after in pairwise(runs):
        drawn.append(path([before[-1], (after[0][0], before[-1][1]), after[0]], "fallen"))
    drawn += [path(run, "progress") for run in runs]
    for mark in made.marks:
        if mark.what == "checkpoint" and mark.step is not None:
            drawn.append(_diamond(x(mark.time), y(mark.step), f"checkpoint of step {mark.step}"))
    return drawn


def _runs(made: Report) -> Iterator[list[tuple[int, float]]]:
    """The steps in stretches without a fall."""
    run: list[tuple[int, float]] = []
    for step, time in made.done:
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
    yield words(lane.place, 2, top + BAR / 2 + 5, "place")
    if not lane.spans:
        yield words("not in the job 未参与", x(0) + 7, top + BAR / 2 + 4.5, "nobody")
    for span in lane.spans:
        yield from _span(lane.place, span, top, x)


def _span(place: str, span: Span, top: float, x: Scale) -> Iterator[str]:
    start, wide = x(span.start), max(x(span.end) - x(span.start), 1.0)
    told = f"{place}: {span.doing}, {span.start:.1f} to {span.end:.1f} s"
    style = f"span {span.doing}"
    yield tag("rect", tag("title", told), x=start, y=top, width=wide, height=BAR, rx=3, class_=style)
    english = SAID[span.doing]
    for said in (english, english.rsplit(" ", 1)[0], english.rsplit(" ", 1)[1]):
        if wide > LETTER * len(said) + 12 + 6 * (not said.isascii()):
            yield words(said, start + 7, top + BAR / 2 + 4.5, f"said on-{span.doing}")
            return


def _fault(made: Report, x: Scale, bottom: float, width: float) -> Iterator[str]:
    if not made.fault:
        return
    place = x(made.fault["at_s"])
    who = made.fault["host"] if made.mode == "lab" else f"rank {made.fault['rank']}"
    yield line(place, TOP - 18, place, bottom, "fault-line")
    yield label(f"{who} killed, {made.fault['at_s']:.1f} s", place, TOP - 30, "fault-text", (0, width))
    if made.recovery:
        took = made.recovery.seconds
        back = x(made.fault["at_s"] + took)
        yield line(back, TOP - 4, back, bottom, "new-line")
        yield label(f"new progress, +{took:.1f} s", back, TOP - 9, "new-text", (0, width))


def _told(made: Report) -> str:
    if not made.fault:
        return "No fault was made."
    took = made.recovery
    after = f"New progress came {took.seconds:.1f} seconds later." if took else "It did not go on."
    what, host, at_s = (made.fault[key] for key in ("kind", "host", "at_s"))
    return f"{what} on {host} {at_s:.1f} seconds after the start. {after}"
