"""Judges of goals from raw lines: each returns the result as text, and whether the goal is met.

Without lines no goal is met, and a failed trial invalidates the median of its group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bench.resilience.lines import spread
from bench.resilience.page_groups import Group, Line, RawLines, format_spread, label, short

Found = tuple[str, bool]
Judge = Callable[[RawLines], Found]
Tell = Callable[[RawLines], str]
RESTARTERS = ("torchrun, own store", "torchrun (default)", "ft_launcher", "ft_launcher (default)")


def ours_in(lines: RawLines, cases: str = "", but: tuple[str, ...] = ()) -> list[Group]:
    """Return our groups whose case names contain `cases` and none of `but`, without skipped ones."""
    return [
        each for each in lines.groups()
        if each.system == "ours" and each.ran() and cases in each.case
        and not any(word in each.case for word in but)
    ]  # fmt: skip


def slowest_median(limit_s: float, cases: str = "", but: tuple[str, ...] = ()) -> Judge:
    """Return a judge: the median of each of our cases is within the limit, and every trial succeeded."""

    def judge(lines: RawLines) -> Found:
        mine = ours_in(lines, cases, but)
        said = []
        for each in mine:
            bad = f", {each.else_()}" if each.else_() else ""
            said.append(f"{each.case} {format_spread(each.seconds())} s{bad}")
        good = [
            each
            for each in mine
            if (found := each.seconds()) and found.median <= limit_s and not each.else_()
        ]
        return "; ".join(said), bool(mine) and len(good) == len(mine)

    return judge


def others(cases: str = "") -> Tell:
    """Return a function that describes each other system: median, spread and other outcomes."""

    def say(lines: RawLines) -> str:
        found: dict[str, list[Line]] = {}
        for each in lines.groups():
            if not each.ours and cases in each.case:
                found.setdefault(each.system, []).extend(each.ran())
        return "; ".join(
            _of_another(Group("", system, tuple(mine))) for system, mine in found.items() if mine
        )

    return say


def _of_another(group: Group) -> str:
    seconds = group.seconds()
    parts = [f"{format_spread(seconds)} s"] if seconds else []
    return f"{group.system} {', '.join([*parts, *filter(None, [group.else_()])])}"


def cold_no_slower(lines: RawLines) -> Found:
    """Judge our cold start against the fastest system that restarts ranks."""
    cold = Group("", "ours cold", lines.of("kill", system="ours cold").all)
    best = [Group("", name, lines.of("kill", system=name).all).seconds() for name in RESTARTERS]
    quickest = min((each.median for each in best if each), default=None)
    found = cold.seconds()
    if not found or not quickest:
        return f"{format_spread(found)} s, {cold.else_() or 'nothing beside it'}", False
    failures = f", {cold.else_()}" if cold.else_() else ""
    text = f"{format_spread(found)} s, {found.median / quickest:.2f} of the fastest{failures}"
    return text, found.median <= quickest and not cold.else_()


def storm(kills: int) -> Judge:
    """Return a judge: all kills were recovered, and no loss differs."""

    def judge(lines: RawLines) -> Found:
        mine = lines.of("storm", case=f"{kills} kills").all
        said = [
            f"{each['figures']['recovered']} of {kills}, {each['figures']['differing_losses']} of"
            f" {each['figures']['losses']} losses differ, median {short(each['seconds'].get('total', 0))} s"
            for each in mine
        ]
        return "; ".join(said), bool(mine) and all(each["outcome"] == "ok" for each in mine)

    return judge


def none_of(*figures: str, cases: str = "", steps: int = 0) -> Judge:
    """Return a judge: these figures are 0 in all our lines, which are all `ok` and have at least `steps` steps."""

    def judge(lines: RawLines) -> Found:
        mine = [line for each in ours_in(lines, cases) for line in each.ran()]
        told_of = [line for line in mine if all(name in line["figures"] for name in figures)]
        total = {name: sum(line["figures"][name] for line in told_of) for name in figures}
        bad = Group("", "", tuple(mine)).else_()
        text = ", ".join(f"{short(value)} {name}" for name, value in total.items()) + (
            f"; {bad}" if bad else ""
        )
        told_of = [line for line in told_of if line["figures"].get("steps", 0) >= steps]
        good = bool(mine) and len(told_of) == len(mine) and not any(total.values()) and not bad
        return f"{text} in {len(mine)} lines", good

    return judge


def at_most(
    limit: float, figure: str, *, but: tuple[str, ...] = (), form: str = "{:.3g}", median: bool = True
) -> Judge:
    """Return a judge: a figure's median (or each value) is within the limit in each of our cases."""

    def judge(lines: RawLines) -> Found:
        said, good = [], []
        for each in ours_in(lines, but=but):
            around = spread([float(value) for value in each.figures(figure)])
            if around:
                value = around.median if median else around.most
                said.append(f"{each.case} {form.format(value)}".strip())
                good.append(value <= limit and not each.else_())
        return "; ".join(said), bool(good) and all(good)

    return judge


def silent_others(lines: RawLines) -> str:
    """Describe how often each other system loaded wrong values, or nothing."""
    said = []
    for system in dict.fromkeys(each.system for each in lines.groups() if not each.ours):
        mine = [each["figures"] for each in lines.all if label(each) == system]
        silent, unloadable, trials = (
            sum(each.get(name, 0) for each in mine) for name in ("silent", "unloadable", "trials")
        )
        said.append(f"{system} {silent} and {unloadable} unloadable of {trials}")
    return "; ".join(said)


def total_below(rivals: Iterable[str]) -> Judge:
    """Return a judge: our total is below that of each of these systems in every case."""
    names = tuple(rivals)

    def judge(lines: RawLines) -> Found:
        said, good = [], []
        for each in ours_in(lines, but=("load", "first")):
            there = [
                group.seconds()
                for group in lines.groups()
                if group.case == each.case and group.system in names
            ]
            least = min((found.median for found in there if found), default=None)
            mine = each.seconds()
            if mine and least is not None:
                said.append(f"{each.case} {short(mine.median)} s against {short(least)} s")
                good.append(mine.median < least)
        return "; ".join(said), bool(good) and all(good)

    return judge


def share_over(limit: float, plain: str, cases: str) -> Judge:
    """Return a judge: our median exceeds a system's by at most this share in every case."""

    def judge(lines: RawLines) -> Found:
        said, good = [], []
        for each in ours_in(lines, cases):
            mine = each.seconds()
            other = next(
                (g.seconds() for g in lines.groups() if (g.case, g.system) == (each.case, plain)), None
            )
            if mine and other:
                share = mine.median / other.median - 1
                said.append(f"{each.case} {share:+.1%}")
                good.append(share <= limit)
        return "; ".join(said), bool(good) and all(good)

    return judge


def overhead(lines: RawLines) -> Found:
    """Judge the excess of a step and of the time between two steps: medians over the pairs, one per seed."""
    ours, bare = (
        Group("", name, lines.of("overhead", case="step", system=name).all) for name in ("ours", "bare")
    )
    steps, others = _pairs(ours, bare, "median")
    between, _ = _pairs(ours, bare, "outside_cpu")
    longer, outside = spread(steps), spread(between)
    if not longer:
        return "", False
    bad, count = ours.else_(), f"{longer.count} pair{'' if longer.count == 1 else 's'}"
    around = f"({longer.least:+.1%} to {longer.most:+.1%}, {count})"
    said = f"{longer.median:+.2%} of {others * 1000:.1f} ms {around}"
    said += f", {outside.median:+.2%} between the work of two" if outside else ""
    worst = max(each.median for each in (longer, outside) if each)
    return f"{said} {bad}".strip(), worst <= 0.005 and not bad


def _pairs(ours: Group, bare: Group, part: str) -> tuple[list[float], float]:
    """Return the difference of each pair as a share of the bare median step, and that step."""
    found = [
        {each["seed"]: each["seconds"] for each in group.good() if part in each["seconds"]}
        for group in (ours, bare)
    ]
    mine, other = found
    both = sorted(mine.keys() & other.keys())
    step = spread([other[seed]["median"] for seed in both])
    return [
        (mine[seed][part] - other[seed][part]) / other[seed]["median"] for seed in both
    ], step.median if step else 0.0
