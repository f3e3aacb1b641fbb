"""Texts by name, out of one answer in which each begins with `@@ NAME`."""

from __future__ import annotations

MARKER = "@@ "


def sections(text: str) -> dict[str, str]:
    """The parts; what stands before the first one belongs to none."""
    lines_by_name: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(MARKER):
            name = line.removeprefix(MARKER).strip()
            lines_by_name.setdefault(name, [])
        elif name:
            lines_by_name[name].append(line)
    return {name: "\n".join(lines) for name, lines in lines_by_name.items()}
