"""Writes docs/endure.md and docs/endure.svg from the raw lines: `python -m bench.resilience.page [--check]`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.resilience.lines import HERE, RAW, read, spread
from bench.resilience.page_goals import GOALS
from bench.resilience.page_groups import Group, RawLines, format_spread
from bench.resilience.page_plot import plot

DOCS = HERE.parents[1] / "docs"
PAGE, PICTURE = DOCS / "endure.md", DOCS / "endure.svg"
SHARES = {"share", "worst_ratio", "agent_core_share", "rank_core_share"}
WORDS = tomllib.loads((HERE / "page.toml").read_text(encoding="utf-8"))


def main() -> int:
    """Write both files, or check whether they are current."""
    made = made_from(raw())
    if "--check" not in sys.argv[1:]:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        return 0
    old = [path.name for path, text in made.items() if not path.exists() or path.read_text() != text]
    print(f"outdated: {', '.join(old)}" if old else "current")
    return 1 if old else 0


def raw(folder: Path = RAW) -> RawLines:
    """Return all stored raw lines."""
    return RawLines([line for path in sorted(folder.glob("*.jsonl")) for line in read(path)])


def made_from(raw_lines: RawLines) -> dict[Path, str]:
    """Return the content of both files, made from the raw lines."""
    sections = [_section(section, raw_lines) for section in WORDS["section"]]
    parts = [_introduction(raw_lines), _goals(raw_lines), *sections]
    return {PAGE: "\n".join(part for part in parts if part).rstrip() + "\n", PICTURE: plot(raw_lines)}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    lines = [head, [":---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines) + "\n"


def _introduction(raw_lines: RawLines) -> str:
    machines = sorted({_machine(each) for each in raw_lines.all})
    return (
        WORDS["introduction"]
        .strip()
        .format(
            machine="; ".join(machines) or "no measurements yet",
            trials=len(raw_lines.all),
            loads=format_spread(raw_lines.loads()),
        )
    )


def _machine(line: dict[str, object]) -> str:
    known: dict[str, str] = line["versions"]  # type: ignore[assignment]  # (lines are plain JSON)
    day = datetime.fromtimestamp(float(line["time"]), UTC).date()  # type: ignore[arg-type]  # (same)
    return f"{day}: {known['cpus']} processors, Python {known['python']}, torch {known.get('torch', '-')}"


def _goals(raw_lines: RawLines) -> str:
    rows = []
    for goal in GOALS:
        lines = raw_lines.of(goal.experiment)
        ours, reached = goal.ours(raw_lines.of(goal.experiment)) if lines.all else ("not measured", False)
        loads = format_spread(lines.loads())
        rows.append([
            str(goal.number), goal.what, goal.aim, ours, "yes" if reached else "no", goal.rivals(lines),
            str(len(lines.all)), loads,
        ])  # fmt: skip
    done = sum(row[4] == "yes" for row in rows)
    head = ("", "what", "goal", "ours", "reached", "others", "lines", "load")
    return f"## Goals\n\n{done} of {len(rows)} are reached.\n\n{table(head, rows)}"


def _section(section: dict[str, Any], raw_lines: RawLines) -> str:
    text = [f"## {section['number']}. {section['title']}\n", section["words"].strip() + "\n"]
    tables = [
        _groups(name, groups, section)
        for name in section["experiments"]
        if (groups := raw_lines.of(name).groups())
    ]
    return "\n".join([*(part for part in text if part.strip()), *(tables or ["Not measured yet.\n"])])


def _groups(experiment: str, groups: Sequence[Group], section: dict[str, Any]) -> str:
    """Format a row per group: successful trials, other outcomes, parts of the time, and figures."""
    used = [part for part in section["seconds"] if any(each.seconds(part) for each in groups)]
    figures = [name for name in section["figures"] if any(each.figures(name) for each in groups)]
    rows = []
    for each in groups:
        cells = [each.case, each.system, f"{len(each.good())} of {len(each.lines)}", each.else_()]
        cells += [format_spread(each.seconds(part)) for part in used]
        cells += [_figure(each, name) for name in figures]
        rows.append(cells)
    head = (experiment, "system", "ok", "else", *(f"{part}, s" for part in used), *figures)
    return table(head, rows)


def _figure(group: Group, name: str) -> str:
    """Format a figure; its name determines MB or percent."""
    scale, unit = (1e-6, " MB") if name.endswith("_bytes") else (100, "%") if name in SHARES else (1, "")
    values = [float(each) * scale for each in group.figures(name) if each is not None]
    return format_spread(spread(values)) + unit if values else ""


if __name__ == "__main__":
    sys.exit(main())
