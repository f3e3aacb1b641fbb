"""Texts by name, out of one answer in which each begins with `@@ NAME`."""

from __future__ import annotations

MARK = "@@ "


def sections(text: str) -> dict[str, str]:
    """The parts; what stands before the first one belongs to none."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(MARK):
            name = line.removeprefix(MARK).strip()
            found.setdefault(name, [])
        elif name:
            found[name].append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}
