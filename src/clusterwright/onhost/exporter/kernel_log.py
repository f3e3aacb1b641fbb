"""Read new lines of the kernel log from the journal, each once."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.lib.journal import kernel, message_lines, parse_entry

Line = Tuple[float, str]  # wall-clock time, text
_LIMIT_S = 20.0  # seconds; a busy host takes seconds to start a program


def read_new_lines(position: Dict[str, Any]) -> List[Line]:
    """Return the kernel log's lines after the cursor of `position`, and move that; without one, those of this boot.

    Raises:
        OSError: journalctl failed. The cursor, which may belong to a removed journal, is dropped; the time of the last
            line remains, so no line counts twice.
    """
    start_arguments = [f"--after-cursor={position['cursor']}"] if position.get("cursor") else ["-b"]
    output = command_output(kernel("-o", "json", "--output-fields=MESSAGE", *start_arguments), _LIMIT_S)
    if output is None:
        position.pop("cursor", None)
        raise OSError("journalctl failed")
    last = 0.0 if position.get("cursor") else position.get("time", 0.0)
    lines = []
    for entry in filter(None, map(parse_entry, output.split("\n"))):
        position["cursor"], position["time"] = entry.cursor, entry.time
        if entry.time > last:
            lines += [(entry.time, text) for text in message_lines(entry.text)]
    return lines
