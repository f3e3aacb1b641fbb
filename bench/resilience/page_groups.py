"""Raw lines in groups, and what is said of a group."""

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
        """Whether the system is one of ours."""
        return self.system.startswith("ours")

    def seconds(self, part: str = "total") -> Spread | None:
        """Median and spread of a part, over the trials that went well."""
        return spread([each["seconds"][part] for each in self.good() if part in each["seconds"]])

    def figures(self, name: str) -> list[Any]:
        """A figure of every trial that has it."""
        return [each["figures"][name] for each in self.lines if name in each["figures"]]

    def good(self) -> list[Line]:
        """Trials whose outcome is `ok`."""
        return [each for each in self.lines if each["outcome"] == "ok"]

    def ran(self) -> list[Line]:
        """Trials that were made."""
        return [each for each in self.lines if each["outcome"] != "skipped"]

    def else_(self) -> str:
        """What came instead of `ok`, with how often."""
        others = Counter(each["outcome"] for each in self.lines if each["outcome"] != "ok")
        return ", ".join(f"{count} {outcome}" for outcome, count in sorted(others.items()))


class Seen:
    """All raw lines."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.all = tuple(lines)

    def of(self, experiment: str, *, case: str | None = None, system: str | None = None) -> Seen:
        """Those of an experiment; of a case and a system, where these are given."""
        return Seen(
            [
                each for each in self.all
                if each["experiment"] == experiment and case in (None, each["case"])
                and system in (None, label(each))
            ]
        )  # fmt: skip

    def groups(self) -> list[Group]:
        """By case and system, in the order of appearance, ours first in each case."""
        found: dict[tuple[str, str], list[Line]] = {}
        for each in self.all:
            found.setdefault((each["case"], label(each)), []).append(each)
        cases = list(dict.fromkeys(case for case, _ in found))
        groups = [Group(case, system, tuple(lines)) for (case, system), lines in found.items()]
        return sorted(groups, key=lambda each: (cases.index(each.case), not each.ours))

    def loads(self) -> Spread | None:
        """Load averages at the beginning of the trials."""
        return spread([each["load"] for each in self.all])


def label(line: Line) -> str:
    """The system, with its flags where they are not the best."""
    return line["system"] if line["flags"] == "best" else f"{line['system']} ({line['flags']})"


def told(found: Spread | None) -> str:
    """`0.42 (0.39-0.56)`; a dash for nothing."""
    if found is None:
        return "-"
    if found.count == 1:
        return short(found.median)
    return f"{short(found.median)} ({short(found.least)}-{short(found.most)})"


def short(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
