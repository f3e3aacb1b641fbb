"""Groups of raw lines and their statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.resilience.lines import Spread, spread

Line = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """The trials of one system in one case."""

    case: str
    system: str
    lines: tuple[Line, ...]

    @property
    def ours(self) -> bool:
        """Whether the system is a variant of ours."""
        return self.system.startswith("ours")

    def seconds(self, part: str = "total") -> Spread | None:
        """Return median and spread of a part over the successful trials."""
        return spread([each["seconds"][part] for each in self.good() if part in each["seconds"]])

    def figures(self, name: str) -> list[Any]:
        """Return the values of a figure over all trials that have it."""
        return [each["figures"][name] for each in self.lines if name in each["figures"]]

    def good(self) -> list[Line]:
        """Trials whose outcome is `ok`."""
        return [each for each in self.lines if each["outcome"] == "ok"]

    def ran(self) -> list[Line]:
        """Trials that were not skipped."""
        return [each for each in self.lines if each["outcome"] != "skipped"]

    def else_(self) -> str:
        """Return the outcomes other than `ok` as a text, with their counts."""
        others = Counter(each["outcome"] for each in self.lines if each["outcome"] != "ok")
        return ", ".join(f"{count} {outcome}" for outcome, count in sorted(others.items()))


class RawLines:
    """A list of raw lines, with selections of them."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.all = tuple(lines)

    def of(self, experiment: str, *, case: str | None = None, system: str | None = None) -> RawLines:
        """Return the lines of an experiment, optionally of one case or system."""
        return RawLines(
            [
                each for each in self.all
                if each["experiment"] == experiment and case in (None, each["case"])
                and system in (None, label(each))
            ]
        )  # fmt: skip

    def groups(self) -> list[Group]:
        """Return groups by case and system, in order of appearance, ours first in each case."""
        found: dict[tuple[str, str], list[Line]] = {}
        for each in self.all:
            found.setdefault((each["case"], label(each)), []).append(each)
        cases = list(dict.fromkeys(case for case, _ in found))
        groups = [Group(case, system, tuple(lines)) for (case, system), lines in found.items()]
        return sorted(groups, key=lambda each: (cases.index(each.case), not each.ours))

    def loads(self) -> Spread | None:
        """Return the spread of load averages at the start of trials."""
        return spread([each["load"] for each in self.all])


def label(line: Line) -> str:
    """Return the system's name, with its flags unless these are the best."""
    return line["system"] if line["flags"] == "best" else f"{line['system']} ({line['flags']})"


def format_spread(found: Spread | None) -> str:
    """Format a spread as `0.42 (0.39-0.56)`; a dash for None."""
    if found is None:
        return "-"
    if found.count == 1:
        return short(found.median)
    return f"{short(found.median)} ({short(found.least)}-{short(found.most)})"


def short(value: float) -> str:
    """Format a number with three digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
