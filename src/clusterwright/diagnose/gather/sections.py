"""Split the output of a script whose parts begin with `@@ NAME`; the script indents such lines of other programs."""

from __future__ import annotations

MARKER = "@@ "
INDENT = f"sed 's/^{MARKER}/ {MARKER}/'"  # applied after each program of the script


def sections(text: str) -> dict[str, str]:
    """Return the parts of a script's output, split at its lines `@@ NAME`, by name; lines before are dropped."""
    lines_by_name: dict[str, list[str]] = {}
    name = ""
    for line in text.split("\n"):
        if line.startswith(MARKER):
            name = line.removeprefix(MARKER).strip()
            lines_by_name.setdefault(name, [])
        elif name:
            lines_by_name[name].append(line)
    return {name: "\n".join(lines) for name, lines in lines_by_name.items()}
